"""Results that a program prints as they came from an exchange: a sum that nobody divides, or a mean over ranks whose shares may be unequal."""
import re

from . import core, source
from .core import State

_MOST, _CLOSE = 32, 1e-6
# Since the last update: what came out of sums and of averages, each with its line and the loader; and whether samples were counted as well.
_sums, _means, _at, _is_counted = [], [], [-1], [False]
# How a sum is called that is meant so.
_WHOLE = re.compile(r"sum|total", re.I)


def remember(numbers, where, is_sum, loader):
    """What an exchange over all ranks has left in a small tensor behind a pass over this loader."""
    if _at[0] != State.updates:
        del _sums[:], _means[:]
        _at[0], _is_counted[0] = State.updates, False
    fractions = [number for number in numbers if not number.is_integer()]
    _is_counted[0] = _is_counted[0] or len(fractions) < len(numbers)
    kept = _sums if is_sum else _means
    kept.extend((number, where, loader) for number in fractions)
    del kept[:-_MOST]


def look(use, file, numbers):
    """A result of a validation that is printed."""
    if _at[0] != State.updates:
        return
    line = "%s:%d" % (file.rsplit("/", 1)[-1], use.line)
    for number in (number for number in numbers if not number.is_integer()):
        summed = _found(number, _sums)
        averaged = _found(number * State.size, _sums) or _found(number, _means)
        if averaged is not None:
            core.tell_once("mean printed: %d" % averaged[2], averaged[1], (use.name[:80], line, str(averaged[2])))
        elif summed is not None and not (_is_counted[0] or _WHOLE.search(use.name) or source.divides_by_all()):
            core.tell_once("total printed", summed[1], (use.name[:80], line))


def _found(number, known):
    return next((one for one in known if abs(number - one[0]) <= _CLOSE * abs(one[0])), None)
