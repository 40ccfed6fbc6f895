"""Keras as Horovod's users train with it: `fit`, `evaluate`, callbacks and files."""
import builtins
import functools
import inspect
import os
import sys
import time
import weakref

from . import core, curves, digest, fields, horovod_common, keras_data, source, states, watching, workers
from .core import State, guard, place, replace, sampled, send

_done = []
# Where callbacks and optimizers were made, and the numbers of the lines that call fit and evaluate.
_made = core.Marks()
_lines = {}
_within_fit = [False]
# Optimizers, and whether the gradients that they got in a graph within `fit` were of one rank.
alone = core.Marks()
_within_save = [None]
# Callbacks that set the rate.
_SCHEDULES = ("LearningRateScheduler", "ReduceLROnPlateau", "LearningRateWarmupCallback", "LearningRateScheduleCallback")
# The part of a training's time that making its batches takes if it waits for them.
_HELD_UP = 0.8


def install(keras, tensorflow):
    if _done:
        return
    _done.append(True)
    State.framework = "keras"
    State.versions.append("tensorflow " + str(tensorflow.__version__))
    model, callbacks = keras.Model, keras.callbacks
    replace(model, "fit", _fits)
    replace(model, "evaluate", _evaluates)
    replace(model, "train_on_batch", core.looks_first(_look_at_batch))
    State.before_end += [_tell_batches, _tell_planned]
    for name in ("save", "save_weights"):
        replace(model, name, functools.partial(_tells_file, "Model." + name))
    replace(model, "load_weights", core.looks_behind(_tell_load))
    states.install_files()
    optimizers = keras.optimizers
    schedule = getattr(getattr(optimizers, "schedules", None), "LearningRateSchedule", None)
    for owner in (callbacks.Callback, schedule, getattr(optimizers, "Optimizer", None), getattr(getattr(optimizers, "legacy", None), "Optimizer", None)):
        if owner is not None:
            replace(owner, "__init__", core.remembers_making(_made))
    keras_data.install(keras)
    replace(callbacks.CallbackList, "on_train_batch_end", _times_callbacks)
    replace(callbacks.ModelCheckpoint, "_save_model", _names_checkpoint)
    replace(callbacks.CSVLogger, "on_train_begin", _tells_csv)
    replace(callbacks.TensorBoard, "on_train_begin", core.looks_first(_tell_curves))
    curves.install_in_tensorflow(tensorflow)
    if not _watch_prints():
        for name in ("on_epoch_end", "on_train_batch_end"):
            replace(callbacks.CallbackList, name, _watches_prints)
    for owner, name in ((tensorflow.train.Checkpoint, "save"), (tensorflow.train.Checkpoint, "write"), (tensorflow.train.CheckpointManager, "save")):
        replace(owner, name, functools.partial(_tells_checkpoint, owner.__name__ + "." + name))
    for name in ("EarlyStopping", "ReduceLROnPlateau"):
        replace(getattr(callbacks, name), "on_epoch_end", _tells_decision)
    watching.prepare()


def weights_of(variables):
    known, empty = digest.hasher(), True
    for variable in variables:
        if variable not in horovod_common.left_local:
            known.update(variable.numpy().tobytes())
            empty = False
    return "" if empty else known.hexdigest()


def state_of(optimizer):
    """A digest of what it remembers of each variable, such as momentum; empty where it is not known, or each rank has weights of its own."""
    variables = getattr(innermost(optimizer), "variables", ())
    variables = variables() if callable(variables) else variables
    return "" if len(horovod_common.left_local) else weights_of([variable for variable in variables if variable.shape.rank])


def innermost(optimizer):
    """Of an optimizer within others, as for mixed precision."""
    return getattr(optimizer, "inner_optimizer", None) or optimizer


def averages(optimizer):
    """Whether Horovod has put itself around an optimizer."""
    return any(hasattr(one, "_allreduce_grads") or hasattr(one, "_allreduce") for one in (optimizer, innermost(optimizer)))


