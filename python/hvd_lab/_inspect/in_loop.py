"""Random numbers that the program draws between a batch and the model that trains on it, as for crops, flips and noise.

They are told like those of workers. A profile function looks at the first batches of a loader, keeps the line that draws, and ends where
a model is called.
"""
import random
import sys

from . import digest, profiling, workers
from .core import State, guard, place

# Batches of a loader that are looked at, and events of one of them until it is given up.
_BATCHES, _EVENTS = 4, 20_000
# No loader has numbers from here on.
_NUMBER = 1 << 21
_DRAWS = frozenset(
    "rand randn rand_like randn_like randint randint_like randperm bernoulli bernoulli_ normal normal_ uniform_ random_ exponential_ multinomial random getrandbits".split()
)
_looked = {}


class _Look:
    def __init__(self, index, samples):
        self.index, self.left, self.place, self.samples = index, _EVENTS, None, samples
        self.states, self.own, self.positions = workers.states(), {}, workers.positions()
        # Calls of Python's random numbers.
        self.calls = 0
        # Generators of PyTorch that may be drawn from, each with its state before.
        self.generators = {}

    def watch(self, frame, event, called):
        self.left -= 1
        if self.left < 0 or not State.active:
            end()
        elif event == "c_call":
            if getattr(called, "__name__", "") in _DRAWS:
                _draw(self, frame, called)
        elif event == "call" and frame.f_code is _module_call():
            _close(self, frame)


def _module_call():
    # At the end of a process its modules are gone.
    torch = sys.modules.get("torch")
    return None if torch is None else getattr(torch.nn.Module.__call__, "__code__", None)


@guard
def _draw(look, frame, called):
    look.place = look.place or place(frame)
    of = getattr(called, "__self__", None)
    look.calls += isinstance(of, random.Random)
    if isinstance(of, random.Random) and of is not random._inst:
        look.own.setdefault("python", digest.of_text(repr(of.getstate())))
    for value in frame.f_locals.values():
        if isinstance(value, sys.modules["torch"].Generator) and id(value) not in look.generators:
            state = value.get_state()
            look.generators[id(value)] = value, (digest.of_tensors([state]), workers.position(state))


@guard
def _close(look, frame):
    import torch

    module = next(iter(frame.f_locals.values()), None)
    # Augmentation may be a module too.
    trains = isinstance(module, torch.nn.Module) and any(parameter.requires_grad for parameter in module.parameters())
    if not trains or not torch.is_grad_enabled():
        return
    end()
    after = [(digest.of_tensors([generator.get_state()]), generator, before) for generator, before in look.generators.values()]
    changed = [(generator, before) for state, generator, before in after if state != before[0]]
    if any(not workers.are_few(before[1], workers.position(generator.get_state()), look.samples) for generator, before in changed):
        look.own["torch"] = digest.of_text(" ".join(before[0] for _, before in changed))
    drawn = workers.drawn(look.states)
    # Fewer numbers than samples choose something for the whole batch, as its size: they may be the same on all ranks.
    for kind, position in workers.positions().items():
        if workers.are_few(look.positions.get(kind), position, look.samples):
            drawn["draws"][kind] = False
    if look.calls < look.samples:
        drawn["draws"]["python"] = False
        look.own.pop("python", None)
    for kind, state in look.own.items():
        if not drawn["draws"].get(kind):
            # It draws from a generator of its own.
            drawn["states"][kind], drawn["draws"][kind] = state, True
    if any(drawn["draws"].values()):
        _looked[look.index] = _BATCHES
        workers.tell_states(_NUMBER + look.index, look.place or place(frame), [drawn])


def begin(index, samples):
    """The program has got a batch of so many samples from the loader with this number."""
    end()
    count = _looked.get(index, 0)
    if count >= _BATCHES or sys.getprofile() is not None or workers.is_run_by_library():
        return
    _looked[index] = count + 1
    profiling.begin(_Look(index, samples).watch)


def end():
    profiling.end()
    profiling.forget(sys._getframe(1))
