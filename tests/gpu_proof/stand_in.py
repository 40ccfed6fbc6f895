"""Stand-ins for the lab's programs, mpirun, nvidia-smi and a python with torch: what tests/gpu_proof.rs lets `make gpu-proof` start.

    stand_in.py PROGRAM ARGUMENTS...

They print lines of the shapes that the real programs print, with made-up numbers: nothing here is about a GPU. STAND_IN holds what goes
wrong, as words: `hang:PROGRAM` (tells its pid to the pipe STAND_IN_PIPE first), `fail:PROGRAM`, `noise:PROGRAM`, `same` (no event is missed),
`old` (does not know the switch that removes events), `smi:FIELD=VALUE`, `nccl-shares`.
"""
import json, os, signal, sys, time

program, arguments = os.path.basename(sys.argv[1]), sys.argv[2:]
if program == "hvd-measure":
    program = f"{program} {arguments.pop(0)}"
wishes = os.environ.get("STAND_IN", "").split(";")
UUID = "GPU-0000"
SMI = {
    "uuid": UUID, "name": "Stand-in GPU", "pci.bus_id": "00000000:41:00.0", "memory.total": "102400", "memory.used": "41984",
    "utilization.gpu": "61", "temperature.gpu": "37", "power.draw": "120.50", "enforced.power.limit": "700.00", "fan.speed": "[N/A]",
    "clocks.sm": "1980", "clocks.mem": "3201", "pstate": "P0", "compute_mode": "Default", "mig.mode.current": "Disabled",
    "ecc.mode.current": "Enabled", "ecc.errors.uncorrected.volatile.total": "0", "driver_version": "580.99.01",
}


def value(flag, otherwise):
    return arguments[arguments.index(flag) + 1] if flag in arguments else otherwise


def hang():
    # A rank that does not listen, as one does that waits for a GPU.
    signal.signal(signal.SIGTERM, signal.SIG_IGN)
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    pipe = os.environ.get("STAND_IN_PIPE")
    if pipe:
        told = os.open(pipe, os.O_WRONLY)  # open as long as it lives
        os.write(told, b"hangs\n")
    time.sleep(600)


def event(process, kind, **fields):
    print("@hvd " + json.dumps({"time_s": 0.0, "process": process, "event": kind, **fields}))


def mpirun():
    if "--version" in arguments:
        return print("mpirun (Open MPI) 5.0.11")
    at = arguments.index("-np")
    os.environ["STAND_IN_RANKS"] = arguments[at + 1]
    os.execv(arguments[at + 2], arguments[at + 2:])


def train():
    if "--build-info" in arguments:
        return print(json.dumps({"libtorch": "2.11.0", "mpi": "Open MPI", "cuda": True, "cuda_reason": None, "gpus": 1, "nccl": "2.28.9",
                                 "nccl_reason": None}))
    np, epochs, without = int(os.environ.get("STAND_IN_RANKS", "1")), int(value("--epochs", "1")), os.environ.get("HVD_LAB_PROOF_WITHOUT_EVENTS")
    way = "NCCL 2.28.9 between 1 GPUs"
    if np > 1:
        way = f"MPI through host memory, as ranks 0 and 1 share {UUID}, which NCCL 2.28.9 refuses"
        if "nccl-shares" in wishes and os.environ.get("NCCL_MULTI_RANK_GPU_ENABLE"):
            way = f"NCCL 2.30.3 between {np} GPUs"
    if without and "old" not in wishes:
        way += f", WITHOUT waiting for `{without}`: its gradients are wrong"
    print(f"Gradients: {way}")
    is_wrong = bool(without) and "same" not in wishes and "old" not in wishes
    phases = {"start_up": 1.0, "training": 2.0, "data": 0.02, "forward": 0.6, "backward": 1.2, "allreduce_exposed": 0.03, "optimizer": 0.15}
    for rank in range(np):
        event(rank, "topology", rank=rank, size=np, device="cuda:0", device_uuid=UUID, pid=4000000000)
        data = "synthetic" if "--synthetic" in arguments else os.environ.get("STAND_IN_DATA", "Fashion-MNIST")
        event(rank, "config", parameters=17121962, data=data)
        event(rank, "digest", moment="start_parameters", epoch=0, digest="aa", sample=[1.0])
        own, applied = [1.0 + 2 * rank, 0.5], [float(np), 0.5]
        event(rank, "digest", moment="own_gradients", epoch=0, digest="cc" if np == 1 else f"own {rank}", sample=own)
        event(rank, "digest", moment="first_gradients", epoch=0, digest="dd" if is_wrong and without == "ready" else "cc", sample=applied)
        event(rank, "seen", what="update", update=0, own=own, applied=applied if np > 1 else own)
        for batch in range(4):
            event(rank, "step", epoch=0, batch=batch, lr=0.01, loss=9.0 - batch + (batch if is_wrong else 0))
        for epoch in range(1, epochs + 1):
            result = {"loss": 1.0, "accuracy": min(0.9, 0.2 * epoch)}
            event(rank, "epoch", epoch=epoch, validation=result, averaged=result, batches=4, images=2048, cumulative_seconds=3.0 * epoch,
                  phases=phases)
        event(rank, "digest", moment="epoch_parameters", epoch=epochs, digest="ee", sample=[1.0])
        event(rank, "test", loss=1.0, accuracy=0.5, images=10000, seconds=1.0)
    if "--timeline" in arguments:
        spans, now, names = [], 0.0, ("data", "forward", "backward", "exposed allreduce", "optimizer")
        for _ in range(4):
            for name in names:
                spans.append({"name": name, "cat": "phase", "ph": "X", "ts": now, "dur": 1e5})
                now += 1e5
        spans.append({"name": "NCCL_ALLREDUCE", "cat": "communication", "ph": "X", "ts": 0.0, "dur": 1.0})
        with open(value("--timeline", ""), "w") as file:
            json.dump(spans, file)


