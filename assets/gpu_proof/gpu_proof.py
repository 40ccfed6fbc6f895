#!/usr/bin/env python3
"""What a GPU is to prove, in one go of at most 25 minutes: `make gpu-proof`.

It builds nothing, uses no network, and writes only into the folder that --out names. Each part is run with a time limit and keeps its
result in OUT/parts, so that a proof that was cut off goes on where it was: a finished part is not run again unless a program, the card, the
driver or the part itself is another. At the end: OUT/results.json and OUT/results.md.
"""
import sys

sys.dont_write_bytecode = True  # it writes nothing beside itself

import argparse, fcntl, hashlib, os, signal, subprocess, time
from pathlib import Path

import card as cards
import exchange, part as parts_, process, report, speed, training
from part import LEFT_OUT, OK, Part
from tree import BadInput, Tree

ROOT = Path(__file__).resolve().parents[2]
TORCH = "import json, torch; print(json.dumps([torch.__version__, torch.cuda.is_available()]))"
BOTH = ("hvd-train", "hvd-measure")

# In the order of their worth: what does not fit into the time is at the end.
PARTS = [
    Part("card", "Libraries, versions and what the doctor says.", cards.about, 10, 90, ("hvd-lab", "hvd-train")),
    Part("nccl", "NCCL with one rank.", exchange.nccl, 55, 180, BOTH),
    Part("order", "The order of the streams: a run whose events are removed must fail.", exchange.order, 150, 400),
    Part("staged", "Two ranks on one card, through host memory.", exchange.staged, 85, 240),
    Part("speed-bf16", "WRN-16-10 at batch 512 in bf16.", speed.ours("bf16"), 40, 180, BOTH),
    Part("pytorch-bf16", "PyTorch on the same card, bf16.", speed.theirs("bf16"), 150, 420, (), torch=True),
    Part("matmul", "The most that bf16 matrix products reach on this card.", speed.matmul, 20, 90, (), torch=True),
    Part("nvml", "NVML as the lab reads it, beside nvidia-smi.", cards.nvml, 50, 180, ("hvd-lab", "hvd-measure")),
    Part("epochs-3", "Accuracy after three epochs of four ranks.", training.three, 120, 420),
    Part("recording", "A run for `hvd-lab demo`.", training.recording, 150, 300, ("hvd-lab", "hvd-train")),
    Part("timeline", "A trace of one epoch.", speed.timeline, 25, 120),
    Part("pipeline", "What the data pipeline costs.", speed.pipeline, 60, 240),
    Part("speed-tf32", "WRN-16-10 at batch 512 in tf32.", speed.ours("tf32"), 50, 180, BOTH),
    Part("speed-fp32", "WRN-16-10 at batch 512 in fp32.", speed.ours("fp32"), 80, 240, BOTH),
    Part("epochs-20", "Accuracy after 20 epochs, and the time to 0.85.", training.twenty, 240, 600),
    Part("nccl-two", "NCCL between two ranks on one card, where it allows that.", exchange.nccl_two, 40, 180, BOTH),
    Part("pytorch-tf32", "PyTorch on the same card, tf32.", speed.theirs("tf32"), 150, 420, (), torch=True),
    Part("pytorch-fp32", "PyTorch on the same card, fp32.", speed.theirs("fp32"), 180, 420, (), torch=True),
]
NAMES = [part.name for part in PARTS]


class Parser(argparse.ArgumentParser):
    def error(self, message):
        raise BadInput(f"{message}; --help shows the flags")


def minutes(text):
    value = float(text)
    if not 0 < value <= 24 * 60:
        raise ValueError
    return value