def threads():
    """Those that the program has asked for on a CPU; none where TensorFlow chooses."""
    import tensorflow

    count = tensorflow.config.threading.get_intra_op_parallelism_threads()
    if count < 2 or tensorflow.config.list_logical_devices("GPU"):
        return {}
    core.tell_once("set_num_threads", source.line_of_threads())
    return {"threads": count, "device": "cpu"}


def rate_of(optimizer):
    _scheduled[:] = [optimizer]
    rate = getattr(innermost(optimizer), "learning_rate", None)
    try:
        return [float(rate.numpy() if hasattr(rate, "numpy") else rate)]
    except (TypeError, ValueError, AttributeError):
        return []


# The optimizer whose rate was read last.
_scheduled = []


@guard
def _tell_planned():
    """Of a schedule after how many steps it ends, or changes the rate for the last time, and for the first."""
    optimizer = innermost(_scheduled[0]) if _scheduled else None
    schedule = getattr(optimizer, "_learning_rate", None) or getattr(optimizer, "_hyper", {}).get("learning_rate")
    where = _made.get(schedule) if schedule is not None else None
    steps = [int(step) for step in getattr(schedule, "boundaries", ())]
    total = max(steps, default=int(getattr(schedule, "decay_steps", 0)) + int(getattr(schedule, "warmup_steps", 0) or 0))
    # An exponential decay has no end.
    if where and total and not hasattr(schedule, "decay_rate"):
        words = total, int(optimizer.iterations), type(schedule).__name__, min(steps, default=0)
        core.tell_once("planned steps", where, [str(word) for word in words])


def _number_of(where):
    return _lines.setdefault((where["file"], where["line"]), len(_lines))


def _fits(old):
    signature = inspect.signature(old)

    def fit(self, *args, **kwargs):
        bound = _with_watch(signature, self, args, kwargs)
        if bound is None:
            return old(self, *args, **kwargs)
        _within_fit[0] = True
        try:
            return old(*bound.args, **bound.kwargs)
        finally:
            _within_fit[0] = False

    return fit


@guard
def _with_watch(signature, model, args, kwargs):
    if not core.may_speak():
        return None
    bound = signature.bind(model, *args, **kwargs)
    given = bound.arguments
    where = place(sys._getframe(3))
    watch = _watch_class()(model, given, where)
    if watch.data is not None:
        given["x"], watch.seen = keras_data.watched(given.get("x"))
        watch.data["seen"] = watch.seen
        keras_data.look_at_rows(watch.data, given.get("x"), given.get("y"))
    callbacks = given.get("callbacks")
    _look_at_order(callbacks if isinstance(callbacks, (list, tuple)) else (), where)
    if hasattr(callbacks, "append") and hasattr(callbacks, "on_train_begin"):
        callbacks.append(watch)
    else:
        callbacks = callbacks if isinstance(callbacks, (list, tuple)) else [callbacks] if callbacks else []
        given["callbacks"] = list(callbacks) + [watch]
    verbose = given.get("verbose", "auto")
    if verbose != 0:
        send("printed", place=where, times=3, text=digest.of_text("fit"), names_rank=False, has_figures=True, has_results=True, updates=State.updates)
    return bound


@guard
def _look_at_order(callbacks, where):
    """Schedules, and a checkpoint of the best value that comes before the value is averaged."""
    for callback in callbacks:
        if type(callback).__name__ in _SCHEDULES:
            core.tell_once("schedule stepped", _made.get(callback) or where)
    names = [type(callback).__name__ for callback in callbacks]
    average = names.index("MetricAverageCallback") if "MetricAverageCallback" in names else 0
    for callback in callbacks[:average]:
        if type(callback).__name__ == "ModelCheckpoint" and getattr(callback, "save_best_only", False):
            core.tell_once("kept before the average", _made.get(callback) or core.NO_PLACE, (str(callback.monitor),))


