"""Who this process is among all of them."""
from .._library import started


def init():
    """Find the other processes that were started together with this one."""
    started().init()


def is_initialized():
    """Whether `init` was called."""
    return started().topology() is not None


def _topology():
    topology = started().topology()
    if topology is None:
        raise ValueError("the ranks do not know each other yet: call hvd.init() first")
    return topology


def rank():
    """The number of this process, from 0. Rank 0 is the root."""
    return _topology()[0]


def size():
    """How many processes there are."""
    return _topology()[1]


def local_rank():
    """The number of this process among those on its own host, from 0. It chooses the device."""
    return _topology()[2]


def local_size():
    """How many processes there are on this host."""
    return _topology()[3]
