"""Ranks with unequal numbers of batches that PyTorch's `Join` covers for: not a mistake then."""
import importlib.util
import sys

from . import averaging
from .core import place, replace


def install(torch):
    if not torch.distributed.is_available() or importlib.util.find_spec("torch.distributed.algorithms.join") is None:
        return
    from torch.distributed.algorithms.join import Join

    replace(Join, "__enter__", _tells_join)


def _tells_join(old):
    def __enter__(self):
        averaging.tell_other("join", place(sys._getframe(1)))
        return old(self)

    return __enter__
