#!/usr/bin/env python3
"""Open the lab while the programs of its ranks are still being built.

    behind.py LOG BUILD [ARGUMENT ...] -- LAB [ARGUMENT ...]

The build writes to LOG and holds the lock of that file, in this process no longer than the build itself: the lab sees by it that a run
has to wait (src/launch/being_built.rs). It is in a session of its own, so neither Ctrl-C nor a terminal that is closed ends it.
Returns what the lab returns, or 1 where the build failed.
"""
import fcntl, os, signal, subprocess, sys

LINES = 20


def start(log, build):
    """The build, or None where another one has the lock."""
    file = os.open(log, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o644)
    try:
        fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        os.ftruncate(file, 0)
        # Those that it starts have the same file and with it the lock; here it is closed.
        return subprocess.Popen(build, stdin=subprocess.DEVNULL, stdout=file, stderr=file, start_new_session=True)
    except BlockingIOError:
        return None
    finally:
        os.close(file)


def finish(build, log):
    """Wait for the end of the build. Whether it is well."""
    if build.poll() is None:
        print(f"The programs of the ranks are still being built ({log}). Ctrl-C ends that; the next `make run` goes on with it.", flush=True)
    try:
        code = build.wait()
    except KeyboardInterrupt:
        os.killpg(build.pid, signal.SIGTERM)
        build.wait()
        return True
    if code != 0:
        with open(log, errors="replace") as file:
            last = file.readlines()[-LINES:]
        print(f"The programs of the ranks could not be built. The end of {log}:\n", *last, sep="", file=sys.stderr)
    return code == 0


def main():
    at = sys.argv.index("--")
    log, build, lab = sys.argv[1], sys.argv[2:at], sys.argv[at + 1 :]
    try:
        building = start(log, build)
    except OSError as error:
        sys.exit(f"setup: cannot build into {log}: {error}")
    # The lab hears Ctrl-C itself. A handler, and not to ignore it, which the lab would inherit.
    before = signal.signal(signal.SIGINT, lambda *_: None)
    code = subprocess.call(lab)
    signal.signal(signal.SIGINT, before)
    is_well = building is None or finish(building, log)
    sys.exit((128 - code if code < 0 else code) or (0 if is_well else 1))


if __name__ == "__main__":
    main()
