"""A profile function of the inspector, for a while, where the program has none."""
import sys

from . import earlier

# What looks at present, and what Python calls for it.
_look, _called = [None], [None]
# Whether that is under way, so that the frame is not to be touched, and whether it has run since the last look behind it.
_inside, _has_run = [False], [False]


def begin(look):
    """Calls `look(frame, event, called)` until the end. Not where another profile function is at work."""
    if sys.getprofile() is not None:
        return

    def call(frame, event, called, stop=sys.setprofile, is_ending=sys.is_finalizing):
        # At the end of a process the names of its modules are None. And another thread may have ended it.
        if is_ending() or _look[0] is not look:
            stop(None)
            return
        _inside[0] = True
        try:
            look(frame, event, called)
        finally:
            _inside[0] = False

    _look[0], _called[0], _has_run[0] = look, call, True
    sys.setprofile(call)


def end():
    if _called[0] is not None and sys.getprofile() is _called[0]:
        sys.setprofile(None)
    _look[0] = _called[0] = None


def forget(frame):
    """Behind the end: what the frames around hold is let go."""
    if _has_run[0] and not _inside[0]:
        _has_run[0] = False
        earlier.forget(frame)