def _watch_class():
    """A callback that comes behind those of the program; made late, for Keras is imported late."""
    from tensorflow import keras

    class Watch(keras.callbacks.Callback):
        _supports_tf_logs = True

        def __init__(self, model, given, where):
            super().__init__()
            self.where = where
            self.loader = _number_of(where)
            self.began = time.perf_counter()
            self.batches = self.tested = 0
            self.last = ""
            self.seen, self.made, self.ended = keras_data.Seen(), 0.0, self.began
            # Sequences draw in threads of Keras, which run ahead of the first batch.
            is_sequence = hasattr(given.get("x"), "__getitem__") and not hasattr(given.get("x"), "shape")
            self.states = workers.states() if is_sequence else None
            self.drawn_from = given.get("x") if is_sequence else None
            self.own = guard(workers.own_generators)(self.drawn_from)
            self.data = guard(keras_data.look)(given.get("x"), given.get("batch_size"), given.get("steps_per_epoch"))
            validation = given.get("validation_data")
            size = given.get("validation_batch_size") or given.get("batch_size")
            self.validation = guard(keras_data.look)(validation, size, given.get("validation_steps")) if validation is not None else None
            self.on_train_batch_begin = guard(self._begins_batch)
            self.on_train_batch_end = guard(self._ends_batch)
            self.on_epoch_begin = guard(self._begins_epoch)
            self.on_epoch_end = guard(self._ends_epoch)
            self.on_test_batch_end = guard(self._tests_batch)
            self.on_test_end = guard(self._ends_test)

        def _implements_train_batch_hooks(self):
            return True

        def _implements_test_batch_hooks(self):
            return True

        def _begins_epoch(self, epoch, logs=None):
            self.began, self.batches = time.perf_counter(), 0

        def _begins_batch(self, batch, logs=None):
            number = _updates_of(self.model)
            is_first = self.batches == 0
            self.rates = rate_of(self.model.optimizer) if sampled(number) or is_first else []
            if is_first and self.rates:
                # What one rank alone has set behind an epoch shows in the next one.
                State.last_rate = self.rates[0]

        def _ends_batch(self, batch, logs=None):
            State.progress += 1
            self.batches += 1
            State.taken = self.batches
            self.ended = time.perf_counter()
            State.behind_validation = False
            self._tell_draws()
            number = _updates_of(self.model)
            _count_update(self.model)
            if number == 2:
                # With the first batches come the graph and Horovod's broadcast.
                self._tell_times()
                self.began = time.perf_counter()
            if number < 2:
                fields.look(getattr(self.model, "_flatten_layers", list)(), number, weights_of)
            if not (sampled(number) or sampled(number + 1)):
                return
            before, self.last = self.last, weights_of(self.model.trainable_variables)
            # The first batch comes before Horovod's broadcast: what holds is what stands behind it.
            if number > 0 and sampled(number) and before:
                self._tell_update(number, before)

        def _tell_draws(self):
            states, self.states = self.states, None
            if states and keras_data.tell_seed(self.drawn_from, self.loader, self.where):
                return
            drawn = workers.drawn(states, self.own) if states else None
            if drawn and drawn["draws"].get("numpy"):
                # Keras shuffles by Python's numbers, and its shares are the program's.
                drawn["draws"] = {"numpy": True}
                workers.tell_states(self.loader, self.where, [drawn])

        def _tell_update(self, number, before):
            optimizer, variables = self.model.optimizer, self.model.trainable_variables
            is_averaged = (averages(optimizer) or horovod_common.reduces_in_graph[0]) and not alone.get(optimizer)
            size = (self.data or {}).get("batch_size") or 0
            send("update", update=number, optimizer=_name_of(optimizer), index=0, place=self.where, made=_made_of(optimizer) or self.where,
                 rates=self.rates, weights=before, gradients="" if is_averaged else self.last, buffers="", state="", tensors=len(variables),
                 unwrapped=0 if is_averaged else len(variables), forwards=1, samples=size, **threads())

        def _tests_batch(self, batch, logs=None):
            State.progress += 1
            self.tested += 1

        def _ends_test(self, logs=None):
            if self.validation is not None and self.tested:
                what = {"loader": self.loader + 4096, "pass": 0, "made": self.where, "place": self.where, "trains": False, "updates": State.updates, "is_whole": True}
                keras_data.told(what, self.validation, self.tested)
                State.behind_validation = True
            self.tested = 0

        def _ends_epoch(self, epoch, logs=None):
            what = {"loader": self.loader, "pass": _passes(self.loader), "made": self.where, "place": self.where, "trains": True, "updates": State.updates,
                    "is_whole": True, "epoch": int(epoch), "seconds": round(time.perf_counter() - self.began, 6)}
            if self.data is not None:
                keras_data.told(what, self.data, self.batches)
            if self.model.stop_training:
                core.tell_once("told to stop", source.line_that_stops(self.where))
            self._tell_times()

        def _tell_times(self):
            """Batches are made beside the training: they hold it up where that takes about as long."""
            made, self.made = self.seen.seconds - self.made, self.seen.seconds
            between, _between[0] = _between[0], 0.0
            trained = max(0.0, self.ended - self.began - between)
            waited = min(made, trained) if made > trained * _HELD_UP else 0.0
            State.times["data"] += waited
            State.times["forward"] += trained - waited
            watching.add_others(between)
            watching.tell_phases()

    return Watch


