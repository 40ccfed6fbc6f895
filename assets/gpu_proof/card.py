"""The card itself: what it is, and NVML as the lab reads it beside nvidia-smi's own numbers, field by field."""
import json, os, shutil, subprocess

from events import events, first_json, of
from part import FAILED, LEFT_OUT, OK, Failed, judged, row
from tree import BadInput

MIB = 1 << 20


def switch(text):
    return {"enabled": True, "disabled": False}.get(text.lower(), text)


def compute_mode(text):
    return "exclusive" if text.lower().startswith("exclusive") else text.lower()


def number(text):
    return float(text)


def bus(text):
    return text.lower().lstrip("0:")


# nvidia-smi's field, the lab's, how each is read, and how far a moving figure may be outside of what nvidia-smi said before
# and after it (None: the very same). The figures of a card that does nothing move as well.
FIELDS = [
    ("uuid", "uuid", str, str, None),
    ("name", "name", str, str, None),
    ("pci.bus_id", "bus_id", bus, bus, None),
    ("memory.total", "memory_total_bytes", number, lambda bytes_: bytes_ / MIB, 1.0),
    ("memory.used", "memory_used_bytes", number, lambda bytes_: bytes_ / MIB, 2.0),
    ("utilization.gpu", "utilization_percent", number, float, 10.0),
    ("temperature.gpu", "temperature_celsius", number, float, 2.0),
    ("power.draw", "power_watts", number, float, 15.0),
    ("enforced.power.limit", "power_limit_watts", number, float, 0.51),
    ("fan.speed", "fan_percent", number, float, 2.0),
    ("clocks.sm", "sm_clock_mhz", number, float, 45.0),
    ("clocks.mem", "memory_clock_mhz", number, float, 1.0),
    ("pstate", "performance_state", str, str, None),
    ("compute_mode", "compute_mode", compute_mode, str, None),
    ("mig.mode.current", "mig_enabled", switch, bool, None),
    ("ecc.mode.current", "ecc_enabled", switch, bool, None),
    ("ecc.errors.uncorrected.volatile.total", "ecc_errors", number, float, 0.0),
]
NOT_COMPARED = [
    ("pcie_tx_bytes_per_sec, pcie_rx_bytes_per_sec", "NVML gives the rate of the last 20 ms: no two questions get the same answer"),
    ("nvlink_bytes_per_sec", "nvidia-smi counts bytes since the driver was loaded, and gives no rate"),
]
TRIES = 3


def find(tree, wanted):
    """The card that all parts run on, as NVML names it. BadInput with one line if there is none."""
    try:
        said = subprocess.run([tree.program("hvd-lab"), "devices", "--json"], env=tree.environment, stdout=subprocess.PIPE,
                              stderr=subprocess.PIPE, stdin=subprocess.DEVNULL, timeout=60)
    except (OSError, subprocess.TimeoutExpired) as error:
        raise BadInput(f"`hvd-lab devices` does not answer: {error}")
    sample = first_json(said.stdout.decode(errors="replace"))
    if said.returncode or sample is None:
        words = said.stderr.decode(errors="replace").strip().splitlines()
        raise BadInput(f"`hvd-lab devices --json` gives no devices: {words[0] if words else f'exit code {said.returncode}'}")
    cards = [device for device in sample["devices"] if device["kind"] == "gpu" and not device["uuid"].startswith("MIG-")]
    if not cards:
        raise BadInput(f"no GPU here: {sample.get('gpu_missing') or 'NVML lists none'}. This proof needs one")
    visible = os.environ.get("CUDA_VISIBLE_DEVICES", "").split(",")[0]
    wanted = wanted or visible or str(cards[0]["index"])
    chosen = [card for card in cards if wanted == str(card["index"]) or card["uuid"].startswith(wanted)]
    if not chosen:
        listed = ", ".join(f"{card['index']} ({card['uuid']})" for card in cards)
        raise BadInput(f"there is no GPU {wanted} here: there are {listed}. Name one with --gpu")
    card = {"uuid": chosen[0]["uuid"], "name": chosen[0]["name"], "index": chosen[0]["index"]}
    # By its name: CUDA's own order may be another.
    tree.environment["CUDA_VISIBLE_DEVICES"] = card["uuid"]
    return card


def driver(tree, card):
    """The driver's version, or None where nvidia-smi does not answer."""
    try:
        said = subprocess.run(["nvidia-smi", "--query-gpu=driver_version", "--format=csv,noheader", "-i", card["uuid"]], env=tree.environment,
                              stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, stdin=subprocess.DEVNULL, timeout=60)
    except (OSError, subprocess.TimeoutExpired):
        return None
    return said.stdout.decode(errors="replace").strip().split("\n")[0] or None if said.returncode == 0 else None


def about(context):
    """What the programs find here: libraries, versions, and what the doctor says."""
    built = context.run([context.tree.program("hvd-train"), "--build-info"])
    doctor = context.run([context.tree.program("hvd-lab"), "doctor", "--json"])
    if context.dry:
        return []
    info = first_json(built.text)
    if info is None:
        raise Failed(f"hvd-train --build-info says nothing: {built.problem()}")
    versions = ", ".join(f"{name} {info.get(key)}" for name, key in (("libtorch", "libtorch"), ("NCCL", "nccl")))
    rows = [
        judged("libtorch's CUDA half opens", "yes" if info["cuda"] else f"no: {info.get('cuda_reason')}", built.command, info["cuda"],
               **{key: info.get(key) for key in ("libtorch", "mpi", "nccl", "gpus")}),
        judged("NCCL opens", f"{versions}" if info.get("nccl") else f"no: {info.get('nccl_reason')}", built.command, bool(info.get("nccl"))),
    ]
    try:
        said = json.loads(doctor.text[doctor.text.index("{"):])
    except ValueError:
        return rows + [row("hvd-lab doctor", f"no answer: {doctor.problem()}", doctor.command, FAILED)]
    bad = [f"{check['name']}: {check['found']}" for check in said["checks"] if check["state"] == "fail"]
    return rows + [judged("hvd-lab doctor", "; ".join(bad) or "nothing fails", doctor.command, not bad)]


