"""Callbacks, as Keras has them: what a program does at the begin and end of training, of an epoch and of a batch."""
import math

from . import _schedule
from ._library import started
from ._numbers import number


class Callback:
    """To be inherited from. `self.model` is the model that is trained, `self.params` has "epochs", "steps" and "verbose"."""

    def __init__(self):
        self.model = None
        self.params = None

    def set_model(self, model):
        self.model = model

    def set_params(self, params):
        self.params = params

    def on_train_begin(self, logs=None):
        """Before the first epoch."""

    def on_train_end(self, logs=None):
        """After the last epoch."""

    def on_epoch_begin(self, epoch, logs=None):
        """`epoch` counts from 0."""

    def on_epoch_end(self, epoch, logs=None):
        """`logs` has loss, accuracy, val_loss and val_accuracy. Later callbacks see what is changed in it."""

    def on_train_batch_begin(self, batch, logs=None):
        """`batch` counts from 0 in each epoch."""
        self.on_batch_begin(batch, logs)

    def on_train_batch_end(self, batch, logs=None):
        """`logs` has the loss."""
        self.on_batch_end(batch, logs)

    def on_batch_begin(self, batch, logs=None):
        """The old name of `on_train_batch_begin`."""

    def on_batch_end(self, batch, logs=None):
        """The old name of `on_train_batch_end`."""


class LearningRateScheduler(Callback):
    """Sets the rate to `schedule(epoch)` at the begin of every epoch."""

    def __init__(self, schedule):
        super().__init__()
        self.schedule = schedule

    def on_epoch_begin(self, epoch, logs=None):
        self.model.optimizer.learning_rate = self.schedule(epoch)

    def on_train_end(self, logs=None):
        # Only now: a schedule may remember its calls.
        if type(self).on_epoch_begin is LearningRateScheduler.on_epoch_begin:
            _schedule.tell(self.schedule)


class StopAtAccuracy(Callback):
    """Ends the training when val_accuracy was above `target` in `patience` epochs in a row.

    The root decides, and the other ranks follow: a rank that stopped alone would leave the others waiting.
    """

    def __init__(self, target=0.85, patience=2):
        super().__init__()
        self.target = number("target", target)
        self.patience = number("patience", patience)

    def on_train_begin(self, logs=None):
        started().stop_at(self.target, math.ceil(self.patience))

    def on_epoch_end(self, epoch, logs=None):
        if started().agree_to_stop(logs["val_accuracy"]):
            self.model.stop_training = True


class ModelCheckpoint(Callback):
    """Writes a checkpoint into `log_dir` at the end of every epoch, when all callbacks are done."""

    def __init__(self, log_dir):
        super().__init__()
        self.log_dir = log_dir

    def on_epoch_end(self, epoch, logs=None):
        self.model.checkpoint = self.log_dir


class TensorBoard(Callback):
    """Writes the numbers of every epoch into `log_dir`, for TensorBoard."""

    def __init__(self, log_dir):
        super().__init__()
        self.log_dir = log_dir

    def on_train_begin(self, logs=None):
        started().write_tensorboard(self.log_dir)
