"""The wrappers around models and optimizers, and what every update is about to apply."""
import itertools
import math
import sys
import time
import weakref

from . import beside, call_order, core, detached, digest, earlier, fields, kinds, past_wrapper, planned, resuming, scaling, source, unloaded, watching
from .core import State, guard, place, replace, sampled, send


class Wrapper:
    """One that shares out the work of a model: its parameters, and how often it was called."""

    def __init__(self, wrapped, parameters):
        self.wrapped = weakref.ref(wrapped)
        self.parameters = frozenset(map(id, parameters))
        self.forwards = self.without_sync = self.updates = 0
        # The line of the last forward pass, where its backward pass averages nothing.
        self.unsynced = None
        # The counts at the last update of each optimizer.
        self.at_update = {}

    def since_update(self, index):
        before = self.at_update.get(index, (0, 0))
        return self.forwards - before[0], self.without_sync - before[1]

    def keep(self, index):
        self.updates += 1
        self.at_update[index] = (self.forwards, self.without_sync)

    def has_gradients(self):
        module = self.wrapped()
        return module is not None and any(parameter.grad is not None for parameter in module.parameters())


wrappers = []
# Of each optimizer that averages by itself, as Horovod's does: its parameters.
averaged = []
# Optimizers by the order of their first steps, and where they were made.
_indices, _made, _updates = core.Marks(), scaling.optimizers, core.Marks()
# Steps of all optimizers when an optimizer has made its last one.
_stepped = core.Marks()
# An optimizer that is gone leaves its number to no other.
_numbers = itertools.count()
# Wrappers that hold parameters of an optimizer, and how many wrappers there were when it was looked for.
_own = core.Marks()
# Places of calls that matter later.
_no_sync_place = [None]
samples = [0]
# Addresses of tensors that the program has put through a collective since the update that used them before.
by_hand = {}
# The first parameter of each optimizer, by where its numbers lie: by it a collective over weights is seen between the updates that are
# looked at.
first_weights = {}
# Numbers of a vector that are compared with weights, and how close they are to a multiple of them.
_FIRST, _CLOSE = 16, 1e-5
# Buffers that each rank keeps for itself, as they were at the last collective of the program, with its line.
_kept_buffers = []
# The last clipping of gradients: collectives that were called before, and its line.
clipped = [0, None]
# Sums since then of tensors that may hold several gradients: how many numbers, the first of each, and the call.
summed = []


def install(torch):
    optimizer = torch.optim.Optimizer
    replace(optimizer, "__init__", core.remembers_making(_made))
    module = sys.modules.get("torch.optim.optimizer")
    if hasattr(module, "register_optimizer_step_pre_hook"):
        module.register_optimizer_step_pre_hook(_before_step)
        module.register_optimizer_step_post_hook(lambda opt, args, kwargs: after_update(opt))
    else:
        replace(optimizer, "__init__", _wraps_step)
    replace(torch, "set_num_threads", core.looks_first(_tell_threads))
    if torch.distributed.is_available():
        from torch.nn.parallel import DistributedDataParallel

        replace(DistributedDataParallel, "__init__", _tells_wrapper)
        replace(DistributedDataParallel, "forward", _counts_forward)
        replace(DistributedDataParallel, "no_sync", core.looks_first(_remember_no_sync))
        replace(DistributedDataParallel, "register_comm_hook", _tells_comm_hook)
        _watch_compiling(torch)
    replace(torch.nn.DataParallel, "__init__", _tells_data_parallel)


def _wraps_step(old):
    """For a PyTorch without hooks around all steps."""

    def __init__(self, *args, **kwargs):
        old(self, *args, **kwargs)
        of = type(self)
        if not getattr(of.step, "_is_watched", False):
            replace(of, "step", _watched_step)
            of.step._is_watched = True

    return __init__


def _watched_step(old):
    def step(self, *args, **kwargs):
        args, kwargs = _before_step(self, args, kwargs) or (args, kwargs)
        result = old(self, *args, **kwargs)
        after_update(self)
        return result

    return step


def _before_step(optimizer, args, kwargs):
    """The look at the gradients; behind the closure if one computes them within the step, as Lightning's does. Then returns other arguments."""
    closure = next((of for of in (*args, *kwargs.values()) if callable(of)), None)
    if closure is None or _averages_first(optimizer):
        before_update(optimizer)
        return None
    is_seen = []

    def looked_at(*of, **named):
        result = closure(*of, **named)
        if not is_seen:
            is_seen.append(True)
            before_update(optimizer)
        return result

    return tuple(looked_at if of is closure else of for of in args), {name: looked_at if of is closure else of for name, of in kwargs.items()}


