"""Passes over data loaders: which samples a rank gets, in which order, how many, and what it waits for them."""
import collections
import os
import sys
import time
import weakref
import zlib

from . import averaging, core, departures, digest, earlier, in_loop, parts, results, rows, source, unloaded, watching, workers
from .core import State, guard, replace, send

# Of a data set: its own values, and how deep they are looked into.
_VALUES, _DEPTH, _VISITS = 64, 6, 2000
# Batches that must be cut alike before anything is said of it.
_CUTS = 4
# Digests of a pass, and numbers of samples that go into the digest of an order.
_FIRST, _ORDER, _PICKED = 4, 4096, 256
_made = core.Marks()
# Passes over each loader, by its number.
_passes = {}
_indices = core.Marks()
_count, _like = [0], {}
_open = []
# Whether the last pass over a loader was one of training, by its number.
_trained = {}
# Where samplers and subsets were made, and data sets of tensors.
_samplers, _datasets = core.Marks(), core.Marks()


class Pass:
    def __init__(self, loader, where):
        self.loader, self.where = weakref.ref(loader), where
        self.made = _made.get(loader) or core.NO_PLACE
        self.earlier = earlier.Earlier(sys._getframe(4))
        self.batch_size, self.drops_last = _whole(getattr(loader, "batch_size", None)), bool(getattr(loader, "drop_last", False))
        self.workers = int(getattr(loader, "num_workers", 0) or 0)
        self.index = _index_of(loader, self.made, where)
        self.number = _passes.get(self.index, 0)
        _passes[self.index] = self.number + 1
        self.began, self.steps, self.meetings = time.perf_counter(), State.steps, State.meetings
        # As they were when the last batch came.
        self.last_steps, self.last_meetings = State.steps, State.meetings
        self.last_updates = State.updates
        # A pass whose gradients go into a later update is no validation.
        self.backwards = self.last_backwards = State.backwards
        self.batches = self.samples = self.ordered = 0
        # Whether its first batch was not sent backward.
        self.skipped_first = False
        # What waits for the end of its loop.
        self.left = None
        self.waited = 0.0
        self.first, self.order, self.picked = [], digest.hasher(), []
        self.dataset = _length(loader.dataset)
        # Numbers are those of samples of the innermost data set: ranks that split it in different ways show by them.
        self.root, self.subsets = _root(loader.dataset)
        self.every, size = 1, _length(self.root) or 0
        while self.every * _PICKED // 2 < size:
            self.every *= 2
        self.sampler, self.is_own_sampler = _sampler_of(loader)
        self.expected = _length(loader) or 0 if self.sampler["sampler"] else 0
        # Whether the numbers of the sampler have come in another order than that of the data set.
        self.last, self.is_mixed = -1, False
        self.repeats = _draws_again(loader)
        # Of the batches that are on their way: how many samples, and which of them are picked, each with its place in the batch. And whether
        # the sampler's numbers are those of samples.
        self.coming, self.counts = collections.deque(), self.dataset is not None and self.sampler["sampler"] != ""
        # By the number of a sample.
        self.labels = {}
        if loader not in _contents:
            _contents[loader] = content_of(self.root), _digest_of(self.subsets) or parts.of(self.root)
            rows_apart = parts.apart(self.root)
            if rows_apart:
                core.tell_once("rows apart", _datasets.get(self.root) or self.made, rows_apart)
            splits = parts.splits_stream(loader, sys._getframe(4))
            if splits is not None:
                core.tell_once("stream split twice", splits)
        self.content, self.subset = _contents[loader]
        # The first batch, while anybody keeps it.
        self.kept = []
        # Samples without numbers are known by their values, and so are those of data sets that each rank has for itself.
        self.rows = rows.Rows()

    def has_all(self):
        """Whether no batch is missing: a loop that counts them, as Lightning's does, never asks for the one behind the last."""
        return 0 < self.expected <= self.batches


# Digests of what the data sets hold, and of what they are a part of.
_contents = core.Marks()


