"""Lightning: the line that logs a result of each rank alone, for its own loop over the loader is no line of the program."""
import sys

from .core import State, guard, place, replace


def install(module):
    replace(module.LightningModule, "log", _remembers)


def _remembers(old):
    def log(self, *args, **kwargs):
        if not kwargs.get("sync_dist"):
            _remember()
        return old(self, *args, **kwargs)

    return log


@guard
def _remember():
    State.logged_at = place(sys._getframe(3))
