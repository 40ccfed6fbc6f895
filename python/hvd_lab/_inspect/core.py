"""What all hooks share: who this process is, its way to the lab, and the guard around everything that is not the program's."""
import functools
import importlib.util
import inspect
import math
import multiprocessing
import os
import socket
import sys
import sysconfig
import threading
import time
import weakref

# Reports of a process that is no rank yet.
_MOST_WAITING = 512
HERE = os.path.dirname(os.path.abspath(__file__))
_RANKS = ("RANK", "OMPI_COMM_WORLD_RANK", "PMI_RANK", "HOROVOD_RANK", "PMIX_RANK", "SLURM_PROCID")
_SIZES = ("WORLD_SIZE", "OMPI_COMM_WORLD_SIZE", "PMI_SIZE", "HOROVOD_SIZE", "SLURM_NTASKS")
_LOCAL_RANKS = ("LOCAL_RANK", "OMPI_COMM_WORLD_LOCAL_RANK", "MPI_LOCALRANKID", "HOROVOD_LOCAL_RANK", "SLURM_LOCALID")
_LOCAL_SIZES = ("LOCAL_WORLD_SIZE", "OMPI_COMM_WORLD_LOCAL_SIZE", "MPI_LOCALNRANKS", "HOROVOD_LOCAL_SIZE")


# Libraries around a framework that run its loop, or a part of it.
_LIBRARIES = ("accelerate", "transformers", "lightning", "pytorch_lightning")
# Of some it is only their models that a program may use.
_LOOPS = {"transformers": ".trainer"}
NO_PLACE = {"file": "", "line": 0}


class State:
    """Of this process."""

    active = True
    # The process that may speak: a forked child inherits this module and is another one.
    pid = os.getpid()
    is_child = multiprocessing.parent_process() is not None
    # Its number in the group that it has joined.
    rank = None
    # The number of ranks in that group.
    size = 1
    # It has made an update or joined a group, so it is a rank. What it reports before waits.
    has_spoken = False
    waiting = []
    framework, versions = "torch", []
    seconds = 0.0
    # Whatever moves: a standing process does not change it.
    progress = 0
    updates = 0
    # The highest rate of the first optimizer and the update that first had it, and the rate of the last update of any.
    highest_rate, highest_at, last_rate = 0.0, 0, 0.0
    # Samples of the batch that came last, how many of them a wrapped model was given, and batches of which it was a part.
    of_batch, fed, cuts = 0, 0, 0
    # Backward passes so far, and batches of the pass that is under way.
    backwards = taken = 0
    # Steps of all optimizers, whereas `updates` are those of the one that has made most.
    steps = 0
    # Collective calls so far, and seconds of each phase since the last report of them.
    calls = 0
    # Those by which results come together, and those by which ranks tell each other anything.
    meetings = shared = 0
    times = {"data": 0.0, "forward": 0.0, "backward": 0.0, "optimizer": 0.0, "exchange": 0.0}
    # A pass over a data loader has begun, and how many batches and which line are those of the last one.
    has_loaders, loader = False, (0, NO_PLACE)
    # The number of the loader that has given the last batch, and how many all have given.
    batch = (0, 0)
    # Since then, the line that logs a result of this rank alone where a library runs the loop.
    logged_at = None
    # A pass that did not train has ended since the last update, of how many samples the last one was, and how many its data set has.
    behind_validation, validated, total = False, None, None
    # Of the last pass that trained: its samples and batches, and the samples of its data set.
    trained = ()
    # What was there before that pass.
    earlier = None
    # Whether the last batch was one to train on.
    behind_batch = False
    # The collective that the main thread is in, and since when.
    within = None
    # Run when a process that is a rank begins to speak, and at its end.
    at_start = at_end = None
    # What is told before the last report, and what is cleared behind it.
    before_end, after_end = [], []
    # The program compiles a part of itself, whose calls run no hooks.
    compiles = False
    lock = threading.RLock()


class Marks:
    """What is known of objects, by identity: classes of the program's own may compare as they like. Forgets those that are gone."""

    def __init__(self):
        self._kept = {}

    def __len__(self):
        return len(self._kept)

    def __iter__(self):
        return iter([of for of in (kept[0]() for kept in list(self._kept.values())) if of is not None])

    def __contains__(self, of):
        return id(of) in self._kept

    def get(self, of, otherwise=None):
        kept = self._kept.get(id(of))
        return otherwise if kept is None else kept[1]

    def __getitem__(self, of):
        return self._kept[id(of)][1]

    def __setitem__(self, of, value):
        key = id(of)
        kept = self._kept.get(key)
        if kept is not None:
            kept[1] = value
            return
        try:
            self._kept[key] = [weakref.ref(of, lambda gone: self._kept.pop(key, None)), value]
        except TypeError:
            # Without a weak reference it would live as long as the process.
            pass

    def pop(self, of, otherwise=None):
        kept = self._kept.pop(id(of), None)
        return otherwise if kept is None else kept[1]


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