def _index_of(loader, made, where):
    """A loader that is made anew in each epoch, over such a data set and for the same loop, is one. No address is in its key: ranks number alike."""
    if loader in _indices:
        return _indices[loader]
    key = str(made), str(where), type(loader.dataset).__name__, _length(loader.dataset)
    before = _like.get(key)
    if before is None or before[0]() is not None:
        before = _like[key] = [None, _count[0]]
        _count[0] += 1
    before[0] = weakref.ref(loader)
    _indices[loader] = before[1]
    return before[1]


def _root(dataset):
    """The data set that subsets are taken of, and their lists of numbers, the innermost last."""
    from torch.utils.data import Subset

    numbers = []
    while isinstance(dataset, Subset) and len(numbers) < 8:
        numbers.append(dataset.indices)
        dataset = dataset.dataset
    return dataset, numbers


def _digest_of(subsets):
    """Of the numbers of subsets, of large ones their ends and a stride; empty where there is none."""
    text = ""
    for numbers in subsets:
        count = len(numbers)
        some = range(count) if count <= _ORDER else list(range(_FIRST)) + list(range(0, count, count // _VALUES))
        text += "%d:%s;" % (count, ",".join(str(int(numbers[at])) for at in some))
    return digest.of_text(text) if text else ""


def _length(of):
    try:
        return len(of)
    except Exception:
        return None


def _draws_again(loader):
    """Whether samples may go to two ranks on purpose: drawn with replacement, or repeated to be changed in several ways at random."""
    sampler = getattr(loader, "sampler", None)
    repeats = [getattr(sampler, name, None) for name in ("num_repeats", "repetitions", "repeats")]
    return bool(getattr(sampler, "replacement", False)) or any(isinstance(count, (int, float)) and count > 1 for count in repeats)


def _sampler_of(loader):
    """What says which samples come next, as it stands when the pass begins; and whether it is a class of the program's own."""
    batches = getattr(loader, "batch_sampler", None)
    sampler = getattr(batches, "sampler", None)
    if sampler is None:
        # Beside a batch sampler of the program's own the loader has another sampler, which it does not ask.
        is_asked = batches is None or hasattr(batches, "batch_sampler")
        sampler = is_asked and getattr(loader, "sampler", None) or batches
    if sampler is None or type(sampler).__name__ == "_InfiniteConstantSampler":
        return {"sampler": ""}, False
    inner = getattr(batches, "batch_sampler", None)
    if inner is not None and sampler is getattr(loader, "sampler", None):
        sampler = getattr(inner, "sampler", sampler)
    fields = {"sampler": type(sampler).__name__}
    made = _samplers.get(sampler)
    if made is not None:
        fields["sampler_made"] = made
    split = _samplers.get(loader.dataset)
    if split is not None:
        fields["split_made"] = split
    for name, owner, attribute in (
        ("replicas", sampler, "num_replicas"), ("replica", sampler, "rank"), ("seed", sampler, "seed"), ("epoch", sampler, "epoch"),
        ("replicas", batches, "num_processes"), ("replica", batches, "process_index"),
    ):
        value = getattr(owner, attribute, None)
        if isinstance(value, int) and not isinstance(value, bool) and name not in fields and -(1 << 62) < value < 1 << 62:
            fields[name] = value
    if "seed" in fields and os.environ.get("PL_GLOBAL_SEED") == str(fields["seed"]) and "seed of loaders" not in core._told:
        # Lightning gives it to its samplers.
        core.tell_once("seed of loaders", source.line_that_seeds("lightning"))
    if any(fields.get(name, 0) < 0 for name in ("replicas", "replica")):
        fields.pop("replicas", None), fields.pop("replica", None)
    fields["shuffles"] = bool(getattr(sampler, "shuffle", type(sampler).__name__ in ("RandomSampler", "SubsetRandomSampler", "WeightedRandomSampler")))
    return fields, not hasattr(sampler, "shuffle") and not type(sampler).__module__.startswith("torch.")


def content_of(dataset):
    """A digest of what a data set holds, without reading a sample of it; empty where that cannot be told."""
    known, found = digest.hasher(), [0, _VISITS]
    _add_content(known, found, dataset, _DEPTH)
    return known.hexdigest() if found[0] else ""


def _add_content(known, found, value, depth):
    import torch

    found[1] -= 1
    if found[1] < 0:
        return
    if torch.is_tensor(value):
        known.update(digest.of_content(value).encode())
        found[0] += value.numel() > 1
    elif type(value).__module__ == "numpy" and hasattr(value, "tobytes"):
        if value.dtype.hasobject or not value.flags.c_contiguous:
            return
        flat = value.reshape(-1)
        known.update(b"%d" % value.size + flat[:2048].tobytes() + flat[-2048:].tobytes() + flat[:: max(1, flat.size // 2048)].tobytes())
        found[0] += value.size > 1
    elif isinstance(value, (str, int, float, bytes)):
        known.update(repr(value).encode("utf-8", "replace"))
    elif isinstance(value, range):
        known.update(repr(value).encode())
        found[0] += 1
    elif isinstance(value, (list, tuple)) and value and depth:
        some = value[:_VALUES] if len(value) <= 2 * _VALUES else value[:_VALUES] + value[-_VALUES:] + value[:: len(value) // _VALUES]
        known.update(b"%d" % len(value))
        for item in some:
            _add_content(known, found, item, depth - 1)
        found[0] += isinstance(value[0], (str, int, float))
    elif isinstance(value, dict) and depth:
        for name, item in list(value.items())[:_VALUES]:
            is_list = isinstance(item, (list, tuple)) and item[:1] and isinstance(item[0], (str, int, float))
            known.update(repr((name, item[:_VALUES])).encode("utf-8", "replace") if is_list else b"%d" % len(str(name)))
            _add_content(known, found, item, depth - 1)
            found[0] += bool(is_list) or isinstance(item, (str, int, float))
    elif depth and hasattr(value, "_fingerprint"):
        known.update(str(value._fingerprint).encode())
        found[0] += 1
    elif depth and hasattr(value, "__dict__") and not callable(value):
        for name, item in sorted(vars(value).items())[:_VALUES]:
            if isinstance(item, (str, int, float)) or not name.startswith("__"):
                _add_content(known, found, item, depth - 1)


def install(torch):
    from torch.utils.data import DataLoader, DistributedSampler, Subset, TensorDataset, dataloader

    replace(DistributedSampler, "__init__", core.remembers_making(_samplers))
    replace(DistributedSampler, "set_epoch", core.looks_first(_look_at_epoch))
    replace(Subset, "__init__", core.remembers_making(_samplers))
    replace(TensorDataset, "__init__", core.remembers_making(_datasets))
    replace(DataLoader, "__init__", core.remembers_making(_made))
    replace(DataLoader, "__iter__", _begins)
    replace(dataloader._BaseDataLoaderIter, "__next__", _next)
    indices = DataLoader.__dict__.get("_index_sampler")
    if isinstance(indices, property):
        DataLoader._index_sampler = property(lambda self: _watched_indices(self, indices.fget(self)))
    workers.install(torch)
    State.before_end.append(finish_all)
    State.before_end.append(results.finish)


# Samplers that were told an epoch.
_told_epoch = core.Marks()


@guard
def _look_at_epoch(sampler, epoch):
    """One that is told the same number again draws the same order again."""
    if _told_epoch.get(sampler) == epoch:
        core.tell_once("set_epoch again", settings=(str(epoch),))
    _told_epoch[sampler] = epoch


# The pass that a loader is in.
_current = core.Marks()


def _begins(old):
    def __iter__(self):
        _begin(self)
        iterator = old(self)
        _attach(self, iterator)
        return iterator

    return __iter__


@guard
def _begin(loader):
    if not core.may_speak():
        return
    State.has_loaders = True
    in_loop.end()
    before = _current.pop(loader, None)
    if before is not None:
        _finish(before, False)
    if getattr(loader, "num_workers", 0):
        workers.prepare()
    for other in [other for other in _open if other.has_all()]:
        _finish(other, False)
    results.close(sys._getframe(3))
    begun = Pass(loader, core.place_of_loop(sys._getframe(3)))
    State.loader, State.logged_at = (begun.expected, begun.made), None
    if not _is_under_way():
        watching.begins_pass()
    _current[loader] = begun
    _open.append(begun)
    State.progress += 1


def _is_under_way():
    """Whether a pass is open in which updates were made."""
    return any(other.steps < State.steps for other in _open)


@guard
def _attach(loader, iterator):
    begun = _current.get(loader)
    if begun is not None:
        iterator._hvd_lab_pass = begun
        departures.watch(begun, iterator)
        workers.expect(loader, begun.index, begun.made, iterator)


class _Watched:
    """An index sampler whose numbers are looked at on their way."""

    def __init__(self, loader, sampler):
        self._loader, self._sampler = weakref.ref(loader), sampler

    def __getattr__(self, name):
        return getattr(self._sampler, name)

    def __len__(self):
        return len(self._sampler)

    def __iter__(self):
        loader = self._loader()
        begun = _current.get(loader) if loader is not None else None
        # Now, and not at the first number: it may draw random numbers here.
        inner = iter(self._sampler)
        return inner if begun is None else _seen(begun, inner)


def _seen(begun, inner):
    for indices in inner:
        _see(begun, indices)
        yield indices


def _watched_indices(loader, sampler):
    if not State.active or loader not in _current or not hasattr(sampler, "__iter__"):
        return sampler
    return _Watched(loader, sampler)


@guard
def _see(begun, indices):
    picked = []
    if isinstance(indices, (list, tuple)):
        begun.coming.append((len(indices), picked))
    if begun.ordered >= _ORDER and (begun.repeats or len(begun.picked) >= _PICKED):
        return
    for at, index in enumerate(indices if isinstance(indices, (list, tuple)) else (indices,)):
        if not isinstance(index, int):
            index = int(index) if hasattr(index, "__index__") else None
        if index is None:
            return
        if begun.ordered < _ORDER:
            begun.order.update(b"%d," % index)
        begun.ordered += 1
        begun.is_mixed, begun.last = begun.is_mixed or index < begun.last, index
        for numbers in begun.subsets:
            index = int(numbers[index])
        if not begun.repeats and len(begun.picked) < _PICKED and ((index * 2654435761) >> 7) % begun.every == 0 and 0 <= index < 1 << 32:
            begun.picked.append(index)
            picked.append((at, index))


def _look_at_labels(begun, tensors, samples, picked):
    """One whole number for each sample is its label."""
    labels = tensors[-1] if picked and tensors else None
    is_label = labels is not None and labels.dim() == 1 and len(labels) == samples and labels.device.type == "cpu"
    if is_label and not (labels.is_floating_point() or labels.is_complex()):
        for at, index in picked:
            begun.labels[index] = zlib.crc32(b"%d" % int(labels[at]))


def _next(old):
    def __next__(self):
        began = time.perf_counter()
        try:
            batch = old(self)
        except StopIteration:
            _over(self)
            raise
        _took(self, batch, time.perf_counter() - began)
        return batch

    return __next__


@guard
def _over(iterator):
    in_loop.end()
    begun = getattr(iterator, "_hvd_lab_pass", None)
    if begun is not None:
        departures.look_at_batch(begun)
        _finish(begun, True)


@guard
def _took(iterator, batch, waited):
    import torch

    begun = getattr(iterator, "_hvd_lab_pass", None)
    if begun is None:
        return
    if results.is_open():
        results.close(sys._getframe(3))
    State.progress += 1
    State.batch = begun.index, State.batch[1] + 1
    State.behind_batch = _trained.get(begun.index, False)
    departures.look_at_batch(begun)
    begun.last_steps, begun.last_meetings, begun.last_backwards = State.steps, State.meetings, State.backwards
    begun.last_updates = State.updates
    begun.waited += waited
    State.times["data"] += waited
    tensors, samples = digest.of_batch(batch)
    if begun.coming and begun.counts:
        # A list of images says more than the height of the first.
        samples, picked = begun.coming.popleft()
        _look_at_labels(begun, tensors, samples, picked)
    if begun.batches < _FIRST:
        begun.first.append(digest.of_tensors(tensors))
    if begun.batches == 0:
        begun.kept = [weakref.ref(tensor) for tensor in tensors]
    if begun.number == 0:
        begun.rows.add(tensors)
    begun.batches += 1
    State.taken = begun.batches
    begun.samples += samples
    # A validation before the first update is no part of it.
    averaging.samples[0] += samples if torch.is_grad_enabled() else 0
    _look_at_cut(begun, samples if torch.is_grad_enabled() else 0)
    unloaded.took_batch()
    # Before its first pass the program may have had a look at one batch.
    if begun.number < 2:
        in_loop.begin(begun.index, samples)


def _look_at_cut(begun, samples):
    """Whether the program gives its model the rank's part of each batch, of which all ranks take the same."""
    if not 0 <= State.cuts < _CUTS:
        return
    if State.fed:
        is_part = State.size > 1 and State.fed < State.of_batch and abs(State.fed * State.size - State.of_batch) < State.size
        State.cuts = State.cuts + 1 if is_part else -1
    if State.cuts == _CUTS:
        core.tell_once("batch cut", begun.where)
    State.of_batch, State.fed = samples if 0 <= State.cuts < _CUTS else 0, 0


def _finish(begun, is_whole):
    begun.left = None
    if begun not in _open:
        return
    _open.remove(begun)
    State.taken = 0
    loader = begun.loader()
    if loader is not None and _current.get(loader) is begun:
        _current.pop(loader, None)
    if begun.batches == 0:
        return
    # Of a pass that was left early the end is not known: what came behind its last batch may be of another one.
    is_known = is_whole or begun.batches == 1
    trains = (State.steps if is_known else begun.last_steps) > begun.steps
    if not trains and (State.backwards if is_known else begun.last_backwards) > begun.backwards:
        return
    if not trains and begun.batches > 1 and begun.kept and all(tensor() is not None for tensor in begun.kept):
        # The program keeps all batches, to train on them or to validate with them later.
        averaging.samples[0] = max(0, averaging.samples[0] - begun.samples)
        return
    is_whole = is_whole or begun.has_all()
    if not (trains or is_whole) and begun.batches == 1:
        # A look at one batch, as for its shape or its images, and often on one rank alone: passes are counted without it.
        if _passes[begun.index] == begun.number + 1:
            _passes[begun.index] = begun.number
        if State.steps == begun.steps:
            averaging.samples[0] = max(0, averaging.samples[0] - begun.samples)
        return
    met = (State.meetings if is_whole else begun.last_meetings) - begun.meetings
    if trains:
        State.trained = begun.samples, begun.batches, begun.dataset
    else:
        if not State.behind_validation:
            # Of several validations the first one: what it found is there before the next.
            State.earlier = begun.earlier
        State.behind_validation, State.validated, State.total, State.behind_batch = True, begun.samples, begun.dataset, False
    if is_whole:
        results.begin(begun, trains)
    _trained[begun.index] = trains
    if begun.is_own_sampler:
        begun.sampler["shuffles"] = begun.is_mixed
    order = begun.order.hexdigest() if begun.ordered else digest.of_text(" ".join(begun.first))
    picked, every, content, repeated = sorted(begun.picked), begun.every, begun.content, 0
    labels = [begun.labels.get(index, 0) for index in picked] if begun.labels else []
    values = begun.rows.picked() if trains else []
    if trains and not begun.sampler["sampler"]:
        repeated = begun.rows.repeated
        if values:
            picked, every, content, values, labels = values, 1, "rows", [], []
    where = not trains and State.logged_at or begun.where
    # One that was left early, as a first try of a validation, stays open until another one begins.
    updates = State.updates if trains or is_whole else begun.last_updates
    send(
        "pass", loader=begun.index, made=begun.made, place=where, trains=trains, updates=updates,
        is_whole=is_whole, dataset=begun.dataset, batch_size=begun.batch_size, drops_last=begun.drops_last,
        batches=begun.batches, samples=begun.samples, first=begun.first, order=order, picked=picked, every=every,
        workers=begun.workers, seconds=round(time.perf_counter() - begun.began, 6), waited=round(begun.waited, 6),
        content=content, subset=begun.subset, rows=values, labels=labels, repeated=repeated, met=met, **dict(begun.sampler, **{"pass": begun.number}),
    )
    workers.tell()
    if begun.number < 64 or core.sampled(begun.number):
        watching.tell_phases(not trains and _is_under_way())


def _whole(value):
    return value if isinstance(value, int) and value > 0 else None


def finish_all():
    """At the end of the process: passes that were left early."""
    for begun in list(_open):
        _finish(begun, False)
