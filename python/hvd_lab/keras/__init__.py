"""What Horovod adds to Keras: `import hvd_lab.keras as hvd`, as `import horovod.keras as hvd`."""
import json

from .._library import call
from .._numbers import count, plain
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
    with call("hvd.broadcast") as native:
        return json.loads(native.broadcast(json.dumps(plain("hvd.broadcast", value)), count("root_rank", root_rank)))


def allreduce(value, average=True, name=None):
    """The mean over the ranks, or the sum: of a number, or of each number of a list. Every rank has to call it."""
    size()
    value = plain("hvd.allreduce", value)
    with call("hvd.allreduce") as native:
        if isinstance(value, list):
            return native.allreduce([float(number) for number in value], bool(average))
        return native.allreduce([float(value)], bool(average))[0]


def allgather_object(value):
    """Every rank's value, in the order of the ranks. Every rank has to call it."""
    size()
    with call("hvd.allgather_object") as native:
        return [json.loads(text) for text in native.allgather(json.dumps(plain("hvd.allgather_object", value)))]


def barrier():
    """Returns when every rank has called it."""
    size()
    with call("hvd.barrier") as native:
        native.barrier()
