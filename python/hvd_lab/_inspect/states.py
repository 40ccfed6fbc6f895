"""Files that are written, states that are loaded, decisions by a value, and prints."""
import builtins
import functools
import io
import logging
import os
import re
import sys

from . import core, digest, planned, resuming, source, sums
from .core import State, guard, place, replace, sampled, send


def install(torch):
    replace(torch, "save", tells_file("torch.save", 1))
    replace(torch, "load", core.looks_first(_tell_read))
    resuming.install(torch)
    for name in ("replace", "rename"):
        replace(os, name, core.looks_first(_tell_moved))
    replace(torch.nn.Module, "load_state_dict", _tells_load("loaded_model"))
    replace(torch.optim.Optimizer, "load_state_dict", _tells_load("loaded_optimizer"))
    replace(torch.optim.Optimizer, "add_param_group", core.looks_first(_tell_addition))
    install_files()
    plateau = getattr(sys.modules.get("torch.optim.lr_scheduler"), "ReduceLROnPlateau", None)
    if plateau is not None:
        replace(plateau, "step", _tells_decision)
    schedules = sys.modules.get("torch.optim.lr_scheduler")
    base = getattr(schedules, "LRScheduler", getattr(schedules, "_LRScheduler", None))
    if base is not None:
        replace(base, "__init__", core.remembers_making(resuming.schedules))
        replace(base, "step", core.looks_first(_look_at_step))
    planned.install(schedules)
    replace(builtins, "print", told_print)
    replace(logging.StreamHandler, "emit", _told_record)
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, io.TextIOWrapper):
            # As programs draw a line over itself. `print` and loggers write by it too, and have been looked at.
            replace(stream, "write", _told_write)


def install_files():
    """What a program writes and reads beside its framework."""
    if hasattr(builtins.open, "__wrapped__"):
        return
    for owner in (builtins, io):
        replace(owner, "open", _tells_open)
    numpy = sys.modules.get("numpy")
    for name in ("save", "savetxt", "savez", "savez_compressed"):
        if numpy is not None:
            replace(numpy, name, tells_file("numpy." + name, 0))
    for name in ("load", "loadtxt", "genfromtxt"):
        if numpy is not None:
            replace(numpy, name, core.looks_first(_tell_loaded))


def tells_file(by, at):
    def make(old):
        def save(*args, **kwargs):
            file = args[at] if len(args) > at else kwargs.get("f", kwargs.get("filename", kwargs.get("file")))
            _tell_file(by, file)
            return old(*args, **kwargs)

        return save

    return make


@guard
def _tell_file(by, file):
    path = _path_of(file)
    if path and core.may_speak() and not _is_left_to_another(sys._getframe(3)):
        _send_written(by, path, place(sys._getframe(3)))


def _path_of(file):
    """The absolute path of a file that is given by its path, or open; `None` of one without a path."""
    path = file if isinstance(file, (str, os.PathLike)) else getattr(file, "name", None)
    return os.path.abspath(os.fspath(path)) if isinstance(path, (str, os.PathLike)) else None


def _send_written(by, path, where):
    if State.behind_validation and len(_parts) < _MOST_READ:
        _parts.add(path)
    if by == "torch.save" and len(_written) < _MOST_READ:
        _written[path] = where
    send("state", action="written", by=by, path=path, place=where, updates=State.updates, meetings=(State.steps, State.calls))


@guard
def _tell_moved(file, to, *args, **kwargs):
    """A file that was written under another name first, so that nobody finds half of it."""
    where = _written.pop(_path_of(file), None) if _written else None
    path = _path_of(to)
    if where is not None and path and core.may_speak():
        _send_written("torch.save", path, where)


# Files that are remembered: data are read without number. And the lines that wrote some, and what was written behind validations.
_MOST_READ = 64
_read, _written, _parts = set(), {}, set()


@guard
def _tell_read(file=None, *args, **kwargs):
    _send_read("torch.load", kwargs.get("f", file), place(sys._getframe(3)))


@guard
def _tell_loaded(file=None, *args, **kwargs):
    _send_read("numpy.load", file, place(sys._getframe(3)))


def _send_read(by, file, where):
    path = _path_of(file)
    if path and core.may_speak() and (path, State.updates) not in _read and len(_read) < _MOST_READ:
        _read.add((path, State.updates))
        send("state", action="read", by=by, path=path, place=where, updates=State.updates, meetings=(State.steps, State.calls))