def bench():
    if "--events" in arguments:
        event(0, "topology", rank=0, device="cuda:0", pid=4000000000)
        event(0, "iteration", iteration=1)
        sys.stdout.flush()
        time.sleep(600)
    print(json.dumps({"iterations": [{"images_per_sec": rate} for rate in (990.0, 1000.0, 1010.0)]}))


def collectives():
    print("# algorithm size count type redop root time algbw busbw #wrong")
    for size in (1024, 268435456):
        print(f"  nccl {size} {size // 4} float sum -1 10.00 30.72 0 0")


def lab():
    if arguments[0] == "devices":
        gpu = {"kind": "gpu", "index": 0, "name": "Stand-in GPU", "uuid": UUID, "processes": []}
        print(json.dumps({"devices": [gpu], "gpu_missing": None}))
    elif arguments[0] == "doctor":
        print(json.dumps({"ok": True, "checks": [{"name": "MPI", "state": "ok", "found": "mpirun", "remedy": None}]}))
    elif arguments[0] == "run":
        print(json.dumps({"event": "topology", "process": 0, "device": "cuda:0"}))
    elif arguments[0] == "runs":
        print(json.dumps([{"id": 7}]))
    elif arguments[0] == "record":
        with open(value("--out", ""), "w") as file:
            file.write(f"run {arguments[1]}")


def smi():
    said = dict(SMI)
    for wish in wishes:
        if wish.startswith("smi:"):
            name, text = wish[4:].split("=")
            said[name] = text
    for word in arguments:
        if word.startswith("--query-gpu="):
            print(", ".join(said[field] for field in word.split("=")[1].split(",")))
        elif word.startswith("--query-compute-apps="):
            print("4000000000, 40960")


def python():
    if arguments[0] == "-c":
        return print('["2.11.0", true]')
    if "--matmul" in arguments:
        return print(json.dumps({"tflops": 100.0, "size": 8192}))
    rate = {"images_per_sec": 500.0, "least": 490.0, "greatest": 510.0}
    print(json.dumps({"parameters": 17121962, "torch": "2.11.0", "fixed": rate, "pipeline": rate}))


if f"hang:{program}" in wishes:
    hang()
if f"fail:{program}" in wishes:
    sys.exit(f"{program}: error: it was asked to fail")
if f"noise:{program}" in wishes:
    print("noise\n" * 200_000)
{"mpirun": mpirun, "hvd-train": train, "hvd-measure bench": bench, "hvd-measure collectives": collectives, "hvd-lab": lab, "nvidia-smi": smi,
 "torch-python": python}[program]()
