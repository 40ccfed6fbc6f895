"""Start a command with a time limit, keep all that it prints, and leave nothing of it behind."""
import ctypes, os, select, shlex, signal, subprocess, time
from pathlib import Path

# In the environment of all that is started, so that ranks with process groups of their own are found as well.
MARK = "HVD_LAB_GPU_PROOF_MARK"
GRACE_S = 5
MOST_BYTES = 64 << 20  # of one command's output; a program that prints without end must not fill the disk
DIES_WITH_PARENT = 1  # PR_SET_PDEATHSIG


class Output:
    """What a command printed, and how it ended: `code` is None if it was ended, for the reason in `ended`."""

    def __init__(self, command, text, code, seconds, ended, raw):
        self.command, self.text, self.code, self.seconds, self.ended, self.raw = command, text, code, seconds, ended, raw

    def problem(self):
        """Why it cannot be trusted, in one line, or None."""
        if self.ended:
            return self.ended
        if self.code == 0:
            return None
        how = f"was ended by {signal.Signals(-self.code).name}" if self.code < 0 else f"ended with exit code {self.code}"
        said = [line.strip() for line in self.text.splitlines() if any(c.isalpha() for c in line) and not line.startswith("@hvd")]
        # The first line that names an error says more than the last, which is often the launcher's.
        telling = [line for line in said if "error" in line.lower() or line.startswith("hvd-")] or said[-1:]
        return how + (f": {telling[0][:300]}" if telling else " and no word")


def shown(argv, extra):
    """As one types it."""
    return " ".join([f"{name}={shlex.quote(value)}" for name, value in sorted(extra.items())] + [shlex.quote(word) for word in argv])


def marked(mark, is_prefix=False):
    """The processes that carry this mark."""
    wanted, found = f"{MARK}={mark}".encode(), []
    for entry in os.listdir("/proc"):
        if entry.isdigit() and int(entry) != os.getpid():
            try:
                environment = Path("/proc", entry, "environ").read_bytes().split(b"\0")
            except OSError:
                continue  # it is over, or another user's
            if any(item == wanted or is_prefix and item.startswith(wanted) for item in environment):
                found.append(int(entry))
    return found


def end(pids):
    for pid in pids:
        try:
            os.kill(pid, signal.SIGKILL)
        except OSError:
            pass


class Running:
    """A command that was started. What it prints goes to `raw` and into memory while somebody reads."""

    count = 0

    def __init__(self, argv, environment, extra, raw, mark, gently=signal.SIGTERM, folder=None):
        Running.count += 1
        self.command, self.raw, self.gently = shown(argv, extra), Path(raw), gently
        self.mark = f"{mark}-{os.getpid()}-{Running.count}"
        self.began, self.chunks, self.kept, self.is_over = time.monotonic(), [], 0, False
        libc = ctypes.CDLL(None)
        self.file = open(raw, "wb", buffering=0)
        try:
            self.file.write(f"$ {self.command}\n".encode())
            # If this program is killed, what it started is asked to end.
            self.child = subprocess.Popen(argv, env={**environment, **extra, MARK: self.mark}, stdin=subprocess.DEVNULL, cwd=folder,
                                          stdout=subprocess.PIPE, stderr=subprocess.STDOUT, start_new_session=True,
                                          preexec_fn=lambda: libc.prctl(DIES_WITH_PARENT, int(gently)))
        except BaseException:
            self.file.close()
            raise

    def _read(self, patience):
        """False at the end of the output."""
        if select.select([self.child.stdout], [], [], max(0, patience))[0]:
            chunk = os.read(self.child.stdout.fileno(), 1 << 16)
            if not chunk:
                return False
            if self.kept < MOST_BYTES:
                self.kept += len(chunk)
                self.chunks.append(chunk)
                view = memoryview(chunk)
                while view:  # a full disk may take a part first; then it says so
                    view = view[self.file.write(view):]
        return True

    def read_for(self, seconds):
        """Reads on, so that it does not wait for a reader."""
        until = time.monotonic() + seconds
        while time.monotonic() < until and self._read(until - time.monotonic()):
            pass

    def finish(self, limit):
        """Its output, once it is over or the limit is reached. Whatever happens, nothing of it is left."""
        deadline, ended, over_since = self.began + limit, None, None
        try:
            while True:
                now = time.monotonic()
                if now >= deadline:
                    ended = f"hung: no end within {limit:.0f} s, so it was ended"
                    break
                if not self._read(min(0.2, deadline - now)):
                    try:
                        self.child.wait(max(0.1, deadline - time.monotonic()))
                    except subprocess.TimeoutExpired:
                        ended = f"hung: no end within {limit:.0f} s, so it was ended"
                    break
                if self.child.poll() is not None:
                    over_since = over_since or now
                    if now - over_since > 2:  # a process of its own holds the output open
                        break
        finally:
            self.stop()
        return self._output(ended)

    def stop(self):
        """Asks it to end, then ends it. Once."""
        if self.is_over:
            return
        self.is_over = True
        try:
            if self.child.poll() is None:
                self._signal(self.gently)
                try:
                    self.child.wait(GRACE_S)
                except subprocess.TimeoutExpired:
                    pass
        finally:
            # Its group first: then nothing of it can start more.
            self._signal(signal.SIGKILL)
            for _ in range(50):
                left = marked(self.mark)
                if not left:
                    break
                end(left)
                time.sleep(0.02)
            self.child.wait()
            self.child.stdout.close()
            self.file.close()

    def _signal(self, number):
        try:
            os.killpg(self.child.pid, number)
        except OSError:
            pass

    def _output(self, ended):
        text = b"".join(self.chunks).decode(errors="replace")
        return Output(self.command, text, None if ended else self.child.returncode, time.monotonic() - self.began, ended, self.raw)

    def stopped(self):
        """Ends it now. Its output so far."""
        self.stop()
        return self._output(None)
