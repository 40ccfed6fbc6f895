"""Loops of the program's own in TensorFlow: the updates by `apply_gradients`, within a graph or not, and the passes over data sets."""
import sys
import time
import weakref

from . import core, departures, digest, horovod_common, keras_data, keras_hooks, source
from .core import NO_PLACE, State, guard, place, replace, sampled, send

# Horovod has put itself around a tape or an optimizer.
averages = [False]
# Gradients outside of a graph as the program's own tape gave them: those of this rank.
_of_one_rank = core.Marks()
# Calls of `tf.function` that are under way, and the loops of those that apply gradients.
_calls = []
_of_function = core.Marks()
_loops = core.Marks()
_numbers = [0]
_note = guard(departures.note)


def install(tensorflow):
    """Nothing of it is for graphs, and so nothing is to be read by AutoGraph."""
    unread = tensorflow.autograph.experimental.do_not_convert
    optimizers = tensorflow.keras.optimizers
    for owner in (optimizers, getattr(optimizers, "legacy", None)):
        if hasattr(owner, "Optimizer"):
            replace(owner.Optimizer, "apply_gradients", lambda old: unread(_applies(old)))
    replace(tensorflow.GradientTape, "gradient", lambda old: unread(core.looks_behind(_note_gradients)(old)))
    replace(type(tensorflow.function(lambda: None)), "__call__", _calls_function)
    replace(tensorflow.data.Dataset, "__iter__", _begins_pass)
    replace(tensorflow.data.Dataset, "shard", _remembers_shard)
    from tensorflow.python.data.ops import iterator_ops

    replace(iterator_ops.OwnedIterator, "__next__", _takes_batch)
    State.before_end.append(_end_passes)


class _Loop:
    """The updates of one optimizer."""

    def __init__(self, optimizer, variables, where):
        self.optimizer, self.variables, self.where = weakref.ref(optimizer), list(variables), where
        self.index, _numbers[0] = _numbers[0], _numbers[0] + 1
        # Its gradients in a graph do not come from Horovod.
        self.is_alone = False
        # The program has added them up over the ranks, and hands them on as they are.
        self.is_summed = False
        # Of those that do, the number that does not.
        self.alone = 0
        self.updates, self.before, self.rates = 0, "", []
        # A digest of the gradients, where they can be read.
        self.gradients = self.state = ""

    def begin(self):
        number = self.updates
        # A model may be built by its first batch.
        is_looked_at = sampled(number) and (number > 0 or _can_be_read(self.variables))
        self.before = keras_hooks.weights_of(self.variables) if is_looked_at else ""
        self.rates = keras_hooks.rate_of(self.optimizer()) if self.before else []
        self.state = keras_hooks.state_of(self.optimizer()) if self.before else ""

    def look(self, pairs, is_direct):
        """At gradients outside of a graph."""
        optimizer = self.optimizer()
        # Those that Horovod adds up over several batches are of this rank until the last of them.
        if _averages_inside(optimizer) or getattr(optimizer, "_agg_helper", None) is not None or not _is_eager():
            return
        pairs = [(gradient, variable) for gradient, variable in pairs if gradient is not None and variable not in horovod_common.left_local]
        self.alone = sum(gradient in _of_one_rank for gradient, _ in pairs)
        if not self.alone and is_direct and not averages[0] and not State.meetings:
            # They were changed on their way, and nothing has averaged anything.
            self.alone = len(pairs)
        self.gradients = ""
        if not sampled(self.updates):
            return
        self.gradients = _digest_of(pairs)
        sums = [horovod_common.added_up.get(gradient) for gradient, _ in pairs]
        self.is_summed = bool(sums) and all(sums) and State.size > 1 and not (source.divides_by_all() or source.knows_global_batch())
        if self.is_summed:
            core.tell_once("averaged by hand", sums[0])

    def end(self):
        number, self.updates = self.updates, self.updates + 1
        State.progress += 1
        State.updates, State.steps = max(State.updates, self.updates), State.steps + 1
        State.behind_validation = False
        if not self.before:
            return
        optimizer, count = self.optimizer(), len(self.variables)
        is_averaged = not self.is_alone and not self.alone and (averages[0] or horovod_common.reduces_in_graph[0] or keras_hooks.averages(optimizer))
        send("update", update=number, optimizer=keras_hooks._name_of(optimizer), index=self.index, place=self.where,
             made=keras_hooks._made_of(optimizer) or self.where, rates=self.rates, weights=self.before,
             gradients=self.gradients or ("" if is_averaged else keras_hooks.weights_of(self.variables)), buffers="", state=self.state, tensors=count,
             unwrapped=self.alone or (0 if is_averaged else count), forwards=1, samples=_batch[0], summed_by_hand=self.is_summed,
             **keras_hooks.threads())


def _is_within():
    import tensorflow

    return tensorflow.inside_function()


def _is_eager():
    import tensorflow

    return tensorflow.executing_eagerly()


