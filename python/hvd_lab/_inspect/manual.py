"""Updates that the program makes itself, without an optimizer: the weights are looked at between backward passes."""
import weakref

from . import averaging, core, digest, kinds, source
from .core import State, guard, place, replace, sampled, send

# Backward passes so far, and those before which the weights were other ones than at the look before, with a digest of them.
_count, _held = [0], []
# So many of these are no chance, such as weights that are loaded behind a trial.
_FEWEST = 4
# Nodes of a graph that are looked at. No optimizer has this number.
_MOST, _NUMBER = 100_000, 1 << 10


def install(torch):
    replace(torch.Tensor, "backward", core.looks_first(_look))


@guard
def _look(loss, *args, **kwargs):
    if len(averaging._indices) or not core.may_speak() or core.is_compiling():
        return
    number, _count[0] = _count[0], _count[0] + 1
    if len(_held) >= _FEWEST:
        _count_update()
    if not sampled(number):
        return
    leaves = _leaves(loss)
    weights = digest.of_tensors(leaves)
    if _held and weights == _held[-1][1]:
        return
    _held.append((number, weights))
    if len(_held) < _FEWEST:
        return
    where = source.line_that_updates(place())
    if len(_held) == _FEWEST:
        _count_update()
        for kind in kinds.kinds(None, leaves):
            core.tell_once(kind)
        averaging.first_weights[digest.address(leaves[0])] = weakref.ref(leaves[0])
    for number, weights in _held if len(_held) == _FEWEST else _held[-1:]:
        send("update", update=number, optimizer="by hand", index=_NUMBER, place=where, weights=weights, tensors=len(leaves), forwards=1)


def _count_update():
    State.steps += 1
    State.updates += 1
    State.behind_validation = False


def _leaves(loss):
    """The tensors that a loss is to be differentiated by, in the order in which they come from it."""
    found, nodes, known = [], [getattr(loss, "grad_fn", None)], set()
    while nodes and len(known) < _MOST:
        node = nodes.pop()
        if node is None or node in known:
            continue
        known.add(node)
        leaf = getattr(node, "variable", None)
        if leaf is not None:
            found.append(leaf)
        nodes += [of for of, _ in node.next_functions]
    return found