@guard
def _tell_opened(file):
    """Files of a data set that is read before the first pass over it, by the program or by pandas."""
    caller = sys._getframe(3)
    is_reader = caller.f_globals.get("__name__", "").startswith(("pandas.", "pathlib"))
    if (is_reader or core._is_own(caller.f_code.co_filename) is not None) and not file.startswith(("/dev/", "/proc/", "/sys/")):
        _send_read("open", file, place(caller))


def _is_left_to_another(frame):
    """Whether the program has told the library that another rank saves: that it writes all the same is the library's affair."""
    for _ in range(12):
        if frame is None:
            break
        if frame.f_code.co_name == "save_pretrained":
            return frame.f_locals.get("is_main_process") is False
        frame = frame.f_back
    return False


def _tells_open(old):
    """A file that the program itself opens to write it anew, as before `pickle.dump`, or to append to it, as to a log."""

    def open(*args, **kwargs):
        mode = args[1] if len(args) > 1 else kwargs.get("mode")
        file = args[0] if args else kwargs.get("file")
        if mode.__class__ is str and mode[:1] in ("w", "a"):
            _tell_open(file, "open" if mode[:1] == "w" else "append")
        elif not State.has_loaders and file.__class__ is str and len(_read) < _MOST_READ:
            _tell_opened(file)
        elif _parts and State.behind_validation:
            _look_at_part(file)
        return old(*args, **kwargs)

    return open


@guard
def _look_at_part(file):
    """A file that another rank has written beside one of this rank, read behind a validation: so the results of all come together."""
    path = _path_of(file)
    if path and path not in _parts and not path.endswith((".py", ".pyc")) and any(os.path.dirname(path) == os.path.dirname(own) for own in _parts):
        core.tell_once("results in files", place(sys._getframe(3)))


@guard
def _tell_open(file, by):
    caller = sys._getframe(3)
    while caller.f_back is not None and caller.f_globals.get("__name__") in ("pathlib", "pathlib._local", "logging"):
        caller = caller.f_back
    if not State.has_spoken or not isinstance(file, (str, os.PathLike)) or core._is_own(caller.f_code.co_filename) is None:
        return
    path = os.path.abspath(os.fspath(file))
    if path not in _opened and len(_opened) < 1000 and not str(path).startswith(("/dev/", "/proc/", "/sys/")):
        _opened.add(path)
        _tell_file(by, path)


_opened = set()


# Optimizers into which the program has loaded a state.
loaded_by_program = core.Marks()


def _tells_load(action):
    return core.looks_behind(functools.partial(_tell_load, action))


@guard
def _tell_load(action, result, loaded, *args, **kwargs):
    if not core.may_speak():
        return
    resuming.look_at_load(loaded)
    if _loads_nothing(loaded, getattr(result, "missing_keys", ()), getattr(result, "unexpected_keys", ())):
        core.tell_once("nothing loaded", place(sys._getframe(3)))
    if action == "loaded_model":
        tensors = list(loaded.parameters()) + list(loaded.buffers())
    else:
        if core._is_own(sys._getframe(3).f_code.co_filename) is not None:
            loaded_by_program[loaded] = True
        tensors = [value for state in loaded.state.values() for value in state.values() if hasattr(value, "is_sparse")]
    where = source.place_of_choice(sys._getframe(3))
    send("state", action=action, place=where, digest=digest.of_tensors(tensors), updates=State.updates)


# What wrappers and torch.compile put in front of the names of parameters.
_PREFIXES = re.compile(r"(?:^|(?<=\.))(?:module\.|_orig_mod\.)+")


def _loads_nothing(module, missing, unexpected):
    """Whether a name in a state is that of the module with or without what a wrapper puts in front."""
    bare = [{_PREFIXES.sub("", name) for name in names} for names in (missing, unexpected)]
    return not bare[0].isdisjoint(bare[1])


_decisions = core.Marks()


@guard
def _look_at_step(schedule, *args, **kwargs):
    """One makes its first step itself, where it is made."""
    frame = sys._getframe(3)
    while frame.f_back is not None and frame.f_globals.get("__name__") == core.__name__:
        frame = frame.f_back
    if State.updates:
        core.tell_call("schedule stepped", frame)
    else:
        core.tell_once("schedule made", core.place_of_making(schedule, frame))


def _tells_decision(old):
    def step(self, metrics, *args, **kwargs):
        _tell_decision(self, metrics)
        return old(self, metrics, *args, **kwargs)

    return step


