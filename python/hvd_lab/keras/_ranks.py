"""Who this process is among all of them."""
import functools

from .._library import call, started


class Question:
    """A function of no arguments, which says so where a program forgets the parentheses: `hvd.rank == 0` is never true."""

    def __init__(self, function):
        functools.update_wrapper(self, function)

    def __call__(self):
        return self.__wrapped__()

    def __repr__(self):
        return "<function hvd.{}>".format(self.__name__)

    def __reduce__(self):
        # By its name, as every function.
        return self.__name__

    __hash__ = object.__hash__

    def __eq__(self, other):
        # With anything but a number it is compared as every function, such as by lists and tables of functions.
        is_number = hasattr(type(other), "__index__") or hasattr(type(other), "__float__")
        return self.forgotten() if is_number and not isinstance(other, Question) else self is other

    def forgotten(self, *_):
        """Refuses to be anything but called."""
        raise TypeError("hvd.{0} is a function: write hvd.{0}() with parentheses".format(self.__name__))

    __bool__ = __int__ = __index__ = __float__ = __complex__ = __round__ = __trunc__ = __floor__ = __ceil__ = forgotten
    __lt__ = __le__ = __gt__ = __ge__ = __neg__ = __pos__ = __abs__ = __invert__ = forgotten
    __add__ = __sub__ = __mul__ = __truediv__ = __floordiv__ = __mod__ = __divmod__ = __pow__ = forgotten
    __radd__ = __rsub__ = __rmul__ = __rtruediv__ = __rfloordiv__ = __rmod__ = __rdivmod__ = __rpow__ = forgotten
    __and__ = __or__ = __xor__ = __lshift__ = __rshift__ = forgotten
    __rand__ = __ror__ = __rxor__ = __rlshift__ = __rrshift__ = forgotten


def init():
    """Find the other processes that were started together with this one."""
    with call("hvd.init") as native:
        native.init()


@Question
def is_initialized():
    """Whether `init` was called."""
    return started().topology() is not None


def _topology():
    topology = started().topology()
    if topology is None:
        raise ValueError("the ranks do not know each other yet: call hvd.init() first")
    return topology


@Question
def rank():
    """The number of this process, from 0. Rank 0 is the root."""
    return _topology()[0]


@Question
def size():
    """How many processes there are."""
    return _topology()[1]


@Question
def local_rank():
    """The number of this process among those on its own host, from 0. It chooses the device."""
    return _topology()[2]


@Question
def local_size():
    """How many processes there are on this host."""
    return _topology()[3]
