"""Whether the gradients of an update are the averages over the ranks and its batches, or were divided or added up once more."""
import math

from . import core, digest, source
from .core import State, guard, place, sampled

# Optimizers, and where they were made.
optimizers = core.Marks()
# Parameters of one device that are looked at, and updates that must show the same.
_MOST, _UPDATES = 64, 3
_CLOSE = 1e-3
# What a loss passes through without another value.
_SAME = ("ToCopyBackward0", "ViewBackward0", "SqueezeBackward0", "CloneBackward0")


class _Number:
    """The first number of a gradient behind the last backward pass. Its average over the ranks is `None` until the program makes one."""

    def __init__(self, raw, version):
        self.raw, self.version, self.average = raw, version, None


# By the number of the parameter, and by the address of its gradient. Numbers in all gradients, and the one that is in a collective.
_numbers, _of_address, _total, _given = {}, {}, [0], []
# Backward passes since the last update: the line, the batch that had come last, whether the loss is a plain mean, what it is multiplied by,
# and whether by a division.
_passes = []
# A hook of the program's own may add the gradients up, rather than average them.
has_comm_hook = [False]
# Of each optimizer, how many updates have shown what, and how many did not.
_shown = core.Marks()


def _is_plain(gradient):
    return gradient is not None and not (gradient.is_sparse or gradient.is_meta or gradient.is_complex() or hasattr(gradient, "to_local")) and gradient.numel() > 0


def _first_numbers(parameters):
    """Of gradients on one device, fetched in one go."""
    import torch

    some = [parameter for parameter in parameters if _is_plain(parameter.grad)][:_MOST]
    some = [parameter for parameter in some if parameter.grad.device == some[0].grad.device]
    numbers = [parameter.grad.detach().reshape(-1)[0].float() for parameter in some]
    return list(zip(some, torch.stack(numbers).tolist())) if some else []


def _parameters():
    return [parameter for optimizer in optimizers for group in optimizer.param_groups for parameter in group["params"]]


@guard
def before_backward(loss, frame):
    if sampled(State.updates):
        is_mean, scale, is_divided = _scale_of(loss)
        # Libraries divide it themselves, some of them behind the backward pass.
        is_mean = is_mean and core._is_own(frame.f_code.co_filename) is not None
        _passes.append((place(frame), State.batch, is_mean, scale, is_divided))
        if is_divided and State.updates == 0 and source.line_that_divides_a_loss(_passes[-1][0]) is not None:
            core.tell_once("loss divided")


def last_backward():
    """The line of the last backward pass in front of this update."""
    return _passes[-1][0] if _passes else core.NO_PLACE


@guard
def behind_backward():
    clear_numbers()
    if sampled(State.updates) and core.may_speak() and not core.is_compiling():
        parameters = _parameters()
        for parameter, number in _first_numbers(parameters):
            _numbers[id(parameter)] = _of_address[digest.address(parameter.grad)] = _Number(number, parameter.grad._version)
        _total[0] = sum(parameter.grad.numel() for parameter in parameters if parameter.grad is not None)


def clear_numbers():
    _numbers.clear()
    _of_address.clear()
    del _given[:]


def clear():
    """An update has used the gradients."""
    clear_numbers()
    del _passes[:]


def averaged(parameters):
    """Gradients that were averaged just now."""
    for parameter, number in _first_numbers(parameters):
        known = _numbers.setdefault(id(parameter), _Number(number, 0))
        known.average = number


def has_changed(parameter):
    """Whether the program has changed a gradient in its place since the backward pass."""
    known = _numbers.get(id(parameter))
    return known is not None and parameter.grad is not None and parameter.grad._version != known.version


def before_sum(tensor):
    """A tensor that is about to go through `all_reduce`: a gradient, or all of them behind each other. Until it comes back nothing is known of it."""
    del _given[:]
    if not _numbers or not _is_plain(tensor):
        return
    known = _of_address.get(digest.address(tensor))
    if known is None and tensor.numel() == _total[0]:
        known = next(iter(_numbers.values()))
    if known is not None and known.average is None and known.raw:
        # The program may have divided it before.
        _given[:] = known, float(tensor.detach().reshape(-1)[0]) / known.raw
        known.average = math.nan


