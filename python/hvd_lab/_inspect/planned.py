"""How many steps a schedule of the rate is planned for, and how many it makes."""
import re
import sys

from . import core, resuming
from .core import State, guard, replace

# Schedules that end after so many steps, or change the rate at a few, and where they keep that number.
_STEPS = {"OneCycleLR": "total_steps", "CosineAnnealingLR": "T_max", "LinearLR": "total_iters", "PolynomialLR": "total_iters", "SequentialLR": "", "LambdaLR": "",
          "MultiStepLR": "", "StepLR": "step_size"}
# How a function of the program's own names the number of all steps.
_TOTAL = re.compile(r"total|max_?(steps|iter|upd)|n(um)?_?(training_?)?(steps|iter|upd)|t_max", re.I)
_NO_TOTAL = re.compile(r"warm", re.I)
# Of the last schedule that made a step: where it was made, how many steps it has, how many it has made, its class, and the step at which one
# first changes the rate that does so at a few.
_made, _counted = [], [None]
# Of schedules of a function: the arguments of the function that made it, and the line that called that.
_callers = core.Marks()


def install(schedules):
    for name in _STEPS:
        if hasattr(schedules, name):
            replace(getattr(schedules, name), "step", core.looks_behind(_count_step))
    if hasattr(schedules, "LambdaLR"):
        replace(schedules.LambdaLR, "__init__", core.looks_first(_remember_caller))
    State.before_end.append(_tell)


@guard
def _remember_caller(schedule, *args, **kwargs):
    frame = sys._getframe(3)
    if core._is_own(frame.f_code.co_filename) is not None and frame.f_back is not None:
        _callers[schedule] = frame.f_code.co_varnames[: frame.f_code.co_argcount + frame.f_code.co_kwonlyargcount], core.place(frame.f_back)


@guard
def _count_step(result, schedule, *args, **kwargs):
    """One that holds others comes last, behind the step of the one inside."""
    if _counted[0] != id(schedule):
        _counted[0] = id(schedule)
        last = (getattr(schedule, "_schedulers", None) or [schedule])[-1]
        _made[:] = _place(last), _total(schedule), 0, type(last).__name__, _first_change(schedule)
    _made[2] = schedule.last_epoch


@guard
def _tell():
    if _made and _made[0] and _made[1]:
        core.tell_once("planned steps", _made[0], [str(word) for word in _made[1:]])


def place():
    """The line of the last schedule that made a step, if there is one."""
    return _made[0] if _made else None


def _place(schedule):
    """The line that gives the number of steps: that of the call, if the function that makes the schedule is given it."""
    arguments, caller = _callers.get(schedule, ((), None))
    return caller if any(name in arguments for name, _ in _of_functions(schedule)) else resuming.schedules.get(schedule)


def _total(schedule):
    """After how many steps a schedule ends; 0 where it does not say."""
    inner = getattr(schedule, "_schedulers", None)
    if inner:
        last = _total(inner[-1])
        return last and schedule._milestones[-1] + last
    if hasattr(schedule, "milestones"):
        return max(schedule.milestones, default=0)
    if hasattr(schedule, "lr_lambdas"):
        return max((steps for _, steps in _of_functions(schedule)), default=0)
    return getattr(schedule, _STEPS.get(type(schedule).__name__) or "total_steps", 0)


def _of_functions(schedule):
    """Names and numbers of steps that the function of a schedule goes by: what it is given, as in transformers, or takes from around it."""
    for function in getattr(schedule, "lr_lambdas", ())[:1]:
        known = dict(getattr(function, "keywords", {}))
        function = getattr(function, "func", function)
        code = getattr(function, "__code__", None)
        if code is not None:
            known.update((name, function.__globals__.get(name)) for name in code.co_names)
            known.update((name, resuming.value_of(cell)) for name, cell in zip(code.co_freevars, function.__closure__ or ()))
            given = code.co_varnames[: code.co_argcount]
            known.update(zip(reversed(given), reversed(function.__defaults__ or ())))
        for name, value in known.items():
            if type(value) is int and value > 1 and _TOTAL.search(name) and not _NO_TOTAL.search(name):
                yield name, value


def _first_change(schedule):
    """The step at which a schedule of a few steps first changes the rate; 0 of any other."""
    return min(getattr(schedule, "milestones", ()), default=getattr(schedule, "step_size", 0) if type(schedule).__name__ == "StepLR" else 0)