def _can_be_read(variables):
    """Whether variables have values: those that are made within a graph get them when it runs."""
    return _is_eager() and all(variable.is_initialized() for variable in variables)


def _digest_of(pairs):
    import numpy

    known = digest.hasher()
    for gradient, _ in pairs:
        for part in (getattr(gradient, "values", gradient), getattr(gradient, "indices", None)):
            if part is not None:
                known.update(numpy.asarray(part).tobytes())
    return known.hexdigest()


@guard
def _note_gradients(result, tape, *args, **kwargs):
    """Horovod's tapes have a method of their own, which calls this one and averages what it gives."""
    horovod_common.leave_local(getattr(tape, "_local_sources", ()))
    if _is_within() or not core.may_speak():
        return
    import tensorflow

    for gradient in tensorflow.nest.flatten(result):
        if gradient is not None:
            _of_one_rank[gradient] = True


def _is_called_by_program(frame):
    """Whether the program itself calls `apply_gradients`, rather than `minimize` of Keras, which is where Horovod's optimizer averages."""
    while frame is not None:
        name = frame.f_globals.get("__name__", "")
        # AutoGraph, Horovod's optimizer and the one that scales a loss hand the call on.
        is_handed_on = name.startswith(("tensorflow.", "horovod.", __package__)) and not name.startswith("tensorflow.python.keras.")
        if not is_handed_on and ".mixed_precision." not in name:
            return not name.startswith(("keras.", "tensorflow."))
        frame = frame.f_back
    return False


def _applies(old):
    def apply_gradients(self, grads_and_vars, *args, **kwargs):
        pairs = list(grads_and_vars)
        loop = _begin_update(self, pairs)
        result = old(self, pairs, *args, **kwargs)
        if loop is not None:
            guard(loop.end)()
        return result

    return apply_gradients


@guard
def _begin_update(optimizer, pairs):
    if not core.may_speak():
        return None
    horovod_common.leave_local(getattr(optimizer, "_local_vars", ()))
    is_alone = _is_within() and not horovod_common.reduces_in_graph[0] and not _averages_inside(optimizer) and not _may_be_averaged(pairs)
    is_direct = _is_called_by_program(sys._getframe(3))
    if is_alone and is_direct:
        core.tell_once("gradients of one rank", _place_in_graph() or place(sys._getframe(3)))
    if keras_hooks._within_fit[0]:
        keras_hooks.alone[optimizer] = is_alone
        return None
    loop = _loops.get(optimizer)
    is_new = loop is None
    if is_new:
        loop = _loops[optimizer] = _Loop(optimizer, [variable for _, variable in pairs], place(sys._getframe(3)))
    if _is_within():
        _look_at_clipping(pairs)
        loop.is_alone, loop.alone = is_alone, 0 if is_alone or _averages_inside(optimizer) else _count_alone(pairs)
        if loop.alone:
            core.tell_once("gradients of one rank", _place_in_graph() or loop.where)
        if _calls:
            known = _of_function.get(_calls[0], [])
            _of_function[_calls[0]] = known if loop in known else known + [loop]
        if is_new:
            _begin_outside(loop)
        return None
    loop.look(pairs, is_direct)
    if loop.alone and is_direct:
        core.tell_once("gradients of one rank", place(sys._getframe(3)))
    loop.begin()
    return loop


def _begin_outside(loop):
    """The first update of a graph, which is built here, and does not run yet."""
    import tensorflow

    with tensorflow.init_scope():
        loop.begin()


def _place_in_graph():
    """The line of the program that builds the graph here: TensorFlow knows it behind what AutoGraph makes of functions."""
    try:
        from tensorflow.python.util import tf_stack

        for frame in reversed(list(tf_stack.extract_stack())):
            file = core._is_own(frame.filename)
            if file is not None:
                return {"file": file, "line": frame.lineno}
    except Exception:
        pass
    return None


def _averages_inside(optimizer):
    """Whether Horovod's optimizer averages what `apply_gradients` gets, as those of before Keras 2.11 do."""
    return keras_hooks.averages(optimizer) and hasattr(optimizer, "_resource_apply_dense")


# Operations of a graph that call others, which are not looked into, and those that read a weight.
_CALLS, _READS = ("If", "While", "Case", "Call"), ("ReadVariableOp", "ResourceGather")
_MOST_OPERATIONS = 100_000
# Gradients of which each is looked at for itself.
_MOST_GRADIENTS = 256
# Operations from a gradient to the one that clipped it.
_MOST_BETWEEN = 8


def _may_be_averaged(pairs):
    """Whether gradients in a graph come from an operation of Horovod, or may: from a function, or from outside of the graph."""
    waiting = [getattr(gradient, "values", gradient) for gradient, _ in pairs if gradient is not None]
    known, reads = set(), False
    while waiting and len(known) < _MOST_OPERATIONS:
        operation = getattr(waiting.pop(), "op", None)
        if operation is None:
            return True
        if operation.name in known:
            continue
        known.add(operation.name)
        if operation.type.startswith("Horovod") or operation.type.endswith(_CALLS):
            return True
        reads = reads or operation.type in _READS
        waiting.extend(operation.inputs)
    return not reads or bool(waiting)