# Of `train_on_batch`: the line, what was seen, and how many batches.
_by_hand = [None, None, 0]
_MOST_BY_HAND = 16


@guard
def _look_at_batch(model, x=None, y=None, *args, **kwargs):
    if _by_hand[2] < _MOST_BY_HAND and core.may_speak():
        if _by_hand[1] is None:
            _by_hand[:2] = place(sys._getframe(3)), keras_data.Seen()
        _by_hand[1].add((x, y))
        _by_hand[2] += 1
        if _by_hand[2] == _MOST_BY_HAND:
            _tell_batches()


@guard
def _tell_batches():
    where, seen, count = _by_hand
    if seen is None or not count:
        return
    _by_hand[1:] = None, _MOST_BY_HAND
    what = {"loader": _number_of(where), "pass": 0, "made": where, "place": where, "trains": True, "updates": State.updates, "is_whole": False}
    fields = {"sampler": "", "batch_size": seen.rows.count // count, "shuffles": False, "content": "", "dataset": None, "seen": seen}
    keras_data.told(what, fields, count)


_passes_of = {}


def _passes(loader):
    _passes_of[loader] = _passes_of.get(loader, -1) + 1
    return _passes_of[loader]


_counts = weakref.WeakKeyDictionary()
_optimizers = {}


def _updates_of(model):
    return _counts.get(model, 0)


def _count_update(model):
    _counts[model] = _counts.get(model, 0) + 1
    State.updates = max(State.updates, _counts[model])


def made_optimizer(optimizer, where):
    _optimizers[id(optimizer)] = where


def _made_of(optimizer):
    given = _optimizers.get(id(optimizer)) or _optimizers.get(id(innermost(optimizer)))
    return given or _made.get(optimizer) or _made.get(innermost(optimizer))


def _name_of(optimizer):
    name = type(optimizer).__name__
    return type(optimizer).__mro__[1].__name__ if name == "_DistributedOptimizer" else name


def _watch_prints():
    """Looks at all prints, if what turns functions into graphs can be told to treat this `print` as it does Python's."""
    known, table = (sys.modules.get("tensorflow.python.autograph." + name) for name in ("pyct.inspect_utils", "operators.py_builtins"))
    if not isinstance(getattr(known, "_BUILTIN_FUNCTION_IDS", None), frozenset) or not isinstance(getattr(table, "SUPPORTED_BUILTINS", None), tuple):
        return False
    if not hasattr(builtins.print, "__wrapped__"):
        replace(builtins, "print", states.told_print)
    known._BUILTIN_FUNCTION_IDS |= {id(builtins.print)}
    table.SUPPORTED_BUILTINS += (builtins.print,)
    return True


# Seconds that callbacks took behind batches of the epoch that is under way, but for what they waited for other ranks.
_between = [0.0]


def _times_callbacks(old):
    def on_train_batch_end(self, *args, **kwargs):
        began, others = time.perf_counter(), State.seconds + State.times["exchange"]
        result = old(self, *args, **kwargs)
        # With the first batch comes Horovod's broadcast.
        if State.updates > 1:
            _between[0] += time.perf_counter() - began - (State.seconds + State.times["exchange"] - others)
        return result

    return on_train_batch_end


def _watches_prints(old):
    """What callbacks print is looked at; elsewhere `print` may be for a graph, which knows the real one."""

    def call(*args, **kwargs):
        before = builtins.print
        builtins.print = states.told_print(before)
        try:
            return old(*args, **kwargs)
        finally:
            builtins.print = before

    return call


def _evaluates(old):
    signature = inspect.signature(old)

    def evaluate(self, *args, **kwargs):
        is_own = not _within_fit[0]
        result = old(self, *args, **kwargs)
        if is_own:
            _tell_evaluation(signature, self, args, kwargs)
        return result

    return evaluate


@guard
def _tell_evaluation(signature, model, args, kwargs):
    if not core.may_speak():
        return
    given = signature.bind(model, *args, **kwargs).arguments
    where = place(sys._getframe(3))
    fields = keras_data.look(given.get("x"), given.get("batch_size"), given.get("steps"))
    size, all_samples = fields.get("batch_size"), fields["dataset"]
    steps = given.get("steps")
    batches = steps if isinstance(steps, int) else -(-all_samples // size) if size and all_samples else 1
    what = {"loader": _number_of(where), "pass": _passes(_number_of(where)), "made": where, "place": where, "trains": False, "updates": State.updates, "is_whole": True}
    keras_data.told(what, fields, batches)
    State.behind_validation = True


def _tells_file(by, old):
    def save(self, *args, **kwargs):
        _tell_file(by, args[0] if args else kwargs.get("filepath"))
        return old(self, *args, **kwargs)

    return save


def _tells_checkpoint(by, old):
    def save(self, *args, **kwargs):
        # What Keras writes by it is told already, and a manager has a name of its own.
        if core._is_own(sys._getframe(1).f_code.co_filename) is not None:
            _tell_file(by, getattr(self, "_prefix", None) or (args[0] if args else kwargs.get("file_prefix")))
        return old(self, *args, **kwargs)

    return save


@guard
def _tell_file(by, path):
    if isinstance(path, (str, os.PathLike)) and core.may_speak():
        where = _within_save[0] or place(sys._getframe(3))
        by = "ModelCheckpoint" if _within_save[0] else by
        send("state", action="written", by=by, path=os.path.abspath(os.fspath(path)), place=where, updates=State.updates)


def _names_checkpoint(old):
    def _save_model(self, *args, **kwargs):
        _within_save[0] = _made.get(self)
        try:
            return old(self, *args, **kwargs)
        finally:
            _within_save[0] = None

    return _save_model


def _tells_csv(old):
    def on_train_begin(self, *args, **kwargs):
        _tell_csv(self)
        return old(self, *args, **kwargs)

    return on_train_begin


@guard
def _tell_csv(logger):
    path = getattr(logger, "filename", None)
    if isinstance(path, (str, os.PathLike)) and core.may_speak():
        send("state", action="written", by="CSVLogger", path=os.path.abspath(os.fspath(path)), place=_made.get(logger) or core.NO_PLACE, updates=State.updates)


@guard
def _tell_curves(callback, *args, **kwargs):
    curves.tell(getattr(callback, "log_dir", None), "", None, _made.get(callback) or core.NO_PLACE)


@guard
def _tell_load(result, model, *args, **kwargs):
    if core.may_speak():
        send("state", action="loaded_model", place=place(sys._getframe(3)), digest=weights_of(model.variables), updates=State.updates)


def _tells_decision(old):
    def on_epoch_end(self, epoch, logs=None):
        _tell_decision(self, epoch, logs)
        result = old(self, epoch, logs)
        if getattr(self.model, "stop_training", False):
            core.tell_once("told to stop", _made.get(self) or core.NO_PLACE)
        return result

    return on_epoch_end


@guard
def _tell_decision(callback, epoch, logs):
    value = (logs or {}).get(getattr(callback, "monitor", ""))
    if value is not None and core.may_speak() and epoch < 64:
        send("decision", by=type(callback).__name__, place=_made.get(callback) or core.NO_PLACE, value=digest.of_text(repr(float(value))), number=int(epoch),
             updates=State.updates)
