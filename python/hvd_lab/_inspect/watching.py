"""Times, memory, and a look at the main thread when nothing moves."""
import _thread
import atexit
import os
import re
import sys
import threading
import time

from . import core, departures, kept, results, scaling, unloaded
from .core import State, guard, place, replace, send

_last = [time.perf_counter()]
# Functions of the libraries in which a rank waits for others, as people call them.
_WAITING = {
    "_engine_run_backward": "backward",
    "_sync_module_states": "DistributedDataParallel",
    "_verify_param_shape_across_processes": "DistributedDataParallel",
    "_sync_buffers": "DistributedDataParallel",
    "_pre_forward": "DistributedDataParallel",
    "_distributed_broadcast_coalesced": "DistributedDataParallel",
    "_default_broadcast_coalesced": "DistributedDataParallel",
    "_store_based_barrier": "init_process_group",
    "_create_c10d_store": "init_process_group",
    "_new_process_group_helper": "init_process_group",
    "destroy_process_group": "destroy_process_group",
    # Of TensorFlow: it may compute as well.
    "quick_execute": "a graph with Horovod's calls",
    "wait": "wait",
    "synchronize": "synchronize",
}
# Looks at the line of the main thread in each look whether it moves.
_SAMPLES = 16
_PAGE = os.sysconf("SC_PAGE_SIZE")


def install(torch):
    replace(torch.Tensor, "backward", _timed_backward)
    prepare()


def prepare():
    """Watches this process from its first report on, until its end."""
    if State.at_end is None:
        State.at_start, State.at_end = _start, _end
        replace(os, "sched_setaffinity", core.looks_behind(core.tell_cores))
        atexit.register(_end)
        sys.excepthook = _tells_first(sys.excepthook)


def _tells_first(old):
    """A launcher ends the other ranks within moments of the first that fails: where one stood is told before its error is printed."""

    def excepthook(kind, error, trace):
        _end()
        old(kind, error, _hide_own_lines(error) or trace)

    return excepthook


# Errors behind an error whose lines are shown.
_MOST_CAUSES = 16


@guard
def _hide_own_lines(error):
    """Takes the lines of the inspector, which are no part of the program, out of an error and what caused it. Returns the others."""
    shown = error
    for _ in range(_MOST_CAUSES):
        if isinstance(shown, BaseException):
            shown.__traceback__ = _without_own(shown.__traceback__)
            shown = shown.__cause__ or shown.__context__
    return error.__traceback__


def _without_own(trace):
    kept = []
    while trace is not None:
        if not trace.tb_frame.f_code.co_filename.startswith(core.HERE):
            kept.append(trace)
        trace = trace.tb_next
    for entry, behind in zip(kept, [*kept[1:], None]):
        entry.tb_next = behind
    return kept[0] if kept else None


def _start():
    """A thread that the program does not see in `threading.enumerate`, and that nothing waits for."""
    _thread.start_new_thread(_watch, (threading.main_thread().ident,))


def _timed_backward(old):
    def backward(self, *args, **kwargs):
        began = time.perf_counter()
        _before_backward(self)
        try:
            result = old(self, *args, **kwargs)
        finally:
            State.times["backward"] += time.perf_counter() - began
        scaling.behind_backward()
        return result

    return backward


# Whether a loop of a library is there that has a backward pass of its own.
tells_backward = [False]


@guard
def _before_backward(loss):
    State.backwards += 1
    if tells_backward[0]:
        core.tell_call("backward by hand", sys._getframe(3))
    unloaded.close()
    departures.note(sys._getframe(3))
    kept.mark(loss)
    scaling.before_backward(loss, sys._getframe(3))


# Between updates of one pass: when the last one ended, and what has been counted as something else since. Seconds in other lines.
_ended, _others, _lines = [None], [0.0], {}


@guard
def begins_update():
    ended, _ended[0] = _ended[0], None
    if ended is not None:
        _others[0] += max(0.0, time.perf_counter() - ended - sum(State.times.values()) + _counted[0])


def add_others(seconds):
    """Between two updates, where a library's loop says how many."""
    _others[0] += max(0.0, seconds)


def begins_pass():
    """What came before it was no part of a training."""
    _ended[0] = None


_counted = [0.0]


@guard
def ended_update():
    _ended[0], _counted[0] = time.perf_counter(), sum(State.times.values())


@guard
def tell_phases(is_between=False):
    """`is_between`: between updates of one pass, such as behind a validation that one rank makes there."""
    if is_between:
        begins_update()
    held = memory()
    if State.updates > 4:
        kept.look(held)
    now = time.perf_counter()
    fields = {name: round(value, 6) for name, value in State.times.items()}
    for name in State.times:
        State.times[name] = 0.0
    busiest = max(list(_lines.items()), key=lambda item: item[1], default=(None, 0))[0]
    if not _is_settled[0]:
        # So far it was the start of the program.
        _lines.clear()
    _is_settled[0] = True
    send("phases", updates=State.updates, all=round(now - _last[0], 6), memory_bytes=held, others=round(_others[0], 6),
         busiest=dict(zip(("file", "line"), busiest)) if busiest else core.NO_PLACE, **fields)
    _last[0], _ended[0], _others[0] = now, None, 0.0
    if is_between:
        ended_update()


_is_settled = [False]


