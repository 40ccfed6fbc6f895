#!/usr/bin/env python3
"""Open the lab while the programs of its ranks are still being built.

    behind.py LOG BUILD [ARGUMENT ...] -- LAB [ARGUMENT ...]     build and open the lab; only open it where a build is going on
    behind.py LOG                                                whether a build is going on

The build writes to LOG. A process of its own starts it and holds the lock of that file until it ends, however that is: the lab sees by
the lock that a run has to wait (src/lab/launch/being_built.rs). Its session is its own too, so no Ctrl-C in the lab and no terminal that is
closed ends it. Returns what the lab returns, or 1 where the build failed.
"""
import fcntl, os, signal, subprocess, sys, time

LINES = 20


def lock(log, kind):
    """The log with its lock, or None where another process has it."""
    file = os.open(log, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o644)
    # More than once: a lab that looks whether a build is going on has the lock for a moment.
    for _ in range(5):
        try:
            fcntl.flock(file, kind | fcntl.LOCK_NB)
            return file
        except BlockingIOError:
            time.sleep(0.05)
    os.close(file)
    return None


def run(build, log):
    """In the process that holds the lock. The build has the log opened anew, so what it leaves behind does not have the lock."""
    # Who is asked to end waits for the build, which is asked as well.
    signal.signal(signal.SIGTERM, lambda *_: None)
    with open(log, "ab", buffering=0) as output:
        try:
            code = subprocess.call(build, stdin=subprocess.DEVNULL, stdout=output, stderr=output)
            said = f"it was killed by signal {-code}" if code < 0 else f"it failed with {code}"
        except OSError as error:
            code, said = 127, error
        if code != 0:
            output.write(f"build: {said}\n".encode())
    return 1 if code else 0


def start(build, log, file):
    os.ftruncate(file, 0)
    pid = os.fork()
    if pid == 0:
        code = 1
        try:
            os.setsid()
            code = run(build, log)
        finally:
            os._exit(code)
    return pid


def finish(pid, log):
    """Wait for the end of the build. Whether it is well."""
    try:
        ended, status = os.waitpid(pid, os.WNOHANG)
        if not ended:
            print(
                f"The programs of the ranks are still being built ({log}).\n"
                "Closing this terminal does not end that. Ctrl-C does, and runs that wait for\n"
                "them fail; the next `make run` goes on with the build.",
                flush=True,
            )
            _, status = os.waitpid(pid, 0)
    except KeyboardInterrupt:
        try:
            os.killpg(pid, signal.SIGTERM)
            os.waitpid(pid, 0)
        except (ProcessLookupError, ChildProcessError):
            pass  # It ended at that moment.
        return True
    if status != 0:
        with open(log, errors="replace") as file:
            last = file.readlines()[-LINES:]
        print(f"The programs of the ranks could not be built. The end of {log}:\n", *last, sep="", file=sys.stderr)
    return status == 0


def main():
    log, words = sys.argv[1], sys.argv[2:]
    try:
        file = lock(log, fcntl.LOCK_EX if words else fcntl.LOCK_SH)
    except OSError as error:
        sys.exit(f"setup: the build cannot write to {log}: {error.strerror}. Mend that, or run `make build`, which needs no log.")
    if not words:
        sys.exit(1 if file is not None else 0)
    at = words.index("--")
    building = None
    if file is not None:
        building = start(words[:at], log, file)
        os.close(file)
    # The lab hears Ctrl-C itself. A handler, and not to ignore it, which the lab would inherit.
    signal.signal(signal.SIGINT, lambda *_: None)
    code = subprocess.call(words[at + 1 :])
    # Python's own handler, also where a script in the background has started this with the signal ignored.
    signal.signal(signal.SIGINT, signal.default_int_handler)
    is_well = building is None or finish(building, log)
    sys.exit((128 - code if code < 0 else code) or (0 if is_well else 1))


if __name__ == "__main__":
    main()
