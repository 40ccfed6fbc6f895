"""Numbers as programs have them: Python's own, and those of NumPy and others, which need not be installed."""
import operator


def whole(value):
    """A whole number as Python's own; None if it is none. A truth value or a text is none."""
    if not _is_number(value, "__index__"):
        return None
    try:
        return operator.index(value)
    except TypeError:
        return None


def real(value):
    """The same of any number."""
    if not _is_number(value, "__float__") and not _is_number(value, "__index__"):
        return None
    try:
        return float(value)
    except TypeError:
        return None


def count(name, value):
    """A whole number that is 0 or more.

    # Errors
    With the name of the argument that it was given for.
    """
    number = whole(value)
    if number is None:
        raise TypeError("{} is {!r}: give a whole number, and divide with // instead of /".format(name, value))
    if number < 0:
        raise ValueError("{} is {}: give 0 or more".format(name, number))
    return number


def positive(name, value):
    """A whole number that is 1 or more."""
    number = whole(value)
    if number is None or number < 1:
        raise ValueError("{} is {!r}: give a whole number of 1 or more".format(name, value))
    return number


def number(name, value):
    """Any number, as one of Python's own."""
    own = whole(value)
    own = real(value) if own is None else own
    if own is None:
        raise TypeError("{} is {!r}: give a number".format(name, value))
    return own


def plain(what, value):
    """A value as JSON can write it: a number, a text, or a list of these. `what` is the call that it was given to."""
    if value is None or isinstance(value, (bool, str)):
        return value
    if isinstance(value, (list, tuple)):
        return [plain(what, each) for each in value]
    if isinstance(value, dict):
        return {plain(what, key): plain(what, each) for key, each in value.items()}
    if _is_truth(value):
        return bool(value)
    if getattr(value, "ndim", 0) and hasattr(value, "tolist"):
        return plain(what, value.tolist())
    own = whole(value)
    own = real(value) if own is None else own
    if own is None:
        raise TypeError("{} takes a number, a text, or a list of these, not {!r}".format(what, value))
    return own


def _is_truth(value):
    """Whether it is True or False, or one of NumPy's, also as an array without dimensions."""
    kind = getattr(getattr(value, "dtype", None), "kind", None)
    return isinstance(value, bool) or kind == "b" and not getattr(value, "ndim", 0)


def _is_number(value, method):
    if hasattr(value, "forgotten"):
        value.forgotten()
    # A text of NumPy would become a number, and so would an array with a single element.
    is_other = isinstance(value, (str, bytes)) or _is_truth(value) or getattr(value, "ndim", 0)
    return hasattr(type(value), method) and not is_other
