"""A training on photos as NVIDIA's nvcnn does it: a builder of networks, the image pipeline, and a trainer with sync().

The trainer averages the gradients over the ranks, as the lab's own `hvd-measure nvcnn` does.
"""
from types import SimpleNamespace

from ._library import call, native, started
from ._numbers import number, positive
from .layers import _pair, _stride


def parse_args():
    """Finds the other ranks, and gives the flags as an object: `args.model`, `args.batch_size` and so on. `--help` lists them."""
    return SimpleNamespace(**started(native.photos_start).photos_flags())


class Network:
    """Writes a network down, layer by layer. Each call takes what the call before it gave, and gives what comes out."""

    def __init__(self):
        self.layers = []
        self.last = object()

    def conv(self, x, outputs, kernel, strides=(1, 1), padding="SAME"):
        """A convolution with so many outputs, and a ReLU."""
        numbers = [positive("outputs", outputs), *_pair("kernel", kernel), _stride(strides), _padding(padding)]
        return self._add(x, "conv", numbers)

    def pool(self, x, mode, window, strides=(2, 2), padding="VALID"):
        """The largest number of each window."""
        if mode != "MAX":
            raise ValueError('mode is {!r}: use "MAX"'.format(mode))
        return self._add(x, "max_pool", [*_pair("window", window), _stride(strides), _padding(padding)])

    def flatten(self, x):
        """All numbers in one line."""
        return self._add(x, "flatten", [])

    def fully_connected(self, x, outputs):
        """A dense layer with so many outputs, and a ReLU."""
        return self._add(x, "dense", [positive("outputs", outputs)])

    def dropout(self, x, keep_prob=0.5):
        """Drops numbers in training; `keep_prob` is the part that is kept."""
        return self._add(x, "dropout", [1.0 - number("keep_prob", keep_prob)])

    def _add(self, x, kind, numbers):
        if x is not self.last:
            raise ValueError("a layer takes what the layer before it gave: write x = net.{}(x, ...)".format(kind))
        self.layers.append((kind, [float(number) for number in numbers]))
        self.last = object()
        return self.last


class Model:
    """A model as a program knows it: a function with its layers, the size of its images, its classes and its learning rate."""

    def __init__(self, inference, height, width, learning_rate, classes=1000):
        net = Network()
        if inference(net, net.last) is not net.last:
            raise ValueError("{} has to return what its last layer gave".format(getattr(inference, "__name__", "the model")))
        self.layers = net.layers
        self.height = positive("height", height)
        self.width = positive("width", width)
        self.classes = positive("classes", classes)
        self.learning_rate = number("learning_rate", learning_rate)


class Preprocessing:
    """What is done to a photo: it is decoded, a random part of it is resized, and with a chance of `flip` it is mirrored."""

    def __init__(self, dct_method="INTEGER_FAST", fancy_upscaling=False, flip=0.0):
        if dct_method not in ("INTEGER_FAST", "INTEGER_ACCURATE"):
            raise ValueError('dct_method is {!r}: use "INTEGER_FAST" or "INTEGER_ACCURATE"'.format(dct_method))
        self.dct_method = dct_method
        self.fancy_upscaling = bool(fancy_upscaling)
        self.flip = number("flip", flip)


class Trainer:
    """The photos, the threads that prepare them, the weights of this rank, and an optimizer that averages gradients."""

    def __init__(self, args, model, preprocessing):
        if not isinstance(model, Model) or not isinstance(preprocessing, Preprocessing):
            raise TypeError("Trainer takes the flags, a nvcnn.Model and a nvcnn.Preprocessing")
        sizes = (model.height, model.width, model.classes)
        preparing = (preprocessing.dct_method == "INTEGER_ACCURATE", preprocessing.fancy_upscaling, preprocessing.flip)
        with call("nvcnn.Trainer"):
            self.num_steps = native.photos_begin((args.model, *sizes, model.learning_rate, model.layers), preparing)

    def sync(self):
        """Gives the weights and the momentum of rank 0 to all ranks. Every rank has to call it."""
        with call("trainer.sync"):
            native.photos_sync()

    def steps(self):
        """The rounds of the loop: 0, 1, 2 and so on."""
        native.photos_enter()
        yield from range(self.num_steps)
        native.photos_leave()

    def train_step(self):
        """Train on the next batch; its loss, or None if there are no more photos."""
        with call("trainer.train_step"):
            return native.photos_step()


def _padding(value):
    if value not in ("SAME", "VALID"):
        raise ValueError('padding is {!r}: use "SAME" or "VALID"'.format(value))
    return float(value == "SAME")
