"""Losses whose graphs stay in memory, and the line of the program that keeps them."""
import collections
import re
import sys
import weakref

from . import core, earlier, source

# Backward passes that are remembered, and graphs of them that are too many.
_MOST, _MANY = 64, 16
# Bytes by which memory grows before lists are looked at, the least that there were, and the fewest losses in a list.
_GROWTH, _least, _FEWEST = 50 << 20, [1 << 62], 6
_graphs = collections.deque(maxlen=_MOST)
_is_told = [False]
_GROWS = r"\b%s\b[^=\n]*\.(append|extend|insert|update|add|setdefault)\(|\b%s\b[^=\n]*\+=|\b%s\s*=\s*%s\s*\+"


class _Mark:
    """Lies in the graph of a loss, and is gone with it."""


def mark(loss):
    """This loss is about to be sent backward."""
    graph = _undivided(getattr(loss, "grad_fn", None))
    if graph is not None and not _is_told[0]:
        there = graph.metadata["hvd-lab"] = _Mark()
        _graphs.append(weakref.ref(there))


def _undivided(graph):
    """Of a loss that a library has scaled, the one that the program knows: whoever keeps the scaled one keeps it too."""
    for _ in range(4):
        inner = [of for of, _ in getattr(graph, "next_functions", ()) if of is not None]
        if not type(graph).__name__.startswith(("Div", "Mul")) or len(inner) != 1 or not hasattr(inner[0], "metadata"):
            break
        graph = inner[0]
    return graph


def look(memory):
    """`memory`: bytes of this process. Where they grow, a list may keep losses that nobody sends backward, as those of a validation."""
    _least[0] = min(_least[0], memory)
    if _is_told[0]:
        return
    where = _line(3) if sum(graph() is not None for graph in _graphs) >= _MANY else _line(2) if memory > _least[0] + _GROWTH else None
    if where is not None:
        _is_told[0] = True
        core.tell_once("kept graphs", where)


def _line(depth):
    """`depth`: 3 where losses are known to be kept, 2 where a list of many would be the reason."""
    for frame in earlier.frames(sys._getframe(1)):
        # Lists grow by design; a tensor may be the loss itself.
        for name in earlier.read(frame, lambda variables: _kept_names(variables, depth)) or ():
            line = source.line_in(frame.f_code, _growth_of(name))
            if line is not None:
                return line
    return _line_of_model(depth) or (core.place() if depth == 3 else None)


def _line_of_model(depth):
    """Of a wrapped model that keeps losses in a field, as one of Lightning may."""
    from . import averaging

    for model in [wrapper.wrapped().module for wrapper in averaging.wrappers if wrapper.wrapped() is not None]:
        for name in _kept_names(dict(vars(model)), depth):
            line = source.line_in(type(model), _growth_of(name))
            if line is not None:
                return line
    return None


def _growth_of(name):
    return re.compile(_GROWS.replace("%s", re.escape(name)))


def _kept_names(variables, depth):
    named = _names(variables)
    return [name for tensors in (False, True) for name, value in named if _is_kept(value, depth) and hasattr(value, "grad_fn") == tensors]


def _is_kept(value, depth):
    return _keeps(value, depth) if depth == 3 else isinstance(value, (list, collections.deque)) and len(value) >= _FEWEST and _keeps(value, depth)


def _names(variables):
    """Variables of a function, and fields of the object whose method it is."""
    found = list(variables.items())
    own = variables.get("self")
    return found + list(getattr(own, "__dict__", {}).items())


def _keeps(value, depth):
    if hasattr(value, "grad_fn"):
        return value.grad_fn is not None
    if isinstance(value, (list, collections.deque)):
        return depth > 0 and len(value) > 0 and _keeps(value[-1], depth - 1)
    if isinstance(value, dict):
        return depth > 0 and any(_keeps(item, depth - 1) for item in list(value.values())[:64])
    # A meter of the program's own.
    is_object = depth == 3 and type(value).__module__ == "__main__" and hasattr(value, "__dict__")
    return is_object and not hasattr(value, "parameters") and _keeps(vars(value), depth - 1)
