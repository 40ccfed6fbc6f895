"""Who calls which collective where, and the group that a process joins."""
import functools
import os
import sys
import time

from . import averaging, core, digest, results, scaling, source, sums, totals
from .core import State, guard, place, replace, sampled, send

_NAMES = (
    "all_reduce", "all_reduce_coalesced", "broadcast", "all_gather", "all_gather_into_tensor", "reduce", "reduce_scatter", "reduce_scatter_tensor",
    "all_to_all", "all_to_all_single", "gather", "scatter", "barrier", "monitored_barrier", "all_gather_object", "gather_object",
    "broadcast_object_list", "scatter_object_list",
)
# From one rank to another: what makes pipelines of models.
_PAIRS = ("send", "recv", "isend", "irecv", "batch_isend_irecv")
# Of each line how often, and since a validation which lines were told.
_of_line = {}
_behind = set()
# Of each line of a collective the one that chose what it is given.
_chosen = {}


def install(torch):
    dist = torch.distributed
    if not dist.is_available():
        return
    for name in _NAMES:
        replace(dist, name, functools.partial(_told, name))
    for name in _PAIRS:
        replace(dist, name, functools.partial(_told_pair, name))
    replace(dist, "init_process_group", _joins)
    replace(dist, "destroy_process_group", core.looks_first(_lets_finish))
    State.before_end.append(_lets_finish)


# Seconds in which the threads of gloo let go of what they have exchanged.
_PAUSE = 0.02


@guard
def _lets_finish(*args, **kwargs):
    """A thread of gloo waits for Python to let go of a tensor, and Python, which takes a group or a wrapper away, for that thread: a program
    that ends right behind its last exchange may stand still for ever, or be aborted. Whoever sleeps lets the thread go on.
    """
    dist = sys.modules["torch"].distributed
    if dist.is_initialized() and "gloo" in str(dist.get_backend()):
        time.sleep(_PAUSE)


def _told(name, old):
    @functools.wraps(old)
    def call(*args, **kwargs):
        if core.is_compiling():
            return old(*args, **kwargs)
        began = time.perf_counter()
        # The line of the program in a caller that is no collective itself.
        is_changed = _before(name, args, kwargs)
        try:
            result = old(*args, **kwargs)
        finally:
            State.within = None
        _after(name, args, kwargs, began, is_changed)
        return result

    return call


def _told_pair(name, old):
    def call(*args, **kwargs):
        _tell_pair(name)
        try:
            return old(*args, **kwargs)
        finally:
            State.within = None

    return call


@guard
def _tell_pair(name):
    import torch

    if not core.may_speak():
        return
    where = place(sys._getframe(3))
    State.within = (name, where)
    State.progress += 1
    if torch.is_grad_enabled():
        core.tell_once("send/recv", where)


@guard
def _before(name, args, kwargs):
    """Whether the tensor of the call was changed in its place since it was made."""
    if not core.may_speak():
        return False
    caller = sys._getframe(3)
    where = place(caller)
    State.within = (name, where)
    tensor = _tensor(args, kwargs, name)
    count(name, where, None if tensor is None else tensor.numel(), not _is_inside(caller), _is_count(tensor), was_there(tensor))
    if tensor is not None and name == "all_reduce":
        scaling.before_sum(tensor)
        if State.updates and averaging.holds_weights(tensor):
            core.tell_once("averaged weights", where)
    return _has_changed(tensor)


def was_there(tensor):
    """Whether what is brought together was there before the last validation."""
    return State.behind_validation and State.earlier is not None and tensor is not None and State.earlier.has(tensor)


def count(name, where, numbers, is_told=True, is_count=False, is_earlier=False):
    """One call, of which the first of each line are told."""
    State.progress += 1
    number, key = State.calls, (name, where["file"], where["line"])
    State.calls += 1
    State.meetings += is_told and not is_count and ("reduce" in name or "gather" in name)
    State.shared += "barrier" not in name
    times = _of_line.get(key, 0)
    if len(_of_line) < 10_000 or times:
        _of_line[key] = times + 1
    if not State.behind_validation:
        _behind.clear()
    is_news = State.behind_validation and not is_earlier and key not in _behind
    if (times < 3 or is_news) and is_told:
        if is_news:
            _behind.add(key)
        send("collective", name=name, place=where, numbers=numbers, is_count=is_count, trains=State.behind_batch or is_earlier, call=number, updates=State.updates)


# What Lightning asks of all ranks about itself, rather than about results.
_ABOUT_ITSELF = {"reduce_boolean_decision", "has_len_all_ranks"}


def _is_inside(caller):
    """Whether a library calls for itself, as synchronized batch norm does: that is no decision of the program."""
    name = caller.f_globals.get("__name__", "")
    frame, left = caller, 16
    while left and frame is not None and frame.f_globals.get("__name__", "").startswith(("lightning", "pytorch_lightning")):
        if frame.f_code.co_name in _ABOUT_ITSELF:
            return True
        frame, left = frame.f_back, left - 1
    return name.startswith("torch.") and not name.startswith("torch.distributed.nn")


def _tensor(args, kwargs, name=""):
    """What a rank brings: for those that gather from all, the second one."""
    at, key = (1, "input_tensor") if name == "all_gather_into_tensor" else (1, "tensor") if name == "all_gather" else (0, "tensor")
    value = args[at] if len(args) > at else kwargs.get(key, kwargs.get("object_list"))
    return value if hasattr(value, "numel") else None


