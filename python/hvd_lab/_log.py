"""Tell hvd-lab how a training of your own goes: `hvd_lab.log(epoch=1, step=10, loss=0.3, images=64)`.

Works in any program that `hvd-lab run -- python ...` has started. Anywhere else a call does nothing.
"""
import json
import math
import os
import sys
import threading
import time

__all__ = ["log"]

_SECRET = os.environ.get("HVD_LAB_EVENT_SECRET", "")
_RANKS = ("OMPI_COMM_WORLD_RANK", "PMI_RANK", "HOROVOD_RANK", "RANK", "PMIX_RANK", "SLURM_PROCID")
_NAMES = ("epoch", "epochs", "step", "steps", "loss", "accuracy", "val_loss", "val_accuracy", "learning_rate", "images_per_sec")
_lock = threading.Lock()
_last = None


def log(images=None, **figures):
    """Tell figures of the training. `images` is how many this rank has trained on since its last call: it gives images/s.

    The figures: epoch, epochs, step, steps, loss, accuracy (0 to 1), val_loss, val_accuracy, learning_rate and
    images_per_sec of this rank. One that is None is left out. Numbers of NumPy, PyTorch and TensorFlow are taken as well.
    """
    global _last
    unknown = sorted(set(figures) - set(_NAMES))
    if unknown:
        raise TypeError(f"hvd_lab.log knows no {', '.join(unknown)}: use images, {', '.join(_NAMES)}")
    told = {name: _number(name, value) for name, value in figures.items() if value is not None}
    with _lock:
        if images is not None:
            now, before = time.perf_counter(), _last
            _last = now
            if before is not None and now > before and "images_per_sec" not in told:
                told["images_per_sec"] = _number("images", images) / (now - before)
        if not _SECRET or not told:
            return
        event = {"time_s": time.time(), "process": _rank(), "event": "logged", "by": "hvd_lab.log"}
        event.update({name: value if math.isfinite(value) else str(value) for name, value in told.items()})
        # In one piece, so that no other line gets in between.
        sys.__stdout__.write(f"@hvd {_SECRET} {json.dumps(event)}\n")
        sys.__stdout__.flush()


def _number(name, value):
    try:
        return float(value)
    except (TypeError, ValueError):
        raise TypeError(f"hvd_lab.log: {name} is {value!r}, which is no number") from None


def _rank():
    for name in _RANKS:
        if os.environ.get(name, "").isdigit():
            return int(os.environ[name])
    return 0
