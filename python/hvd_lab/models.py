"""The model, and `fit`: the loop over epochs and batches, in the order of Keras."""
import sys

from ._library import call, place, started
from ._numbers import count, number, real
from ._words import HOROVOD
from .callbacks import Callback, ModelCheckpoint, StopAtAccuracy, TensorBoard
from .fashion_mnist import Batches
from .keras.callbacks import BroadcastGlobalVariablesCallback, LearningRateWarmupCallback, MetricAverageCallback
from .keras.optimizer import DistributedOptimizer
from .layers import Conv2D, Dense, Layer
from .mnist import Digits, Labels
from .optimizers import Optimizer

# In these the ranks talk to each other.
TALKING = (BroadcastGlobalVariablesCallback, MetricAverageCallback, StopAtAccuracy)
# These leave the rate of an epoch as it is after the warmup. A learner's own callback may do anything.
STEADY = TALKING + (LearningRateWarmupCallback, ModelCheckpoint, TensorBoard)


class Model:
    """A network with weights of its own, drawn when it is made."""

    # Whether it is trained in the exercise of the ten steps, whose numbers errors name.
    steps = True

    def __init__(self, name, weight_decay=0.0):
        if name is not None:
            with call("WideResidualNetwork") as native:
                native.build_model(name)
        self.name = name
        self.weight_decay = weight_decay
        self.optimizer = None
        self.stop_training = False
        # What callbacks ask of the end of an epoch: the folder for a checkpoint, and the rate that a warmup has reached.
        self.checkpoint = None
        self.warmed_up_to = None

    def compile(self, optimizer, loss="categorical_crossentropy", metrics=("accuracy",)):
        """Choose the optimizer. The loss is the cross entropy, and the metric is the accuracy."""
        if not isinstance(optimizer, Optimizer):
            raise TypeError("compile takes an optimizer such as SGD(learning_rate=0.01), not {!r}".format(optimizer))
        if loss != "categorical_crossentropy" or list(metrics) != ["accuracy"]:
            raise ValueError('this model is trained with loss="categorical_crossentropy" and metrics=["accuracy"] only')
        _rate(optimizer)
        is_distributed = isinstance(optimizer, DistributedOptimizer)
        momentum, weight_decay = number("momentum", optimizer.momentum), number("weight_decay", self.weight_decay)
        started().build_optimizer(optimizer.name, momentum, weight_decay, is_distributed)
        self.optimizer = optimizer

    def load_latest(self, log_dir, epochs):
        """Load the newest checkpoint in `log_dir` of at most `epochs` epochs, if there is one. Returns its epoch, or 0."""
        return started().load_latest(log_dir, count("epochs", epochs))

    def fit(self, x, validation_data, steps_per_epoch=None, validation_steps=None, epochs=1, initial_epoch=0, callbacks=(),
            verbose=1):
        """Train from `initial_epoch` to `epochs`; after each epoch validate on `validation_data`.

        If the ranks divide an epoch (`steps_per_epoch` times the ranks is at most `len(x)`), they take turns at the images.
        """
        if [isinstance(one, Batches) and one.purpose for one in (x, validation_data)] != ["training", "test"]:
            raise TypeError("fit takes the two iterators of fashion_mnist.load_data(): train_iter, validation_data=test_iter")
        steps = count("steps_per_epoch", len(x) if steps_per_epoch is None else steps_per_epoch)
        validation_steps = count("validation_steps", len(validation_data) if validation_steps is None else validation_steps)
        self._train((x.batch_size, x.loaded), steps, validation_steps, epochs, initial_epoch, callbacks, verbose)

    def _train(self, batches, steps, validation_steps, epochs, initial_epoch, callbacks, verbose):
        """The loop over the epochs. `batches` is the size of a batch, and the call that chose it."""
        with call("model.fit") as native:
            self._train_as(native, batches, steps, validation_steps, epochs, initial_epoch, callbacks, verbose)

    def _train_as(self, native, batches, steps, validation_steps, epochs, initial_epoch, callbacks, verbose):
        if "horovod" in sys.modules and native.topology() is None:
            raise ImportError(HOROVOD)
        callbacks = _callbacks(callbacks)
        epochs, initial_epoch = count("epochs", epochs), count("initial_epoch", initial_epoch)
        warmups = [callback for callback in callbacks if isinstance(callback, LearningRateWarmupCallback)]
        native.begin_training({
            "epochs": epochs,
            "initial_epoch": initial_epoch,
            "steps": steps,
            "validation_steps": validation_steps,
            "batch_size": batches[0],
            "batched_by": batches[1],
            "is_verbose": bool(verbose),
            "warmup_epochs": number("warmup_epochs", warmups[-1].warmup_epochs) if warmups else 0.0,
            "averages": any(isinstance(callback, MetricAverageCallback) for callback in callbacks),
            "writes": any(isinstance(callback, ModelCheckpoint) for callback in callbacks),
            "schedules": any(type(callback) not in STEADY for callback in callbacks),
            "talking": [kind.__name__ for callback in callbacks for kind in TALKING if isinstance(callback, kind)],
            "has_steps": self.steps,
        })
        # No epoch is without a batch.
        steps = max(steps, 1)
        for callback in callbacks:
            callback.set_model(self)
            callback.set_params({"epochs": epochs, "steps": steps, "verbose": verbose})
        self.stop_training = False
        for callback in callbacks:
            callback.on_train_begin({})
        native.start_training()
        logs = {}
        for epoch in range(initial_epoch, epochs):
            logs = self._epoch(native, epoch, steps, callbacks)
            if self.stop_training:
                break
        for callback in callbacks:
            callback.on_train_end(logs)
        native.end_training()

    def _epoch(self, native, epoch, steps, callbacks):
        """Train and validate for one epoch; what it came to."""
        for callback in callbacks:
            callback.on_epoch_begin(epoch, {})
        native.begin_epoch(epoch)
        for batch in range(steps):
            for callback in callbacks:
                callback.on_train_batch_begin(batch, {})
            loss = native.train_batch(batch, _rate(self.optimizer))
            for callback in callbacks:
                callback.on_train_batch_end(batch, {"loss": loss})
        logs = dict(zip(("loss", "accuracy", "val_loss", "val_accuracy"), native.validate()))
        own = (logs["val_loss"], logs["val_accuracy"])
        self.checkpoint = self.warmed_up_to = None
        for callback in callbacks:
            callback.on_epoch_end(epoch, logs)
        judged = (number("val_loss", logs["val_loss"]), number("val_accuracy", logs["val_accuracy"]))
        is_averaged = judged != own or any(isinstance(callback, MetricAverageCallback) for callback in callbacks)
        native.end_epoch(judged if is_averaged else None, self.checkpoint, self.warmed_up_to, bool(self.stop_training))
        return logs

    def evaluate(self, x, verbose=1):
        """Loss and accuracy on all test images. If fit averaged its metrics, the ranks share the work."""
        if not isinstance(x, Batches) or x.purpose != "test":
            raise TypeError("evaluate takes the second iterator of fashion_mnist.load_data(): test_iter")
        # Where its metrics are averaged, the test is part of it.
        with call("model.evaluate (step 6)") as native:
            return list(native.evaluate(bool(verbose)))


