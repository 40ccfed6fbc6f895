"""What Horovod's bindings have in common: the group that a process joins, and who calls which collective where."""
import functools
import sys
import time

from . import averaging, collectives, core, digest, results, source, sums, totals
from .core import State, guard, place, replace, sampled, send

_NAMES = (
    "allreduce", "allreduce_", "allreduce_async", "allreduce_async_", "grouped_allreduce", "grouped_allreduce_", "allgather", "allgather_async",
    "allgather_object", "grouped_allgather", "broadcast", "broadcast_", "broadcast_async", "broadcast_async_", "broadcast_object", "alltoall",
    "reducescatter", "grouped_reducescatter", "barrier", "join",
)
# Those that leave what they are given as it is.
_RETURN = ("allreduce", "grouped_allreduce", "allgather", "broadcast")
_AVERAGES = ("allreduce", "allreduce_", "allreduce_async_", "grouped_allreduce", "grouped_allreduce_")
# One binding imports the others: each name is told by the binding that the program calls.
_joined = [False]
# A graph averages something by itself, which may be the gradients.
reduces_in_graph = [False]
# Weights of TensorFlow that the program has asked Horovod to leave to each rank.
left_local = core.Marks()


def install(module):
    """Watches the names that a program calls; the binding itself calls those of its inner modules."""
    horovod = "horovod " + str(getattr(sys.modules.get("horovod"), "__version__", ""))
    if horovod not in State.versions:
        State.versions.append(horovod)
    for name in _NAMES:
        replace(module, name, functools.partial(_told, name))
    replace(module, "init", functools.partial(_joins, module))


def settings(module, given):
    """Those of a distributed optimizer that change what is averaged: `op=Sum`."""
    found = [(name, given[name]) for name in ("op", "backward_passes_per_step") if name in given]
    # Horovod's operations are numbers.
    operations = {getattr(module, name): name for name in ("Average", "Sum", "Adasum") if hasattr(module, name)}
    return ["%s=%s" % (name, operations.get(value, value) if name == "op" else value) for name, value in found]


def leave_local(references):
    for reference in references:
        left_local[reference.deref()] = True


def look_for_nothing(weights, where):
    """A broadcast of weights before there are any. What an iterator has given away cannot be counted."""
    if hasattr(weights, "__len__") and not len(weights):
        core.tell_once("broadcast of nothing", where)


def _joins(module, old):
    def init(*args, **kwargs):
        result = old(*args, **kwargs)
        _tell_group(module)
        return result

    return init


@guard
def _tell_group(module):
    if _joined[0]:
        return
    _joined[0] = True
    rank, size = module.rank(), module.size()
    State.size = size
    core.join(rank)
    torch = sys.modules.get("torch")
    send("group", by="horovod", backend=_backend(module), rank=rank, size=size, local_rank=module.local_rank(), local_size=module.local_size(),
         host=core.host(), device=core.device(torch), threads=torch.get_num_threads() if torch is not None else 1, cores=core.cores(), place=place(sys._getframe(3)))


def _backend(module):
    for name in ("mpi", "gloo"):
        if getattr(module, name + "_enabled", lambda: False)():
            return name
    return ""


def _told(name, old):
    @functools.wraps(old)
    def call(*args, **kwargs):
        where, began = _before(name, args, kwargs), time.perf_counter()
        try:
            result = old(*args, **kwargs)
        finally:
            _after(where, began)
        if name in _AVERAGES and where is not None:
            given = _given(args, kwargs)
            _note_average(given, given if name.endswith("_") else result, kwargs)
        if "allreduce" in name:
            _note_sum(result, where, sys.modules.get(old.__module__), kwargs)
        if "allreduce" in name and "grouped" not in name:
            _note_result(result, where, sys.modules.get(old.__module__), kwargs)
        return result

    return call


