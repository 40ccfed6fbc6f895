"""Values that were there before a validation: a collective that brings only those together says nothing of its results."""
import inspect
import math
import sys
import types
import weakref

from . import core, digest

# Functions of the program on the stack, and values of one, that are looked at; and how deep.
_FRAMES, _VALUES, _DEPTH = 12, 64, 2
# Numbers in a tensor that is a result, rather than a part of the model or of the data.
_FEW = 8
_CLOSE = 1e-5


class Earlier:
    """Of the functions of the program that are under way in `frame` and around it."""

    def __init__(self, frame):
        self._tensors, self._numbers = {}, set()
        for of in _frames(frame):
            for value in _values_in(of):
                self._add(value, _DEPTH)

    def _add(self, value, depth):
        torch = sys.modules.get("torch")
        if type(value) is float:
            self._know([value])
        elif torch is not None and torch.is_tensor(value):
            version = _version(value)
            if 0 < value.numel() <= _FEW and version is not None:
                self._tensors[id(value)] = weakref.ref(value), version
                self._know(digest.of_few(value, _FEW))
        elif depth and isinstance(value, (list, tuple, dict)):
            if len(value) <= _VALUES:
                for item in list(value.values() if isinstance(value, dict) else value):
                    self._add(item, depth - 1)
        elif depth and not isinstance(value, (type, types.ModuleType, types.FunctionType)) and (torch is None or not isinstance(value, torch.nn.Module)):
            attributes = getattr(value, "__dict__", None)
            if type(attributes) is dict and len(attributes) <= _VALUES:
                for item in list(attributes.values()):
                    self._add(item, depth - 1)

    def _know(self, numbers):
        """Neither counts nor what stands for no number yet, as the best loss before the first."""
        self._numbers.update(number for number in numbers if math.isfinite(number) and not number.is_integer())

    def has(self, tensor):
        """Whether all that this tensor says was there already. Whole numbers count samples, and say nothing alone."""
        there, version = self._tensors.get(id(tensor), (None, None))
        if there is not None and there() is tensor and version == _version(tensor):
            return True
        new = [number for number in digest.of_few(tensor, _FEW) if not number.is_integer()]
        return bool(new) and all(any(abs(number - known) <= _CLOSE * abs(known) for known in self._numbers) for number in new)


def _version(tensor):
    try:
        return tensor._version
    except RuntimeError:
        # Tensors of inference mode count no changes.
        return None


def _frames(frame):
    """Those of the program, from the inside."""
    left = _FRAMES
    while frame is not None and left:
        if core._is_own(frame.f_code.co_filename) is not None:
            left -= 1
            yield frame
        frame = frame.f_back


def _values_in(frame):
    """Its variables. Nobody else sees the dictionary of them where the function does not ask for `locals`."""
    if not frame.f_code.co_flags & inspect.CO_OPTIMIZED:
        return list(frame.f_locals.values())[:4 * _VALUES]
    if "locals" in frame.f_code.co_names:
        return []
    variables = frame.f_locals
    found = list(variables.values())[:_VALUES]
    _let_go(variables)
    return found


def _let_go(variables):
    """Before Python 3.13 that dictionary stays, and would keep alive what the program lets go."""
    if sys.version_info < (3, 13):
        variables.clear()


def forget(frame):
    """Behind a profile function: Python has filled these dictionaries for it again."""
    if sys.version_info < (3, 13):
        for of in _frames(frame):
            _values_in(of)
