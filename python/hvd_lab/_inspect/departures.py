"""Batches that a rank skips, and passes and loops that it leaves, with the line: where the others wait for it, that is the line to change."""
import itertools
import linecache
import re
import sys
import weakref

from . import core, earlier, source
from .core import State, guard, place, send

_MOST = 64
_count = [0]


def _tell(by, where):
    if where["file"] and _count[0] < _MOST and core.may_speak():
        _count[0] += 1
        send("wrapped", by=by, place=where, settings=[str(State.updates)])


def watch(begun, iterator):
    """Python drops the iterator of a loop at the very line that leaves it, which may also be one that raises an error."""
    begun.left = weakref.ref(iterator, _look_at_end)


@guard
def _look_at_end(gone):
    where = place(sys._getframe(2))
    if re.search(r"\b(break|return)\b", linecache.getline(where["file"], where["line"])):
        _tell("left a pass", where)


@guard
def look_at_batch(begun):
    """Before the next batch counts, or behind the last: the one before it was not sent backward, and others were."""
    if begun.batches == 1:
        begun.skipped_first = State.backwards == begun.backwards
    elif begun.skipped_first and State.backwards > begun.backwards or State.backwards == begun.last_backwards > begun.backwards:
        begun.skipped_first = False
        _tell("skipped a batch", _line_of_skip(begun.where))


def _line_of_skip(loop):
    """The only `continue` within a loop, or else the loop."""
    found, line = [], loop["line"]
    depth = _depth(linecache.getline(loop["file"], line))
    for number in range(line + 1, line + 200):
        text = linecache.getline(loop["file"], number)
        if text.strip() and _depth(text) <= depth:
            break
        if re.match(r"\s*continue\b|.*:\s*continue\b", text):
            found.append(number)
    return {"file": loop["file"], "line": found[0]} if len(found) == 1 else loop


def _depth(text):
    return len(text) - len(text.lstrip())


# The lines of the program that the last backward pass or update was called from, innermost first, and how many are kept.
_called, _FRAMES = [], 6


def note(frame):
    """A backward pass or an update is about to be called from here."""
    _called[:] = [(of.f_code, of.f_lineno) for of in itertools.islice(earlier.frames(frame), _FRAMES)]


def tell_left_loop(frame):
    """A rank stands at this frame: it tells if it has left the loop that trains, and no condition has brought it here."""
    known = [(code, _loop(code.co_filename, line, code.co_firstlineno)) for code, line in _called]
    code, lines = next(((code, lines) for code, lines in known if lines is not None), (None, None))
    here = []
    while frame is not None and frame.f_code is not code:
        here.append(frame)
        frame = frame.f_back
    if code is None or frame is not None and lines[0] <= frame.f_lineno <= lines[1]:
        return
    own = [of for of in here + [frame] if of is not None and core._is_own(of.f_code.co_filename) is not None]
    if own and not any(source.conditions(of) for of in own):
        loop = {"file": code.co_filename, "line": lines[0]}
        send("wrapped", by="left its loop", place=source.line_of_share(loop), settings=[str(State.updates)])


def _loop(file, line, first):
    """The innermost loop around a line, behind the first line of its function."""
    return max(((begin, end) for is_loop, begin, end, _ in source.statements(file) if is_loop and first <= begin <= line <= end), default=None)
