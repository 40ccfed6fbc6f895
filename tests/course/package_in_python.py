"""What the package hvd_lab makes of numbers, and of functions that are not called. Ends with 0 if all of it is right."""
import copy
import functools
import inspect
import pickle
import pydoc
import sys

import hvd_lab.keras as hvd
from hvd_lab import _numbers, callbacks, layers, optimizers
from hvd_lab.models import _rate


class Index:
    def __init__(self, value):
        self.value = value

    def __index__(self):
        return self.value


class Float:
    def __init__(self, value):
        self.value = value

    def __float__(self):
        return self.value


class Truth(Index, Float):
    """As NumPy's."""

    ndim = 0

    class dtype:
        kind = "b"

    def __bool__(self):
        return bool(self.value)


class Array(Index):
    ndim = 1

    def tolist(self):
        return [1, 2]


def refused(call, *words):
    try:
        call()
    except (TypeError, ValueError) as error:
        assert all(word in str(error) for word in words), (error, words)
        return
    raise AssertionError(words)


def check_numbers():
    assert _numbers.count("epochs", Index(3)) == 3 and type(_numbers.count("epochs", Index(3))) is int
    for value in (True, "3", 3.0, Float(3.0), Truth(1), Array(3), None):
        refused(lambda: _numbers.count("epochs", value), "epochs is", "give a whole number, and divide with // instead of /")
    for value in (True, "3", Truth(1), Array(3), None, [1]):
        refused(lambda: _numbers.number("momentum", value), "momentum is", "give a number")
    assert _numbers.number("momentum", Float(0.5)) == 0.5 and _numbers.number("momentum", Index(2)) == 2
    own = _numbers.plain("hvd.broadcast", [Index(1), Float(0.5), (Truth(1), None, "a"), {"k": Array(0)}])
    assert own == [1, 0.5, [True, None, "a"], {"k": [1, 2]}], own
    refused(lambda: _numbers.plain("hvd.broadcast", object()), "hvd.broadcast takes a number, a text, or a list")
    assert layers.Dense(Index(10)).numbers() == [10] and layers.Dropout(Float(0.5)).numbers() == [0.5]
    assert layers.Conv2D(Index(3), (Index(2), Index(2))).numbers()[:3] == [3, 2, 2]
    for call in (lambda: layers.Dense(True), lambda: layers.Dense("3"), lambda: layers.Conv2D(3, "33"), lambda: layers.Dropout("0.5")):
        refused(call, "give a ")
    assert _rate(optimizers.SGD(Float(0.1))) == 0.1
    refused(lambda: _rate(optimizers.SGD("1")), "the learning rate is '1': give a number")
    stop = callbacks.StopAtAccuracy(Float(0.5), Index(2))
    assert (stop.target, stop.patience) == (0.5, 2)


def check_numpy(np):
    for value in (np.int64(3), np.array(3), np.uint8(3)):
        assert _numbers.count("epochs", value) == 3
    for value in (np.bool_(True), np.float64(3.0), np.array([3]), np.array(True), np.str_("3")):
        refused(lambda: _numbers.count("epochs", value), "epochs is")
    for value in (np.float32(0.5), np.array(0.5)):
        assert _numbers.number("momentum", value) == 0.5
    for value in (np.bool_(True), np.array([3]), np.str_("3")):
        refused(lambda: _numbers.number("momentum", value), "momentum is")
    own = _numbers.plain("hvd.broadcast", [np.int64(3), np.float32(0.5), np.bool_(True), np.array([1, 2]), np.array([[0.5]])])
    assert own == [3, 0.5, True, [1, 2], [[0.5]]], own


def check_functions(ask):
    for use in (
        lambda: ask == 0, lambda: 0 == ask, lambda: ask != 0, lambda: ask in (0, 1), lambda: ask < 1, lambda: not ask,
        lambda: ask * 2.0, lambda: 0.1 * ask, lambda: 40 // ask, lambda: 12.0 / ask, lambda: ask - 1, lambda: ask % 2, lambda: -ask,
        lambda: [1][ask], lambda: range(ask), lambda: int(ask), lambda: float(ask),
        lambda: _numbers.count("epochs", ask), lambda: _numbers.number("momentum", ask), lambda: _numbers.plain("hvd.broadcast", ask),
    ):
        refused(use, "hvd.{0} is a function: write hvd.{0}() with parentheses".format(ask.__name__))
    # Everywhere else it is a function as any other.
    assert callable(ask) and ask.__doc__ and str(inspect.signature(ask)) == "()" and ask.__name__ in f"{ask}"
    assert pickle.loads(pickle.dumps(ask)) is ask and copy.deepcopy(ask) is ask and copy.copy(ask) is ask
    assert ask == ask and ask in [ask] and ask != print and not ask == None and {ask: 1}[ask] == 1  # noqa: E711
    functools.partial(ask), functools.wraps(ask)(lambda: 1), functools.lru_cache()(ask)
    assert sys.version_info < (3, 9) or ask.__doc__.split(".")[0] in pydoc.render_doc(ask)


check_numbers()
for function in (hvd.rank, hvd.size, hvd.local_rank, hvd.local_size, hvd.is_initialized):
    check_functions(function)
refused(hvd.rank, "call hvd.init() first")
try:
    import numpy
except ImportError:
    pass
else:
    check_numpy(numpy)
