"""An error in words: the learner's line, what Python says of it, and what that means for a program on several ranks."""
import io
import os
import sys
import traceback

from ._library import native

HOROVOD = "the program imports Horovod's own package, which knows nothing of this trainer: write `import hvd_lab.keras as hvd` instead"
INPUT = "input() has nobody to ask: the program runs on several ranks, without a keyboard. Write the value down, or use a flag of parse_args()"


def in_words(kind, error, frames):
    """`fashion_mnist.py:57: NameError: name 'hvd' is not defined`. The last of the frames is the line."""
    # The trainer's own errors say by themselves what they are.
    what = str(error) if kind is native.LabError else _said(kind, error)
    if kind is EOFError and str(error) == "EOF when reading a line":
        what = "{}: {}".format(kind.__name__, INPUT)
    if kind is KeyboardInterrupt:
        what = "KeyboardInterrupt: the rank was interrupted, as by Ctrl-C (SIGINT)"
    if "horovod" in sys.modules and HOROVOD not in what:
        what = "{} ({})".format(what, HOROVOD)
    if not frames:
        return what
    name = os.path.basename(frames[-1].filename)
    # An error of several ranks names the lines itself.
    if kind is native.LabError and name + ":" in what:
        return what
    return "{}:{}: {}".format(name, frames[-1].lineno, what)


def _said(kind, error):
    """As Python says it, with its "Did you mean", which only the interpreter's own hook knows."""
    entries = traceback.format_exception_only(kind, error)
    # Lines of a program that Python cannot read come before, and notes come after.
    text = next((entry for entry in entries if not entry[:1].isspace()), entries[-1]).strip()
    shown, before = io.StringIO(), sys.stderr
    sys.stderr = shown
    try:
        sys.__excepthook__(kind, error, error.__traceback__)
    except Exception:
        return text
    finally:
        sys.stderr = before
    return next((line for line in reversed(shown.getvalue().splitlines()) if line.startswith(text)), text)