def asked(words):
    parser = Parser(prog="gpu_proof.py", description=__doc__.splitlines()[0], epilog=" ".join(__doc__.splitlines()[2:]))
    parser.add_argument("--tree", metavar="DIR", default=str(ROOT), help="a built checkout, or an unpacked tarball of `make dist` [this checkout]")
    parser.add_argument("--out", metavar="DIR", default=str(ROOT / "target/gpu-proof"), help="where all of it is written [target/gpu-proof]")
    parser.add_argument("--only", metavar="NAMES", action="append", default=[], help="these parts only, with commas between them")
    parser.add_argument("--limit", metavar="MINUTES", type=minutes, default=25.0, help="what no longer fits is left out, by name [25]")
    parser.add_argument("--gpu", metavar="GPU", help="index or UUID, as nvidia-smi lists them [the first, or of CUDA_VISIBLE_DEVICES]")
    parser.add_argument("--data-dir", metavar="DIR", help="the four files of Fashion-MNIST, or `generated` [HVD_LAB_DATA, shared/fashion-mnist]")
    parser.add_argument("--python", metavar="FILE", default=os.environ.get("HVD_LAB_PEER_PYTHON") or sys.executable,
                        help="a python with torch, to stand beside [HVD_LAB_PEER_PYTHON, this one]")
    parser.add_argument("--again", action="store_true", help="run finished parts again as well")
    parser.add_argument("--list", action="store_true", help="list the parts and start nothing")
    parser.add_argument("--dry-run", action="store_true", help="print all commands and start none")
    options = parser.parse_args(words)
    options.only = [name.strip() for names in options.only for name in names.split(",") if name.strip()]
    unknown = [name for name in options.only if name not in NAMES]
    if unknown:
        raise BadInput(f"there is no part `{unknown[0]}`: they are {', '.join(NAMES)}")
    return options


def say(text):
    print(f"gpu-proof: {text}", flush=True)


def torch_version(options, tree):
    """Of the torch that finds a GPU, or None."""
    environment = {**tree.environment, "LD_LIBRARY_PATH": os.environ.get("LD_LIBRARY_PATH", "")}
    try:
        said = subprocess.run([options.python, "-c", TORCH], env=environment, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL,
                              stdin=subprocess.DEVNULL, timeout=120)
    except (OSError, subprocess.TimeoutExpired):
        return None
    words = said.stdout.decode(errors="replace").strip()
    return words.split('"')[1] if said.returncode == 0 and words.endswith("true]") else None


def left_out(part, why):
    now = time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime())
    return {"name": part.name, "about": part.about, "verdict": LEFT_OUT, "reason": why, "seconds": 0, "finished_at": now, "inputs": {},
            "commands": [], "rows": []}


