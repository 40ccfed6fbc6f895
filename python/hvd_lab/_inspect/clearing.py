"""Gradients that are cleared before an update has used them, with one batch after the other."""
import sys

from . import averaging, core
from .core import guard, place, replace

# Updates in a row before which it happens, before anything is said of it.
_ROW = 3
# Of each wrapper: what it was at the last clearing, clearings of unused gradients since the last update, and updates in a row with such.
_cleared = core.Marks()


class _Clearing:
    def __init__(self):
        self.updates, self.forwards, self.samples = -1, 0, 0
        self.unused = self.row = 0
        self.place = core.NO_PLACE


def install(torch):
    replace(torch.optim.Optimizer, "zero_grad", core.looks_first(_clears))
    replace(torch.nn.Module, "zero_grad", core.looks_first(_clears))


@guard
def _clears(of, *args, **kwargs):
    if averaging.is_under_way():
        # Of a step that calls for gradients itself, as that of LBFGS does several times.
        return
    for wrapper in averaging.wrappers_around(of):
        last = _cleared.get(wrapper)
        if last is None:
            last = _cleared[wrapper] = _Clearing()
        if wrapper.updates != last.updates:
            last.row = last.row + 1 if last.unused else 0
            if last.row >= _ROW:
                core.tell_once("cleared unused", last.place, (str(last.unused), str(last.unused + 1)))
            last.unused = 0
        # The same batch may go through a model several times for other reasons, as for an attack on it.
        elif wrapper.forwards > last.forwards and averaging.samples[0] > last.samples and wrapper.has_gradients():
            last.unused, last.place = last.unused + 1, place(sys._getframe(3))
        last.updates, last.forwards, last.samples = wrapper.updates, wrapper.forwards, averaging.samples[0]
