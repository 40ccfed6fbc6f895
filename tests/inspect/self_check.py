"""Laws of the inspector's half in Python, on programs that train with PyTorch: `python self_check.py [law ...]`, with a Python that has torch.

The inspector changes no bit and no line of a program, nor what it raises; a failure inside of it is one report and harms nothing;
workers and parents of ranks never report.
"""
import json
import os
import shutil
import socket
import subprocess
import sys
import tempfile

HERE = os.path.dirname(os.path.abspath(__file__))
PACKAGE = os.path.join(HERE, "..", "..", "python", "hvd_lab")
LIMIT = 120

# Trains on all ranks, with workers, batch norm, dropout and a scheduler, and writes what came out of it.
TRAINING = """
import os, sys, hashlib, random, torch, torch.nn as nn, torch.distributed as dist
from torch.nn.parallel import DistributedDataParallel
from torch.utils.data import DataLoader, DistributedSampler, TensorDataset

def main():
    dist.init_process_group("gloo")
    rank = dist.get_rank()
    torch.manual_seed(rank)
    random.seed(rank)
    %(before)s
    data = TensorDataset(torch.randn(96, 3, 8, 8), torch.randint(0, 4, (96,)))
    net = nn.Sequential(nn.Conv2d(3, 8, 3), nn.BatchNorm2d(8), nn.ReLU(), nn.Flatten(), nn.Dropout(0.2), nn.Linear(288, 4))
    model = DistributedDataParallel(net)
    optimizer = torch.optim.SGD(model.parameters(), lr=0.05, momentum=0.9)
    plateau = torch.optim.lr_scheduler.ReduceLROnPlateau(optimizer)
    sampler = DistributedSampler(data)
    loader = DataLoader(data, 8, sampler=sampler, num_workers=%(workers)d, multiprocessing_context=%(context)r)
    for epoch in range(3):
        sampler.set_epoch(epoch)
        for x, y in loader:
            optimizer.zero_grad()
            loss = nn.functional.cross_entropy(model(x), y)
            loss.backward()
            optimizer.step()
            %(inside)s
        mean = loss.detach().clone()
        dist.all_reduce(mean)
        plateau.step(mean)
        print("epoch", epoch, "loss", "%%.6f" %% mean.item(), flush=True)
    print("rank", rank, "storages may be resized:", {p.untyped_storage().resizable() for p in net.parameters()}, flush=True)
    bits = b"".join(p.detach().numpy().tobytes() for p in list(net.parameters()) + list(net.buffers()))
    drawn = torch.rand(1).item(), random.random()
    print("rank", rank, hashlib.sha256(bits).hexdigest(), drawn, sorted(model.state_dict())[0], flush=True)
    dist.barrier()
    dist.destroy_process_group()

if __name__ == "__main__":
    main()
"""

SPAWNED = """
import os, torch, torch.distributed as dist, torch.multiprocessing as mp
from torch.utils.data import DataLoader, TensorDataset

def rank_main(rank, size):
    dist.init_process_group("gloo", rank=rank, world_size=size)
    model = torch.nn.parallel.DistributedDataParallel(torch.nn.Linear(4, 1))
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    for _ in range(3):
        optimizer.zero_grad()
        model(torch.ones(2, 4)).sum().backward()
        optimizer.step()
    dist.destroy_process_group()

if __name__ == "__main__":
    for batch in DataLoader(TensorDataset(torch.ones(8, 4)), 4):
        pass
    if %(by_spawn)s:
        mp.spawn(rank_main, (2,), 2)
    else:
        ranks = [mp.Process(target=rank_main, args=(rank, 2)) for rank in range(2)]
        [rank.start() for rank in ranks], [rank.join() for rank in ranks]
    torch.save(torch.ones(2), os.path.join(os.path.dirname(os.path.abspath(__file__)), "after.pt"))
"""


class Workshop:
    """A folder with the inspector as the lab lays it out, and programs beside it."""

    def __init__(self):
        self.root = tempfile.mkdtemp(prefix="hvd-lab-self-check-")
        self.inspector = os.path.join(self.root, "inspector")
        shutil.copytree(os.path.join(PACKAGE, "_inspect"), os.path.join(self.inspector, "hvd_lab", "_inspect"))
        shutil.copy(os.path.join(PACKAGE, "_log.py"), os.path.join(self.inspector, "hvd_lab", "__init__.py"))
        os.rename(os.path.join(self.inspector, "hvd_lab", "_inspect", "sitecustomize.py"), os.path.join(self.inspector, "sitecustomize.py"))

    def write(self, name, text):
        path = os.path.join(self.root, name)
        os.makedirs(os.path.dirname(path), exist_ok=True)
        with open(path, "w") as file:
            file.write(text)
        return path

    def run(self, words, ranks=1, inspected=True, **more):
        """Exit codes, events, lines and errors of the ranks."""
        with socket.socket() as probe:
            probe.bind(("127.0.0.1", 0))
            port = probe.getsockname()[1]
        common = {name: value for name, value in os.environ.items() if not name.startswith("HVD_LAB_") and name != "PYTHONPATH"}
        common.update(OMP_NUM_THREADS="1", MASTER_ADDR="127.0.0.1", MASTER_PORT=str(port), PYTHONDONTWRITEBYTECODE="1", **more)
        if inspected:
            path = os.pathsep.join(filter(None, [self.inspector, more.get("PYTHONPATH")]))
            common.update(PYTHONPATH=path, HVD_LAB_INSPECT="1", HVD_LAB_EVENT_SECRET="x")
        started = []
        for rank in range(ranks):
            own = dict(RANK=str(rank), WORLD_SIZE=str(ranks), LOCAL_RANK=str(rank), LOCAL_WORLD_SIZE=str(ranks)) if ranks > 1 else {}
            started.append(
                subprocess.Popen(
                    [sys.executable] + words, env=dict(common, **own), stdout=subprocess.PIPE, stderr=subprocess.PIPE, universal_newlines=True, cwd=self.root
                )
            )
        try:
            outputs = [process.communicate(timeout=LIMIT) for process in started]
        finally:
            for process in started:
                process.kill()
        events, lines = [], []
        for out, _ in outputs:
            for line in out.split("\n"):
                if line.startswith("@hvd x "):
                    events.append(json.loads(line.split(" ", 3)[3]))
                elif line:
                    lines.append(line)
        return [process.returncode for process in started], events, lines, [errors for _, errors in outputs]


