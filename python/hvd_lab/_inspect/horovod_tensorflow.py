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
        core.tell_once(by, settings=horovod_common.settings(module, kwargs))
        keras_loop.averages[0] = True
        return result

    return make


def _tells_broadcast(old):
    @functools.wraps(old)
    def broadcast_variables(variables, *args, **kwargs):
        result = old(variables, *args, **kwargs)
        _tell_broadcast(variables)
        return result

    return broadcast_variables


@guard
def _tell_broadcast(variables):
    State.progress += 1
    if core.may_speak():
        where = place(sys._getframe(3))
        horovod_common.look_for_nothing(variables, where)
        send("state", action="broadcast_model", place=where, updates=State.updates)