def _is_count(tensor):
    """Whether it holds the number of samples of the last validation, and nothing else."""
    is_number = State.behind_validation and tensor is not None and tensor.numel() == 1 and tensor.device.type == "cpu"
    return is_number and not tensor.is_complex() and float(tensor) == State.validated


def _has_changed(tensor):
    try:
        return tensor is not None and tensor._version > 0
    except RuntimeError:
        # Tensors of inference mode count no changes.
        return False


@guard
def _after(name, args, kwargs, began, is_changed):
    State.times["exchange"] += time.perf_counter() - began
    State.progress += 1
    tensor = _tensor(args, kwargs)
    if State.updates:
        averaging.note_own_buffers(tensor, sys._getframe(3))
    if tensor is None or name not in ("all_reduce", "broadcast"):
        return
    if name == "all_reduce":
        _look_at_result(tensor, _operation(args, kwargs), _is_async(args, kwargs), sys._getframe(3))
    if len(averaging.by_hand) > 10_000 or not sampled(State.updates):
        return
    if not (tensor.is_sparse or tensor.is_meta):
        call = averaging.by_hand[digest.address(tensor)] = Call(name, args, kwargs, tensor, is_changed)
        scaling.behind_sum(tensor, call.divisor)
        if call.first is not None and tensor.is_floating_point():
            averaging.summed.append((tensor.numel(), call.first, call))


def _look_at_result(tensor, op, is_async, caller):
    """What an `all_reduce` has left, if it may be a result: few numbers, and none of a gradient."""
    numbers = digest.of_few(tensor, of_all=True) if State.behind_validation or results.is_open() or tensor.numel() == 1 else []
    if not numbers:
        return
    where, of_all = place(caller), State.total if State.behind_validation else None
    if of_all and of_all in numbers:
        # All samples, each counted once: the program leaves out what its sampler repeats.
        core.tell_once("padding left out")
    elif of_all and State.validated == of_all and of_all * State.size in numbers:
        core.tell_once("counted by all", where, (str(of_all), str(of_all * State.size)))
    if not tensor.is_floating_point():
        return
    if "SUM" in op and (State.behind_validation or len(numbers) == 1):
        sums.remember(numbers, where)
    if results.is_open() and ("SUM" in op or "AVG" in op) and not is_async:
        totals.remember(numbers, where, "SUM" in op, results.loader())


def _operation(args, kwargs):
    """Of an `all_reduce`, by its name in PyTorch: `REDOPTYPE.SUM` in some versions."""
    return str(kwargs.get("op", args[1] if len(args) > 1 else "SUM")).upper()


def _is_async(args, kwargs):
    return bool(kwargs.get("async_op") or len(args) > 3 and args[3])


class Call:
    """A collective that changed a tensor, with what it left there."""

    def __init__(self, name, args, kwargs, tensor, is_changed):
        # Horovod brings calls together by their names, in any order.
        self.is_named = kwargs.get("name") is not None
        caller = sys._getframe(4)
        self.name, self.place, self.steps, self.number = name, place(caller), State.steps, State.calls
        key = self.place["file"], self.place["line"]
        if key not in _chosen:
            _chosen[key] = source.place_of_model(caller)
        self.chosen = _chosen[key]
        self.backwards, self.numbers = State.backwards, tensor.numel()
        self.is_async = _is_async(args, kwargs)
        is_whole = name == "all_reduce" and not self.is_async
        op = _operation(args, kwargs)
        # What was changed in its place before, as by `grad.div_(size)`, may have been divided.
        self.is_sum = is_whole and "SUM" in op and "PRE" not in op and not is_changed
        # Of a part of the ranks it is no average of all.
        is_of_all = is_whole and kwargs.get("group", args[2] if len(args) > 2 else None) is None and "PRE" not in op
        self.divisor = (State.size if "SUM" in op else 1 if "AVG" in op else None) if is_of_all else None
        self.first = float(tensor.detach().reshape(-1)[0]) if self.is_sum and tensor.numel() and not tensor.is_complex() else None


def _joins(old):
    def init_process_group(*args, **kwargs):
        _before_group(args, kwargs)
        try:
            result = old(*args, **kwargs)
        finally:
            State.within = None
        _tell_group()
        return result

    return init_process_group


@guard
def _before_group(args, kwargs):
    """A rank that waits for the others here is already one."""
    rank = kwargs.get("rank", args[4] if len(args) > 4 else -1)
    if not isinstance(rank, int) or rank < 0:
        rank = int(os.environ["RANK"]) if os.environ.get("RANK", "").isdigit() else None
    State.progress += 1
    State.within = ("init_process_group", place(sys._getframe(3)))
    if rank is not None:
        core.join(rank)


@guard
def _tell_group():
    import torch

    dist = torch.distributed
    rank, size = dist.get_rank(), dist.get_world_size()
    State.size = size
    if not State.has_spoken:
        core.join(rank)
    local_rank, local_size = core.local_place()
    if local_size == 1 and size > 1 and core.number_of(core._LOCAL_SIZES, None) is None:
        local_rank, local_size = rank, size
    send("group", by="torch.distributed", backend=str(dist.get_backend()), rank=rank, size=size, local_rank=local_rank, local_size=local_size,
         host=core.host(), device=core.device(torch), threads=torch.get_num_threads(), cores=core.cores(), place=place(sys._getframe(3)))
