"""Accelerate: results that are gathered with the samples that were repeated to fill the last batch, or without them."""
import functools
import sys

from . import core, source
from .core import guard, place, replace


def install(module):
    replace(module.Accelerator, "__init__", core.looks_first(_tell_use))
    for name in ("gather", "gather_for_metrics"):
        replace(module.Accelerator, name, functools.partial(_tells, "Accelerator." + name))


def _tell_use(*args, **kwargs):
    """The module alone may have been loaded by another library."""
    core.tell_once("Accelerator")


@guard
def _look(by, caller):
    core.tell_call(by, caller)
    where = place(caller)
    if source.is_thrown_away(where, by.split(".")[-1]):
        core.tell_once("thrown away", where, (by,))
    if source.cuts_behind(where["file"], where["line"]):
        # The samples that were repeated, in the way of the program itself.
        core.tell_once("padding left out")


def _tells(by, old):
    def gather(self, *args, **kwargs):
        _look(by, sys._getframe(1))
        return old(self, *args, **kwargs)

    return gather
