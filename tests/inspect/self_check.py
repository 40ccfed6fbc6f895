"""Checks the laws of the inspector's Python half with a Python that has torch: `python tests/inspect/self_check.py [CHECK ...]`.

Each check runs a small program with and without the inspector: the program must not notice it. Without a lab the reports come on
standard output as lines that begin with `@hvd`.
"""
import json
import os
import shutil
import subprocess
import sys
import tempfile

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
LIMIT = 300

TRAINING = """
import random, sys, torch, torch.nn as nn
from torch.utils.data import DataLoader, Dataset, Sampler
class Data(Dataset):
    def __len__(self):
        return 48
    def __getitem__(self, index):
        return torch.full((6,), float(index)) + torch.rand(6), index % 3
class Eager(Sampler):
    def __init__(self):
        pass
    def __len__(self):
        return 12
    def __iter__(self):
        order = torch.randperm(48).tolist()
        return iter([order[at : at + 4] for at in range(0, 48, 4)])
if __name__ == "__main__":
    random.seed(3), torch.manual_seed(3)
    net = nn.Sequential(nn.Linear(6, 5000), nn.BatchNorm1d(5000), nn.Dropout(), nn.Linear(5000, 3))
    optimizer = torch.optim.Adam(net.parameters(), 0.01)
    for epoch in range(3):
        for loader in (DataLoader(Data(), 8, shuffle=True, num_workers=epoch % 2), DataLoader(Data(), batch_sampler=Eager())):
            for x, y in loader:
                optimizer.zero_grad()
                loss = nn.functional.cross_entropy(net(x), y)
                loss.backward()
                optimizer.step()
        print("epoch", epoch, "loss", loss.item(), sep="|", flush=True)
        print("to stderr", epoch, file=sys.stderr)
    print(random.random(), torch.rand(1).item(), sum(p.double().sum().item() for p in net.parameters()).hex())
"""
RAISING = TRAINING + """
    net(torch.zeros(1, 7))
"""
RANKS = """
import sys, torch, torch.distributed as dist, torch.multiprocessing as mp
from torch.nn.parallel import DistributedDataParallel
def work(rank, port):
    dist.init_process_group("gloo", init_method="tcp://127.0.0.1:%d" % port, rank=rank, world_size=2)
    model = DistributedDataParallel(torch.nn.Linear(4, 2))
    optimizer = torch.optim.SGD(model.parameters(), 0.1)
    data = torch.utils.data.TensorDataset(torch.rand(16, 4))
    for (x,) in torch.utils.data.DataLoader(data, 4, num_workers=1, multiprocessing_context=sys.argv[1]):
        optimizer.zero_grad()
        model(x).sum().backward()
        optimizer.step()
    dist.barrier()
    dist.destroy_process_group()
if __name__ == "__main__":
    import socket
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    torch.save({}, sys.argv[2])
    mp.start_processes(work, (port,), nprocs=2, start_method=sys.argv[1])
"""
BREAKING = """
import atexit, sys, torch
import _hvd_lab_inspect.digest as digest
def breaks(*_):
    raise RuntimeError("broken on purpose")
digest.of_tensors = breaks
""" + TRAINING


class Folder:
    """The inspector as the lab lays it out, and a place for programs."""

    def __enter__(self):
        self.path = tempfile.mkdtemp(prefix="hvd-lab-self-check-")
        source = os.path.join(ROOT, "python", "hvd_lab")
        self.inspector = os.path.join(self.path, "python")
        shutil.copytree(os.path.join(source, "_inspect"), os.path.join(self.inspector, "hvd_lab", "_inspect"))
        shutil.copy(os.path.join(source, "_log.py"), os.path.join(self.inspector, "hvd_lab", "__init__.py"))
        shutil.copy(os.path.join(source, "_inspect", "sitecustomize.py"), self.inspector)
        return self

    def __exit__(self, *_):
        shutil.rmtree(self.path, ignore_errors=True)

    def run(self, program, *arguments, inspects=True, later=None, options=()):
        """Exit code, lines of the program, lines on standard error, reports."""
        file = os.path.join(self.path, "program.py")
        with open(file, "w") as written:
            written.write(program)
        environment = {key: value for key, value in os.environ.items() if not key.startswith("HVD_LAB_")}
        path = ([self.inspector] if inspects else []) + ([later] if later else [])
        environment.update(PYTHONPATH=os.pathsep.join(path), OMP_NUM_THREADS="1", TMPDIR=self.path, PYTHONDONTWRITEBYTECODE="1")
        if inspects:
            environment.update(HVD_LAB_INSPECT="1", HVD_LAB_EVENT_SECRET="secret")
        done = subprocess.run([sys.executable, *options, file, *arguments], env=environment, capture_output=True, text=True, timeout=LIMIT)
        lines = [line for line in done.stdout.split("\n") if line]
        reports = [json.loads(line.split(" ", 3)[3]) for line in lines if line.startswith("@hvd ")]
        return done.returncode, [line for line in lines if not line.startswith("@hvd ")], done.stderr.splitlines(), reports


