"""Tells the lab what a program's own schedule of the rate comes to, in epochs that a short run does not reach."""
import contextlib
import io
import os

from ._library import started

# Past the last epoch in which the rate of the exercise falls.
EPOCHS = 40


def tell(schedule):
    """Ask the schedule for its rates, and tell them. One that does not say the same twice counts its calls: nothing is told."""
    rates = _rates(schedule)
    if not rates or rates != _rates(schedule):
        return
    code = getattr(schedule, "__code__", None)
    place = "{}:{}".format(os.path.basename(code.co_filename), code.co_firstlineno) if code else ""
    started().tell_of_schedule(getattr(schedule, "__name__", type(schedule).__name__), place, rates)


def _rates(schedule):
    """The rates of the first epochs; nothing if it cannot give them. What it prints is not to be seen once more."""
    with contextlib.redirect_stdout(io.StringIO()), contextlib.redirect_stderr(io.StringIO()):
        try:
            return [float(schedule(epoch)) for epoch in range(EPOCHS)]
        except (Exception, SystemExit):
            return None
