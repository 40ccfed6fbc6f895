"""Horovod with Keras: the optimizer that averages, and Horovod's own callbacks."""
import functools
import sys

from . import collectives, core, horovod_common, keras_hooks
from .core import State, guard, place, replace, send


def install(module):
    import tensorflow

    horovod_common.install(module)
    keras_hooks.install(tensorflow.keras, tensorflow)
    replace(module, "DistributedOptimizer", functools.partial(_tells_optimizer, module))
    replace(module, "load_model", _tells_load)
    callbacks = module.callbacks
    replace(callbacks.BroadcastGlobalVariablesCallback, "on_batch_end", _tells_broadcast)
    replace(callbacks.MetricAverageCallback, "on_epoch_end", _tells_average)
    replace(callbacks.LearningRateWarmupCallback, "on_train_begin", core.looks_behind(functools.partial(_tell_warmup, module)))


def _tells_optimizer(module, old):
    @functools.wraps(old)
    def DistributedOptimizer(*args, **kwargs):
        optimizer = old(*args, **kwargs)
        _tell_optimizer(module, optimizer, kwargs)
        return optimizer

    return DistributedOptimizer


@guard
def _tell_optimizer(module, optimizer, given):
    where = place(sys._getframe(3))
    keras_hooks.made_optimizer(optimizer, where)
    send("wrapped", by="horovod.DistributedOptimizer", place=where, settings=horovod_common.settings(module, given))
    passes = given.get("backward_passes_per_step", 1)
    if isinstance(passes, int) and passes > 1 and not given.get("average_aggregated_gradients"):
        core.tell_once("batches added up", where, (str(passes),))


def _tells_load(old):
    @functools.wraps(old)
    def load_model(*args, **kwargs):
        model = old(*args, **kwargs)
        _tell_load(model)
        return model

    return load_model


@guard
def _tell_load(model):
    where = place(sys._getframe(3))
    if getattr(model, "optimizer", None) is not None:
        send("wrapped", by="horovod.DistributedOptimizer", place=where)
    send("state", action="loaded_model", place=where, digest=keras_hooks.weights_of(model.variables), updates=State.updates)


def _tells_broadcast(old):
    def on_batch_end(self, *args, **kwargs):
        is_first = not getattr(self, "broadcast_done", True)
        result = old(self, *args, **kwargs)
        if is_first:
            _tell_broadcast(self)
        return result

    return on_batch_end


@guard
def _tell_broadcast(callback):
    State.progress += 1
    send("state", action="broadcast_model", place=keras_hooks._made.get(callback) or place(sys._getframe(3)), updates=State.updates)


def _tells_average(old):
    def on_epoch_end(self, *args, **kwargs):
        _tell_average(self)
        try:
            return old(self, *args, **kwargs)
        finally:
            State.within = None

    return on_epoch_end


@guard
def _tell_average(callback):
    where = keras_hooks._made.get(callback) or place(sys._getframe(3))
    collectives.count("hvd.metric_average", where, None)
    State.within = ("hvd.metric_average", where)


@guard
def _tell_warmup(module, result, callback, *args, **kwargs):
    """One that climbs to the rate of one rank, where the optimizer was made with that of all."""
    target, made = float(callback.initial_lr), keras_hooks.rate_of(callback.model.optimizer)
    if module.size() > 1 and made and made[0] > 0 and abs(target * module.size() / made[0] - 1) < 0.01:
        core.tell_once("warm-up of one rank", keras_hooks._made.get(callback) or place(sys._getframe(3)), (repr(target), repr(made[0])))
