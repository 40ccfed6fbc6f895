"""Finds and loads the native half of this package, which does the work, and knows which line of the program calls it."""
import contextlib
import importlib.util
import os
import sys
from importlib.machinery import ExtensionFileLoader

HERE = os.path.dirname(os.path.abspath(__file__))
VARIABLE = "HVD_LAB_PYTHON_MODULE"
MODULE = "libhvd_lab_python." + ("dylib" if sys.platform == "darwin" else "so")


def _places():
    """Where the native module may be: the lab says it; otherwise in the environment that it is installed in, or in the checkout."""
    if os.environ.get(VARIABLE):
        return [os.environ[VARIABLE]]
    target = os.path.join(os.path.dirname(os.path.dirname(HERE)), "target")
    built = [os.path.join(target, profile, MODULE) for profile in ("release", "debug")]
    installed = os.path.join(HERE, "..", "..", "..", "hvd-lab", MODULE)
    return [os.path.normpath(installed)] + built


def _load():
    if sys.version_info < (3, 8):
        raise ImportError("hvd_lab needs Python 3.8 or newer, and this is Python {}.{}".format(*sys.version_info[:2]))
    name = "hvd_lab._native"
    if name in sys.modules:
        # Loaded before the program, which should not see the secret that it takes.
        return sys.modules[name]
    found = [path for path in _places() if os.path.isfile(path)]
    if not found:
        raise ImportError(
            "the native module of hvd_lab is not in {}: run `make build`, or point {} at {}".format(
                " or ".join(_places()), VARIABLE, MODULE
            )
        )
    spec = importlib.util.spec_from_file_location(name, found[0], loader=ExtensionFileLoader(name, found[0]))
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    sys.modules[name] = module
    return module


def is_here(filename):
    """Whether a file is of this package."""
    return os.path.abspath(filename).startswith(HERE + os.sep)


def is_program(filename):
    """Whether a file is the learner's: the program, or a module beside it."""
    program = getattr(sys.modules.get("__main__"), "__file__", None) or filename
    folder = os.path.dirname(os.path.abspath(program))
    return os.path.abspath(filename).startswith(folder + os.sep) and not filename.startswith("<frozen") and not is_here(filename)


def place(frame=None):
    """The line of the learner's program that is being run, as `fashion_mnist.py:57`; None if there is none."""
    frame = sys._getframe(1) if frame is None else frame
    while frame is not None and not is_program(frame.f_code.co_filename):
        frame = frame.f_back
    return frame and "{}:{}".format(os.path.basename(frame.f_code.co_filename), frame.f_lineno)


native = _load()
LabError = native.LabError
_started = False


def started(start=native.start):
    """The native module, which has read the program's flags. With --help, or a bad flag, the program ends here."""
    global _started
    if not _started:
        stop = start(sys.argv)
        if stop is not None:
            text, code = stop
            if text:
                print(text.rstrip(), file=sys.stderr if code else sys.stdout)
            sys.exit(code)
        _started = True
    return native


def is_started():
    """Whether the lab and the other ranks may be waiting for this program."""
    return _started


@contextlib.contextmanager
def call(what):
    """The native module, which tells in its errors that the ranks were in this call of the program, and at which line."""
    working = started()
    before = working.name_call("{} at {}".format(what, place() or "its start"))
    try:
        yield working
    finally:
        working.name_call(before)