def behind_sum(tensor, divisor):
    """The divisor makes an average of it; `None` if it is not known which."""
    if _given and divisor:
        known, before = _given
        known.average = float(tensor.detach().reshape(-1)[0]) / divisor / before if before else math.nan
    del _given[:]


def _scale_of(loss):
    """Whether a loss is the mean over a batch as a loss function gives it, the factor in front of that, and whether nothing but a
    division made it."""
    node, scale, is_divided = getattr(loss, "grad_fn", None), 1.0, True
    for _ in range(8):
        name = node.name() if node is not None else ""
        inner = [of for of, _ in node.next_functions if of is not None] if node is not None else []
        if name in ("DivBackward0", "MulBackward0") and len(inner) == 1:
            other, is_divided = _factor_of(node), is_divided and name == "DivBackward0"
            scale = scale * other if name == "MulBackward0" else scale / other if other else 0.0
        elif name not in _SAME or len(inner) != 1:
            break
        node = inner[0]
    is_mean = name == "MeanBackward0" or getattr(node, "_saved_reduction", 0) == 1
    return is_mean, scale, is_divided


def _factor_of(node):
    """What a loss is multiplied with or divided by; 0 if it is no number, or not known any more."""
    try:
        other = next((of for of in (node._saved_other, node._saved_self) if of is not None and of.numel() == 1), 0.0)
    except (AttributeError, RuntimeError):
        return 0.0
    return float(other)


def _is(number, other):
    return abs(number - other) <= _CLOSE * abs(other)


def _factor(parameters, wrapped):
    """What the gradients are of their averages, if it is the same for all of them."""
    found = []
    for parameter, number in _first_numbers(parameters):
        known = _numbers.get(id(parameter))
        average = None if known is None else known.raw if known.average is None and id(parameter) in wrapped else known.average
        if average and math.isfinite(average):
            found.append(number / average)
    return found[0] if found and all(_is(one, found[0]) for one in found) else 0.0


def look(optimizer, parameters, wrapped):
    """Right before an update. Whether its gradients are sums over the ranks; `None` if that is not known.

    `wrapped`: numbers of the parameters that a wrapper averages in each backward pass.
    """
    factor, size, count = _factor(parameters, wrapped), State.size, len(_passes)
    scale = _passes[-1][3] if _passes else 1.0
    if _is(scale, 1 / size):
        _look_at_division(optimizer, _is(factor, 1) and size > 1)
        return False
    if not factor or size < 2 or not _passes:
        return None
    where = _passes[-1][0]
    lines, batches = {str(line) for line, *_ in _passes}, {batch for _, batch, *_ in _passes}
    # Of several loaders the losses may be those of several tasks.
    are_batches = count > 1 and len(lines) == 1 and len(batches) == count and len({loader for loader, _ in batches}) == 1
    # Gradients of as many batches as there are ranks are divided by that number as well, and so are those of a loss that was multiplied by it.
    _show(optimizer, "averaged twice", _is(factor, 1 / size) and count != size and not _is(scale, size), lambda: source.line_that_divides(place()))
    _show(optimizer, "batches added up", _is(factor, 1) and are_batches and all(is_mean and scale == 1 for _, _, is_mean, scale, _ in _passes),
          lambda: source.line_of_value(where, "backward"), [str(count)])
    # Gradients that were divided in front of their sum are averages, whatever they look like.
    return True if _is(factor, size) else False if _is(factor, 1) else None


def _look_at_division(optimizer, are_averages):
    """A loss that the program divides by the number of ranks, in front of an average that does so as well."""
    where, _, is_mean, _, is_divided = _passes[-1]
    is_twice = are_averages and is_mean and is_divided and len(_passes) == 1 and not has_comm_hook[0]
    line = source.line_that_divides_a_loss(where) if is_twice else None
    _show(optimizer, "averaged twice", line is not None, lambda: line)


def _show(optimizer, what, is_so, where, settings=()):
    shown = _shown.get(optimizer)
    if shown is None:
        shown = _shown[optimizer] = {}
    yes, no = shown.get(what, (0, 0))
    shown[what] = yes, no = yes + is_so, no + (not is_so)
    if yes == _UPDATES and not no:
        core.tell_once(what, where(), settings)
