"""Values that were there before a validation: a collective that brings only those together says nothing of its results."""
import inspect
import math
import sys
import types
import weakref

from . import core, digest
from .core import State

# Functions of the program on the stack, and values of one, that are looked at; and how deep.
_FRAMES, _VALUES, _DEPTH = 12, 64, 2
# Numbers in a tensor that is a result, rather than a part of the model or of the data.
_FEW = 8
_CLOSE, _EXACT = 1e-5, 1e-9
# No count of samples.
_LARGE = 1 << 53


class Earlier:
    """Of the functions of the program that are under way in `frame` and around it."""

    def __init__(self, frame):
        self._tensors, self._numbers, self._counts = {}, set(), set()
        for of in frames(frame):
            for value in read(of, _some) or ():
                self._add(value, _DEPTH)

    def _add(self, value, depth):
        torch = sys.modules.get("torch")
        if type(value) is float or type(value) is int and abs(value) < _LARGE:
            self._know([value])
        elif torch is not None and torch.is_tensor(value):
            version = changes(value)
            if 0 < value.numel() <= _FEW and version is not None:
                self._tensors[id(value)] = weakref.ref(value), version
                self._know(digest.of_few(value, _FEW))
        elif depth and isinstance(value, (list, tuple, dict)):
            if len(value) <= _VALUES:
                for item in list(value.values() if isinstance(value, dict) else value):
                    self._add(item, depth - 1)
        elif depth and not isinstance(value, (type, types.ModuleType, types.FunctionType)) and (torch is None or not isinstance(value, torch.nn.Module)):
            # How many samples a loader or a sampler has is no value of the program's.
            attributes = getattr(value, "__dict__", None) if not type(value).__module__.startswith("torch.utils.data") else None
            if type(attributes) is dict and len(attributes) <= _VALUES:
                for item in list(attributes.values()):
                    self._add(item, depth - 1)

    def _know(self, numbers):
        """Not what stands for no number yet, as the best loss before the first."""
        for number in filter(math.isfinite, numbers):
            (self._counts if float(number).is_integer() else self._numbers).add(number)

    def knows(self, numbers):
        """Whether those of them that are fractions were there already, or are shares of what was: the mean of a sum of losses."""
        new = [number for number in numbers if not number.is_integer()]
        return bool(new) and all(any(_is_share(number, known) for known in self._numbers) for number in new)

    def has(self, tensor):
        """Whether all that this tensor says was there already. A whole number that counts none of the training may be of hits."""
        there, version = self._tensors.get(id(tensor), (None, None))
        if there is not None and there() is tensor and version == changes(tensor):
            return True
        numbers = digest.of_few(tensor, _FEW)
        if any(number.is_integer() and number not in self._counts and number not in State.trained for number in numbers):
            return False
        new = [number for number in numbers if not number.is_integer()]
        return bool(new) and all(any(abs(number - known) <= _CLOSE * abs(known) for known in self._numbers) for number in new)


def _is_share(number, whole):
    parts = whole / number if number else 0.0
    return math.isfinite(parts) and round(parts) >= 1 and abs(parts - round(parts)) <= _EXACT * parts


def changes(tensor):
    """How often it was changed in its place; `None` where nobody counts."""
    try:
        return tensor._version
    except RuntimeError:
        # Tensors of inference mode count no changes.
        return None


def frames(frame):
    """Those of the program, from the inside."""
    left = _FRAMES
    while frame is not None and left:
        if core._is_own(frame.f_code.co_filename) is not None:
            left -= 1
            yield frame
        frame = frame.f_back


def read(frame, look):
    """What `look` makes of its variables. Nobody else sees the dictionary of them where the function does not ask for `locals`."""
    if not frame.f_code.co_flags & inspect.CO_OPTIMIZED:
        return look(frame.f_locals)
    if "locals" in frame.f_code.co_names:
        return None
    variables = frame.f_locals
    try:
        return look(variables)
    finally:
        _let_go(variables)


def _some(variables):
    return list(variables.values())[:4 * _VALUES]


def _let_go(variables):
    """Before Python 3.13 that dictionary stays, and would keep alive what the program lets go."""
    if sys.version_info < (3, 13):
        variables.clear()


def forget(frame):
    """Behind a profile function: Python has filled these dictionaries for it again."""
    if sys.version_info < (3, 13):
        for of in frames(frame):
            read(of, _some)
