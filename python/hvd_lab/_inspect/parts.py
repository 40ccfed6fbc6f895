"""Which part of something larger a data set holds: tensors and arrays that are slices, and lists of names such as files."""
import re
import sys

from . import core, digest, earlier, source

# Entries of a list and attributes that are looked at, how deep, and the fewest names of a list that is one of samples.
_MOST, _DEPTH, _FEWEST = 64, 2, 9
# How a class asks for its rank.
_BY_RANK = re.compile(r"\bprocess_index\b|\bget_rank\(|\bnum_processes\b|[\"']RANK[\"']|\bget_world_size\(|\bself\.(rank|world)")


def of(dataset):
    """A digest that differs between ranks which each took a slice of their own; empty where nothing is a slice or a list of names.

    What is drawn by chance on each rank is no slice, whatever its numbers are.
    """
    found = list(_parts(dataset, _DEPTH))
    return digest.of_text(" ".join(found)) if found else ""


def _parts(value, depth):
    torch, numpy = sys.modules.get("torch"), sys.modules.get("numpy")
    if torch is not None and torch.is_tensor(value):
        if value.numel() and value.layout == torch.strided and value.device.type == "cpu":
            total = _size(value) // value.element_size()
            if total > value.numel():
                yield "%d:%s:%d" % (value.storage_offset(), value.stride(), total)
    elif numpy is not None and isinstance(value, numpy.ndarray):
        whole = value.base
        if isinstance(whole, numpy.ndarray) and whole.size > value.size > 0:
            yield "%d:%s:%d" % (_address(value) - _address(whole), value.strides, whole.size)
    elif isinstance(value, (list, tuple)) and value:
        if len(value) >= _FEWEST and all(isinstance(name, str) for name in value[:_MOST]):
            yield "%d:%s" % (len(value), digest.of_text("\n".join(map(str, value[:_MOST]))))
        elif depth and len(value) < _FEWEST:
            for item in value:
                yield from _parts(item, depth - 1)
    elif depth and hasattr(value, "__dict__") and not callable(value) and not hasattr(value, "_fingerprint"):
        for _, item in sorted(vars(value).items())[:_MOST]:
            yield from _parts(item, depth - 1)


def splits_stream(loader, frame):
    """The line by which an iterable data set takes its share by rank, where the loader shares out what comes from it once more."""
    from torch.utils.data import IterableDataset

    # Accelerate's loader reads by one of PyTorch's.
    is_shared, dataset = earlier.read(frame, lambda variables: type(variables.get("self")).__name__) == "DataLoaderDispatcher", loader.dataset
    while hasattr(dataset, "dataset") and not core.is_of_program(dataset):
        is_shared, dataset = is_shared or type(dataset).__name__ == "IterableDatasetShard", dataset.dataset
    return source.line_in(type(dataset), _BY_RANK) if is_shared and isinstance(dataset, IterableDataset) else None


def apart(dataset):
    """The rows of two tensors or arrays of a data set that are slices of wholes with as many rows each, but other rows: samples with the
    labels of others. `None` where all go together.
    """
    rows = [found for found in map(_rows, list(getattr(dataset, "tensors", None) or vars(dataset).values() if hasattr(dataset, "__dict__") else ())[:_MOST]) if found]
    for one in rows:
        for other in rows:
            is_alike = one[1:3] == other[1:3] and one[3] != other[3]
            if is_alike and one[0] + one[1] <= other[0]:
                return ["%d to %d" % (first, first + count - 1) for first, count, _, _ in (one, other)]
    return None


def _rows(value):
    """The first row of a slice, how many it has, how many the whole has, and which whole that is."""
    torch, numpy = sys.modules.get("torch"), sys.modules.get("numpy")
    if torch is not None and torch.is_tensor(value):
        if value.dim() and value.layout == torch.strided and value.device.type == "cpu" and value.is_contiguous():
            row = value.stride(0)
            whole = _size(value) // value.element_size() // row if row else 0
            return whole > len(value) > 0 and (value.storage_offset() // row, len(value), whole, value.data_ptr() - value.storage_offset() * value.element_size())
    elif numpy is not None and isinstance(value, numpy.ndarray) and isinstance(value.base, numpy.ndarray) and value.ndim == value.base.ndim:
        if value.ndim and value.flags.c_contiguous and value.shape[1:] == value.base.shape[1:] and value.strides[0]:
            return len(value.base) > len(value) > 0 and ((_address(value) - _address(value.base)) // value.strides[0], len(value), len(value.base), _address(value.base))
    return None


def _size(tensor):
    """Bytes of the storage that a tensor is in."""
    if hasattr(tensor, "untyped_storage"):
        return tensor.untyped_storage().nbytes()
    return tensor.storage().size() * tensor.element_size()


def _address(array):
    return array.__array_interface__["data"][0]
