"""Horovod with TensorFlow: loops of the program's own with a tape."""
import functools
import sys

from . import core, horovod_common, keras_hooks, keras_loop
from .core import State, guard, place, replace, send


def install(module):
    horovod_common.install(module)
    import tensorflow

    keras_hooks.install(tensorflow.keras, tensorflow)
    keras_loop.install(tensorflow)
    for name in ("DistributedGradientTape", "DistributedOptimizer"):
        replace(module, name, functools.partial(_tells, module, "horovod." + name))
    replace(module, "broadcast_variables", _tells_broadcast)


def _tells(module, by, old):
    @functools.wraps(old)
    def make(*args, **kwargs):
        result = old(*args, **kwargs)
        # A tape is made anew for each batch: the first one is told.
        where = keras_loop._place_in_graph() if keras_loop._is_within() else None
        core.tell_once(by, where, horovod_common.settings(module, kwargs))
        keras_loop.averages[0] = True
        return result

    return make


def _tells_broadcast(old):
    @functools.wraps(old)
    def broadcast_variables(variables, *args, **kwargs):
        is_told = _tell_names(variables)
        try:
            result = old(variables, *args, **kwargs)
        finally:
            if is_told:
                State.within = None
        _tell_broadcast(variables)
        return result

    return broadcast_variables


# Names of tensors that one broadcast tells, and broadcasts that tell them.
_MOST_NAMES, _MOST_TOLD = 512, 16
_told = [0]


@guard
def _tell_names(variables):
    """The names by which Horovod knows what it broadcasts: ranks that wait for different ones never meet."""
    if not hasattr(variables, "__len__") or keras_loop._is_within() or not core.may_speak() or State.within is not None:
        return False
    where = place(sys._getframe(3))
    if _told[0] < _MOST_TOLD:
        _told[0] += 1
        names = [str(getattr(variable, "name", ""))[:80] for variable in list(variables)[:_MOST_NAMES]]
        send("wrapped", by="names to broadcast", place=where, settings=names)
    State.within = ("hvd.broadcast_variables", where)
    return True


@guard
def _tell_broadcast(variables):
    State.progress += 1
    if core.may_speak():
        where = place(sys._getframe(3))
        horovod_common.look_for_nothing(variables, where)
        send("state", action="broadcast_model", place=where, updates=State.updates)
