"""Ranks with unequal numbers of batches that PyTorch's `Join` covers for: not a mistake then."""
import sys

from .core import guard, place, replace, send

_told = [False]


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
        _tell_join()
        return old(self)

    return __enter__


@guard
def _tell_join():
    if not _told[0]:
        _told[0] = True
        send("wrapped", by="join", place=place(sys._getframe(3)))