def of_kind(reports, what):
    return [report for report in reports if report["what"] == what]


def check_same_bits_and_lines(folder):
    with_it, without = folder.run(TRAINING), folder.run(TRAINING, inspects=False)
    assert with_it[:3] == without[:3], (with_it[:3], without[:3])
    assert len(of_kind(with_it[3], "update")) > 4 and not of_kind(with_it[3], "blind"), with_it[3]
    assert [report["batches"] for report in of_kind(with_it[3], "pass")] == [6, 12] * 3


def check_same_exception(folder):
    with_it, without = folder.run(RAISING), folder.run(RAISING, inspects=False)
    assert with_it[0] == without[0] == 1
    assert with_it[2] and with_it[2][-1] == without[2][-1], (with_it[2][-1:], without[2][-1:])


def check_a_broken_inspector_stops_and_says_so(folder):
    code, lines, _, reports = folder.run(BREAKING)
    assert code == 0 and lines == folder.run(TRAINING, inspects=False)[1]
    blind = of_kind(reports, "blind")
    assert len(blind) <= 1 and not of_kind(reports, "update"), reports
    os.environ["RANK"] = "0"
    try:
        blind = of_kind(folder.run(BREAKING)[3], "blind")
    finally:
        del os.environ["RANK"]
    assert len(blind) == 1 and "broken on purpose" in blind[0]["why"], blind


def check_only_ranks_report(folder):
    for method in ("fork", "spawn"):
        code, _, errors, reports = folder.run(RANKS, method, os.path.join(folder.path, "parent.pt"))
        assert code == 0, errors
        pids = {report["pid"] for report in of_kind(reports, "looking")}
        assert len(pids) == 2 and {report["process"] for report in reports} == {0, 1}, (method, reports)
        assert len(of_kind(reports, "ended")) == 2 and not of_kind(reports, "state"), (method, reports)
        assert len(of_kind(reports, "workers")) == 2, (method, reports)


def check_silent_without_torch(folder):
    program = "import sys\nprint(sorted(name for name in sys.modules if 'hvd' in name or name in ('json', 'socket', 'multiprocessing')))"
    code, lines, errors, reports = folder.run(program)
    assert (code, lines, errors, reports) == (0, ["[]"], [], []), (lines, errors)


def check_another_sitecustomize_runs(folder):
    later = os.path.join(folder.path, "later")
    os.makedirs(later)
    with open(os.path.join(later, "sitecustomize.py"), "w") as written:
        written.write("import sys\nsys.told = __file__\n")
    program = "import sys, sitecustomize\nprint(sys.told == sitecustomize.__file__)"
    assert folder.run(program, later=later)[1] == ["True"]
    assert folder.run("import sys\nprint('told' in dir(sys))", later=later, options=["-I"])[1:] == (["False"], [], [])


def main():
    checks = {name[6:]: check for name, check in globals().items() if name.startswith("check_")}
    for name in sys.argv[1:] or checks:
        with Folder() as folder:
            checks[name](folder)
            left = [entry for entry in os.listdir(folder.path) if entry.startswith("hvd-lab-inspect-")]
            assert not left, left
        print("ok", name, flush=True)


if __name__ == "__main__":
    main()
