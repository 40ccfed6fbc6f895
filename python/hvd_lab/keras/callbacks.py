"""Horovod's callbacks. The calls between ranks are in them, so every rank has to have the same ones."""
import math

from .._library import started
from .._numbers import count, number
from ..callbacks import Callback
from . import _ranks


class BroadcastGlobalVariablesCallback(Callback):
    """Gives one rank's weights, batch norm statistics and optimizer state to all ranks, before the first batch.

    (Horovod for Keras does it after the first batch. Before it, not even one step is taken from different weights.)
    """

    def __init__(self, root_rank, device=""):
        super().__init__()
        _ranks.size()
        self.root_rank = count("root_rank", root_rank)

    def on_train_begin(self, logs=None):
        started().broadcast_state(self.root_rank)


class MetricAverageCallback(Callback):
    """Averages val_loss and val_accuracy over the ranks at the end of every epoch.

    It has to stand before all callbacks that decide by these numbers. Loss and accuracy of training stay the rank's own.
    """

    def __init__(self, device=""):
        super().__init__()
        _ranks.size()

    def on_epoch_end(self, epoch, logs=None):
        logs["val_loss"], logs["val_accuracy"] = started().average_metrics(logs["val_loss"], logs["val_accuracy"])


class LearningRateWarmupCallback(Callback):
    """Lets the rate climb batch by batch, from `initial_lr / size` to `initial_lr`, over the first `warmup_epochs` epochs."""

    def __init__(self, initial_lr, warmup_epochs=5, verbose=0):
        super().__init__()
        _ranks.size()
        self.initial_lr = number("initial_lr", initial_lr)
        self.warmup_epochs = number("warmup_epochs", warmup_epochs)
        self.verbose = verbose
        self.epoch = 0

    def on_epoch_begin(self, epoch, logs=None):
        self.epoch = epoch

    def on_batch_begin(self, batch, logs=None):
        size, warmup_epochs = _ranks.size(), self.warmup_epochs
        if self.epoch >= warmup_epochs or size == 1:
            return
        # Past the end of a fractional warmup the ramp stays where it ends.
        epoch = min(self.epoch + (batch + 1) / self.params["steps"], warmup_epochs)
        self.model.optimizer.learning_rate = self.initial_lr / size * (epoch * (size - 1) / warmup_epochs + 1)

    def on_epoch_end(self, epoch, logs=None):
        if self.verbose and _ranks.size() > 1 and epoch + 1 == math.ceil(self.warmup_epochs):
            self.model.warmed_up_to = self.initial_lr
