"""Random states where a loader takes its samples: in the rank itself, or in worker processes, which tell their rank through a file.

In a worker this module is imported by name, whether it was forked or spawned; it never speaks to the lab there.
"""
import functools
import json
import os
import random
import sys
import tempfile

from . import core, digest, source
from .core import State, guard, send

_VARIABLE = "HVD_LAB_INSPECT_WORKERS"
_KINDS = ("numpy", "python", "torch")
# Generators of a data set that are looked at, and its fields.
_OWN, _FIELDS = 8, 64
# Numbers that a Mersenne Twister makes at a time.
_BLOCK = 624
_folder = [None]
_expected = {}
_told = set()


def install(torch):
    State.after_end.append(clear)
    module = sys.modules.get("torch.utils.data._utils.worker")
    if module is not None and hasattr(module, "_worker_loop"):
        _loop[0] = module._worker_loop
        module._worker_loop = worker_loop


_loop = [None]


def worker_loop(*args, **kwargs):
    """In the place of PyTorch's own: looks at the random states after the program's `worker_init_fn`, and around the first batch."""
    if _loop[0] is None:
        import torch.utils.data  # Installs the hooks, and this module with them.
    try:
        args = _with_look(list(args))
    except Exception:
        pass
    return _loop[0](*args, **kwargs)


def _with_look(args):
    # dataset_kind, dataset, index_queue, data_queue, done_event, auto_collation, collate_fn, drop_last, base_seed, init_fn, worker_id
    folder = os.environ.get(_VARIABLE)
    if folder and len(args) > 10 and callable(args[6]):
        # An iterable data set may draw alike in all workers, of which each takes a share.
        look = _Look(os.path.join(folder, "%d-%d" % (os.getppid(), args[10])), args[10], args[1] if args[0] == 0 else None)
        args[6], args[9] = functools.partial(look.collate, args[6]), functools.partial(look.begin, args[9])
    return args


def states():
    """Digests of NumPy's, Python's and PyTorch's random states here."""
    # NumPy loads its random numbers when they are first asked for.
    random_of_numpy, torch = sys.modules.get("numpy.random"), sys.modules.get("torch")
    found = {"python": digest.of_text(repr(random.getstate()))}
    if random_of_numpy is not None:
        state = random_of_numpy.get_state()
        found["numpy"] = digest.of_text(repr((state[0], bytes(state[1].tobytes()), state[2:])))
    if torch is not None:
        found["torch"] = digest.of_tensors([torch.get_rng_state()])
    return found


def position(state):
    """Where the Mersenne Twister of this state of PyTorch's stands: its block of numbers, and how many of them were taken; or nothing."""
    if state.device.type != "cpu" or state.numel() < 24 + 8 * _BLOCK:
        return None
    raw = bytes(state[:24 + 8 * _BLOCK].tolist())
    # A new one has no block yet.
    return raw[24:], int.from_bytes(raw[16:24], "little") or _BLOCK


def positions():
    """Those of NumPy's and PyTorch's random numbers here."""
    random_of_numpy, torch = sys.modules.get("numpy.random"), sys.modules.get("torch")
    found = {}
    if random_of_numpy is not None:
        state = random_of_numpy.get_state()
        found["numpy"] = (state[1].tobytes(), state[2]) if state[0] == "MT19937" else None
    if torch is not None:
        found["torch"] = position(torch.get_rng_state())
    return found


def are_few(before, after, count):
    """Whether fewer numbers than that were taken between two positions."""
    if before is None or after is None:
        return False
    return after[1] - before[1] + (0 if before[0] == after[0] else _BLOCK) < count


def drawn(before, own=None):
    """States as they were, and which have changed since: those of a data set's own generators, if they are what is drawn from."""
    after = states()
    found = {"states": before, "draws": {name: after.get(name) != state for name, state in before.items()}, "own": {}}
    for generator in own or ():
        if generator.state() != generator.before and not found["draws"].get(generator.kind):
            found["states"] = dict(found["states"], **{generator.kind: generator.before})
            found["draws"][generator.kind] = True
            found["own"] = generator.place()
    return found


class _Generator:
    """A generator that a data set keeps for itself."""

    def __init__(self, owner, name, kind, look):
        self.owner, self.name, self.kind, self._look = owner, name, kind, look
        self.before = self.state()

    def state(self):
        return digest.of_text(repr(self._look(getattr(self.owner, self.name))))

    def place(self):
        """The line of its class that makes it."""
        return source.line_of_field(self.owner, self.name) or {}


def own_generators(dataset):
    """Those of a data set, of the one that it is a part of, and of what it does to samples."""
    found, left = [], [dataset]
    while left and len(found) < _OWN:
        owner = left.pop(0)
        for name, value in list((getattr(owner, "__dict__", None) or {}).items())[:_FIELDS]:
            look = _state_of(value)
            if look is not None:
                found.append(_Generator(owner, name, *look))
            elif name == "transforms" and isinstance(value, (list, tuple)):
                left.extend(value[:_OWN])
            elif hasattr(value, "__dict__") and len(left) < _OWN and (name in ("dataset", "transform", "transforms") or core.is_of_program(value)):
                left.append(value)
    return found


