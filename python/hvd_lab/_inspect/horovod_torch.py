"""Horovod with PyTorch: the optimizer that averages, and the broadcasts of a start."""
import functools
import gc
import sys
import time
import weakref

from . import averaging, core, digest, horovod_common, scaling, source, states
from .core import State, guard, place, replace, send


def install(module):
    horovod_common.install(module)
    replace(module, "DistributedOptimizer", functools.partial(_tells_optimizer, module))
    replace(module, "broadcast_parameters", functools.partial(_tells_broadcast, "broadcast_model"))
    replace(module, "broadcast_optimizer_state", functools.partial(_tells_broadcast, "broadcast_optimizer"))


def _tells_optimizer(module, old):
    def DistributedOptimizer(*args, **kwargs):
        optimizer = old(*args, **kwargs)
        _tell_optimizer(module, optimizer, kwargs)
        _look_at_state(args[0] if args else kwargs.get("optimizer"), optimizer)
        # A class is made for each optimizer.
        replace(type(optimizer), "synchronize", _timed)
        return optimizer

    return DistributedOptimizer


@guard
def _tell_optimizer(module, optimizer, given):
    parameters = [parameter for parameter in averaging._parameters(optimizer) if parameter.requires_grad]
    averaging.averaged.append(frozenset(map(id, parameters)))
    if hasattr(optimizer, "_handles"):
        _made.add(optimizer)
    send("wrapped", by="horovod.DistributedOptimizer", place=place(sys._getframe(3)), tensors=len(parameters), settings=horovod_common.settings(module, given))


@guard
def _look_at_state(inner, optimizer):
    """What an optimizer remembers stays behind in it: Horovod makes another one of its settings."""
    if inner in states.loaded_by_program and getattr(inner, "state", None) and not optimizer.state:
        core.tell_once("state left behind", place(sys._getframe(3)))


# Horovod's optimizers that there are.
_made = weakref.WeakSet()


def watch_clipping(torch):
    """Before the program takes these functions for itself, which may be before it imports Horovod."""
    for owner in (torch.nn.utils, torch.nn.utils.clip_grad):
        for name in ("clip_grad_norm_", "clip_grad_value_"):
            replace(owner, name, core.looks_first(_look_at_clip))


@guard
def _look_at_clip(*args, **kwargs):
    averaging.clipped[:] = State.calls, place(sys._getframe(3))
    if any(handle is not None for optimizer in _made for handle, _ in optimizer._handles.values()):
        core.tell_once("clipped too early")


def _timed(old):
    def synchronize(self, *args, **kwargs):
        _look_at_changes(self)
        began = time.perf_counter()
        try:
            result = old(self, *args, **kwargs)
        finally:
            State.times["exchange"] += time.perf_counter() - began
        _note_averages(self)
        return result

    return synchronize


@guard
def _look_at_changes(optimizer):
    """Gradients that the program changes while they are averaged. Older versions change them themselves, in another thread."""
    horovod = sys.modules["horovod.torch"]
    if not hasattr(horovod, "ProcessSet") or horovod.rocm_built() or "clipped too early" in core._told:
        return
    if any(of[0] is not None and scaling.has_changed(parameter) for parameter, of in getattr(optimizer, "_handles", {}).items()):
        core.tell_once("changed too early", source.line_that_divides(place()))


@guard
def _note_averages(optimizer):
    if core.sampled(State.updates):
        scaling.averaged(averaging._parameters(optimizer))


def _tells_broadcast(action, old):
    def broadcast(of, *args, **kwargs):
        # What happens inside belongs to Horovod: a first step of an optimizer without a state is none of the program's.
        within, State.within = State.within, ("hvd." + old.__name__, _place_of_call())
        before = _weights(of)
        try:
            result = old(of, *args, **kwargs)
        finally:
            State.within = within
        _tell_broadcast(action, of, before)
        return result

    return broadcast


def _tell_buffers(tensors, where):
    """Of the model that was broadcast, which Horovod knows only by its tensors: whether its buffers came with them shows on other ranks."""
    import torch

    sent = set(map(digest.address, tensors))
    modules = [of for of in gc.get_objects() if issubclass(type(of), torch.nn.Module) and "_modules" in vars(of)]
    parts = {id(part) for module in modules for part in module.children()}
    whole = [module for module in modules if id(module) not in parts]
    models = [module for module in whole if any(digest.address(parameter) in sent for parameter in module.parameters())]
    buffers = dict(max(models, key=lambda model: len(list(model.parameters()))).named_buffers()) if models else {}
    if buffers:
        send("wrapped", by="buffers behind the broadcast", place=where, after=digest.of_tensors(buffers.values()), settings=list(buffers)[:3])


@guard
def _place_of_call():
    return place(sys._getframe(3))


@guard
def _weights(of):
    """A digest of what an optimizer trains, before its first step."""
    return digest.of_tensors(averaging._parameters(of)) if hasattr(of, "param_groups") and State.updates == 0 else ""


@guard
def _tell_broadcast(action, of, before):
    State.progress += 1
    if not core.may_speak():
        return
    if hasattr(of, "state_dict"):
        tensors = [value for state in getattr(of, "state", {}).values() for value in state.values() if hasattr(value, "is_sparse")]
    else:
        tensors = [value for value in (of.values() if hasattr(of, "values") else [pair[1] for pair in list(of)]) if hasattr(value, "is_sparse")]
    where = place(sys._getframe(3))
    if before and before != _weights(of):
        core.tell_once("weights decayed", where)
    if action == "broadcast_model":
        horovod_common.look_for_nothing(of, where)
        if State.updates == 0:
            _tell_buffers(tensors, where)
    send("state", action=action, place=where, digest=digest.of_tensors(tensors), updates=State.updates)