class Sequential(Model):
    """A network of layers, one after the other. Its weights are drawn when it is compiled."""

    steps = False

    def __init__(self, layers=()):
        super().__init__(None)
        self.layers = []
        for layer in layers:
            self.add(layer)

    def add(self, layer):
        """One more layer, at the end."""
        if not isinstance(layer, Layer):
            raise TypeError("add takes a layer such as Dense(128, activation='relu'), not {!r}".format(layer))
        if not self.layers and (layer.input_shape is None or len(layer.input_shape) != 3):
            raise ValueError("the first layer has to say what it takes: input_shape=(28, 28, 1)")
        if isinstance(layer, (Conv2D, Dense)) and layer.activation not in ("relu", "softmax"):
            raise ValueError('activation is {!r}: use "relu", and "softmax" in the last layer'.format(layer.activation))
        if self.layers and self.layers[-1].activation == "softmax":
            raise ValueError('no layer can follow one with activation="softmax"')
        self.layers.append(layer)

    def compile(self, optimizer, loss="categorical_crossentropy", metrics=("accuracy",)):
        """Draw the weights, and choose the optimizer. The loss is the cross entropy, and the metric is the accuracy."""
        if not self.layers or self.layers[-1].activation != "softmax":
            raise ValueError('the last layer has to be Dense(10, activation="softmax"): a score for each class')
        shape = tuple(self.layers[0].input_shape)
        started().build_network(shape, [(layer.kind, [float(number) for number in layer.numbers()]) for layer in self.layers])
        super().compile(optimizer, loss, metrics)

    def fit(self, x, y, batch_size=32, epochs=1, verbose=1, callbacks=(), validation_data=None, initial_epoch=0):
        """Train on all images in every epoch, in an order of this rank's own; after each epoch validate on `validation_data`."""
        _check_pair("fit takes x_train, y_train", "training", (x, y))
        _check_pair("fit takes validation_data=(x_test, y_test)", "test", validation_data)
        batch_size = count("batch_size", batch_size)
        if batch_size == 0:
            raise ValueError("batch_size is 0: give 1 or more")
        batches = [-(-len(images) // batch_size) for images in (x, validation_data[0])]
        self._train((batch_size, "model.fit at {}".format(place())), *batches, epochs, initial_epoch, callbacks, verbose)

    def evaluate(self, x, y, verbose=1):
        """Loss and accuracy on the test images."""
        _check_pair("evaluate takes x_test, y_test", "test", (x, y))
        with call("model.evaluate") as native:
            return list(native.evaluate(bool(verbose)))


def WideResidualNetwork(name, weight_decay=0.0):
    """A model of this name, such as wrn-16-10: a Wide ResNet of depth 16 and width 10."""
    return Model(name, weight_decay)


def _callbacks(callbacks):
    """The callbacks as a list, each of which is one."""
    if isinstance(callbacks, Callback):
        raise TypeError("callbacks is a single callback: give a list of them, callbacks=[...]")
    try:
        callbacks = list(() if callbacks is None else callbacks)
    except TypeError:
        raise TypeError("callbacks is {!r}: give a list of callbacks".format(callbacks)) from None
    for callback in callbacks:
        if isinstance(callback, type) and issubclass(callback, Callback):
            raise TypeError("callbacks holds the class {0} itself: call it, as in {0}(...)".format(callback.__name__))
        if not isinstance(callback, Callback):
            raise TypeError("callbacks holds {!r}, which is not a callback".format(callback))
    return callbacks


def _check_pair(what, part, pair):
    kinds = [(type(one), getattr(one, "part", None)) for one in pair or ()]
    if kinds != [(Digits, part), (Labels, part)]:
        raise TypeError("{}, as mnist.load_data() gives them".format(what))


def _rate(optimizer):
    rate = real(optimizer.learning_rate)
    if rate is None:
        raise TypeError("the learning rate is {!r}: give a number".format(optimizer.learning_rate))
    return rate