def holds_weights(tensor):
    """Whether a tensor of the program's is the first parameter of an optimizer, or holds its weights, or all weights, or a multiple of them
    for a weighted mean.
    """
    if tensor.is_sparse or tensor.is_meta:
        return False
    for first in list(first_weights.values()):
        parameter = first()
        if parameter is not None and digest.address(parameter) == digest.address(tensor) is not None:
            return True
        # To read one that is spread over the ranks would be a collective of its own.
        count = min(_FIRST, parameter.numel()) if parameter is not None and not hasattr(parameter, "to_local") else 0
        is_long = parameter is not None and tensor.dim() == 1 and tensor.numel() > parameter.numel()
        if not count or not (is_long or tensor.shape == parameter.shape) or (tensor.dtype, tensor.device) != (parameter.dtype, parameter.device):
            continue
        weights, given = (of.detach().reshape(-1)[:count].tolist() for of in (parameter, tensor))
        most = max(weights, key=abs)
        factor = given[weights.index(most)] / most if most else 0.0
        # A few numbers, or equal ones, may be a multiple of others by chance.
        if factor != 1.0 and not (factor and count > 4 and len(set(weights)) > 1):
            continue
        if all(abs(one - factor * own) <= _CLOSE * abs(factor * most) for one, own in zip(given, weights)):
            return True
    return False


def _own_buffers():
    """Those of wrapped models whose ranks each keep their own."""
    all_wrapped = [wrapper.wrapped() for wrapper in wrappers]
    alone = [wrapped for wrapped in all_wrapped if wrapped is not None and not getattr(wrapped, "broadcast_buffers", True)]
    return [buffer for wrapped in alone for buffer in wrapped.module.buffers()]


def note_own_buffers(tensor, caller):
    """The program has put a tensor through a collective, which may be one of them, or made of some."""
    look_at_own_buffers()
    buffers = _own_buffers() if "buffers brought together" not in core._told else ()
    if not buffers:
        return
    where, there = place(caller), None if tensor is None else digest.address(tensor)
    if there is not None and any(digest.address(buffer) == there for buffer in buffers):
        core.tell_once("buffers brought together", where)
    _kept_buffers[:] = [(weakref.ref(buffer), earlier.changes(buffer), where) for buffer in buffers if buffer.is_floating_point()]


def look_at_own_buffers():
    """Whether the program has written them behind a collective: what trains does so in its next forward pass."""
    for kept, version, where in _kept_buffers:
        buffer = kept()
        if buffer is not None and version is not None and earlier.changes(buffer) != version:
            core.tell_once("buffers brought together", where)
    del _kept_buffers[:]


@guard
def _tell_threads(*args, **kwargs):
    core.tell_call("set_num_threads", sys._getframe(3))


def _tells_wrapper(old):
    def __init__(self, module, *args, **kwargs):
        before = _digest(module)
        old(self, module, *args, **kwargs)
        _tell_wrapper(self, module, before)

    return __init__


@guard
def _digest(module):
    return digest.of_tensors(module.parameters())


@guard
def _tell_wrapper(wrapped, module, before):
    averaged = [p for p in getattr(wrapped, "_module_parameters", None) or module.parameters() if p.requires_grad]
    wrappers.append(Wrapper(wrapped, averaged))
    # All ranks meet there.
    State.calls += 1
    settings = ["%s=True" % name for name in ("find_unused_parameters", "static_graph") if getattr(wrapped, name, False)]
    send("wrapped", by="DistributedDataParallel", place=core.place_of_making(wrapped, sys._getframe(3)), before=before or "", after=digest.of_tensors(module.parameters()),
         tensors=len(averaged), shares_buffers=bool(getattr(wrapped, "broadcast_buffers", False)), settings=settings)
    group = getattr(wrapped, "process_group", None)
    if hasattr(group, "size") and 0 < group.size() < State.size:
        core.tell_once("group of a part", core.place_of_making(wrapped, sys._getframe(3)), (str(group.size()),))


def _tells_data_parallel(old):
    def __init__(self, *args, **kwargs):
        old(self, *args, **kwargs)
        core.tell_once("DataParallel")

    return __init__


