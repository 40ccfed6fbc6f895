"""What a Keras `fit` or `evaluate` goes over: its samples, its batches, and which share of a data set it is. Reads no sample out of turn."""
import inspect
import time

from . import core, digest, rows, source, workers

# Where shards and iterators of ImageDataGenerator were made.
made = core.Marks()
# Steps from a data set of tf.data back to what it is made of.
_DEPTH = 40


def install(keras):
    images = getattr(getattr(keras, "preprocessing", None), "image", None)
    if hasattr(images, "Iterator"):
        core.replace(images.Iterator, "__init__", core.remembers_making(made))


def look(data, batch_size, steps):
    """Fields of a pass report: `data` is the first argument of fit or evaluate, or a pair of validation data."""
    fields = {"sampler": "", "batch_size": batch_size, "shuffles": False, "content": "", "dataset": None}
    if hasattr(data, "_input_dataset") or hasattr(data, "element_spec"):
        _chain(data, fields)
    elif isinstance(data, (list, tuple)) or hasattr(data, "shape"):
        _arrays(data, fields)
    elif hasattr(data, "__getitem__") and hasattr(data, "__len__"):
        _sequence(data, fields)
    elif hasattr(data, "__next__") and hasattr(data, "n") and hasattr(data, "batch_size"):
        _sequence(data, fields)
    if steps is not None and not fields["sampler"]:
        fields["sampler"] = "steps"
    return fields


def _first(data):
    while isinstance(data, (list, tuple)) and data:
        data = data[0]
    if isinstance(data, dict):
        data = next(iter(data.values()), None)
    return data


def _arrays(data, fields):
    first = _first(data)
    if not hasattr(first, "shape") or not len(first.shape):
        return
    fields["dataset"] = int(first.shape[0])
    fields["batch_size"] = fields["batch_size"] or 32
    fields["content"] = content(first)