class Proof:
    def __init__(self, options):
        self.options, self.out = options, Path(options.out).resolve()
        self.tree = Tree(options.tree, self.out, options.data_dir)
        self.began, self.began_at = time.monotonic(), time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime())
        self.mark = hashlib.sha256(str(self.out).encode()).hexdigest()[:16]
        self.results = {}
        self.torch = None
        self.card = None

    def prepare(self):
        for name in ("parts", "raw", "work", "tmp", "home"):
            (self.out / name).mkdir(parents=True, exist_ok=True)
        self.lock = open(self.out / "lock", "w")
        try:
            fcntl.flock(self.lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError:
            raise BadInput(f"another proof is writing into {self.out}: wait for it, or name another folder with --out")
        # Of a proof that was killed: it holds the lock no more, but what it started may still train.
        self.sweep()
        self.card = cards.find(self.tree, self.options.gpu)
        self.card["driver"] = cards.driver(self.tree, self.card)
        if self.card["driver"] is None:
            say("nvidia-smi does not answer: the driver's version stays unknown, and part nvml fails")

    def sweep(self):
        process.end(process.marked(self.mark, is_prefix=True))

    def wanted(self):
        return [part for part in PARTS if not self.options.only or part.name in self.options.only]

    def kept(self, part):
        """What a finished part has left, if nothing that it depends on has changed."""
        found = parts_.load(self.out / "parts" / f"{part.name}.json")
        # Which torch there is takes seconds to find out, so it is asked for parts that may run only.
        torch = self.torch if part in self.wanted() else found and found["inputs"].get("torch")
        is_same = found is not None and found["inputs"] == parts_.inputs(part, self.tree, self.card, torch)
        return found if is_same else None

    def run(self):
        if any(part.torch for part in self.wanted()):
            self.torch = self.options.torch = torch_version(self.options, self.tree)
        deadline = self.began + self.options.limit * 60
        for part in PARTS:
            found = self.kept(part)
            if part not in self.wanted():
                self.results[part.name] = found or left_out(part, "not asked for: --only names others")
                continue
            if found and found["verdict"] == OK and not self.options.again:
                self.results[part.name] = found
                say(f"{part.name}: kept, {found['finished_at']}")
                continue
            left = deadline - time.monotonic()
            if left < part.seconds:
                why = f"it takes about {part.seconds} s, and {max(0, left):.0f} s are left of --limit {self.options.limit:g}"
                self.results[part.name] = left_out(part, why)
                say(f"{part.name}: left out: {why}")
                continue
            self.results[part.name] = left_out(part, "interrupted")
            result = parts_.carry_out(part, self.tree, self.out, self.card, self.options, self.mark, min(deadline, time.monotonic() + part.limit),
                                      self.torch)
            self.results[part.name] = result
            say(f"{part.name}: {result['verdict']}, {result['seconds']:.0f} s" + (f": {result['reason']}" if result["reason"] else ""))
            self.save(self.out / "parts" / f"{part.name}.json", report.as_json(result))

    def save(self, path, text):
        try:
            parts_.save(path, text)
            return True
        except OSError as error:
            say(f"cannot write {path}: {error.strerror}")
            return False

    def write(self):
        """What there is so far, also after Ctrl-C. False if a part that was asked for does not show what it should."""
        results = [self.results.get(part.name) or left_out(part, "interrupted") for part in PARTS]
        shown = {name: text for name, text in self.tree.environment.items() if os.environ.get(name) != text}
        all_ = report.whole(results, self.card, shown, self.began_at, time.monotonic() - self.began)
        written = self.save(self.out / "results.json", report.as_json(all_)) & self.save(self.out / "results.md", report.markdown(all_, self.tree.folder, self.out))
        if written:
            say(f"{', '.join(f'{count} {name}' for name, count in all_['counts'].items())}: {self.out / 'results.md'}")
        return written and all(self.results[part.name]["verdict"] in (OK, LEFT_OUT) for part in self.wanted() if part.name in self.results)


def dry_run(proof):
    proof.options.torch, card = None, {"uuid": "GPU-UUID", "name": "", "index": 0}
    for part in proof.wanted():
        print(f"{part.name}: {part.about} About {part.seconds} s, at most {part.limit} s.")
        if proof.tree.mpirun is None:
            proof.tree.mpirun = "mpirun"
        part.run(parts_.Context(part, proof.tree, proof.out, card, proof.options, proof.mark, 0))


def main(words):
    options = asked(words)
    if options.list:
        for part in PARTS:
            print(f"{part.name:<13} about {part.seconds:>3} s  {part.about}")
        return 0
    proof = Proof(options)
    if options.dry_run:
        dry_run(proof)
        return 0
    for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
        signal.signal(number, interrupt)
    proof.prepare()
    try:
        proof.run()
    except KeyboardInterrupt:
        say("interrupted: what is finished stays, and the next call goes on from here")
        proof.write()
        return 130
    finally:
        proof.sweep()
    return 0 if proof.write() else 1


def interrupt(_number, _frame):
    raise KeyboardInterrupt


if __name__ == "__main__":
    try:
        sys.exit(main(sys.argv[1:]))
    except BadInput as bad:
        sys.exit(print(f"gpu-proof: {bad}", file=sys.stderr) or 2)
    except OSError as error:
        sys.exit(print(f"gpu-proof: {error.filename or ''}: {error.strerror}", file=sys.stderr) or 2)
    except KeyboardInterrupt:
        sys.exit(130)
