"""One part of the proof: what it runs, what it found, and its file in OUT/parts, which makes the whole resumable."""
import json, os, shutil, time
from pathlib import Path

import process

OK, FAILED, LEFT_OUT, NOT_SHOWN = "ok", "failed", "left out", "not shown"
SAVED = 1  # raise it when what a file of a part holds changes


class Failed(Exception):
    """The part cannot say what it should, for this reason."""


class LeftOut(Exception):
    """This machine lacks what the part needs."""


class Part:
    """`run(context)` returns rows. `seconds` is what it takes on a fast card, and `limit` when it is ended."""

    def __init__(self, name, about, run, seconds, limit, programs=("hvd-train",), version=1, torch=False):
        self.name, self.about, self.run, self.seconds, self.limit = name, about, run, seconds, limit
        self.programs, self.version, self.torch = programs, version, torch


def row(what, figure, command, verdict=OK, beside="", **values):
    """One line of the table. `values` are the figures as numbers, for results.json."""
    return {"what": what, "figure": figure, "beside": beside, "command": command, "verdict": verdict, "values": values}


def judged(what, figure, command, is_right, beside="", **values):
    return row(what, figure, command, OK if is_right else FAILED, beside, **values)


def save(path, text):
    """All of it or nothing: what is read is never half a file."""
    scratch = Path(f"{path}.new")
    try:
        with open(scratch, "w") as file:
            file.write(text)
            file.flush()
            os.fsync(file.fileno())
        scratch.replace(path)
    except OSError:
        try:
            scratch.unlink()
        except OSError:
            pass
        raise


def load(path):
    """What a part's file holds, or None if there is none that can be read."""
    try:
        kept = json.loads(path.read_text())
        return kept if kept["rows"] is not None and kept["verdict"] and kept["inputs"] else None
    except (OSError, ValueError, KeyError, TypeError):
        return None


class Context:
    """What a part works with: the tree, the card, and commands that are limited, kept and written down."""

    def __init__(self, part, tree, out, card, options, mark, deadline):
        self.part, self.tree, self.card, self.options, self.mark, self.deadline = part, tree, card, options, mark, deadline
        self.dry = options.dry_run
        self.raw, self.work = Path(out) / "raw" / part.name, Path(out) / "work" / part.name
        self.commands, self.out = [], Path(out)
        if not self.dry:
            for folder in (self.raw, self.work):
                shutil.rmtree(folder, ignore_errors=True)
                folder.mkdir(parents=True)

    def left(self):
        return self.deadline - time.monotonic()

    def start(self, argv, gently=None, limit=None, **extra):
        """A command in the background; it is the part's duty to stop it."""
        argv = [str(word) for word in argv]
        raw = self.raw / f"{len(self.commands) + 1:02}.txt"
        running = process.Running(argv, self.tree.environment, extra, raw, self.mark, folder=self.work,
                                  **({"gently": gently} if gently else {}))
        self.commands.append({"command": running.command, "raw": str(raw.relative_to(self.out))})
        return running

    def run(self, argv, limit=None, gently=None, **extra):
        """Runs a command to its end or its limit. What is over by itself is judged by the caller."""
        if self.dry:
            print(f"  {process.shown([str(word) for word in argv], extra)}")
            return process.Output("", "", 0, 0.0, None, None)
        running = self.start(argv, gently, **extra)
        output = running.finish(max(1.0, min(limit or self.part.limit, self.left())))
        self.commands[-1].update(seconds=round(output.seconds, 3), exit_code=output.code, **({"ended": output.ended} if output.ended else {}))
        return output

    def well(self, argv, **more):
        """As run, but a command that does not end well ends the part."""
        output = self.run(argv, **more)
        problem = None if self.dry else output.problem()
        if problem:
            raise Failed(f"{Path(self._program(argv)).name} {problem}")
        return output

    def _program(self, argv):
        names = [word for word in map(str, argv) if word.startswith(str(self.tree.programs))]
        return names[0] if names else str(argv[0])

    def train(self, np, *flags, **more):
        """hvd-train on so many ranks, with its event lines."""
        argv = self.tree.ranks(np) + [self.tree.program("hvd-train"), "--events", "--log-dir", self.work / "logs"]
        return self.well(argv + list(flags), **more)

    def images(self):
        return ["--data-dir", self.tree.data]


def inputs(part, tree, card, torch):
    """All that a finished part depends on: if it is unchanged, the part is not run again."""
    found = {"saved": SAVED, "version": part.version, "card": card["uuid"], "driver": card.get("driver"), "data": tree.data,
             "programs": {name: tree.digest(name) for name in part.programs}}
    if part.torch:
        found["torch"] = torch
    return found


def carry_out(part, tree, out, card, options, mark, deadline, torch):
    """Runs one part. Whatever happens to it, it has a verdict; only Ctrl-C goes further."""
    began, context = time.monotonic(), None
    rows, reason, verdict = [], "", None
    try:
        missing = [name for name in part.programs if not tree.has(name)]
        if missing:
            raise LeftOut(f"{', '.join(missing)} is not in {tree.programs}")
        if part.programs and not tree.mpirun:
            raise LeftOut("there is no mpirun: `make setup` brings one")
        context = Context(part, tree, out, card, options, mark, deadline)
        rows = part.run(context)
    except LeftOut as left:
        verdict, reason = LEFT_OUT, str(left)
    except Failed as failed:
        verdict, reason = FAILED, str(failed)
    except OSError as error:
        verdict, reason = FAILED, f"{error.filename or 'a file'}: {error.strerror or error}"
    except Exception as error:  # a program that prints what nobody expects must not end the other parts
        verdict, reason = FAILED, f"its output is not as expected: {type(error).__name__}: {error}"
    if verdict is None:
        verdicts = [found["verdict"] for found in rows]
        verdict = next((bad for bad in (FAILED, NOT_SHOWN, OK) if bad in verdicts), LEFT_OUT)
        reason = next((found["what"] for found in rows if found["verdict"] == verdict and verdict != OK), "")
    return {
        "name": part.name, "about": part.about, "verdict": verdict, "reason": reason, "seconds": round(time.monotonic() - began, 1),
        "finished_at": time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime()), "inputs": inputs(part, tree, card, torch), "card": card,
        "commands": context.commands if context else [], "rows": rows,
    }