def join(rank):
    """This process is about to enter a group, or has entered one, as this rank."""
    # A child that is spawned imports the program before it knows that it is one.
    is_child = State.is_child or os.getpid() != State.pid or multiprocessing.parent_process() is not None
    if os.getpid() != State.pid:
        # A lock that another thread held when this process was forked stays locked.
        State.pid, State.lock, State.waiting, State.has_spoken = os.getpid(), threading.RLock(), [], False
        State.is_child, State.has_loaders = True, False
    if not State.has_spoken:
        State.rank = rank
    if is_child and State.at_end is not None:
        # A child of `multiprocessing` runs no `atexit`.
        from multiprocessing import util

        util.Finalize(None, State.at_end, exitpriority=1000)
    speak()


def is_compiling():
    """Whether torch.compile reads this line, rather than Python running it."""
    return False


_log = None


def _channel():
    """The module that `hvd_lab.log` belongs to: the lab listens to one connection of a rank."""
    global _log
    if _log is None:
        there = sys.modules.get("hvd_lab")
        if not hasattr(there, "_tell"):
            file = os.path.join(os.path.dirname(HERE), "__init__.py")
            spec = importlib.util.spec_from_file_location("hvd_lab", file, submodule_search_locations=[os.path.dirname(HERE)])
            made = importlib.util.module_from_spec(spec)
            spec.loader.exec_module(made)
            if there is None:
                sys.modules["hvd_lab"] = made
            there = made
        _log = there
    if State.rank is not None:
        _log._rank = lambda: State.rank
    return _log


def _is_used(name):
    """Whether the program uses a library. Other libraries load accelerate without using it."""
    return "Accelerator" in _told if name == "accelerate" else name + _LOOPS.get(name, "") in sys.modules


def speak():
    """This process is a rank: the lab hears of it, and of what it has done so far."""
    with State.lock:
        if State.has_spoken or not may_speak():
            return
        State.has_spoken = True
        if State.at_start is not None:
            State.at_start()
        loaded = [(name, sys.modules.get(name)) for name in _LIBRARIES if _is_used(name)]
        State.versions += ["%s %s" % (name, getattr(module, "__version__", "")) for name, module in loaded if module is not None]
        send("looking", framework=State.framework, versions=State.versions, python=sys.version.split()[0], pid=os.getpid(),
             launched=launched(), program=_program())
        waiting, State.waiting = State.waiting, []
        for event in waiting:
            _tell(event)


def send(what, **fields):
    """One report. Numbers that are none are left out, for JSON has no word for them.

    A process that neither trains nor joins a group, such as a launcher or the parent of ranks, never reaches the lab.
    """
    if not may_speak() or not os.environ.get("HVD_LAB_EVENT_SECRET"):
        return
    with State.lock:
        event = dict(_finite(fields), time_s=time.time(), event="inspected", what=what)
        if not State.has_spoken and what in ("update", "group"):
            speak()
        if State.has_spoken:
            _tell(event)
        elif len(State.waiting) < _MOST_WAITING:
            State.waiting.append(event)


def _tell(event):
    import json

    log = _channel()
    text = json.dumps(dict(event, process=log._rank()))
    # `hvd_lab.log` writes under this lock. A signal handler may run while the program holds it.
    is_locked = log._lock.acquire(timeout=1)
    try:
        log._tell(text)
    finally:
        if is_locked:
            log._lock.release()


def flush():
    """The lab has taken everything: this process is about to end."""
    channel = getattr(_log, "_channel", None)
    if channel is not None and channel.process == os.getpid() and channel.socket is not None:
        channel.finish()


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
            # No update will come that says so, but the launcher did.
            if not State.is_child and number_of(_RANKS, None) is not None:
                speak()
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
        compiler = _uncompiled()
        try:
            return body(*args, **kwargs)
        except Exception as error:
            line = error.__traceback__.tb_next.tb_lineno if error.__traceback__.tb_next else 0
            blind("%s at line %d of %s: %s" % (type(error).__name__, line, body.__name__, error))
            return None
        finally:
            if compiler is not None:
                _frames().set_eval_frame(compiler)
            State.seconds += time.perf_counter() - began

    # torch.compile leaves it out of what it compiles.
    call._torchdynamo_disable = True
    call._torchdynamo_disable_recursive = True
    return call