def asked(context, fields):
    """nvidia-smi's words for these fields. A driver that does not know one of them refuses all, so then each is asked for alone."""
    words = ["nvidia-smi", "--format=csv,noheader,nounits", "-i", context.card["uuid"]]
    output = context.run(words + [f"--query-gpu={','.join(fields)}"], limit=30)
    if output.code == 0:
        return dict(zip(fields, (word.strip() for word in output.text.strip().split("\n")[-1].split(",")))), output
    if len(fields) == 1:
        return {}, output
    found = {}
    for field in fields:
        found.update(asked(context, [field])[0])
    if not found:
        raise Failed(f"nvidia-smi {output.problem()}")
    return found, output


def compared(before, after, device):
    """(field, the lab's, nvidia-smi's, whether they agree; None where nvidia-smi does not know the field)."""
    rows = []
    for theirs, ours, read, convert, margin in FIELDS:
        words = [said.get(theirs) for said in (before, after)]
        reading = device.get(ours)
        missing = isinstance(reading, dict)
        shown = f"N/A ({reading['missing']})" if missing else reading
        if reading is None:
            rows.append((theirs, "not told by this hvd-lab", words[0], False))
            continue
        if None in words:
            rows.append((theirs, shown, "not a field of this nvidia-smi", None))
            continue
        silent = [word.startswith("[") or word in ("N/A", "") for word in words]
        said = words[0] if words[0] == words[1] else f"{words[0]}, then {words[1]}"
        if missing or any(silent):
            rows.append((theirs, shown, said, missing and all(silent)))
            continue
        value, bounds = convert(reading), [read(word) for word in words]
        agrees = value in bounds if margin is None else min(bounds) - margin <= value <= max(bounds) + margin
        rows.append((theirs, value if isinstance(value, (str, bool)) else round(value, 2), said, agrees))
    return rows


def looked(context, when):
    """NVML between two answers of nvidia-smi, up to three times: a figure that jumps is asked for again."""
    fields = [theirs for theirs, *_ in FIELDS]
    verdicts, order = {}, []
    for _ in range(TRIES):
        before, _ = asked(context, fields)
        listed = context.well([context.tree.program("hvd-lab"), "devices", "--json"], limit=60)
        after, smi = asked(context, fields)
        device = next((one for one in first_json(listed.text)["devices"] if one["uuid"] == context.card["uuid"]), None)
        if device is None:
            raise Failed("hvd-lab devices no longer lists the card")
        for field, *rest in compared(before, after, device):
            if field not in verdicts:
                order.append(field)
            if verdicts.get(field, (0, 0, False))[2] is False:
                verdicts[field] = rest
        if all(found[2] is not False for found in verdicts.values()):
            break
    words = {True: OK, False: FAILED, None: LEFT_OUT}
    return [row(f"{field}, {when}", str(verdicts[field][0]), smi.command, words[verdicts[field][2]], f"nvidia-smi: {verdicts[field][1]}")
            for field in order], device


def nvml(context):
    """While the card does nothing, and while a rank trains on it."""
    bench = [context.tree.program("hvd-measure"), "bench", "--events", "--cuda", "--model", "wrn-16-10", "--batch-size", "512", "--num-iters", "100000"]
    training = context.tree.ranks(1) + bench
    if context.dry:
        context.run(["nvidia-smi", "--format=csv,noheader,nounits", "-i", context.card["uuid"],
                     f"--query-gpu={','.join(theirs for theirs, *_ in FIELDS)}"])
        context.run([context.tree.program("hvd-lab"), "devices", "--json"])
        context.run(training)
        return []
    if not shutil.which("nvidia-smi", path=context.tree.environment["PATH"]):
        raise Failed("nvidia-smi is not on PATH, so NVML has nothing to stand beside")
    rows, _ = looked(context, "idle")
    running = context.start(training)
    try:
        # The first timed batches: from here on the card is busy.
        while "iteration" not in {event["event"] for event in events(b"".join(running.chunks).decode(errors="replace"))}:
            if running.child.poll() is not None or context.left() < 20:
                raise Failed(f"hvd-measure trained no batch to look at: {running.stopped().problem() or 'it took too long'}")
            running.read_for(1)
        busy, device = looked(context, "while it trains")
        smi = context.run(["nvidia-smi", "--query-compute-apps=pid,used_memory", "--format=csv,noheader,nounits", "-i", context.card["uuid"]])
        pids = sorted(int(line.split(",")[0]) for line in smi.text.splitlines() if line.split(",")[0].strip().isdigit())
        ours = sorted(found["pid"] for found in device["processes"])
        ranks = [event["pid"] for event in of(events(b"".join(running.chunks).decode(errors="replace")), "topology")]
    finally:
        running.stop()
    # In a container the driver may tell the numbers of its host: then no rank is among them, and that is said, not judged.
    seen = f"the rank is pid {ranks[0] if ranks else '?'}" + ("" if set(ranks) <= set(pids) else ", which the driver tells by another number")
    rows += busy + [judged("processes, while it trains", f"{ours} ({seen})", smi.command, ours == pids and bool(pids), f"nvidia-smi: {pids}")]
    return rows + [row(f"{field}", "not compared", "", LEFT_OUT, why) for field, why in NOT_COMPARED]
