"""Tell hvd-lab how a training of your own goes: `hvd_lab.log(epoch=1, step=10, loss=0.3, images=64)`.

Works in any program that `hvd-lab run -- python ...` has started. Anywhere else a call does nothing.
"""
import atexit
import json
import math
import os
import socket
import threading
import time
import warnings

__all__ = ["log"]

_SECRET = os.environ.get("HVD_LAB_EVENT_SECRET", "")
_SOCKET = os.environ.get("HVD_LAB_EVENT_SOCKET", "")
_RANKS = ("OMPI_COMM_WORLD_RANK", "PMI_RANK", "HOROVOD_RANK", "RANK", "PMIX_RANK", "SLURM_PROCID")
_NAMES = ("epoch", "epochs", "step", "steps", "loss", "accuracy", "val_loss", "val_accuracy", "learning_rate", "images_per_sec")
_lock = threading.Lock()
_last = None
_channel = None


def log(images=None, **figures):
    """Tell figures of the training. `images` is how many this rank has trained on since its last call: it gives images/s.

    The figures: epoch, epochs, step, steps, loss, accuracy (0 to 1), val_loss, val_accuracy, learning_rate and
    images_per_sec of this rank. One that is None is left out, and so is an accuracy in per cent. Numbers of NumPy, PyTorch and TensorFlow are taken as well.
    """
    global _last
    unknown = sorted(set(figures) - set(_NAMES))
    if unknown:
        raise TypeError(f"hvd_lab.log knows no {', '.join(unknown)}: use images, {', '.join(_NAMES)}")
    told = {name: _number(name, value) for name, value in figures.items() if value is not None}
    _leave_out_per_cent(told)
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
        _tell(json.dumps(event))


class _Channel:
    """The way to the lab: its socket, or standard output on another host. Never stops the program."""

    # A lab that does not read for so many bytes misses events, and is told how many by their numbers.
    MOST_WAITING = 1 << 20

    def __init__(self):
        self.process = os.getpid()
        self.number = 0
        self.waiting = b""
        self.socket = None
        if _SOCKET and hasattr(socket, "AF_UNIX"):
            channel = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
            try:
                channel.connect(_SOCKET)
                channel.sendall(f"{_SECRET} {_rank()}\n".encode())
                channel.setblocking(False)
                self.socket = channel
                atexit.register(self.finish)
            except OSError:
                channel.close()

    def tell(self, text):
        self.number += 1
        if self.socket is None:
            # In one piece, and on a line of its own.
            os.write(1, f"\n@hvd {_SECRET} {self.number} {text}\n".encode())
            return
        message = f"{self.number} {text}\n".encode()
        if len(self.waiting) + len(message) <= self.MOST_WAITING:
            self.waiting += message
        try:
            while self.waiting:
                self.waiting = self.waiting[self.socket.send(self.waiting):]
        except BlockingIOError:
            pass

    def finish(self):
        """At the end of the program: what a busy lab has not taken yet."""
        if self.process == os.getpid():
            try:
                self.socket.settimeout(5)
                self.socket.sendall(self.waiting)
            except OSError:
                pass


def _tell(text):
    global _channel
    # A process that was forked gets a way of its own.
    if _channel is None or _channel.process != os.getpid():
        _channel = _Channel()
    try:
        _channel.tell(text)
    except OSError:
        # Nobody reads any more, and training goes on.
        pass


def _number(name, value):
    try:
        return float(value)
    except (TypeError, ValueError):
        raise TypeError(f"hvd_lab.log: {name} is {value!r}, which is no number") from None


def _leave_out_per_cent(told):
    for name in ("accuracy", "val_accuracy"):
        if told.get(name, 0) > 1.001:
            # Python shows it once.
            warnings.warn(f"hvd_lab.log leaves out {name} above 1: it goes from 0 to 1, so divide by 100", stacklevel=3)
            del told[name]


def _rank():
    for name in _RANKS:
        if os.environ.get(name, "").isdigit():
            return int(os.environ[name])
    return 0
