"""Layers, as Keras names them, for `Sequential`. The trainer computes them."""
from ._numbers import number, positive, whole


class Layer:
    """One layer: its kind and its numbers, as the trainer reads them."""

    kind = None
    activation = None
    input_shape = None

    def numbers(self):
        return []


class Conv2D(Layer):
    """A convolution with so many filters. The first layer says with `input_shape` which images it takes: (28, 28, 1)."""

    kind = "conv"

    def __init__(self, filters, kernel_size, strides=1, padding="valid", activation=None, input_shape=None):
        self.filters = positive("filters", filters)
        self.kernel_size = _pair("kernel_size", kernel_size)
        self.strides = _stride(strides)
        self.padding = _padding(padding)
        self.activation = activation
        self.input_shape = input_shape

    def numbers(self):
        return [self.filters, *self.kernel_size, self.strides, self.padding]


class MaxPooling2D(Layer):
    """The largest number of each window. Windows lie beside each other if `strides` does not say otherwise."""

    kind = "max_pool"

    def __init__(self, pool_size=(2, 2), strides=None, padding="valid"):
        self.pool_size = _pair("pool_size", pool_size)
        self.strides = _stride(self.pool_size if strides is None else strides)
        self.padding = _padding(padding)

    def numbers(self):
        return [*self.pool_size, self.strides, self.padding]


class Dropout(Layer):
    """In training sets each number to 0 with the probability `rate`, and makes the others larger."""

    kind = "dropout"

    def __init__(self, rate):
        self.rate = number("rate", rate)

    def numbers(self):
        return [self.rate]


class Flatten(Layer):
    """All numbers of an image in one line."""

    kind = "flatten"


class Dense(Layer):
    """A layer in which every number that comes in has a weight for each of the `units` that go out."""

    kind = "dense"

    def __init__(self, units, activation=None):
        self.units = positive("units", units)
        self.activation = activation

    def numbers(self):
        return [self.units]


def _pair(name, value):
    side = whole(value)
    sides = tuple(value) if side is None and not isinstance(value, (bool, str)) else (value, value)
    if len(sides) != 2:
        raise ValueError("{} is {!r}: give height and width, such as (3, 3)".format(name, value))
    return tuple(positive(name, side) for side in sides)


def _stride(value):
    down, right = _pair("strides", value)
    if down != right:
        raise ValueError("strides is {!r}: a window moves equally far down and right here".format(value))
    return down


def _padding(value):
    if value not in ("valid", "same"):
        raise ValueError('padding is {!r}: use "valid" or "same"'.format(value))
    return float(value == "same")
