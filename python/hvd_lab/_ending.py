"""How a program ends: well, together with the other ranks, or with an error that all of them hear of."""
import atexit
import sys
import threading
import traceback

from . import _leaving
from ._library import is_here, is_program, is_started, native, started
from ._words import in_words


def watch():
    """From now on no rank leaves quietly: the others would wait for it for ever."""
    sys.excepthook = failed
    threading.excepthook = failed_in_thread
    atexit.register(finish)
    _leaving.watch()


def failed(kind, error, trace):
    """In the place of Python's own hook: shows the learner's lines, then ends the whole job."""
    frames = [frame for frame in traceback.extract_tb(trace) if not is_here(frame.filename)]
    head = ["Traceback (most recent call last):\n"] + traceback.format_list(frames) if frames else []
    _quietly(sys.stdout.flush)
    if not _can_tell():
        _quietly(sys.stderr.write, "".join(head + traceback.format_exception_only(kind, error)))
        return
    # The last words name one line: what led there is worth more lines only where there is more of it.
    if len(frames) > 1:
        _quietly(sys.stderr.write, "".join(head))
    _quietly(sys.stderr.flush)
    _leaving.fail(in_words(kind, error, _blamed(frames)))


def failed_in_thread(what):
    """An error in a thread ends the program, as one in the main thread does: the others may wait for what this one was to do."""
    if what.exc_type is SystemExit or _leaving.is_over or not is_started():
        threading.__excepthook__(what)
        return
    name = what.thread.name if what.thread is not None else "one that is gone"
    words = in_words(what.exc_type, what.exc_value, _blamed(traceback.extract_tb(what.exc_traceback)))
    _leaving.fail("{} (in the thread {})".format(words, name))


def _blamed(frames):
    """The lines of an error with the learner's last: what they called may have lines of its own."""
    own = [frame for frame in frames if is_program(frame.filename)]
    return own or [frame for frame in frames if not is_here(frame.filename)]


def _can_tell():
    """Whether the lab and the other ranks can be told, even if the program has called nothing of this package yet."""
    try:
        started()
    except (SystemExit, native.LabError):
        return False
    return True


def finish():
    """At the end of the program."""
    _quietly(sys.stdout.flush)
    if _leaving.is_copy():
        native.abandon()
        _quietly(sys.stderr.flush)
        _leaving.really_leave(_leaving.code)
    _leaving.check_children()
    try:
        native.name_call(_leaving.left or "the end of the program")
        native.finish()
    except native.LabError as error:
        # How it came to its end is the cause of an end that comes too early.
        is_told = _leaving.left is None or _leaving.left in str(error)
        native.fail(str(error) if is_told else "{}: {}".format(_leaving.left, error))
    _leaving.is_over = True


def _quietly(call, *arguments):
    """If nobody reads any more, there is nobody to tell."""
    try:
        call(*arguments)
    except (OSError, ValueError):
        pass
