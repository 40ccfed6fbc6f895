"""What Horovod adds to Keras: `import hvd_lab.keras as hvd`, as `import horovod.keras as hvd`."""
import json

from .._library import started
from . import callbacks
from ._ranks import init, is_initialized, local_rank, local_size, rank, size
from .optimizer import DistributedOptimizer

__all__ = [
    "DistributedOptimizer", "allgather_object", "allreduce", "barrier", "broadcast", "callbacks", "init", "is_initialized",
    "local_rank", "local_size", "rank", "size",
]


def broadcast(value, root_rank, name=None):
    """The root's value, on every rank: a number, a text, or a list of these. Every rank has to call it."""
    size()
    return json.loads(started().broadcast(json.dumps(value), root_rank))


def allreduce(value, average=True, name=None):
    """The mean over the ranks, or the sum: of a number, or of each number of a list. Every rank has to call it."""
    size()
    if isinstance(value, (list, tuple)):
        return started().allreduce([float(number) for number in value], average)
    return started().allreduce([float(value)], average)[0]


def allgather_object(value):
    """Every rank's value, in the order of the ranks. Every rank has to call it."""
    size()
    return [json.loads(text) for text in started().allgather(json.dumps(value))]


def barrier():
    """Returns when every rank has called it."""
    size()
    started().barrier()