@guard
def _before(name, args, kwargs):
    tensorflow = sys.modules.get("tensorflow")
    # A call in a graph only builds it, and Horovod calls itself by the same names.
    is_built = tensorflow is not None and hasattr(tensorflow, "inside_function") and tensorflow.inside_function()
    is_own = not _module_of(sys._getframe(3)).startswith("horovod.")
    reduces_in_graph[0] = reduces_in_graph[0] or is_built and is_own and "reduce" in name
    if is_built or not core.may_speak() or State.within is not None or not is_own:
        return None
    where = place(sys._getframe(3))
    if name in _RETURN and source.is_thrown_away(where, name):
        core.tell_once("thrown away", where, ("hvd." + name,))
    if name == "join":
        core.tell_once("join", where)
    named = kwargs.get("name")
    # Horovod knows calls by their names: ranks that wait for different ones never meet.
    State.within = ("hvd.%s of %.80r" % (name, named) if isinstance(named, str) else "hvd." + name, where)
    given = _given(args, kwargs)
    if "gather" in name and getattr(given, "requires_grad", False):
        # What is gathered brings the loss of all ranks to each of them: their gradients are parts of a sum.
        core.tell_once("gathered to differentiate", where)
    some = given[:1] if isinstance(given, (list, tuple)) else [given]
    if "allreduce" in name and State.updates and any(hasattr(one, "data_ptr") and averaging.holds_weights(one) for one in some):
        core.tell_once("averaged weights", where)
    is_earlier = hasattr(given, "data_ptr") and collectives.was_there(given)
    collectives.count("hvd." + name, where, _numbers(given), is_earlier=is_earlier)
    return where


def _module_of(frame):
    """Whose call it is: AutoGraph stands between the calls of a graph, and between ours."""
    while frame is not None and frame.f_globals.get("__name__", "").startswith(("tensorflow.", __package__)):
        frame = frame.f_back
    return frame.f_globals.get("__name__", "") if frame is not None else ""


# Addresses of the gradients of PyTorch's optimizers, and the passes and steps so far when they were looked for.
_gradients = [(0, 0), frozenset()]


@guard
def _note_average(given, result, kwargs):
    """Gradients of PyTorch that the program averages by itself: what comes back may take their place."""
    if "torch" not in sys.modules or len(averaging.by_hand) > 10_000 or not sampled(State.updates):
        return
    now = State.backwards, State.steps
    if _gradients[0] != now:
        parameters = [parameter for optimizer in averaging._made for parameter in averaging._parameters(optimizer)]
        _gradients[:] = now, frozenset(digest.address(parameter.grad) for parameter in parameters if parameter.grad is not None)
    pairs = zip(given, result) if isinstance(given, (list, tuple)) else [(given, result)]
    for tensor, averaged in pairs:
        if hasattr(averaged, "data_ptr") and digest.address(tensor) in _gradients[1]:
            averaging.by_hand[digest.address(averaged)] = collectives.Call("all_reduce", (), {"op": "AVERAGE", "name": kwargs.get("name")}, averaged, True)


# What has come of sums outside of graphs in TensorFlow: a tensor that is divided is another one.
added_up = core.Marks()


@guard
def _note_sum(result, where, module, kwargs):
    if where is None or not _is_sum(module, kwargs):
        return
    for tensor in result if isinstance(result, (list, tuple)) else [result]:
        if hasattr(tensor, "numpy") and not hasattr(tensor, "data_ptr"):
            added_up[tensor] = where


def _is_sum(module, kwargs):
    op = kwargs.get("op")
    return op is not None and op == getattr(module, "Sum", None) or kwargs.get("average") is False


@guard
def _note_result(result, where, module, kwargs):
    op, is_sum = kwargs.get("op"), _is_sum(module, kwargs)
    if where is None or not (is_sum or results.is_open()):
        return
    numbers = digest.of_few(result) if hasattr(result, "data_ptr") else _of_eager(result)
    if is_sum and (State.behind_validation or len(numbers) == 1):
        sums.remember(numbers, where)
    if results.is_open() and (is_sum or op is None or op == getattr(module, "Average", None)):
        totals.remember(numbers, where, is_sum, results.loader())


def _of_eager(result):
    """Of a small tensor of TensorFlow, outside of graphs."""
    count = getattr(result.shape, "num_elements", lambda: None)() if hasattr(result, "numpy") else None
    return [float(number) for number in result.numpy().reshape(-1)] if count is not None and 0 < count <= 8 else []


@guard
def _after(where, began):
    if where is not None:
        State.times["exchange"] += time.perf_counter() - began
        State.within = None
        State.progress += 1


def _given(args, kwargs):
    """The tensor, the tensors or the value of a call."""
    return args[0] if args else next((kwargs[name] for name in ("tensor", "tensors", "value") if name in kwargs), None)


def _numbers(tensor):
    for name in ("numel", "size"):
        found = getattr(tensor, name, None)
        found = found() if callable(found) else found
        if isinstance(found, int):
            return found
    return 1 if isinstance(tensor, (int, float)) else None
