"""Calls of a wrapped model that do not go through its wrapper, and their line."""
import sys

from . import core
from .core import place

# Wrappers whose forward pass is going on.
inside = [0]
seen_at = [None]
# Number of the hook on all modules, while it looks, and the calls that it may still look at.
_hook = [None]
_left = [0]
# Calls of modules until nothing is found: some updates of a large model.
_MOST = 20_000


@core.guard
def look(wrappers, gone):
    """From now on, for some time: finds the line that calls one of these models, or a part of it, past the wrapper.

    `gone`: numbers of parameters whose wrapper is gone.
    """
    if _hook[0] is not None or _left[0] < 0:
        return
    import torch

    owners = {id(module) for wrapper in wrappers for module in wrapper.wrapped().module.modules()}
    _left[0] = _MOST

    def before_forward(module, arguments):
        _left[0] -= 1
        if gone and any(id(parameter) in gone for parameter in module.parameters()):
            owners.add(id(module))
        if not inside[0] and id(module) in owners and torch.is_grad_enabled():
            seen_at[0] = place(_outermost(sys._getframe(2), owners))
            _left[0] = -1
        if _left[0] <= 0:
            _stop()

    _hook[0] = core.before_forwards(before_forward)


def _outermost(frame, owners):
    """The frame outside of the methods of the model, such as an `encode` that the program calls, and of the passes of models around it."""
    import torch

    found, at = frame, frame
    while at is not None and at.f_code.co_name != "<module>":
        code = at.f_code
        of = at.f_locals.get(code.co_varnames[0]) if code.co_argcount else None
        is_pass = code.co_name == "forward" and isinstance(of, torch.nn.Module)
        if (is_pass or id(of) in owners) and at.f_back is not None:
            found = at.f_back
        at = at.f_back
    return found


def _stop():
    if _hook[0] is not None:
        _hook[0]()
        _hook[0] = None