def _watch_compiling(torch):
    """What is compiled calls no hooks."""
    compiling = getattr(getattr(torch, "compiler", None), "is_compiling", None)
    if compiling is not None:
        core.is_compiling = compiling

    def tells(old):
        def compile(*args, **kwargs):
            result = old(*args, **kwargs)
            # Behind it the compiler is loaded.
            _tell_compile()
            return result

        return compile

    replace(torch, "compile", tells)
    replace(torch.nn.Module, "compile", tells)


@guard
def _tell_compile():
    core.compiles()
    core.tell_once("torch.compile", place(sys._getframe(3)))


def _tells_comm_hook(old):
    def register_comm_hook(self, state, hook, *args, **kwargs):
        _tell_comm_hook(state, hook)
        return old(self, state, hook, *args, **kwargs)

    return register_comm_hook


@guard
def _tell_comm_hook(state, hook):
    """Ranks that average their weights now and then, rather than their gradients, differ on purpose."""
    scaling.has_comm_hook[0] = True
    name = "%s %s" % (type(state).__name__, getattr(hook, "__name__", ""))
    if "LocalSGD" in name or "noop" in name:
        core.tell_once("LocalSGD", place(sys._getframe(3)))


def _counts_forward(old):
    def forward(self, *args, **kwargs):
        if core.is_compiling():
            return old(self, *args, **kwargs)
        began = time.perf_counter()
        _count_forward(self, args, kwargs)
        past_wrapper.inside[0] += 1
        try:
            return old(self, *args, **kwargs)
        finally:
            past_wrapper.inside[0] -= 1
            State.times["forward"] += time.perf_counter() - began

    return forward


@guard
def _count_forward(wrapped, args, kwargs):
    import torch

    State.progress += 1
    if not torch.is_grad_enabled() and State.updates and getattr(wrapped, "will_sync_module_buffers", bool)():
        core.tell_once("buffers sent without gradients", place(sys._getframe(3)))
    if _kept_buffers:
        look_at_own_buffers()
    if torch.is_grad_enabled():
        samples[0] += unloaded.look(args, kwargs)
        if State.of_batch:
            State.fed += digest.of_batch([args, kwargs])[1]
        for wrapper in wrappers:
            if wrapper.wrapped() is wrapped:
                wrapper.forwards += 1
                wrapper.without_sync += not wrapped.require_backward_grad_sync
                wrapper.unsynced = None if wrapped.require_backward_grad_sync else _no_sync_place[0] or place(sys._getframe(3))


@guard
def _remember_no_sync(*args, **kwargs):
    _no_sync_place[0] = place(sys._getframe(3))


def _parameters(optimizer):
    return [parameter for group in optimizer.param_groups for parameter in group["params"]]


# When the last step began, and what had been counted as something else by then: a step may call for forward and backward itself.
_began = [0.0, 0.0]


def _others():
    return sum(seconds for name, seconds in State.times.items() if name != "optimizer")


# Optimizers whose steps are under way, the outermost first. One that is put around another calls its step: the outer one is looked at,
# except for Horovod's, which averages first.
_under_way = []


def _averages_first(optimizer):
    return hasattr(optimizer, "_allreduce_grad_async") or type(optimizer).__module__.startswith("horovod.")


def _begins_step(optimizer):
    """Whether it is not part of another one's step."""
    if _averages_first(optimizer) and optimizer not in stepping:
        # Horovod makes a subclass of the optimizer's class: the step of the class itself runs within its own.
        stepping[optimizer] = True
        watching.begins_update()
        return False
    for at, other in enumerate(_under_way):
        if other is optimizer:
            # Its last step ended with an exception.
            del _under_way[at:]
            break
    _under_way.append(optimizer)
    return len(_under_way) == 1


def is_under_way():
    return bool(_under_way or len(stepping))


# Optimizers of Horovod whose steps are under way.
stepping = core.Marks()


def _ends_step(optimizer):
    if _under_way and _under_way[-1] is optimizer:
        _under_way.pop()
        return not _under_way
    stepping.pop(optimizer)
    return False


def _is_inner(optimizer, with_gradient):
    """Whether the one within a distributed optimizer makes the step, rather than the distributed one or one around it."""
    if _averages_first(optimizer) or any(_averages_first(value) for value in vars(optimizer).values()):
        return False
    return any(not parameters.isdisjoint(map(id, with_gradient)) for parameters in averaged)


