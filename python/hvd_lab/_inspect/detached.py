"""The first parameters of a model, which never have a gradient although later ones have: what comes out of them is detached."""
import itertools
import re

from . import core, source

# Of each optimizer: the parameters that had no gradient in any look so far. The look behind which something is said, and fewest tensors.
_never, _LOOK, _FEWEST = core.Marks(), 8, 2
_DETACHES = re.compile(r"\.detach\(\)|\bno_grad\(|\binference_mode\(|\.data\b")


def look(optimizer, parameters, own, number):
    if number > _LOOK:
        return
    without = {id(parameter) for parameter in parameters if parameter.requires_grad and parameter.grad is None}
    _never[optimizer] = never = without & _never.get(optimizer, without)
    if number != _LOOK or not never:
        return
    ids = set(map(id, parameters))
    model = own[0].wrapped().module if own else None
    order = [parameter for parameter in (model.parameters() if own else parameters) if parameter.requires_grad and id(parameter) in ids]
    first = list(itertools.takewhile(lambda parameter: id(parameter) in never, order))
    rest = order[len(first):]
    if len(first) >= _FEWEST and rest and all(id(parameter) not in never for parameter in rest):
        core.tell_once("detached", source.line_in(type(model), _DETACHES, is_only=True) or core.NO_PLACE, (str(len(first)), str(len(order))))
