#!/usr/bin/env python3
"""Stands in for Open MPI's launcher and for the trainer on many hosts: one process prints the tagged lines of all ranks.

It trains nothing, starts no other process, and its figures are made up. HVD_LAB_MPIRUN names it, and its variable
STAND_IN_CLUSTER holds words `name=value`:

  hosts=64          hosts, each with the same number of ranks
  rate=10           steps a second of each rank
  batches=100       steps of each epoch
  fail=317,44@5     these ranks report a fatal error after 5 seconds, in this order, and the launcher ends the others
  exit=317@5        this rank is gone after 5 seconds without a word
  silent=17@5       from then on nothing is heard of this host, counted from 0

At its end it says on standard error how many steps it has printed, and by how much it was late.
"""
import json, os, sys, time

VERSION = "mpirun (Open MPI) 4.1.4\n\nReport bugs to http://www.open-mpi.org/community/help/\n"
CORES = 32
METRICS = {"loss": 0.5, "accuracy": 0.7}
PHASES = dict.fromkeys(
    ["start_up", "data", "forward", "backward", "allreduce_exposed", "optimizer", "validation", "checkpoint"], 0.1
)


def asked():
    """The words of the variable, those of the launcher's line, and their defaults."""
    words = dict(word.split("=", 1) for word in os.environ.get("STAND_IN_CLUSTER", "").split())
    line = dict(zip(sys.argv, sys.argv[1:]))
    return {
        "np": int(line["-np"]),
        "epochs": int(line.get("--epochs", 3)),
        "hosts": int(words.get("hosts", 64)),
        "rate": float(words.get("rate", 10)),
        "batches": int(words.get("batches", 100)),
        "fail": moment(words.get("fail")),
        "exit": moment(words.get("exit")),
        "silent": moment(words.get("silent")),
    }


def moment(text):
    """Numbers, and seconds after the start: `317,44@5`."""
    numbers, seconds = (text or "@inf").split("@")
    return [int(number) for number in numbers.split(",") if number], float(seconds)


