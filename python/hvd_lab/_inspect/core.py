"""What all hooks share: who this process is, its way to the lab, and the guard around everything that is not the program's."""
import functools
import importlib.util
import math
import multiprocessing
import os
import socket
import sys
import sysconfig
import threading
import time

HERE = os.path.dirname(os.path.abspath(__file__))
_RANKS = ("RANK", "OMPI_COMM_WORLD_RANK", "PMI_RANK", "HOROVOD_RANK", "PMIX_RANK", "SLURM_PROCID")
_SIZES = ("WORLD_SIZE", "OMPI_COMM_WORLD_SIZE", "PMI_SIZE", "HOROVOD_SIZE", "SLURM_NTASKS")
_LOCAL_RANKS = ("LOCAL_RANK", "OMPI_COMM_WORLD_LOCAL_RANK", "MPI_LOCALRANKID", "HOROVOD_LOCAL_RANK", "SLURM_LOCALID")
MOST_HELD = 1000
_LOCAL_SIZES = ("LOCAL_WORLD_SIZE", "OMPI_COMM_WORLD_LOCAL_SIZE", "MPI_LOCALNRANKS", "HOROVOD_LOCAL_SIZE")


class State:
    """Of this process."""

    active = True
    # The process that may speak: a forked child inherits this module and is another one.
    pid = os.getpid()
    in_group = False
    is_child = multiprocessing.parent_process() is not None
    # Its number, where the launcher's variables do not say it.
    rank = None
    has_spoken = False
    # Reports that wait until it is clear that this process is a rank, and not the parent of the ranks. `None` once it is clear.
    held = []
    framework, versions = "torch", []
    seconds = 0.0
    # Whatever moves: a standing process does not change it.
    progress = 0
    updates = 0
    # Steps of all optimizers, whereas `updates` are those of the one that has made most.
    steps = 0
    # A pass that did not train has ended since the last update.
    behind_validation = False
    # The collective that the main thread is in, and since when.
    within = None
    lock = threading.RLock()


def sampled(number):
    """Whether the update or print with this number is looked at: the first three and powers of two."""
    return number < 3 or number & (number - 1) == 0


def number_of(names, otherwise):
    for name in names:
        if os.environ.get(name, "").isdigit():
            return int(os.environ[name])
    return otherwise


def local_place():
    """Rank and number of ranks on this host."""
    return number_of(_LOCAL_RANKS, 0), number_of(_LOCAL_SIZES, 1)


def launched():
    return number_of(_SIZES, 1)


def may_speak():
    if os.getpid() != State.pid:
        return False
    # Workers and helpers of a rank are no ranks; a child that joins a group is one.
    return not State.is_child or State.rank is not None


def join(rank, end):
    """This process is a rank of a group that it has just entered. `end` is called when it ends, if it is a child of the launched one."""
    if State.is_child or os.getpid() != State.pid:
        State.rank, State.pid, State.is_child, State.has_spoken, State.held = rank, os.getpid(), False, False, None
        # A forked child ends without what `atexit` knows.
        from multiprocessing import util

        util.Finalize(None, end, exitpriority=100)
    elif number_of(_RANKS, None) is None:
        State.rank = rank
    release()


def leave_to_children():
    """This process starts the ranks as its children: they speak, and it does not."""
    if not State.is_child and State.pid == os.getpid() and not State.in_group:
        State.held, State.pid = [], -1


def has_had_children():
    process = sys.modules.get("multiprocessing.process")
    return process is not None and repr(process._process_counter) not in ("count(0)", "count(1)")


def _may_be_parent():
    return launched() == 1 or number_of(_RANKS, None) is None


def release():
    """This process is a rank: what it has held back is sent."""
    held, State.held = State.held or (), None
    for event in held:
        _send(event)


_log = None


def _channel():
    """The module that `hvd_lab.log` belongs to: the lab listens to one connection of a rank."""
    global _log
    if _log is None:
        there = sys.modules.get("hvd_lab")
        if not hasattr(there, "_tell"):
            file = os.path.join(os.path.dirname(HERE), "__init__.py")
            spec = importlib.util.spec_from_file_location("hvd_lab", file, submodule_search_locations=[os.path.dirname(HERE)])
            there = importlib.util.module_from_spec(spec)
            spec.loader.exec_module(there)
            sys.modules["hvd_lab"] = there
        _log = there
    if State.rank is not None:
        _log._rank = lambda: State.rank
    return _log


