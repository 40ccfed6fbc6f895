"""Lightning: the line that logs a result of each rank alone, for its own loop over the loader is no line of the program, and backward passes."""
import sys

from . import core, digest, watching
from .core import State, guard, place, replace

# Words that are told once, of all kinds.
_MOST_TOLD = 64


def install(module):
    replace(module.LightningModule, "log", _remembers)
    replace(module.LightningModule, "manual_backward", core.looks_first(_tell_manual))
    watching.tells_backward[0] = True


def _remembers(old):
    def log(self, name, value, *args, **kwargs):
        if not kwargs.get("sync_dist"):
            _remember(self, name, value)
        return old(self, name, value, *args, **kwargs)

    return log


@guard
def _remember(module, name, value):
    State.logged_at = place(sys._getframe(3))
    # Metrics that count their own results bring them together by themselves.
    if not module.training and State.updates and not (hasattr(value, "compute") and hasattr(value, "update")):
        _tell_logged("logged alone: %s" % name, value)


def _tell_logged(by, value):
    """Once of each result: a value that the program has brought together itself is the same on all ranks."""
    if by not in core._told and len(core._told) < _MOST_TOLD:
        try:
            value = float(value)
        except (TypeError, ValueError, RuntimeError):
            # A dictionary of results, or several numbers.
            return
        core.tell_once(by, State.logged_at, (digest.of_text(repr(value)),))


@guard
def _tell_manual(*args, **kwargs):
    core.tell_once("manual_backward")