def _count_alone(pairs):
    """Gradients in a graph that do not come from Horovod, though others do."""
    if not averages[0] or len(pairs) > _MOST_GRADIENTS:
        return 0
    shared = [pair for pair in pairs if pair[0] is not None and pair[1] not in horovod_common.left_local]
    return sum(not _may_be_averaged([pair]) for pair in shared)


def _look_at_clipping(pairs):
    """A gradient in a graph that was clipped right before Horovod got it. TensorFlow names operations by the function that made them."""
    for gradient, _ in pairs:
        operation, is_before = getattr(gradient, "op", None), False
        for _ in range(_MOST_BETWEEN):
            if operation is None or not operation.inputs:
                break
            if is_before and "clip_by_" in operation.name and "gradient" not in operation.name:
                core.tell_once("clipped before the average", _line_of(operation))
                return
            is_before = is_before or operation.type.startswith("Horovod")
            operation = operation.inputs[0].op


def _line_of(operation):
    files = [(core._is_own(frame.filename), frame.lineno) for frame in reversed(list(operation.traceback or ()))]
    return next(({"file": file, "line": line} for file, line in files if file is not None), NO_PLACE)


def _calls_function(old):
    def __call__(self, *args, **kwargs):
        if _calls or keras_hooks._within_fit[0] or not State.active:
            return old(self, *args, **kwargs)
        for loop in _of_function.get(self, []):
            guard(loop.begin)()
            _note(sys._getframe(1))
        _calls.append(self)
        try:
            result = old(self, *args, **kwargs)
        finally:
            _calls.pop()
        for loop in _of_function.get(self, []):
            guard(loop.end)()
        return result

    return __call__


def _remembers_shard(old):
    def shard(self, *args, **kwargs):
        made = old(self, *args, **kwargs)
        _remember(made)
        return made

    return shard


@guard
def _remember(shard):
    keras_data.made[shard] = place(sys._getframe(3))


class _Pass:
    def __init__(self, data, where):
        self.data, self.where = keras_data.look(data, None, None), where
        if self.data.get("repeats"):
            # How often it goes through its samples is for the program to say.
            self.data["dataset"] = None
        self.batches, self.meetings = 0, State.meetings
        # Updates when it began, and when its last batch was taken.
        self.updates = self.last_updates = State.updates
        self.began = time.perf_counter()

    def tell(self, is_whole):
        number = keras_hooks._number_of(self.where)
        # A shuffled data set has another order in each pass.
        epoch = keras_hooks._passes(number)
        what = {"loader": number, "pass": epoch, "epoch": epoch, "made": self.where, "place": self.where, "trains": State.updates > self.updates,
                "updates": State.updates, "is_whole": is_whole, "seconds": round(time.perf_counter() - self.began, 6),
                # What a graph brings together is not seen.
                "met": State.meetings - self.meetings or int(horovod_common.reduces_in_graph[0])}
        keras_data.told(what, self.data, self.batches)
        State.behind_validation = State.behind_validation or not what["trains"]


_passes = core.Marks()
_open = []
# Samples of the last batch that was taken.
_batch = [0]


def _begins_pass(old):
    def __iter__(self):
        iterator = old(self)
        _begin_pass(self, iterator)
        return iterator

    return __iter__


@guard
def _begin_pass(data, iterator):
    caller = sys._getframe(3)
    where = place(caller)
    # Keras goes over its data by itself.
    is_library = caller.f_globals.get("__name__", "").split(".")[0] in ("keras", "tensorflow")
    if is_library or where == NO_PLACE or not core.may_speak() or _is_within():
        return
    _passes[iterator] = begun = _Pass(data, where)
    _open.append(begun)
    del _open[:-4]


def _takes_batch(old):
    def __next__(self):
        began = time.perf_counter()
        try:
            batch = old(self)
        except StopIteration:
            _end_pass(self)
            raise
        _took(self, time.perf_counter() - began)
        return batch

    return __next__


@guard
def _took(iterator, waited):
    begun = _passes.get(iterator)
    if begun is not None and not _is_within():
        State.progress += 1
        begun.batches += 1
        begun.last_updates = State.updates
        State.times["data"] += waited
        _batch[0] = begun.data.get("batch_size") or 0


@guard
def _end_pass(iterator):
    begun = _passes.pop(iterator)
    if begun is not None and begun in _open:
        _open.remove(begun)
        begun.tell(is_whole=True)


def _end_passes():
    """Of data sets that repeat without an end."""
    for begun in [begun for begun in _open if begun.last_updates > begun.updates]:
        begun.tell(is_whole=False)
    del _open[:]
