"""Digests of tensors: equal digests are equal bits. Of a large tensor its ends, a stride and its sum, which any other training changes."""
import ctypes
import hashlib
import sys

WHOLE = 4096
# The type of whole numbers with as many bytes.
_WHOLE_NUMBERS = {}


def hasher():
    return hashlib.blake2b(digest_size=8)


class _Known:
    """A hash of tensors. What lies on a GPU is fetched in one go: each fetch waits until the GPU has done all of its work."""

    def __init__(self, torch):
        self.torch, self.hash, self.there = torch, hasher(), []
        if not _WHOLE_NUMBERS:
            _WHOLE_NUMBERS.update({1: torch.uint8, 2: torch.int16, 4: torch.int32, 8: torch.int64})

    def update(self, text):
        self._fetch()
        self.hash.update(text)

    def add(self, tensor):
        tensor = tensor.contiguous()
        if not tensor.numel():
            return
        if tensor.device.type != "cuda" or tensor.is_complex():
            here = tensor.to("cpu").contiguous()
            self.update(ctypes.string_at(here.data_ptr(), here.numel() * here.element_size()))
            return
        if self.there and self.there[0].device != tensor.device:
            self._fetch()
        self.there.append(tensor.reshape(-1).view(_WHOLE_NUMBERS[1]))

    def _fetch(self):
        if self.there:
            there, self.there = self.there, []
            here = self.torch.cat(there).to("cpu")
            self.hash.update(ctypes.string_at(here.data_ptr(), here.numel()))

    def hexdigest(self):
        self._fetch()
        return self.hash.hexdigest()


def of_tensors(tensors):
    """Of PyTorch tensors, in their order; empty where there are none."""
    import torch

    known, empty = _Known(torch), True
    with torch.no_grad():
        for tensor in tensors:
            _add(known, tensor.detach(), torch)
            empty = False
    return "" if empty else known.hexdigest()


def address(tensor):
    """Where a tensor's numbers lie; `None` for one without such a place."""
    try:
        return None if tensor.is_sparse else tensor.data_ptr()
    except (RuntimeError, NotImplementedError, ValueError):
        return None


def _add(known, tensor, torch, is_summed=True):
    if tensor.is_meta or tensor.layout not in (torch.strided, torch.sparse_coo):
        known.update(b"%d" % tensor.numel())
        return
    if tensor.is_sparse:
        tensor = tensor.coalesce()
        _add(known, tensor.indices(), torch)
        tensor = tensor.values()
    if hasattr(tensor, "to_local"):
        tensor = tensor.to_local()
    if tensor.numel() and address(tensor) == 0:
        # Given back for now, as FSDP does with what it has gathered.
        known.update(b"%d" % tensor.numel())
        return
    if tensor.device.type == "cpu" and _add_by_numpy(known, tensor, torch, is_summed):
        return
    if tensor.numel() > WHOLE:
        flat = tensor.contiguous().reshape(-1)
        if is_summed:
            # Whole numbers add up to the same in any order, and so with any number of threads. They may wrap around.
            if flat.is_complex():
                flat = torch.view_as_real(flat.resolve_conj()).reshape(-1)
            bits = flat.view(_WHOLE_NUMBERS[flat.element_size()])
            known.add(bits.sum(dtype=torch.int64 if flat.element_size() == 8 else torch.int32).reshape(1))
        tensor = torch.cat(_some(flat, flat.numel()))
    known.add(tensor)


def _some(flat, count):
    """The ends of a long row of numbers, and a stride through it."""
    return flat[:1024], flat[-1024:], flat[:: max(1, count // 2048)][:2048]


def _add_by_numpy(known, tensor, torch, is_summed):
    """The same bytes as below, if NumPy is there: its calls take a fraction of the time of PyTorch's.

    The memory is read where it lies: a storage that `Tensor.numpy()` was asked for can never be resized again, which FSDP does.
    """
    numpy, size = sys.modules.get("numpy"), tensor.element_size()
    if numpy is None or size not in _WHOLE_NUMBERS or type(tensor) not in (torch.Tensor, torch.nn.Parameter):
        return False
    # A view may stand for numbers with other signs than those in its memory.
    if tensor.is_complex() or getattr(tensor, "is_neg", bool)():
        return False
    if not tensor.numel():
        return True
    tensor = tensor.contiguous()
    where = address(tensor)
    if where is None:
        return False
    there = (ctypes.c_char * (tensor.numel() * size)).from_address(where)
    bits = numpy.frombuffer(there, dtype="u1" if size == 1 else "i%d" % size)
    if bits.size > WHOLE:
        if is_summed:
            known.update(bits.sum(dtype="int64" if size == 8 else "int32").tobytes())
        known.update(b"".join(part.tobytes() for part in _some(bits, bits.size)))
    else:
        known.update(bits.tobytes())
    return True


def of_content(tensor):
    """Of a tensor that may be as large as a data set: only some of its numbers are read."""
    import torch

    known = _Known(torch)
    known.update(repr(tuple(tensor.shape)).encode())
    if tensor.layout == torch.strided and not tensor.is_meta and (tensor.is_contiguous() or tensor.numel() <= WHOLE):
        with torch.no_grad():
            _add(known, tensor.detach(), torch, is_summed=False)
    return known.hexdigest()


def of_batch(batch):
    """Of the tensors in a batch, and the samples in it."""
    found = list(_tensors(batch, 0))
    samples = next((len(tensor) for tensor in found if tensor.dim()), 0)
    return found, samples


def _tensors(value, depth):
    import torch

    if torch.is_tensor(value):
        yield value
    elif depth < 4 and isinstance(value, dict):
        for item in value.values():
            yield from _tensors(item, depth + 1)
    elif depth < 4 and isinstance(value, (list, tuple)):
        for item in value:
            yield from _tensors(item, depth + 1)
    elif depth < 4 and hasattr(value, "data") and isinstance(getattr(value, "data"), dict):
        yield from _tensors(value.data, depth + 1)


def of_few(tensor, most=8, of_all=False):
    """What a small tensor of fractions on the CPU holds, or of any numbers; one on a GPU would have to be waited for."""
    if tensor.device.type != "cpu" or tensor.is_complex() or not (of_all or tensor.is_floating_point()) or not 0 < tensor.numel() <= most:
        return []
    return [float(number) for number in tensor.detach().reshape(-1).tolist()]


def of_text(text):
    known = hasher()
    known.update(text.encode("utf-8", "replace"))
    return known.hexdigest()
