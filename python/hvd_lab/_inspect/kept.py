"""Losses whose graphs stay in memory, and the line of the program that keeps them."""
import collections
import inspect
import re
import sys
import weakref

from . import core

# Backward passes that are remembered, and graphs of them that are too many.
_MOST, _MANY = 64, 16
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


def look():
    if not _is_told[0] and sum(graph() is not None for graph in _graphs) >= _MANY:
        _is_told[0] = True
        core.tell_once("kept graphs", _line())


def _line():
    frame = sys._getframe(1)
    while frame is not None:
        file = core._is_own(frame.f_code.co_filename)
        if file is not None:
            # Lists grow by design; a tensor may be the loss itself.
            names = [name for tensors in (False, True) for name, value in _names(frame) if _keeps(value, 3) and hasattr(value, "grad_fn") == tensors]
            for name in names:
                line = _line_of(frame.f_code, re.compile(_GROWS.replace("%s", re.escape(name))))
                if line:
                    return {"file": file, "line": line}
        frame = frame.f_back
    return core.place()


def _names(frame):
    """Variables of a frame, and fields of the object whose method it is."""
    found = list(frame.f_locals.items())
    own = frame.f_locals.get("self")
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


def _line_of(code, grows):
    try:
        lines, first = inspect.getsourcelines(code)
    except (OSError, TypeError):
        return None
    return next((max(first, 1) + at for at, text in enumerate(lines) if grows.search(text)), None)
