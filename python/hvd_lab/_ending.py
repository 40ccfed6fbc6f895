"""How a program ends: well, together with the other ranks, or with an error that all of them hear of."""
import atexit
import os
import sys
import traceback

from ._library import HERE, native, started


def watch():
    """From now on no rank leaves quietly: the others would wait for it for ever."""
    sys.excepthook = failed
    atexit.register(finish)


def is_own(frame):
    """Whether a line of a traceback is the learner's, and not of this package."""
    return not os.path.abspath(frame.filename).startswith(HERE + os.sep)


def in_words(kind, error, frames):
    """`fashion_mnist.py:57: NameError: name 'hvd' is not defined`."""
    text = traceback.format_exception_only(kind, error)[-1].strip()
    # The trainer's own errors say by themselves what they are.
    what = str(error) if kind is native.LabError else text
    if not frames:
        return what
    return "{}:{}: {}".format(os.path.basename(frames[-1].filename), frames[-1].lineno, what)


def failed(kind, error, trace):
    """In the place of Python's own hook: shows the learner's lines, then ends the whole job."""
    frames = [frame for frame in traceback.extract_tb(trace) if is_own(frame)]
    head = ["Traceback (most recent call last):\n"] + traceback.format_list(frames) if frames else []
    _quietly(sys.stdout.flush)
    if not _can_tell():
        _quietly(sys.stderr.write, "".join(head + traceback.format_exception_only(kind, error)))
        return
    # The last words name one line: what led there is worth more lines only where there is more of it.
    if len(frames) > 1:
        _quietly(sys.stderr.write, "".join(head))
    _quietly(sys.stderr.flush)
    native.fail(in_words(kind, error, frames))


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
    try:
        native.finish()
    except native.LabError as error:
        native.fail(str(error))


def _quietly(call, *arguments):
    """If nobody reads any more, there is nobody to tell."""
    try:
        call(*arguments)
    except (OSError, ValueError):
        pass
