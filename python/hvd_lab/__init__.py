"""Train networks on Fashion-MNIST and MNIST as with Keras, on the trainer of hvd-lab. Needs no TensorFlow, PyTorch or NumPy.

`import hvd_lab.keras as hvd` adds what Horovod adds to Keras.
"""
from . import _ending, fashion_mnist, mnist
from ._arguments import parse_args
from ._devices import list_physical_devices, set_visible_devices
from ._library import LabError
from ._log import log

_ending.watch()

__all__ = ["LabError", "fashion_mnist", "list_physical_devices", "log", "mnist", "parse_args", "set_visible_devices"]
