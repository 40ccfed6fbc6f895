"""Ranks with unequal numbers of batches that PyTorch's `Join` covers for: not a mistake then."""
from . import core
from .core import replace


def install(torch):
    if not torch.distributed.is_available():
        return
    try:
        from torch.distributed.algorithms.join import Join
    except ImportError:
        return  # A PyTorch that has none yet.
    replace(Join, "__enter__", _tells_join)


def _tells_join(old):
    def __enter__(self):
        core.tell_once("join")
        return old(self)

    return __enter__
