"""Handwritten digits: 60,000 to train on and 10,000 to test on, or as many as the flags say. Each is one of 10 classes."""
from ._library import call


class Digits:
    """The images of one part, with pixels from 0 to 1. `shape` is their number, height, width and channels."""

    def __init__(self, part, count):
        self.part = part
        self.shape = (count, 28, 28, 1)

    def __len__(self):
        return self.shape[0]

    def __repr__(self):
        return "Digits({}: {} images)".format(self.part, len(self))


class Labels:
    """Which digit each image of one part is."""

    def __init__(self, part, count):
        self.part = part
        self.shape = (count,)

    def __len__(self):
        return self.shape[0]

    def __repr__(self):
        return "Labels({}: {})".format(self.part, len(self))


def load_data():
    """(x_train, y_train), (x_test, y_test). The trainer has the pixels: these stand for them."""
    with call("mnist.load_data") as native:
        training, validation, _ = native.load_data(True)
    return _part("training", training), _part("test", validation)


def _part(part, count):
    return Digits(part, count), Labels(part, count)