def _state_of(value):
    """The kind of a generator, and what gives its state."""
    numpy, torch = sys.modules.get("numpy.random"), sys.modules.get("torch")
    if isinstance(value, random.Random):
        return "python", lambda of: of.getstate()
    if numpy is not None and isinstance(value, numpy.RandomState):
        return "numpy", lambda of: [part.tolist() if hasattr(part, "tolist") else part for part in of.get_state()]
    if numpy is not None and isinstance(value, getattr(numpy, "Generator", ())):
        return "numpy", lambda of: of.bit_generator.state
    if torch is not None and isinstance(value, torch.Generator):
        return "torch", lambda of: of.get_state().tolist()
    return None


class _Look:
    def __init__(self, path, number, dataset):
        self.path, self.number, self.dataset, self.before, self.own = path, number, dataset, None, ()

    def begin(self, init, number):
        if init is not None:
            init(number)
        try:
            self.before = states()
            self.own = own_generators(self.dataset)
        except Exception:
            self.before = None

    def collate(self, collate, data):
        if self.before is not None:
            before, self.before = self.before, None
            try:
                with open(self.path, "w") as file:
                    json.dump(dict(drawn(before, self.own), worker=self.number), file)
            except Exception:
                pass
        return collate(data)


class _Fetcher:
    """Stands before the one of a loader without workers until its first batch has been taken."""

    def __init__(self, iterator, fetcher, index, made):
        self._iterator, self._fetcher, self._index, self._made = iterator, fetcher, index, made

    def __getattr__(self, name):
        return getattr(self._fetcher, name)

    def fetch(self, indices):
        self._iterator._dataset_fetcher = self._fetcher
        before, own = guard(states)(), guard(own_generators)(getattr(self._fetcher, "dataset", None))
        data = self._fetcher.fetch(indices)
        self._tell(before, own)
        return data

    @guard
    def _tell(self, before, own):
        if before is not None:
            tell_states(self._index, self._made, [drawn(before, own)])


def is_run_by_library():
    """Whether the loop is of a library that seeds all ranks alike by itself: the program does not decide that.

    Accelerate only hands the batches of a loader on, and Lightning seeds if it is asked to, by `seed_everything`.
    """
    frame = sys._getframe(1)
    while frame is not None:
        name = frame.f_globals.get("__name__", "")
        if name.startswith("transformers."):
            return True
        if name.startswith(("lightning.", "pytorch_lightning.")):
            return "PL_GLOBAL_SEED" in os.environ
        frame = frame.f_back
    return False


def expect(loader, index, made, iterator):
    """A pass over this loader begins: random numbers may be drawn for its samples."""
    if index in _told:
        return
    if getattr(loader, "num_workers", 0):
        _expected[index] = (made, int(loader.num_workers))
    elif hasattr(iterator, "_dataset_fetcher") and getattr(iterator, "_dataset_kind", 1) == 0 and not is_run_by_library():
        # An iterable data set may draw alike on all ranks, of which each takes a share.
        _told.add(index)
        iterator._dataset_fetcher = _Fetcher(iterator, iterator._dataset_fetcher, index, made)


def prepare():
    """A folder for the workers of this process."""
    if _folder[0] is None and core.may_speak():
        _folder[0] = tempfile.mkdtemp(prefix="hvd-lab-inspect-")
        os.environ[_VARIABLE] = _folder[0]


@guard
def tell():
    """What the workers of one loader have written."""
    if not _expected or _folder[0] is None:
        return
    index, (made, count) = next(iter(_expected.items()))
    seen = []
    for name in sorted(os.listdir(_folder[0])):
        path = os.path.join(_folder[0], name)
        try:
            with open(path) as file:
                seen.append(json.load(file))
            os.remove(path)
        except (OSError, ValueError):
            continue
    if not seen:
        return
    _expected.pop(index)
    _told.add(index)
    seen.sort(key=lambda one: one["worker"])
    tell_states(index, made, seen)


def tell_states(index, made, seen):
    fields = {kind: [one["states"].get(kind, "") for one in seen][:256] for kind in _KINDS}
    draws = {"draws_" + kind: any(one["draws"].get(kind) for one in seen) for kind in _KINDS}
    own = next((one["own"] for one in seen if one.get("own")), None)
    for kind in _KINDS:
        if draws["draws_" + kind] and own is None and "seed of " + kind not in core._told:
            core.tell_once("seed of " + kind, source.line_that_seeds(kind))
    send("workers", loader=index, made=own or made or core.NO_PLACE, is_own=own is not None, **fields, **draws)


def clear():
    if _folder[0] is not None:
        import shutil

        shutil.rmtree(_folder[0], ignore_errors=True)
