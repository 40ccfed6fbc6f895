"""Who calls which collective where, and the group that a process joins."""
import functools
import os
import sys
import time

from . import averaging, core, digest, watching
from .core import State, guard, place, replace, sampled, send

_NAMES = (
    "all_reduce", "all_reduce_coalesced", "broadcast", "all_gather", "all_gather_into_tensor", "reduce", "reduce_scatter", "reduce_scatter_tensor",
    "all_to_all", "all_to_all_single", "gather", "scatter", "barrier", "monitored_barrier", "all_gather_object", "gather_object",
    "broadcast_object_list", "scatter_object_list",
)
# From one rank to another: what makes pipelines of models.
_PAIRS = ("send", "recv", "isend", "irecv", "batch_isend_irecv")
# Calls of the process so far.
calls = [0]
# Of each line how often, and since a validation which lines were told.
_of_line = {}
_behind = set()


def install(torch):
    dist = torch.distributed
    if not dist.is_available():
        return
    for name in _NAMES:
        replace(dist, name, functools.partial(_told, name))
    for name in _PAIRS:
        replace(dist, name, _told_pair)
    replace(dist, "init_process_group", _joins)
    replace(sys.modules.get("torch.multiprocessing.spawn"), "start_processes", _starts_ranks)
    spawn = sys.modules.get("torch.multiprocessing")
    if spawn is not None and hasattr(spawn, "start_processes"):
        spawn.start_processes = sys.modules["torch.multiprocessing.spawn"].start_processes


def _told(name, old):
    @functools.wraps(old)
    def call(*args, **kwargs):
        began = time.perf_counter()
        # The line of the program in a caller that is no collective itself.
        _before(name, args, kwargs)
        try:
            result = old(*args, **kwargs)
        finally:
            State.within = None
        _after(name, args, kwargs, began)
        return result

    return call


def _told_pair(old):
    def call(*args, **kwargs):
        _tell_pair(args, kwargs)
        try:
            return old(*args, **kwargs)
        finally:
            State.within = None

    return call


@guard
def _tell_pair(args, kwargs):
    import torch

    State.progress += 1
    if torch.is_grad_enabled() and State.within is None:
        averaging.tell_other("send/recv", place(sys._getframe(3)))


@guard
def _before(name, args, kwargs):
    if not core.may_speak():
        return
    where = place(sys._getframe(3))
    State.within = (name, where)
    count(name, where, _numbers(args, kwargs))


def count(name, where, numbers):
    """One call, of which the first of each line are told."""
    State.progress += 1
    number, key = calls[0], (name, where["file"], where["line"])
    calls[0] += 1
    times = _of_line.get(key, 0)
    if len(_of_line) < 10_000 or times:
        _of_line[key] = times + 1
    if not State.behind_validation:
        _behind.clear()
    is_news = State.behind_validation and key not in _behind
    if times < 3 or is_news:
        if is_news:
            _behind.add(key)
        send("collective", name=name, place=where, numbers=numbers, call=number, updates=State.updates)


def _tensor(args, kwargs):
    value = args[0] if args else kwargs.get("tensor", kwargs.get("object_list"))
    return value if hasattr(value, "numel") else None


def _numbers(args, kwargs):
    tensor = _tensor(args, kwargs)
    return None if tensor is None else tensor.numel()


@guard
def _after(name, args, kwargs, began):
    watching.times["exchange"] += time.perf_counter() - began
    State.progress += 1
    tensor = _tensor(args, kwargs)
    if tensor is None or name not in ("all_reduce", "broadcast") or len(averaging.by_hand) > 10_000 or not sampled(State.updates):
        return
    averaging.by_hand[digest.address(tensor) or 0] = Call(name, args, kwargs, tensor)


class Call:
    """A collective that changed a tensor, with what it left there."""

    def __init__(self, name, args, kwargs, tensor):
        self.name, self.place = name, place(sys._getframe(4))
        is_whole = name == "all_reduce" and not (kwargs.get("async_op") or len(args) > 3 and args[3])
        op = str(kwargs.get("op", args[1] if len(args) > 1 else "SUM")).upper()
        self.is_sum = is_whole and "SUM" in op and "PRE" not in op
        self.first = float(tensor.reshape(-1)[0]) if self.is_sum and tensor.numel() and not tensor.is_complex() else None


def _starts_ranks(old):
    def start_processes(*args, **kwargs):
        guard(core.leave_to_children)()
        return old(*args, **kwargs)

    return start_processes


def _joins(old):
    def init_process_group(*args, **kwargs):
        _waits_for_group()
        result = old(*args, **kwargs)
        _tell_group()
        return result

    return init_process_group


@guard
def _waits_for_group():
    watching.start()
    if core.launched() > 1:
        core.release()


@guard
def _tell_group():
    import torch

    dist = torch.distributed
    rank, size = dist.get_rank(), dist.get_world_size()
    State.in_group = True
    core.join(rank, watching.end)
    watching.start()
    local_rank, local_size = core.local_place()
    cores = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
    # Only what the program has touched already: asking starts nothing on a GPU.
    device = "cuda:%d" % torch.cuda.current_device() if torch.cuda.is_available() and torch.cuda.is_initialized() else "cpu"
    if local_size == 1 and size > 1 and core.number_of(core._LOCAL_SIZES, None) is None:
        local_rank, local_size = rank, size
    send("group", by="torch.distributed", backend=str(dist.get_backend()), rank=rank, size=size, local_rank=local_rank, local_size=local_size,
         host=core.host(), device=device, threads=torch.get_num_threads(), cores=cores, place=place(sys._getframe(3)))
