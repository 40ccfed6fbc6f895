"""Images a second: WRN-16-10 at batch 512, PyTorch on the same card, the data pipeline, the timeline."""
import json, os
from pathlib import Path

import events as read
from part import LEFT_OUT, Failed, LeftOut, judged, row
from published import PARAMETERS

MODEL = ["--model", "wrn-16-10", "--batch-size", "512"]
PEER = str(Path(__file__).resolve().parent / "peer.py")
# 60 batches an epoch; the first epoch warms up.
PIPELINE = MODEL + ["--train-images", "30720", "--validation-images", "512", "--epochs", "3", "--target-accuracy", "2", "--optimizer", "sgd"]
MOST_DATA = 0.03  # of a step: the design's budget for the data pipeline


def trained(output):
    found = read.events(output.text)
    epochs, configs = read.of(found, "epoch", 0), read.of(found, "config", 0)
    if len(epochs) != 3 or not configs:
        raise Failed("hvd-train ended without its three epochs")
    return epochs, configs[0]


def on_gpu(output):
    found = read.of(read.events(output.text), "topology", 0)
    if not found or not found[0]["device"].startswith("cuda"):
        raise Failed(f"hvd-train trained on {found[0]['device'] if found else 'nothing'}, not on a GPU")


def ours(precision):
    """hvd-measure bench on one fixed batch, and hvd-train with its data pipeline."""
    def run(context):
        bench = context.tree.ranks(1) + [context.tree.program("hvd-measure"), "bench", "--cuda", "--style", "json", "--precision", precision]
        fixed = context.well(bench + MODEL + ["--num-warmup-batches", "20", "--num-batches-per-iter", "10", "--num-iters", "10"])
        piped = context.train(1, *PIPELINE, "--precision", precision, *context.images())
        if context.dry:
            return []
        result = read.first_json(fixed.text)
        if result is None:
            raise Failed("hvd-measure bench printed no result")
        on_gpu(piped)
        epochs, config = trained(piped)
        rates = sorted(found["images_per_sec"] for found in result["iterations"])
        middle, with_data = rates[len(rates) // 2], read.images_per_sec(epochs)
        return [
            row(f"images/s, hvd-measure bench, one fixed batch, {precision}", f"{middle:.0f} ({rates[0]:.0f} to {rates[-1]:.0f})", fixed.command,
                images_per_sec=middle),
            row(f"images/s, hvd-train, with data pipeline, {precision}", f"{with_data:.0f} ({config['data']})", piped.command,
                images_per_sec=with_data),
            judged("parameters of WRN-16-10", f"{config['parameters']}", piped.command, config["parameters"] == PARAMETERS, str(PARAMETERS)),
        ]
    return run


def python(context):
    """How the peer is started: without this tree's libraries, which are not those of its own torch."""
    return {"LD_LIBRARY_PATH": os.environ.get("LD_LIBRARY_PATH", "")}, context.options.python


def has_torch(context):
    if context.options.torch is None and not context.dry:
        raise LeftOut(f"{context.options.python} has no torch that finds a GPU: name a python that has one with --python")


def asked(context, words, limit):
    extra, program = python(context)
    output = context.run([program, PEER] + words, limit=limit, **extra)
    if context.dry:
        return output, None
    if output.problem():
        raise Failed(f"PyTorch {output.problem()}")
    result = read.first_json(output.text)
    if result is None:
        raise Failed("PyTorch printed no result")
    return output, result


def theirs(precision):
    """PyTorch eager, and compiled at its best."""
    def run(context):
        has_torch(context)
        rows = []
        for mode in ("eager", "compiled"):
            try:
                output, result = asked(context, ["--precision", precision, "--mode", mode, "--data", context.tree.data], None)
            except Failed as why:
                if mode == "eager":
                    raise
                # It tries kernels for minutes, and what the eager one showed stays.
                rows.append(row(f"images/s, PyTorch compiled, {precision}", f"none: {why}", context.commands[-1]["command"], LEFT_OUT))
                break
            if context.dry:
                continue
            if result["parameters"] != PARAMETERS:
                raise Failed(f"PyTorch's network has {result['parameters']} parameters, not {PARAMETERS}")
            for kind, words in (("fixed", "one fixed batch"), ("pipeline", "with data pipeline")):
                found = result[kind]
                rows.append(row(f"images/s, PyTorch {result['torch']} {mode}, {words}, {precision}",
                                f"{found['images_per_sec']:.0f} ({found['least']:.0f} to {found['greatest']:.0f})", output.command,
                                images_per_sec=found["images_per_sec"], mode=mode, kind=kind))
        return rows
    return run


def matmul(context):
    """The bf16 peak that is reached here, not the one of a data sheet."""
    has_torch(context)
    output, result = asked(context, ["--matmul"], None)
    if context.dry:
        return []
    return [row("bf16 matmul peak, measured", f"{result['tflops']:.0f} TFLOP/s, at {result['size']} x {result['size']}", output.command,
                tflops=result["tflops"])]


def pipeline(context):
    """What the images cost, where the network is fastest: the seconds in which the card waits for a batch."""
    rounds = []
    for _ in range(2):
        piped = context.train(1, *PIPELINE, "--precision", "bf16", *context.images())
        fixed = context.train(1, *PIPELINE, "--precision", "bf16", "--synthetic")
        if not context.dry:
            rounds.append((piped, trained(piped), trained(fixed)))
    if context.dry:
        return []
    rows = []
    for number, (output, (epochs, config), (without, _)) in enumerate(rounds, 1):
        seconds = read.phases(epochs[1:])
        share = seconds["data"] / seconds["training"]
        ratio = read.images_per_sec(epochs) / read.images_per_sec(without)
        rows.append(judged(f"data pipeline's share of a step, bf16, round {number}", f"{share:.2%} ({config['data']})", output.command,
                           share < MOST_DATA, f"budget {MOST_DATA:.0%}", share=share))
        rows.append(row(f"images/s with data pipeline over one fixed batch, bf16, round {number}", f"{ratio:.3f}", output.command, ratio=ratio))
    return rows


STEP = ("data", "forward", "backward", "exposed allreduce", "optimizer")


def timeline(context):
    """The trace of one epoch: every phase of every step, in order, with NCCL beside it."""
    file = context.work / "trace.json"
    output = context.train(1, *MODEL, "--epochs", "1", "--train-images", "10240", "--validation-images", "512", "--target-accuracy", "2",
                           "--timeline", file, *context.images())
    if context.dry:
        return []
    try:
        spans = [entry for entry in json.loads(file.read_text()) if entry.get("ph") == "X"]
    except (OSError, ValueError) as error:
        raise Failed(f"the trace cannot be read: {error}")
    epochs = read.of(read.events(output.text), "epoch", 0)
    steps = epochs[0]["batches"] if epochs else 0
    phases = sorted((span for span in spans if span.get("cat") == "phase" and span["name"] in STEP), key=lambda span: span["ts"])
    counts = {name: sum(span["name"] == name for span in phases) for name in STEP}
    overlaps = sum(before["ts"] + before["dur"] > after["ts"] + 1000 for before, after in zip(phases, phases[1:]))
    seconds, whole = sum(span["dur"] for span in phases) / 1e6, epochs[0]["phases"]["training"] if epochs else 0.0
    nccl = sum(span["name"].startswith("NCCL_") for span in spans)
    return [
        judged("spans of each phase, of so many steps", ", ".join(f"{name} {count}" for name, count in counts.items()) + f"; {steps} steps",
               output.command, steps > 0 and all(count == steps for count in counts.values())),
        judged("phases that overlap by more than 1 ms", str(overlaps), output.command, overlaps == 0),
        judged("phases' seconds of the training's seconds", f"{seconds:.3f} of {whole:.3f}", output.command,
               whole > 0 and 0.9 < seconds / whole < 1.02, seconds=seconds, training=whole),
        judged("spans of NCCL", str(nccl), output.command, nccl > 0),
    ]
