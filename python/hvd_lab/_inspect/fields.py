"""Tensors that the layers of the program's own classes keep as plain fields: no wrapper and no broadcast sends them."""
import weakref

from . import core, digest, source
from .core import send

# Layers and fields that are looked at, and the fewest numbers in a tensor of which ranks may be expected to have the same.
_MOST, _FIELDS, _FEWEST = 256, 64, 2
# Before the first update: each tensor, with what it was then.
_first = {}


def look(layers, number, digest_of=digest.of_tensors):
    """With the first two updates. What changes between them, as the last output of a layer does, is no part of the model."""
    if number == 0:
        for layer in list(layers)[:_MOST]:
            for name, value in _tensors(layer):
                _first[id(layer), name] = weakref.ref(value), getattr(value, "_version", 0)
    elif number == 1 and _first:
        for layer in list(layers)[:_MOST]:
            for name, value in _tensors(layer):
                there, version = _first.get((id(layer), name), (None, None))
                if there is not None and there() is value and getattr(value, "_version", 0) == version:
                    where = source.line_of_field(layer, name) or core.NO_PLACE
                    send("wrapped", by="field of a layer", place=where, after=digest_of([value]), settings=["%s.%s" % (type(layer).__name__, name)])
        _first.clear()


def _tensors(layer):
    if not core.is_of_program(layer):
        return
    for name, value in list(vars(layer).items())[:_FIELDS]:
        kind = type(value).__name__
        if kind == "EagerTensor" and value.dtype.is_floating and len(value.shape) and value.shape.num_elements() >= _FEWEST:
            yield name, value
        elif kind == "Tensor" and hasattr(value, "is_sparse") and value.is_floating_point() and value.numel() >= _FEWEST and not value.requires_grad:
            yield name, value