def content(array):
    """A digest of the ends and of a stride of an array."""
    import numpy

    if not hasattr(array, "shape") or not len(array.shape) or getattr(getattr(array, "dtype", None), "hasobject", False):
        return ""
    length = int(array.shape[0])
    known = digest.hasher()
    known.update(b"%d" % length)
    step = max(1, length // 64)
    for some in (array[:4], array[-4:], array[::step][:64]):
        known.update(numpy.ascontiguousarray(numpy.asarray(some)).tobytes())
    return known.hexdigest()


def _content_of_list(values):
    """The same of a list of names, numbers or encoded samples."""
    some = [*values[:4], *values[-4:], *values[:: max(1, len(values) // 64)]]
    return digest.of_text(repr(some)) if all(isinstance(value, (str, bytes, int, float)) for value in some) else ""


def _sequence(data, fields):
    """`keras.utils.Sequence`, and the iterators of ImageDataGenerator."""
    size = getattr(data, "batch_size", None)
    if isinstance(size, int):
        fields["batch_size"] = size
        total = getattr(data, "n", None)
        fields["dataset"] = total if isinstance(total, int) else len(data) * size
    held = getattr(data, "x", None)
    if hasattr(held, "shape") and len(held.shape):
        fields["content"] = content(held)
        _take_part(fields, [len(held)], size)
    elif fields["dataset"]:
        # One of the program's own keeps its samples under other names.
        lists = [value for value in getattr(data, "__dict__", {}).values() if isinstance(value, (list, tuple)) or hasattr(value, "shape") and len(value.shape)]
        kept = [value for value in lists if abs(fields["dataset"] - len(value)) < size]
        found = [content(value) if hasattr(value, "shape") else _content_of_list(value) for value in kept]
        fields["content"] = digest.of_text(" ".join(found)) if any(found) else ""
        if not kept:
            _take_part(fields, [len(value) for value in lists if hasattr(value, "shape")], size)
    fields["shuffles"] = bool(getattr(data, "shuffle", False))


def _take_part(fields, lengths, size):
    """A sequence with fewer batches than its samples fill takes a part of them."""
    most = max(lengths, default=0)
    if fields["dataset"] and most >= fields["dataset"] + size:
        fields["dataset"] = most


# Settings of an ImageDataGenerator that change images at random, with what leaves them as they are.
_CHANGES = ("rotation_range", "width_shift_range", "height_shift_range", "shear_range", "channel_shift_range", "horizontal_flip", "vertical_flip", "brightness_range")
_AS_IT_IS = (1, 1)


def tell_seed(data, loader, where):
    """The seed that an iterator of ImageDataGenerator was given: it sets NumPy's random state before each batch. Returns whether there
    is one from which images are changed."""
    generator, seed = getattr(data, "image_data_generator", None), getattr(data, "seed", None)
    if generator is None or not isinstance(seed, int) or not hasattr(data, "total_batches_seen"):
        return False
    if not any(getattr(generator, name, None) for name in _CHANGES) and tuple(getattr(generator, "zoom_range", _AS_IT_IS)) == _AS_IT_IS:
        return False
    where = made.get(data) or where
    core.tell_once("seed of an image generator", where, (str(seed),))
    workers.tell_states(loader, where, [{"states": {"numpy": digest.of_text("seed %d" % seed)}, "draws": {"numpy": True}}])
    return True


def _chain(data, fields):
    """Walks from the last step of a pipeline of tf.data to its source."""
    for _ in range(_DEPTH):
        name = type(data).__name__
        if "BatchDataset" in name and hasattr(data, "_batch_size"):
            fields["batch_size"] = _number(data._batch_size)
        elif "Shuffle" in name:
            fields["shuffles"] = True
            # Without a seed, or with one of its own, each rank shuffles in another way, and then takes its share.
            seeds = _number(getattr(data, "_seed", None)), _number(getattr(data, "_seed2", None))
            if "replicas" in fields:
                fields["sampler"] = "shuffle before shard"
                fields.pop("seed", None)
            if None not in seeds and seeds != (0, 0):
                fields["seed"] = seeds[0] * 1_000_003 + seeds[1]
        elif "Repeat" in name:
            fields["repeats"] = True
        elif "Shard" in name and hasattr(data, "_num_shards"):
            if made.get(data) is not None:
                fields["sampler_made"] = made.get(data)
            share = _number(data._num_shards), _number(data._index)
            if share == (fields.get("replicas"), fields.get("replica")) and share[0] != 1:
                fields["sampler"] = "shard of a shard"
            fields["replicas"], fields["replica"] = share
        inner = getattr(data, "_input_dataset", None) or getattr(data, "_dataset", None)
        if inner is None:
            break
        data = inner
    if "replicas" in fields and fields["sampler"] != "shuffle before shard":
        # Shares may be shuffled alike.
        fields.pop("seed", None)
    tensors = getattr(data, "_tensors", None)
    if tensors:
        fields["dataset"] = _number(tensors[0].shape[0]) if len(tensors[0].shape) else None
        fields["content"] = content(tensors[0])


# Of sequences that a fit goes over.
_seen_of = core.Marks()
# Batches that are looked at.
_FIRST = 4


class Seen:
    """Batches on their way: digests of the first, samples by their values, and the seconds that it took to make all."""

    def __init__(self):
        self.first, self.rows, self.seconds = [], rows.Rows(), 0.0

    @core.guard
    def add(self, batch):
        known = content(_first(batch)) if len(self.first) < _FIRST else ""
        if known:
            self.first.append(known)
        parts = batch if isinstance(batch, (list, tuple)) else [batch]
        self.rows.add([part for part in parts if type(part).__module__ == "numpy" and not part.dtype.hasobject])


def watched(data):
    """A generator or a sequence whose batches are looked at on their way, and what is seen of them."""
    seen = Seen()
    if inspect.isgenerator(data):
        return _passed_on(data, seen), seen
    if hasattr(data, "__getitem__") and hasattr(data, "__len__") and not isinstance(data, (list, tuple, dict)) and not hasattr(data, "shape"):
        _seen_of[data] = seen
        _watch_class(type(data))
    return data, seen


# Arrays whose rows are told.
_told_rows, _MOST_TOLD = set(), 4


def look_at_rows(fields, data, labels):
    """Of arrays that a fit goes over as they are: each rank may have cut them itself."""
    first = _first(data)
    if type(first).__module__ != "numpy" or fields["sampler"] == "steps" or len(_told_rows) >= _MOST_TOLD or fields["content"] in _told_rows:
        return
    _told_rows.add(fields["content"])
    arrays = [array[: rows.MOST] for array in (first, _first(labels)) if type(array).__module__ == "numpy" and not array.dtype.hasobject]
    fields["seen"].rows.add(arrays)
    fields["split_made"] = source.line_of_share(core.NO_PLACE)


def _watch_class(of):
    if not getattr(of.__getitem__, "_is_watched", False):
        try:
            core.replace(of, "__getitem__", _tells_item)
            of.__getitem__._is_watched = True
        except (AttributeError, TypeError):
            # A class that is not written in Python.
            pass


def _passed_on(data, seen):
    began = time.perf_counter()
    for batch in data:
        seen.seconds += time.perf_counter() - began
        seen.add(batch)
        yield batch
        began = time.perf_counter()


def _tells_item(old):
    def __getitem__(self, index):
        began = time.perf_counter()
        batch = old(self, index)
        seen = _seen_of.get(self)
        if seen is not None:
            seen.seconds += time.perf_counter() - began
            seen.add(batch)
        return batch

    return __getitem__


def _number(value):
    try:
        return int(value)
    except Exception:
        return None


def told(what, fields, batches):
    """Sends the pass."""
    size = fields.get("batch_size") or 0
    samples = batches * size
    if fields["dataset"] and fields["sampler"] != "steps" and not fields.get("replicas"):
        samples = min(samples, fields["dataset"])
    shared = {name: fields[name] for name in ("sampler", "sampler_made", "split_made", "shuffles", "content") if name in fields}
    shared.update({name: fields[name] for name in ("dataset", "batch_size", "replicas", "replica", "seed") if fields.get(name) is not None})
    seen = fields.pop("seen", None) or Seen()
    core.send("pass", batches=batches, samples=samples, order="", first=seen.first, rows=seen.rows.picked(), picked=[], every=1, workers=0, drops_last=False, **shared, **what)
