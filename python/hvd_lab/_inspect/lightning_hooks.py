"""Lightning: the line that logs a result of each rank alone, for its own loop over the loader is no line of the program, and backward passes."""
import sys

from . import core, digest, watching
from .core import State, guard, place, replace, send

# Where results are logged, by their names, and the decisions of each callback that goes by one.
_logged, _decided = {}, core.Marks()
# Results that are told once, and values of one that are compared.
_MOST_TOLD, _FEW = 64, 8
# Of results that are yet to be told: the line and the values.
_values = {}


def install(module):
    if hasattr(module, "Fabric"):
        replace(module.Fabric, "__init__", core.looks_first(_tell_fabric))
        return
    if not hasattr(module, "LightningModule"):
        for name, method in (("EarlyStopping", "_run_early_stopping_check"), ("ModelCheckpoint", "_save_topk_checkpoint")):
            if hasattr(module, name):
                replace(getattr(module, name), method, core.looks_first(_look_at_decision))
        return
    replace(module.LightningModule, "log", _remembers)
    replace(module.LightningModule, "manual_backward", core.looks_first(_tell_manual))
    State.before_end.append(_tell_all)
    watching.tells_backward[0] = True


def _tell_fabric(*args, **kwargs):
    """Its words are others than those of the Trainer."""
    core.tell_once("Fabric")


def _remembers(old):
    def log(self, name, value, *args, **kwargs):
        _remember(self, name, value, kwargs.get("sync_dist"))
        return old(self, name, value, *args, **kwargs)

    return log


@guard
def _look_at_decision(callback, trainer, candidates=None):
    """The value that a callback goes by."""
    value = (trainer.callback_metrics if candidates is None else candidates).get(callback.monitor)
    number = _decided.get(callback, 0)
    if value is None or number >= _MOST_TOLD or trainer.sanity_checking or value.numel() != 1:
        return
    _decided[callback] = number + 1
    send("decision", by=type(callback).__name__, place=_logged.get(callback.monitor, core.NO_PLACE), value=digest.of_text(repr(float(value))), number=number,
         updates=State.updates)


@guard
def _remember(module, name, value, is_of_all):
    where = place(sys._getframe(3))
    if len(_logged) < _MOST_TOLD or name in _logged:
        _logged[name] = where
    if is_of_all:
        if len(core._told) < 4 * _MOST_TOLD:
            core.tell_once("logged together: %s" % name, where)
        return
    State.logged_at = where
    # Metrics that count their own results bring them together by themselves.
    if not module.training and State.updates and not (hasattr(value, "compute") and hasattr(value, "update")):
        _tell_logged("logged alone: %s" % name, value)


def _tell_logged(by, value):
    """Once of each result, by its first values: those that the program has brought together itself are the same on all ranks, and few
    are so by chance.
    """
    if by not in core._told and (by in _values or len(_values) < _MOST_TOLD):
        try:
            value = float(value)
        except (TypeError, ValueError, RuntimeError):
            # A dictionary of results, or several numbers.
            return
        _, values = _values.setdefault(by, (State.logged_at, []))
        values.append(repr(value))
        if len(values) >= _FEW:
            _tell_values(by)


def _tell_values(by):
    where, values = _values.pop(by)
    core.tell_once(by, where, (digest.of_text(" ".join(values)),))


@guard
def _tell_all():
    for by in list(_values):
        _tell_values(by)


@guard
def _tell_manual(*args, **kwargs):
    core.tell_once("manual_backward")
