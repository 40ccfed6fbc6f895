"""Modules beside the model that is trained: copies of it, such as moving averages, teachers, and losses that remember."""
import collections
import sys
import weakref

from . import core, digest
from .core import State, guard, place, replace, send

_MOST = 64
# Of each line that copied modules before the first update, the last one: the parts of a model are copied before it.
_copies = {}
# Where all other modules were made, and copies that a library makes, as timm's moving average: before the wrapper by its own advice.
_made, _of_libraries = core.Marks(), core.Marks()
_is_told = [False]


def install(torch):
    replace(torch.nn.Module, "__setstate__", _remembers)
    replace(torch.nn.Module, "__init__", _remembers_making)


def _remembers_making(old):
    """Until the modules have been told: a training may make some in every step."""
    remembering = core.remembers_making(_made)(old)

    def __init__(self, *args, **kwargs):
        (old if _is_told[0] else remembering)(self, *args, **kwargs)

    return __init__


def _remembers(old):
    """What `copy.deepcopy` calls on the copy of a module."""

    def __setstate__(self, state):
        old(self, state)
        _remember(self)

    return __setstate__


@guard
def _remember(module):
    if State.updates:
        return
    frame = sys._getframe(3)
    while frame.f_back is not None and frame.f_globals.get("__name__") == "copy":
        frame = frame.f_back
    if core._is_own(frame.f_code.co_filename) is None:
        _of_libraries[module] = True
        return
    while frame.f_back is not None and frame.f_code.co_name == "__init__":
        # Of a class that keeps a copy, the line that makes one.
        frame = frame.f_back
    where = place(frame)
    key = where["file"], where["line"]
    if where["line"] and (key in _copies or len(_copies) < _MOST):
        _copies[key] = weakref.ref(module)


def modules():
    """All that have been made so far."""
    return [module for module in _made if "_modules" in getattr(module, "__dict__", ())]


def tell(parameters, trained):
    """Before the second update of these parameters: the modules of which nothing is among what any optimizer trains."""
    shapes = collections.Counter(parameter.shape for parameter in parameters)
    own = set(map(id, parameters))
    for (file, line), copy in list(_copies.items()):
        of_copy = list(copy().parameters()) if copy() is not None else []
        # The model that is trained may be a copy itself.
        if of_copy and own.isdisjoint(map(id, of_copy)) and not shapes - collections.Counter(parameter.shape for parameter in of_copy):
            del _copies[file, line]
            _tell("copy of the model", {"file": file, "line": line}, of_copy, ())
    if not _is_told[0]:
        _is_told[0] = True
        _tell_others(own.union(map(id, trained)))


def _tell_others(trained):
    known = modules()
    parts = {id(part) for module in known for part in module._modules.values()}
    for module in [module for module in known if id(module) not in parts][:_MOST]:
        try:
            _look(module, trained)
        except Exception:
            # A class of the program's own may give its parts in another way.
            continue


def _look(module, trained):
    parameters = list(module.parameters())
    # One that learns may be wrapped later, and gets its weights then.
    learns = any(parameter.requires_grad or id(parameter) in trained for parameter in parameters)
    if not learns and not any(part in _of_libraries for part in module.modules()):
        _tell("module beside the model", _made[module], parameters, list(_buffers(module)), (type(module).__name__,))


def _buffers(module):
    """But statistics of batches, of which each rank has its own unless somebody averages them."""
    import torch

    for part in module.modules():
        if not isinstance(part, torch.nn.modules.batchnorm._NormBase):
            yield from part.buffers(recurse=False)


def _tell(by, where, parameters, buffers, settings=()):
    import torch

    is_lazy = getattr(torch.nn.parameter, "is_lazy", lambda tensor: False)
    if where["line"] and (parameters or buffers) and not any(map(is_lazy, (*parameters, *buffers))):
        send("wrapped", by=by, place=where, tensors=len(parameters), after=digest.of_tensors([*parameters, *buffers]), settings=list(settings))
