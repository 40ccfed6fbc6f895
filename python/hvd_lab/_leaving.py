"""Whatever leaves a rank, or stays behind it, other than by the last line of its program: exits, copies, threads and children."""
import builtins
import functools
import os
import sys
import threading
import time

from ._library import is_started, native, place

# The process of the rank: what it forks is another.
RANK = os.getpid()
# Seconds for threads and children to end, once the program is over.
PATIENCE = 3
really_leave = os._exit

# How the program was left before its last line, and with which code.
left = None
code = 0
# The rank has let go of the others.
is_over = False


def watch():
    """From now on these tell where they were called. They work as before."""
    sys.exit = _leaving(sys.exit, "sys.exit")
    for name in ("exit", "quit"):
        if hasattr(builtins, name):
            setattr(builtins, name, _leaving(getattr(builtins, name), name))
    os._exit = _leave_at_once
    os.register_at_fork(before=_before_fork, after_in_child=_after_fork)
    # Python waits for threads before anything that atexit runs. It has this from 3.9 on.
    getattr(threading, "_register_atexit", lambda check: None)(check_threads)


def is_copy():
    """Whether this process is a copy of the rank, which os.fork has made."""
    return os.getpid() != RANK


def fail(words):
    """Tell the lab that the program has failed, and end all ranks."""
    if not is_copy() and threading.current_thread() is threading.main_thread():
        native.fail(words)
    else:
        native.fail_apart(words)


def _leaving(leave, name):
    # Where Python's own has no name of a function, such as exit, there is none to take over.
    @functools.wraps(leave, updated=())
    def leaving(status=None):
        global left, code
        left = "{} at {}".format(name, place())
        code = status if isinstance(status, int) else int(status is not None)
        leave(status)

    return leaving


@functools.wraps(os._exit)
def _leave_at_once(status):
    if is_started() and not is_over and not is_copy():
        fail("{}: os._exit ends this rank at once, and neither the lab nor the other ranks hear that it is done: leave it out".format(
            place()
        ))
    really_leave(status)


def _before_fork():
    global _forked_at
    _forked_at = place() or "a line of another program"


def _after_fork():
    native.forked(
        "the process that was forked at {} is a copy of this rank, and it went on through the program: a copy cannot train or talk to "
        "other ranks. End it with os._exit when its own work is done, or start a program with subprocess".format(_forked_at)
    )


def check_threads():
    """When the main thread is done: others that never end would keep the rank from its end."""
    if is_copy() or not is_started():
        return
    main, until = threading.main_thread(), time.monotonic() + PATIENCE
    threads = [thread for thread in threading.enumerate() if thread is not main and not thread.daemon]
    for thread in _outlasting(threads, until):
        fail(
            "{}: the thread {} still runs when the program is over, so this rank would never end: let it end and join it, or make it a "
            "daemon thread".format(place(sys._current_frames().get(thread.ident)) or "a thread", thread.name)
        )
    # Python waits for these as well.
    multiprocessing = sys.modules.get("multiprocessing")
    children = multiprocessing.active_children() if multiprocessing else []
    for child in _outlasting([child for child in children if not child.daemon], until):
        fail(_staying("process {} of multiprocessing".format(child.name), child.pid, "join"))


def check_children():
    """When the program is over: a child that stays would keep the run from its end, for it has the rank's output."""
    if not is_started() or is_over:
        return
    # These end with the rank.
    multiprocessing = sys.modules.get("multiprocessing")
    daemons = {child.pid for child in multiprocessing.active_children()} if multiprocessing else set()
    until = time.monotonic() + PATIENCE
    while True:
        children = [
            (pid, command)
            for pid, command in native.children()
            if pid not in daemons and "multiprocessing." not in command
        ]
        if not children:
            return
        if time.monotonic() > until:
            break
        time.sleep(0.02)
    pid, command = children[0]
    fail(_staying("program `{}`".format(command), pid, "wait for"))


def _outlasting(those, until):
    for each in those:
        each.join(max(0.0, until - time.monotonic()))
    return [each for each in those if each.is_alive()]


def _staying(what, pid, wait):
    return (
        "the {} (process id {}), which this rank has started, still runs when the program is over, so the run would not end: {} it, or end "
        "it, before the last line".format(what, pid, wait)
    )