def _is_of_broadcast():
    """Horovod gives an optimizer a state by a step without gradients."""
    return State.within is not None and State.within[0] == "hvd.broadcast_optimizer_state"


@guard
def before_update(optimizer):
    """Right before an optimizer applies its gradients."""
    if not _begins_step(optimizer) or not core.may_speak() or _is_of_broadcast():
        return
    State.progress += 1
    unloaded.close()
    watching.begins_update()
    number = _updates.get(optimizer, 0)
    if optimizer not in _indices:
        _indices[optimizer] = next(_numbers)
        _look_at_kind(optimizer)
    if number < 2:
        resuming.look_at_update(optimizer, number)
    if number == 0:
        fields.look(beside.modules(), number)
    if sampled(number):
        _tell_update(optimizer, number)
    scaling.clear()
    _look_at_rate(optimizer, number)
    for wrapper in _wrappers_of(optimizer):
        wrapper.keep(_indices[optimizer])
    _forget_by_hand(optimizer)
    samples[0] = 0
    _began[:] = time.perf_counter(), _others()


# Updates in a row with a rate of 0 before anything is said of them.
_ZEROS = 4
_zeros = core.Marks()


def _look_at_rate(optimizer, number):
    """The highest one; and a schedule that has come to its end before the training has: its last updates change nothing."""
    groups = optimizer.param_groups
    rate = groups[0].get("lr") if groups else None
    if rate.__class__ is not float:
        return
    if _indices[optimizer] == 0 and rate > State.highest_rate:
        State.highest_rate, State.highest_at = rate, number
    made = _made.get(optimizer) if number == 0 else None
    if made and made["file"]:
        source.look_at_rate_made(made, getattr(optimizer, "defaults", {}).get("lr"))
    State.last_rate = rate
    if any(group.get("lr") != 0.0 for group in groups):
        _zeros.pop(optimizer)
        return
    began = _zeros.get(optimizer)
    if began is None:
        began = _zeros[optimizer] = number
    if began > 0 and number - began >= max(_ZEROS, number // 8):
        core.tell_once("rate 0", planned.place() or _made.get(optimizer) or place(), (str(began),))


def _forget_by_hand(optimizer):
    """What the program averaged for this optimizer; another one may be about to use the rest."""
    del summed[:]
    clipped[1] = None
    if by_hand:
        for parameter in _parameters(optimizer):
            if parameter.grad is not None:
                by_hand.pop(digest.address(parameter.grad), None)
            by_hand.pop(digest.address(parameter), None)


def _wrappers_of(optimizer):
    known = _own.get(optimizer)
    count = (len(wrappers), len(optimizer.param_groups))
    if known is None or known[0] != count:
        own = {id(parameter) for parameter in _parameters(optimizer)}
        known = _own[optimizer] = (count, [wrapper for wrapper in wrappers if not own.isdisjoint(wrapper.parameters)])
    return [wrapper for wrapper in known[1] if wrapper.wrapped() is not None]


def wrappers_around(of):
    """Those that hold parameters of an optimizer, or a module in its wrapper or without."""
    if hasattr(of, "param_groups"):
        return _wrappers_of(of)
    alive = [(wrapper, wrapper.wrapped()) for wrapper in wrappers]
    return [wrapper for wrapper, wrapped in alive if wrapped is not None and (wrapped is of or wrapped.module is of)]


def _look_at_kind(optimizer):
    for kind in kinds.kinds(optimizer, _parameters(optimizer)):
        core.tell_once(kind, _made.get(optimizer))


def _name_of_unused(parameters, own, names):
    unused = next((parameter for parameter in parameters if parameter.requires_grad and parameter.grad is None), None)
    if unused is None:
        return ""
    of_modules = (name for wrapper in own for name, parameter in wrapper.wrapped().module.named_parameters() if parameter is unused)
    return str(names.get(id(unused)) or next(of_modules, ""))


def _tell_update(optimizer, number):
    import torch

    parameters = _parameters(optimizer)
    with_gradient = [parameter for parameter in parameters if parameter.grad is not None]
    alive = [wrapper for wrapper in wrappers if wrapper.wrapped() is not None]
    own = _wrappers_of(optimizer)
    # A model that was taken out of its wrapper before anybody called that, and nobody keeps the wrapper.
    gone = frozenset() if own else frozenset().union(*(wrapper.parameters for wrapper in wrappers if wrapper.wrapped() is None and not wrapper.forwards))
    known = frozenset().union(*(wrapper.parameters for wrapper in alive), *averaged, gone)
    unwrapped = [parameter for parameter in with_gradient if id(parameter) not in known]
    # Horovod's, by the tensors themselves.
    names = {id(parameter): name for parameter, name in (getattr(optimizer, "_parameter_names", None) or {}).items()}
    since = _stepped.get(optimizer, 0)
    exchanged = [parameter for parameter in with_gradient if by_hand and _is_reduced(parameter.grad, since)]
    calls_by_hand = [by_hand[digest.address(parameter.grad)] for parameter in exchanged]
    for call in calls_by_hand:
        core.tell_once("async_op" if call.is_async else "averaged by hand", call.place)
        if len(exchanged) < len(with_gradient):
            core.tell_once("average of a part", call.chosen)
        if call.backwards < State.backwards:
            core.tell_once("backward behind the average", scaling.last_backward())
    if calls_by_hand:
        call_order.look("order of averages", exchanged, calls_by_hand)
    if clipped[1] is not None:
        calls = calls_by_hand or _sums_of_all(with_gradient)
        if calls and all(call.number > clipped[0] for call in calls):
            core.tell_once("clipped before the average", clipped[1])
    # A part of the model was replaced behind the optimizer: what it has never gets a gradient, and it has not what does.
    if number == 2 and len(own) == 1 and len(_made) == 1 and len(with_gradient) < sum(parameter.requires_grad for parameter in parameters):
        ids = set(map(id, parameters))
        left = [one for one in own[0].wrapped().parameters() if one.requires_grad and one.grad is not None and id(one) not in ids]
        if left:
            core.tell_once("not in the optimizer", _made.get(optimizer), (str(len(left)),))
    _look_at_part(with_gradient)
    detached.look(optimizer, parameters, own, number)
    calls = [wrapper.since_update(_indices[optimizer]) for wrapper in own]
    forwards, without_sync = sum(count for count, _ in calls), sum(count for _, count in calls)
    unsynced = [wrapper.unsynced for wrapper in own if wrapper.unsynced]
    if unsynced:
        without_sync = forwards
    is_taken_out = not gone.isdisjoint(map(id, with_gradient))
    if (own or is_taken_out) and forwards == 0 and not State.compiles:
        past_wrapper.look(own, gone)
    if number == 0 and not wrappers:
        unloaded.watch(parameters)
    unloaded.look_at_mode(parameters)
    past = place() if _is_inner(optimizer, with_gradient) else past_wrapper.seen_at[0] if forwards == 0 else None
    _look_at_weights(parameters, number)
    if number == 1:
        fields.look(beside.modules(), number)
        beside.tell(parameters, itertools.chain.from_iterable(map(_parameters, _made)))
    source.look_at_rate(optimizer)
    is_sum = scaling.look(optimizer, with_gradient, frozenset().union(*(wrapper.parameters for wrapper in own)))
    looks_summed = all(_is_as_summed(parameter.grad) for parameter in exchanged) if exchanged else _are_as_summed(with_gradient)
    if parameters and len(first_weights) < 64:
        first_weights[digest.address(parameters[0])] = weakref.ref(parameters[0])
    buffers = [buffer for wrapper in own for buffer in wrapper.wrapped().module.buffers()]
    momentum = [
        value
        for parameter in parameters
        for key, value in sorted(optimizer.state.get(parameter, {}).items(), key=lambda item: str(item[0]))
        if hasattr(value, "is_sparse") and key != "step"
    ]
    send(
        "update",
        update=number,
        optimizer=type(optimizer).__name__,
        index=_indices[optimizer],
        place=place(),
        made=_made.get(optimizer) or core.NO_PLACE,
        rates=[float(group["lr"]) for group in optimizer.param_groups if "lr" in group][:64],
        weights=digest.of_tensors(parameters),
        gradients=_digest_of_gradients(parameters, with_gradient),
        buffers=digest.of_tensors(buffers),
        state=digest.of_tensors(momentum),
        tensors=len(parameters),
        without_gradient=sum(parameter.requires_grad and parameter.grad is None for parameter in parameters),
        unwrapped=len(unwrapped),
        unused_name=_name_of_unused(parameters, own, names),
        unwrapped_name=str(names.get(id(unwrapped[0]), "")) if unwrapped else "",
        forwards=forwards,
        past_wrapper=int(past is not None),
        past_wrapper_place=past or core.NO_PLACE,
        without_sync=without_sync,
        without_sync_place=_no_sync_place[0] or (unsynced or [core.NO_PLACE])[0],
        averaged_by_hand=len(exchanged),
        summed_by_hand=looks_summed if is_sum is None else is_sum,
        device=core.name_of(parameters[0].device, torch) if parameters else "cpu",
        threads=torch.get_num_threads(),
        samples=samples[0],
        backwards=State.backwards,
        batches=State.loader[0],
        loader_made=State.loader[1],
    )


def _digest_of_gradients(parameters, with_gradient):
    """Equal ones of other tensors are not the same."""
    found = digest.of_tensors(parameter.grad for parameter in with_gradient)
    if not found or len(with_gradient) == len(parameters):
        return found
    return digest.of_text(found + " ".join(str(at) for at, parameter in enumerate(parameters) if parameter.grad is not None))


def _is_reduced(gradient, since):
    """Whether the program has averaged it since; what lay in its place before may be gone."""
    call = by_hand.get(digest.address(gradient))
    # Behind another backward pass a tensor of another size is a new one, which came to lie there.
    is_it = call is not None and (call.backwards == State.backwards or call.numbers == gradient.numel())
    return is_it and call.name == "all_reduce" and call.steps >= since


def _is_as_summed(gradient):
    call = by_hand[digest.address(gradient)]
    return call.is_sum and gradient.numel() > 0 and float(gradient.reshape(-1)[0]) == call.first


def _sums_of_all(with_gradient):
    """The sums over tensors that together hold as many numbers as these gradients."""
    is_all = sum(count for count, _, _ in summed) == sum(parameter.grad.numel() for parameter in with_gradient)
    return [call for _, _, call in summed] if is_all else []


def _look_at_part(with_gradient):
    """A sum over a vector of some of the gradients, whose first number has come back into one of them, divided or not."""
    total, count = sum(parameter.grad.numel() for parameter in with_gradient), sum(count for count, _, _ in summed)
    if not summed or count >= total or "part averaged" in core._told:
        return
    first = summed[0][1]
    numbers = [float(parameter.grad.reshape(-1)[0]) for parameter in with_gradient if parameter.grad.numel() and not parameter.grad.is_sparse]
    if first and any(math.isclose(number, part, rel_tol=1e-6) for number in numbers for part in (first, first / State.size)):
        core.tell_once("part averaged", summed[0][2].place, (str(count), str(total)))


def _are_as_summed(with_gradient):
    """Whether these gradients were taken as they came from sums over tensors that hold all of them, one behind the other."""
    if not _sums_of_all(with_gradient):
        return False
    firsts = {float(parameter.grad.reshape(-1)[0]) for parameter in with_gradient if parameter.grad.numel() and not parameter.grad.is_sparse}
    if not all(first in firsts and first != 0.0 for _, first, _ in summed):
        return False
    core.tell_once("averaged by hand", summed[0][2].place)
    return True


def _look_at_weights(parameters, number):
    """Weights that the program itself has put through a collective: a broadcast at the start, or averages instead of those of gradients."""
    if not by_hand:
        return
    own = [parameter for parameter in parameters if digest.address(parameter) in by_hand]
    touched = [by_hand[digest.address(parameter)] for parameter in own]
    if len(touched) * 2 > len(parameters):
        call_order.look("order of weights by " + touched[0].name, own, touched)
    if touched and touched[0].name == "broadcast":
        if number == 0 and len(touched) < len(parameters):
            core.tell_once("part broadcast", touched[0].chosen, (str(len(touched)), str(len(parameters))))
        send("state", action="broadcast_model", place=touched[0].place, digest=digest.of_tensors(parameters), updates=State.updates)
    elif len(touched) * 2 > len(parameters) and number > 0:
        core.tell_once("averaged weights", touched[0].place)


@guard
def after_update(optimizer):
    if not _ends_step(optimizer) or not core.may_speak() or _is_of_broadcast():
        return
    number = _updates.get(optimizer, 0)
    _updates[optimizer] = number + 1
    State.progress += 1
    State.steps += 1
    _stepped[optimizer] = State.steps
    State.updates = max(State.updates, number + 1)
    State.behind_validation = False
    State.times["optimizer"] += max(0.0, time.perf_counter() - _began[0] - (_others() - _began[1]))
    if sampled(number):
        watching.tell_phases()
    watching.ended_update()