def send(what, **fields):
    """One report. Numbers that are none are left out, for JSON has no word for them."""
    if not may_speak() or not os.environ.get("HVD_LAB_EVENT_SECRET"):
        return
    event = {"time_s": time.time(), "event": "inspected", "what": what}
    event.update(fields)
    with State.lock:
        if State.held is not None and _may_be_parent() and what not in ("group", "update", "blind"):
            if len(State.held) < MOST_HELD:
                State.held.append(event)
            return
        if State.held is not None:
            release()
        _send(event)


def _send(event):
    import json

    log = _channel()
    if not State.has_spoken:
        State.has_spoken = True
        send("looking", framework=State.framework, versions=State.versions, python=sys.version.split()[0], pid=os.getpid(),
             launched=launched(), program=_program())
    event["process"] = _rank()
    log._tell(json.dumps(_finite(event)))


def _rank():
    return State.rank if State.rank is not None else _log._rank()


def has_spoken():
    """Whether this process has anything to say, now or later."""
    return State.has_spoken or bool(State.held)


def _finite(value):
    if isinstance(value, dict):
        return {key: _finite(item) for key, item in value.items() if not (isinstance(item, float) and not math.isfinite(item))}
    if isinstance(value, (list, tuple)):
        return [_finite(item) for item in value if not (isinstance(item, float) and not math.isfinite(item))]
    return value


def _program():
    words = getattr(sys, "orig_argv", None) or sys.argv
    if "-m" in words[:-1]:
        return "-m " + words[words.index("-m") + 1]
    return sys.argv[0] if sys.argv else ""


def blind(why):
    """The inspector stops looking, and says why."""
    if State.active:
        State.active = False
        try:
            send("blind", why=str(why)[:500])
        except Exception:
            pass


def guard(body):
    """A hook: does nothing once the inspector has stopped, and stops it where the hook fails."""

    @functools.wraps(body)
    def call(*args, **kwargs):
        if not State.active:
            return None
        began = time.perf_counter()
        try:
            return body(*args, **kwargs)
        except Exception as error:
            line = error.__traceback__.tb_next.tb_lineno if error.__traceback__.tb_next else 0
            blind("%s at line %d of %s: %s" % (type(error).__name__, line, body.__name__, error))
            return None
        finally:
            State.seconds += time.perf_counter() - began

    return call


_paths = {name: os.path.realpath(path) + os.sep for name, path in sysconfig.get_paths().items() if name in ("stdlib", "platstdlib")}
_own = {}


def _is_own(file):
    """Whether a file belongs to the program, rather than to a library."""
    if file not in _own:
        real = os.path.realpath(file)
        is_library = (
            file.startswith("<")
            # What TensorFlow makes of functions, the program's and its own.
            or os.path.basename(file).startswith("__autograph_generated_file")
            or "/site-packages/" in real
            or "/dist-packages/" in real
            or real.startswith(tuple(_paths.values()))
            or real.startswith(HERE + os.sep)
        )
        _own[file] = None if is_library else os.path.abspath(file)
    return _own[file]


def place(frame=None):
    """The innermost line of the program on the stack."""
    frame = frame or sys._getframe(1)
    main = None
    while frame is not None:
        file = _is_own(frame.f_code.co_filename)
        if file is not None:
            return {"file": file, "line": frame.f_lineno or 0}
        if frame.f_globals.get("__name__") == "__main__" and not frame.f_code.co_filename.startswith("<"):
            main = {"file": os.path.abspath(frame.f_code.co_filename), "line": frame.f_lineno or 0}
        frame = frame.f_back
    return main or {"file": "", "line": 0}


def host():
    return socket.gethostname()


def replace(owner, name, make):
    """Puts `make(old)` in the place of an attribute, if it is there."""
    old = getattr(owner, name, None)
    if old is not None:
        new = make(old)
        try:
            functools.update_wrapper(new, old)
        except (AttributeError, TypeError):
            pass
        setattr(owner, name, new)
