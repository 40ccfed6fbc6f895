"""Batches of a program without a data loader, told as a pass over one: the first ones of the training, and those of each validation."""
import sys

from . import core, digest, rows, workers
from .core import NO_PLACE, State, guard, place, replace, send

# Batches that are looked at, and digests that are told. No loader has these numbers.
_MOST, _FIRST, _NUMBER = 16, 4, 1 << 20
# Samples of which a validation has some more, before anything is said of it.
_FEWEST = 8
# Calls of modules until the look at them is given up.
_CALLS = 20_000


class _Batches:
    def __init__(self, where):
        self.where, self.first, self.rows = where, [], rows.Rows()
        self.batches = self.samples = 0

    def add(self, tensors, samples):
        if self.batches < _FIRST:
            self.first.append(digest.of_tensors(tensors))
        if self.batches < _MOST:
            self.rows.add(tensors)
        self.batches += 1
        self.samples += samples

    def tell(self, loader, picked, **more):
        # Ranks that all take the same tensors in each step may each have a share of the targets, as with a graph.
        is_constant = len(self.first) > 1 and len(set(self.first)) == 1
        picked = [] if is_constant else picked
        send("pass", loader=loader, made=NO_PLACE, place=self.where, updates=State.updates, batches=self.batches, samples=self.samples,
             first=self.first, picked=picked, every=1, content="rows" if picked else "", **more)


_seen = [None]
_is_told = [False]


def look(args, kwargs):
    """One call of the model in training; returns the samples in it."""
    if State.has_loaders:
        return 0
    tensors, samples = digest.of_batch([args, kwargs])
    if _is_told[0]:
        return samples
    if _seen[0] is None:
        _seen[0] = _Batches(place())
        State.before_end.append(tell)
    _seen[0].add(tensors, samples)
    if _seen[0].batches >= _MOST:
        tell()
    return samples


def tell():
    seen = _seen[0]
    if _is_told[0] or State.has_loaders or seen is None:
        return
    _is_told[0] = True
    seen.tell(_NUMBER, seen.rows.picked(), trains=True, is_whole=False, **{"pass": 0})


@guard
def watch(parameters):
    """Without a wrapper: looks at the first calls of the module that these parameters belong to."""
    import torch

    if State.has_loaders or _is_told[0] or not parameters:
        return
    called, left = [], [_CALLS]

    def before_forward(module, arguments):
        left[0] -= 1
        if State.has_loaders or _is_told[0] or left[0] < 0:
            stop()
        elif torch.is_grad_enabled() and (module is called[0] if called else any(own is parameters[0] for own in module.parameters())):
            called[:] = [module]
            look(arguments, {})

    stop = core.before_forwards(before_forward)


class _Evaluation:
    """From `eval()` of a model that has been trained until its training goes on."""

    def __init__(self, model):
        self.model, self.called, self.batches = model, None, None
        self.meetings, self.states = State.meetings, workers.states()
        # Batches that are drawn by chance estimate the result of the whole on each rank.
        self.is_drawn = False


_open, _hook, _passes = [None], [None], [0]


def install(torch):
    replace(torch.nn.Module, "eval", _begins)
    State.before_end.append(close)


def _begins(old):
    def eval(self, *args, **kwargs):
        was_training = self.training
        result = old(self, *args, **kwargs)
        if was_training and State.updates:
            _begin(self)
            _evaluated(self)
        return result

    return eval


# Models that were put into eval mode while they were trained, and the line.
_evaluating = core.Marks()


@guard
def _evaluated(model):
    _evaluating[model] = place(sys._getframe(3))


def look_at_mode(parameters):
    """Before an update: a model that a validation has left in eval mode."""
    own = set(map(id, parameters)) if len(_evaluating) else ()
    for model in _evaluating:
        if not model.training and any(id(parameter) in own for parameter in model.parameters()):
            core.tell_once("trains in eval mode", _evaluating[model], (str(State.updates),))


@guard
def _begin(model):
    close()
    if core.may_speak() and State.has_spoken:
        _open[0] = _Evaluation(model)
        _hook[0] = core.before_forwards(_before_forward)


def _before_forward(module, arguments):
    import torch

    seen = _open[0]
    if seen.called is None and (module is seen.model or module is getattr(seen.model, "module", None)):
        seen.called, seen.batches = module, _Batches(place(sys._getframe(2)))
    if module is not seen.called or torch.is_grad_enabled():
        return
    seen.batches.add(*digest.of_batch(arguments))
    seen.is_drawn = seen.is_drawn or workers.states() != seen.states
    if seen.batches.batches >= _MOST:
        _stop()


def _stop():
    if _hook[0] is not None:
        _hook[0]()
        _hook[0] = None


def took_batch():
    """A batch has come from a loader, whose passes are told there."""
    seen = _open[0]
    if seen is not None:
        close() if seen.model.training else drop()


def drop():
    _stop()
    _open[0] = None


def close():
    """The training goes on, or the program ends."""
    seen = _open[0]
    drop()
    if seen is None or seen.batches is None or seen.batches.samples < _FEWEST or seen.is_drawn:
        return
    number, _passes[0] = _passes[0], _passes[0] + 1
    seen.batches.tell(_NUMBER + 1, seen.batches.rows.picked(_FEWEST), trains=False, is_whole=True, met=State.meetings - seen.meetings,
                      **{"pass": number})