def _frames():
    """The part of PyTorch that gives each frame of a compiled program to its compiler."""
    return sys.modules.get("torch._C._dynamo.eval_frame")


def _uncompiled():
    """Python alone runs what follows: a hook is called outside of what is compiled too, and would be compiled by itself. Returns
    what is to be set again behind it."""
    return _frames().set_eval_frame(None) if State.compiles and hasattr(_frames(), "set_eval_frame") else None


_before_forwards = []


def before_forwards(hook):
    """Calls `hook(module, arguments)` before the forward pass of each module until what is returned is called."""
    from torch.nn.modules.module import register_module_forward_pre_hook

    if State.compiles:
        # Where a program wants one graph, it would be an error.
        return lambda: None
    handle = register_module_forward_pre_hook(guard(hook))
    _before_forwards.append(handle)
    return handle.remove


def compiles():
    """From now on the program compiles a part of itself."""
    State.compiles = True
    while _before_forwards:
        _before_forwards.pop().remove()
    skip = getattr(sys.modules.get("torch._dynamo.eval_frame"), "skip_code", None)
    if skip is not None:
        skip(guard(compiles).__code__)


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


def is_of_program(value):
    """Whether the class of an object belongs to the program, rather than to a library."""
    file = getattr(sys.modules.get(type(value).__module__), "__file__", None)
    return _is_own(file or "<none>") is not None


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
    return main or NO_PLACE


def place_of_loop(frame):
    """The line of the program that takes batches, behind generators of its own that hand them on."""
    inner = frame
    while frame is not None and (_is_own(frame.f_code.co_filename) is None or frame.f_code.co_flags & inspect.CO_GENERATOR):
        frame = frame.f_back
    return place(frame) if frame is not None else place(inner)


def place_of_making(made, frame):
    """The line of the program that made an object: not one in the `__init__` of the program's own class of it."""
    while frame is not None:
        code = frame.f_code
        if code.co_name != "__init__" or not code.co_varnames or frame.f_locals.get(code.co_varnames[0]) is not made:
            break
        frame = frame.f_back
    return place(frame) if frame is not None else NO_PLACE


def remembers_making(marks):
    """To replace an `__init__` with: keeps in `marks` the line of the program that makes the object."""

    @guard
    def remember(made):
        marks[made] = place_of_making(made, sys._getframe(3))

    def make(old):
        def __init__(self, *args, **kwargs):
            if not is_compiling():
                remember(self)
            old(self, *args, **kwargs)

        return __init__

    return make


def looks_first(look):
    """To replace a function with: looks at what it is given, and calls it."""

    def make(old):
        def call(*args, **kwargs):
            look(*args, **kwargs)
            return old(*args, **kwargs)

        return call

    return make


def looks_behind(look):
    """The same with what the function has returned, in front of what it was given."""

    def make(old):
        def call(*args, **kwargs):
            result = old(*args, **kwargs)
            look(result, *args, **kwargs)
            return result

        return call

    return make


# What `wrapped` reports name, each of which is told once.
_told = set()


@guard
def tell_once(by, where=None, settings=(), of=None):
    """Something that shares out work, or changes how: the first one is told, or the first of each of these."""
    key = by if of is None else (by, of)
    if key not in _told:
        _told.add(key)
        State.progress += 1
        send("wrapped", by=by, place=where or place(sys._getframe(3)), settings=list(settings))


@guard
def tell_call(by, caller):
    """The same of a call by the program, for libraries make such calls for themselves."""
    if _is_own(caller.f_code.co_filename) is not None:
        tell_once(by, place(caller))


def host():
    return socket.gethostname()


def cores():
    """Logical cores that this process may use."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


@guard
def tell_cores(*args, **kwargs):
    """The program has bound this process to some cores."""
    send("wrapped", by="bound to cores", place=place(sys._getframe(3)), settings=[",".join(map(str, sorted(os.sched_getaffinity(0))))])


def device(torch):
    """Only what the program has touched already: asking starts nothing on a GPU. `torch` is `None` where it is not loaded."""
    if torch is not None and torch.cuda.is_available() and torch.cuda.is_initialized():
        return "cuda:%d" % torch.cuda.current_device()
    return "cpu"


def name_of(device, torch):
    """A device as the host knows it: ranks to which different GPUs are shown number them alike."""
    if device.type != "cuda":
        return str(device)
    number = torch.cuda.current_device() if device.index is None else device.index
    shown = [word.strip() for word in os.environ.get("CUDA_VISIBLE_DEVICES", "").split(",")]
    own = shown[number] if number < len(shown) else ""
    if not own.startswith("MIG"):
        own = str(getattr(torch.cuda.get_device_properties(number), "uuid", own))
    return "cuda:%d %s" % (number, own)


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
