"""An accuracy that is printed as the sum over the ranks, which nobody has divided: it is above 1, or above 100 %. Or hits of all ranks that
were divided by the samples of one.
"""
import re

from . import core
from .core import State

# Of the last ones: what came out, and the line. Hits are those behind a validation.
_MOST = 32
_sums, _hits = [], []
_ACCURACY = re.compile(r"(?<![a-z])(acc\w*|top.?1|f1|auc|precision|recall)(?![a-z])", re.I)
_NUMBER = re.compile(r"(?<![\w.])\d+\.(\d+)(?![\w.]*\d)")


def remember(numbers, where):
    """What a sum over all ranks has left in a small tensor."""
    too_high = [number for number in numbers if 1 < number <= State.size or 100 < number <= 100 * State.size]
    _sums.extend((number, where) for number in too_high)
    del _sums[:-_MOST]
    own = State.validated or 0
    if own not in numbers:
        _hits.extend((number / own, where) for number in numbers if number.is_integer() and 0 < number <= own * State.size)
    del _hits[:-_MOST]


def are_there():
    """Whether a print may tell one."""
    if not State.behind_validation:
        del _hits[:]
    return bool(_sums or _hits)


def look(text, where):
    """A line that is about to be printed."""
    if not _ACCURACY.search(text):
        return
    for found in _NUMBER.finditer(text):
        printed, digits = float(found.group()), len(found.group(1))
        is_same = lambda number: digits >= 2 and abs(printed - number) <= 0.51 * 10.0 ** -digits
        for by, all_of in (("sum printed", _sums), ("hits of all printed", _hits)):
            for number, made in all_of:
                if is_same(number) or by != "sum printed" and is_same(100 * number):
                    core.tell_once(by, made, (found.group(), "%s:%d" % (where["file"].rsplit("/", 1)[-1], where["line"])))
                    return
