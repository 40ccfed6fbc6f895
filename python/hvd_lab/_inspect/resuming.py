"""A training that is resumed from a checkpoint with a fresh optimizer or schedule."""
import re
import sys

from . import core
from .core import guard, place, replace

# Names in a file of the number that says how far a training was.
_FAR = re.compile(r"epoch|step|iter|round", re.I)
# The last file of this kind: that number, whether it holds a state of an optimizer, and the line that loads it.
_file = [None]
# Models and optimizers that go on from one, and the lines that make schedules.
_resumed, _continued, schedules = core.Marks(), core.Marks(), core.Marks()
# Optimizers that may begin anew, between their first two updates.
_waiting = core.Marks()


def install(torch):
    replace(torch, "load", core.looks_behind(_look_at_file))


@guard
def _look_at_file(result, *args, **kwargs):
    caller = sys._getframe(3)
    if not isinstance(result, dict) or core._is_own(caller.f_code.co_filename) is None:
        return
    far = next((value for name, value in result.items() if isinstance(name, str) and _FAR.search(name) and type(value) is int and value > 0), None)
    states = [value for value in result.values() if isinstance(value, dict) and "param_groups" in value]
    _file[0] = None if far is None else (far, bool(states), place(caller))


def look_at_load(loaded):
    """Behind a load into a model or an optimizer."""
    if hasattr(loaded, "param_groups"):
        if _remembers(loaded):
            _continued[loaded] = True
    elif _file[0] is not None:
        _resumed[loaded] = _file[0]


def look_at_update(optimizer, number):
    """In front of the first two updates of an optimizer."""
    if number == 0:
        file = next((_resumed[model] for model in _resumed if _holds(optimizer, model)), None)
        if file is not None and not _remembers(optimizer):
            _waiting[optimizer] = file
        if file is not None or optimizer in _continued:
            _look_at_schedules(optimizer, file)
    elif number == 1 and optimizer in _waiting:
        far, has_state, where = _waiting.pop(optimizer)
        if _remembers(optimizer):
            core.tell_once("optimizer anew", where, (type(optimizer).__name__, str(far), "in the file" if has_state else ""))


def _look_at_schedules(optimizer, file):
    for schedule in schedules:
        of = getattr(schedule, "optimizer", None)
        while of is not optimizer and hasattr(of, "optimizer"):
            of = of.optimizer
        if of is optimizer and schedule.last_epoch == 0 and not _knows(schedule, file and file[0]):
            core.tell_once("schedule anew", schedules[schedule], (type(schedule).__name__,))


def _knows(schedule, far):
    """Whether a schedule of the program's own begins where the file says."""
    cells = [cell for function in getattr(schedule, "lr_lambdas", ()) for cell in getattr(function, "__closure__", None) or ()]
    values = map(value_of, cells)
    return far is not None and any(type(value) is int and value == far for value in values)


def value_of(cell):
    """Of a variable that a function takes from around it; `None` where it has no value yet."""
    try:
        return cell.cell_contents
    except ValueError:
        return None


def _holds(optimizer, model):
    first = next(iter(model.parameters()), None)
    return first is not None and any(first is parameter for group in optimizer.param_groups for parameter in group["params"])


def _remembers(optimizer):
    """Whether its state holds anything but zeros, as that has which Horovod makes up for a broadcast."""
    for state in list(optimizer.state.values())[:8]:
        for value in state.values():
            if hasattr(value, "numel") and value.numel() > 1 and bool((value != 0).any()):
                return True
    return False
