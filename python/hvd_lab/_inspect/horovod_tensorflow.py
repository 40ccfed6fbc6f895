"""Horovod with TensorFlow: loops of the program's own with a tape."""
import functools
import sys

from . import core, horovod_common, keras_hooks
from .core import State, guard, place, replace, send


def install(module):
    horovod_common.install(module)
    import tensorflow

    keras_hooks.install(tensorflow.keras, tensorflow)
    replace(module, "DistributedGradientTape", _tells_tape)
    replace(module, "DistributedOptimizer", _tells_optimizer)
    replace(module, "broadcast_variables", _tells_broadcast)


def _tells_tape(old):
    return _tells("horovod.DistributedGradientTape", old)


def _tells_optimizer(old):
    return _tells("horovod.DistributedOptimizer", old)


def _tells(by, old):
    @functools.wraps(old)
    def make(*args, **kwargs):
        result = old(*args, **kwargs)
        # A tape is made anew for each batch: the first one is told.
        core.tell_once(by)
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
        send("state", action="broadcast_model", place=place(sys._getframe(3)), updates=State.updates)
