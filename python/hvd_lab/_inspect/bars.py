"""Progress bars of the program itself: libraries have their own ways to show one on one rank alone."""
import sys

from . import core, states
from .core import State, guard, place


def install(tqdm):
    core.replace(tqdm.tqdm, "__init__", _tells)


def _tells(old):
    def __init__(self, *args, **kwargs):
        old(self, *args, **kwargs)
        _tell(self, kwargs.get("position"))

    return __init__


@guard
def _tell(bar, position):
    caller = sys._getframe(3)
    while caller is not None and caller.f_globals.get("__name__", "").split(".")[0] == "tqdm":
        caller = caller.f_back
    # Who gives each rank a line of its own means to see all of them.
    is_meant = position is not None or states.names_rank(getattr(bar, "desc", None) or "")
    is_own = caller is not None and core._is_own(caller.f_code.co_filename) is not None
    if is_own and not (bar.disable or is_meant) and State.has_spoken and core.may_speak():
        core.tell_once("progress bar", place(caller))