class Cluster:
    def __init__(self, np, hosts, **asked):
        self.np, self.asked = np, asked
        self.per_host = -(-np // hosts)
        self.secret = os.environ.get("HVD_LAB_EVENT_SECRET", "")
        marker = f"@hvd {self.secret} " if self.secret else "@hvd "
        self.tag = [f"[1,{rank}]<stdout>:" for rank in range(np)]
        self.event_tag = [tag + marker for tag in self.tag]
        self.groups = [range(first, min(first + self.per_host, np)) for first in range(0, np, self.per_host)]
        self.steps, self.late = 0, 0.0

    def host(self, rank):
        return f"node{rank // self.per_host:02}"

    def event(self, process, /, **fields):
        return self.event_tag[process] + json.dumps({"time_s": time.time(), "process": process} | fields) + "\n"

    def write(self, lines):
        """At once, as a launcher does; it waits where nobody reads."""
        left = memoryview("".join(lines).encode())
        while left:
            left = left[os.write(1, left):]

    def begin(self):
        for host, ranks in enumerate(self.groups):
            lines = []
            for rank in ranks:
                local = rank - ranks[0]
                lines.append(self.event(
                    rank, event="topology", rank=rank, size=self.np, local_rank=local, local_size=len(ranks), host=self.host(rank),
                    pid=10_000 + rank, communicator="mpi", device="cpu", device_uuid=None, cores=[local], devices_found=CORES,
                    threads=1, versions=["stand-in 1"],
                ))
                lines.append(self.event(
                    rank, event="config", steps="1-10", seed=1, epochs=self.asked["epochs"], resume_epoch=0, local_batch_size=64,
                    global_batch_size=64 * self.np, steps_per_epoch=self.asked["batches"], validation_steps=1,
                    train_images=64 * self.np * self.asked["batches"], optimizer="NovoGrad", model="wrn-10-1", parameters=1,
                    gradient_tensors=1, data="generated", base_lr=0.01, warmup_epochs=5, target_accuracy=0.85,
                ))
                lines.append(f"{self.tag[rank]}rank {rank} of {self.np} on {self.host(rank)}, a stand-in\n")
            self.write(lines)

    def devices(self, host):
        """What the first rank of a host tells of its cores once a second."""
        ranks = self.groups[host]
        missing = {"missing": "a stand-in tells none"}
        load = 40.0 + (host * 7 + int(time.time())) % 50
        names = [
            "bus_id", "temperature_celsius", "power_watts", "power_limit_watts", "fan_percent", "sm_clock_mhz", "memory_clock_mhz",
            "performance_state", "ecc_errors", "pcie_tx_bytes_per_sec", "pcie_rx_bytes_per_sec", "nvlink_bytes_per_sec",
        ]
        of_rank = lambda rank: {
            "pid": 10_000 + rank, "rank": None, "command": "hvd-train", "owner": "stand-in", "memory_bytes": 800 << 20,
            "utilization_percent": 90.0 + rank % 9,
        }
        device = dict.fromkeys(names, missing) | {
            "kind": "cpu", "index": 0, "name": "a stand-in", "uuid": "", "utilization_percent": load, "core_percent": [load] * CORES,
            "memory_used_bytes": 20 << 30, "memory_total_bytes": 64 << 30, "processes": [of_rank(rank) for rank in ranks],
        }
        sample = {"time_s": time.time(), "host": self.host(ranks[0]), "devices": [device], "gpu_missing": "a stand-in has none"}
        return self.event(ranks[0], event="devices", sample=sample)

    def step(self, began, number):
        """One step of every rank: the hosts come one after the other, so that lines come all the time."""
        every, batches = 1 / self.asked["rate"], self.asked["batches"]
        epoch, batch = divmod(number, batches)
        silent, silent_from = self.asked["silent"]
        loss = 0.5 + 1.8 / (1 + number / 40)
        ends = batch + 1 == batches
        for host, ranks in enumerate(self.groups):
            due = began + (number + host / len(self.groups)) * every
            if host in silent and due - began >= silent_from:
                continue
            wait = due - time.monotonic()
            if wait > 0.002:
                time.sleep(wait)
            self.late = max(self.late, -wait)
            rest = f'"event":"step","epoch":{epoch},"batch":{batch},"lr":0.01,"loss":{loss + host / 1000:.4f}}}\n'
            now = time.time()
            lines = [f'{self.event_tag[rank]}{{"time_s":{now},"process":{rank},{rest}' for rank in ranks]
            self.steps += len(lines)
            if number % max(1, round(self.asked["rate"])) == host % max(1, round(self.asked["rate"])):
                lines.append(self.devices(host))
            if ends:
                lines += [self.end_epoch(rank, epoch + 1, batches * every) for rank in ranks]
                lines += [f"{self.tag[rank]}Epoch {epoch + 1}/{self.asked['epochs']}  loss {loss:.4f}\n" for rank in ranks]
            self.write(lines)

    def end_epoch(self, rank, epoch, seconds):
        return self.event(
            rank, event="epoch", epoch=epoch, train=METRICS, validation=METRICS, averaged=METRICS, lr=0.01, batches=self.asked["batches"],
            images=64 * self.asked["batches"], images_per_sec=640.0 * self.np, cumulative_seconds=seconds * epoch,
            phases=PHASES | {"training": seconds},
        )

    def fails(self, passed):
        """Ends the job as a launcher does when its time has come; the exit code, if so."""
        for name, code in [("fail", 1), ("exit", 7)]:
            ranks, at = self.asked[name]
            if passed < at or not ranks:
                continue
            during = f"epoch {int(passed * self.asked['rate']) // self.asked['batches'] + 1}"
            for rank in ranks if name == "fail" else []:
                cause = "out of memory: 812 MiB asked, 97 MiB free" if rank == ranks[0] else f"process {ranks[0]} is gone"
                self.write([f"{self.tag[rank]}error: {cause}\n", self.event(rank, event="fatal", during=during, cause=cause)])
            return self.last_words(code, ranks[0])
        return None

    def last_words(self, code, failed=None):
        said = f"stand-in: {self.steps} steps printed, at most {self.late:.3f} s late\n"
        if failed is not None:
            said += (
                "mpirun detected that one or more processes exited with non-zero status. The first process to do so was:\n\n"
                f"  Process name: [[4242,1],{failed}]\n  Exit code:    {code}\n"
            )
        sys.stderr.write(said)
        return code

    def run(self):
        self.begin()
        began = time.monotonic()
        for number in range(self.asked["epochs"] * self.asked["batches"]):
            self.step(began, number)
            code = self.fails(time.monotonic() - began)
            if code is not None:
                return code
        for ranks in self.groups:
            self.write([self.event(rank, event="finished", epochs=self.asked["epochs"], training_seconds=1, total_seconds=1) for rank in ranks])
        return self.last_words(0)


if __name__ == "__main__":
    if "--version" in sys.argv[1:2]:
        sys.stdout.write(VERSION)
    else:
        sys.exit(Cluster(**asked()).run())