@guard
def _sample(main):
    """The line that the main thread is at, unless it waits for other ranks."""
    frame = sys._current_frames().get(main)
    if frame is None or State.within is not None or frame.f_code.co_name in _WAITING:
        return
    where = place(frame)
    key = where["file"], where["line"]
    if key in _lines or len(_lines) < 10_000:
        _lines[key] = _lines.get(key, 0) + 1


def memory():
    try:
        with open("/proc/self/statm") as file:
            return int(file.read().split()[1]) * _PAGE
    except (OSError, ValueError, IndexError):
        return 0


def _limit():
    try:
        return max(0.5, float(os.environ.get("HVD_LAB_INSPECT_STALL", "10")))
    except ValueError:
        return 10.0


def _watch(main):
    """Looks now and then whether anything has moved. It ends with the process."""
    limit, before, since, told = _limit(), None, time.monotonic(), 0
    while State.active:
        for _ in range(_SAMPLES):
            time.sleep(min(1.0, limit / 4) / _SAMPLES)
            if State.has_spoken:
                _sample(main)
        if State.progress != before:
            before, since, told = State.progress, time.monotonic(), 0
            continue
        still = time.monotonic() - since
        if State.has_spoken and still >= limit * (1 << told) and told < 12:
            told += 1
            _tell_stall(main, still)


@guard
def _tell_stall(main, still):
    frame = sys._current_frames().get(main)
    if frame is None:
        return
    within = State.within
    called = frame.f_code.co_name
    is_library = core._is_own(frame.f_code.co_filename) is None and (called != "quick_execute" or "horovod.tensorflow" in sys.modules)
    name = within[0] if within else _of_horovod(frame) if called == "quick_execute" else ""
    name = name or (_WAITING.get(called, "") if is_library else "")
    results.close(frame)
    departures.tell_left_loop(frame)
    send("stalled", batches=State.taken, place=(within[1] if within else place(frame)), within=name, calls=State.calls, updates=State.updates, seconds=round(still, 1))


def _of_horovod(frame):
    """The function of Horovod that runs a graph, outside of one of the program's."""
    while frame is not None and core._is_own(frame.f_code.co_filename) is None:
        name = frame.f_code.co_name
        if os.sep + "horovod" + os.sep in frame.f_code.co_filename and any(part in name for part in ("broadcast", "reduce", "gather")):
            return "hvd." + name
        frame = frame.f_back
    return ""


_is_over = [0]


def _end():
    _tell_end()
    if core.may_speak():
        for clear in State.after_end:
            clear()
        core.flush()


@guard
def _tell_end():
    failure = _failure()
    if failure is not None and failure["kind"] == "no group":
        # It never became a rank, which is its mistake.
        core.speak()
    if _is_over[0] == os.getpid() or not core.may_speak() or not State.has_spoken:
        return
    _is_over[0] = os.getpid()
    for tell in State.before_end:
        tell()
    tell_phases()
    send("ended", updates=State.updates, highest_rate=State.highest_rate, highest_at=State.highest_at, last_rate=State.last_rate, inspector_seconds=round(State.seconds, 3), failure=failure)


# Errors whose text says what is wrong with the program, and how much is read of one.
_ERRORS = (
    ("root ranks", r"Mismatched \w+ root ranks"),
    ("backward passes", r"more than backward_passes_per_step"),
    ("zero_grad", r"zero_grad\(\) was called after loss\.backward\(\) but before"),
    ("unnamed", r"named_parameters was specified, but one or more"),
    ("wrapped twice", r"__init__\(\) missing .*'named_parameters' and 'compression'"),
    ("same name", r"with the same name as another tensor that is currently"),
    ("types", r"Mismatched data types"),
    ("operations", r"Mismatched (reduction )?operation"),
    ("unused", r"finished reduction in the prior iteration"),
    ("ready twice", r"mark a variable ready only once"),
    ("other model", r"expects same model across all ranks|appears not to match (sizes|strides) of the same param"),
    ("no group", r"Horovod has not been initialized|process group has not been initialized"),
    ("peer gone", r"Connection (was )?(closed|reset)|Broken pipe|Socket closed|remote process exited"),
)
_LONGEST = 20_000


def _failure():
    """Where an error that nothing caught has ended this process, and the collective that raised it."""
    error = getattr(sys, "last_value", None) or sys.exc_info()[1]
    # What starts processes tells the parent of an error, and leaves by `sys.exit`.
    while isinstance(error, SystemExit):
        error = error.__context__
    if error is None:
        return None
    where, within = core.NO_PLACE, ""
    trace = error.__traceback__
    while trace is not None:
        code = trace.tb_frame.f_code
        own = core._is_own(code.co_filename)
        if own is not None:
            where, within = {"file": own, "line": trace.tb_lineno or 0}, ""
        elif not within and not isinstance(error, KeyboardInterrupt):
            within = _collective(code)
        trace = trace.tb_next
    text = str(error)[:_LONGEST]
    if not within and "Horovod has been shut down" in text:
        # Another rank has left.
        within = "a reduction of Horovod"
    return {"place": where, "within": within, "kind": next((kind for kind, pattern in _ERRORS if re.search(pattern, text)), "")}


def _collective(code):
    if code.co_name in _WAITING:
        return _WAITING[code.co_name]
    is_library = any(os.sep + part + os.sep in code.co_filename for part in ("torch/distributed", "horovod"))
    # Its decorators are called `wrapper`, and within a step of Horovod's optimizer comes what waits.
    is_name = code.co_name.strip("_") and code.co_name != "step" and not code.co_name.startswith("wrap")
    return code.co_name if is_library and is_name else ""