@guard
def _tell_decision(scheduler, metrics):
    number = _decisions.get(scheduler, 0)
    _decisions[scheduler] = number + 1
    core.tell_call("schedule stepped", sys._getframe(3))
    if number < 64:
        send("decision", by=type(scheduler).__name__, place=State.logged_at or place(sys._getframe(3)), value=digest.of_text(repr(float(metrics))), number=number,
             updates=State.updates)


_FIGURES = re.compile(r"(?<![a-z])(loss|acc\w*?|epoch|step|iter\w*?|lr|metric|f1|error|top.?1|ppl|perplexity)(e?s)?(?![a-z])[^\d\n]{0,60}\d", re.I)
_RESULTS = re.compile(_FIGURES.pattern.replace("epoch|step|iter\\w*?|lr|", ""), re.I)
# Numbers in brackets, and what they count if they are not that of a rank.
_COUNTS = re.compile(r"(epoch|iter\w*|step|batch)\W*(\[[^\]]*\])*$", re.I)
_prints = {}


@guard
def _tell_addition(*args, **kwargs):
    if State.updates:
        core.tell_once("parameters added", place(sys._getframe(3)))


def told_print(old):
    def print(*args, **kwargs):
        file = kwargs.get("file")
        if State.active and (file is None or file is sys.stdout or file is sys.stderr):
            _tell_print(args, kwargs.get("sep"))
        return _quietly(old, args, kwargs)

    return print


# What writes has been looked at already.
_is_known = [False]


def _quietly(old, args, kwargs):
    before, _is_known[0] = _is_known[0], True
    try:
        return old(*args, **kwargs)
    finally:
        _is_known[0] = before


def _told_write(old):
    def write(text):
        if State.active and not _is_known[0]:
            _tell_write(text)
        return old(text)

    return write


@guard
def _tell_write(text):
    # Python itself writes an error that nobody catches.
    frame = sys._getframe(2).f_back
    if frame is not None and text.__class__ is str and not text.isspace() and core._is_own(frame.f_code.co_filename) is not None:
        _tell_text(frame, (text,), "")


@guard
def _tell_print(args, separator):
    _tell_text(sys._getframe(3), args, separator)


def _tell_text(frame, args, separator):
    if sums.are_there():
        sums.look(_text(args, separator), place(frame))
    times = _count((frame.f_code, frame.f_lineno))
    if sampled(times - 1) and (times > 1 or State.updates) and core.may_speak():
        text = _text(args, separator)
        # What is printed only once is of interest if it is a result of the training.
        if times > 1 or _RESULTS.search(text):
            _tell_line(text, place(frame), times)


def _text(args, separator):
    return (" " if separator is None else separator).join(map(str, args))


def _told_record(old):
    def emit(self, record):
        if getattr(self, "stream", None) in (sys.stdout, sys.stderr):
            _tell_record(record)
        return _quietly(old, (self, record), {})

    return emit


@guard
def _tell_record(record):
    file = core._is_own(record.pathname)
    if sums.are_there():
        sums.look(record.getMessage(), {"file": record.pathname, "line": record.lineno})
    times = _count((record.pathname, record.lineno))
    if times > 1 and sampled(times - 1) and core.may_speak():
        where = {"file": file, "line": record.lineno} if file else place(sys._getframe(3))
        _tell_line(record.getMessage(), where, times)


def _count(key):
    times = _prints.get(key, 0) + 1
    if len(_prints) < 10_000 or times > 1:
        _prints[key] = times
    return times


def _tell_line(text, where, times):
    send("printed", place=where, times=times, text=digest.of_text(re.sub(r"\d", "", text)), names_rank=names_rank(text),
         has_figures=bool(_FIGURES.search(text)), has_results=bool(_RESULTS.search(text)), updates=State.updates)


def names_rank(text):
    rank = State.rank if State.rank is not None else core.number_of(core._RANKS, 0)
    if re.search(r"(rank|process|worker|gpu|device|node)\W{0,8}%d\b|^\s*%d\s*[:|]|^\s*%d\s*/\s*%d\b|cuda:%d\b" % (rank, rank, rank, core.launched(), rank), text, re.I):
        return True
    in_brackets = re.finditer(r"[\[(<{]\s*%d\s*([\])>}:]|/\s*%d\b)" % (rank, core.launched()), text)
    return any(not _COUNTS.search(text[: found.start()]) for found in in_brackets)