def training(before="pass", inside="pass", workers=0, context=None):
    return TRAINING % dict(before=before, inside=inside, workers=workers, context=context)


def named(events, what):
    return [event for event in events if event["what"] == what]


def run(shop, program, inspected):
    """PyTorch's gloo aborts now and then while it ends, with and without the inspector: then once more."""
    for _ in range(8):
        codes, events, lines, errors = shop.run([program], 2, inspected=inspected)
        if not any("terminate called without an active exception" in text for text in errors):
            break
    return codes, events, lines, errors


def both(shop, text):
    program = shop.write("training.py", text)
    plain, looked = run(shop, program, False), run(shop, program, True)
    assert plain[0] == looked[0], (plain[0], looked[0], looked[3])
    assert sorted(plain[2]) == sorted(looked[2]), (plain[2], looked[2])
    return plain, looked


def same_bits_and_lines(shop):
    for workers, context in ((0, None), (2, "fork"), (1, "spawn")):
        plain, (codes, events, _, errors) = both(shop, training(workers=workers, context=context))
        assert codes == [0, 0], errors
        assert not named(events, "blind"), named(events, "blind")
        assert sorted(event["process"] for event in named(events, "looking")) == [0, 1], "workers are no ranks"
        assert sorted(event["process"] for event in named(events, "ended")) == [0, 1]
        assert len(named(events, "workers")) == 2
        last = [event for event in events if event["what"] == "update" and event["update"] == 16]
        assert len(last) == 2 and last[0]["gradients"] == last[1]["gradients"] and last[0]["weights"] == last[1]["weights"], last


def same_exceptions(shop):
    for inside in ("if epoch == 1: model(torch.ones(1, 5))", "if epoch == 1: raise SystemExit(3)", "if epoch == 1: raise KeyboardInterrupt"):
        plain, looked = both(shop, training(inside=inside))
        assert plain[0][0] != 0 and not named(looked[1], "blind"), looked[0]
        said = [[line for text in run[3] for line in text.split("\n") if "Error" in line or "Interrupt" in line] for run in (plain, looked)]
        assert sorted(set(said[0])) == sorted(set(said[1])), said


def a_failure_inside_harms_nothing(shop):
    breaks = "import sys; look = sys.modules.get('_hvd_lab_inspect.digest'); look and setattr(look, 'of_tensors', lambda tensors: 1 / 0)"
    _, (codes, events, _, errors) = both(shop, training(before=breaks))
    assert codes == [0, 0], errors
    blind = named(events, "blind")
    assert sorted(event["process"] for event in blind) == [0, 1] and "ZeroDivisionError" in blind[0]["why"], blind
    assert not named(events, "update")


def children_are_the_ranks(shop):
    for by_spawn in (True, False):
        program = shop.write("spawned.py", SPAWNED % dict(by_spawn=by_spawn))
        codes, events, _, errors = shop.run([program])
        assert codes == [0], errors
        for what in ("looking", "group", "wrapped", "ended"):
            assert sorted(event["process"] for event in named(events, what)) == [0, 1], (what, events)
        assert all(event["trains"] for event in named(events, "pass")) and not named(events, "state"), "the parent is silent"


def programs_without_torch(shop):
    shop.write("own/sitecustomize.py", "import builtins\nbuiltins.was_here = True\n")
    shop.write("package/__init__.py", "")
    check = (
        "import sys\nassert was_here\nheavy = {'json', 'socket', 'torch', '_hvd_lab_inspect', 'multiprocessing'} & set(sys.modules)\n"
        "assert not heavy, heavy\nassert sys.modules['sitecustomize'].__file__.endswith('own/sitecustomize.py')\nprint('fine', sys.argv[1:])\n"
    )
    program, own = shop.write("package/__main__.py", check), os.path.join(shop.root, "own")
    for words in ([program, "1"], ["-m", "package", "1"], ["-c", check, "1"]):
        codes, events, lines, errors = shop.run(words, PYTHONPATH=own)
        assert (codes, events, lines) == ([0], [], ["fine ['1']"]), (words, codes, events, lines, errors)


def one_log_for_both(shop):
    logs = "import hvd_lab; hvd_lab.log(epoch=epoch, loss=loss.item())"
    codes, events, _, errors = shop.run([shop.write("logs.py", training(before="import hvd_lab", inside=logs))], 2)
    assert codes == [0, 0], errors
    for first in ("0", "1"):
        assert len([event for event in events if event["event"] == "logged" and event["process"] == int(first)]) == 18


LAWS = [same_bits_and_lines, same_exceptions, a_failure_inside_harms_nothing, children_are_the_ranks, programs_without_torch, one_log_for_both]


def main(names):
    shop = Workshop()
    try:
        for law in LAWS:
            if not names or law.__name__ in names:
                law(shop)
                print("holds:", law.__name__.replace("_", " "), flush=True)
    finally:
        shutil.rmtree(shop.root, ignore_errors=True)


if __name__ == "__main__":
    main(sys.argv[1:])
