"""Trainers of Hugging Face and Lightning: the line of the program that tells one to stop."""
import sys

from . import core
from .core import guard, place


def install(module):
    if hasattr(module, "TrainerControl"):
        module.TrainerControl.__setattr__ = _tells_setting(module.TrainerControl.__setattr__)
    should_stop = vars(getattr(module, "Trainer", object)).get("should_stop")
    if isinstance(should_stop, property) and should_stop.fset is not None:
        module.Trainer.should_stop = should_stop.setter(_tells_stop(should_stop.fset))


def _tells_setting(old):
    def __setattr__(self, name, value):
        if name == "should_training_stop" and value is True:
            _tell(sys._getframe(1))
        old(self, name, value)

    return __setattr__


def _tells_stop(old):
    def should_stop(self, value):
        if value is True:
            _tell(sys._getframe(1))
        old(self, value)

    return should_stop


@guard
def _tell(caller):
    # The library itself decides alike on all ranks.
    if core._is_own(caller.f_code.co_filename) is not None:
        core.tell_once("told to stop", place(caller))
