"""Whole trainings: accuracy after 3 and 20 epochs and time to 0.85 beside the original's table, and a recording of one."""
import json, signal

import events as read
from part import FAILED, LEFT_OUT, Failed, judged, row
from published import SOLUTION, SOURCE, THREE_EPOCHS

TARGET = 0.85
BASE = ["--model", "wrn-16-10", "--batch-size", "512", "--precision", "tf32", "--target-accuracy", "2"]


def tested(output):
    found = read.events(output.text)
    tests, epochs = read.of(found, "test", 0), read.of(found, "epoch", 0)
    if not tests or not epochs:
        raise Failed("hvd-train ended without a test")
    config = read.of(found, "config", 0)[0]
    return tests[0], epochs, config


def label(context, config):
    """Drawn images are no Fashion-MNIST: their accuracy stands for itself."""
    drawn = context.tree.is_drawn or config["data"] != "Fashion-MNIST"
    return drawn, f" ({config['data']}: drawn images, not compared)" if drawn else ""


def three(context):
    """Four ranks on this one card, which see the batches that the original's four GPUs saw."""
    rows = []
    for steps, theirs in THREE_EPOCHS.items():
        output = context.train(4, *BASE, "--epochs", "3", "--steps", steps, *context.images())
        if context.dry:
            continue
        test, _, config = tested(output)
        drawn, note = label(context, config)
        rows.append(row(f"test accuracy after 3 epochs, tf32, steps {steps}, 4 ranks on one card{note}", f"{test['accuracy']:.4f}",
                        output.command, beside="" if drawn else f"{theirs:.4f}, one run, fp32 ({SOURCE})", accuracy=test["accuracy"]))
    return rows


def twenty(context):
    """One rank for 20 epochs; the time to 0.85 is read in it."""
    output = context.train(1, *BASE, "--epochs", "20", *context.images())
    if context.dry:
        return []
    test, epochs, config = tested(output)
    drawn, note = label(context, config)
    there = next((epoch for epoch in epochs if read.accuracy(epoch) >= TARGET), None)
    time_to = f"{there['cumulative_seconds']:.1f} s, after epoch {there['epoch']}" if there else f"not reached in {len(epochs)} epochs"
    theirs = "" if drawn else (f"{SOLUTION['accuracy']:.4f} at epoch {SOLUTION['epochs']}, where it stopped, in {SOLUTION['seconds']} s in all, "
                               f"fp32 on one V100 ({SOURCE})")
    speed = "" if drawn else f"{SOLUTION['images_per_sec'][0]} to {SOLUTION['images_per_sec'][1]}, validation included ({SOURCE})"
    return [
        judged(f"test accuracy after {len(epochs)} epochs, tf32, np 1{note}", f"{test['accuracy']:.4f}", output.command, len(epochs) == 20,
               theirs, accuracy=test["accuracy"]),
        row(f"training time to validation accuracy {TARGET}, tf32, np 1{note}", time_to, output.command, beside=theirs,
            seconds=there["cumulative_seconds"] if there else None),
        row(f"images/s of training, tf32, np 1, 20 epochs{note}", f"{read.images_per_sec(epochs):.0f}", output.command, beside=speed,
            images_per_sec=read.images_per_sec(epochs)),
    ]


def recording(context):
    """Three epochs as the lab runs them, packed into a file that `hvd-lab replay` plays."""
    lab, file = context.tree.program("hvd-lab"), context.out / "gpu.hvdrun"
    argv = [lab, "run", "--preset", "gpu", "--np", "1", "--epochs", "3", "--no-checkpointing", "--name", "one GPU", "--offline", "--force", "--json"]
    argv += ["--data", "generated"] if context.tree.is_drawn else ["--data-dir", context.tree.data]
    # Ctrl-C is what stops a run of the lab; it goes on after SIGTERM.
    ran = context.well(argv, gently=signal.SIGINT)
    listed = context.well([lab, "runs", "--json"])
    runs = [] if context.dry else json.loads(listed.text[listed.text.index("["):])
    number = str(runs[-1]["id"]) if runs else "1"
    packed = context.well([lab, "record", number, "--out", file, "--force", "--anonymous"])
    if context.dry:
        return []
    device = next((event["device"] for event in map(json.loads, (line for line in ran.text.splitlines() if line.startswith("{")))
                   if event.get("event") == "topology"), None)
    if device is None or not device.startswith("cuda"):
        return [row("recording of a run for hvd-lab demo", f"the run was on {device}, not on a GPU", packed.command, FAILED)]
    verdict = [row("recording of a run for hvd-lab demo", f"{file.name}, {file.stat().st_size / 1024:.0f} KiB, on {device}", packed.command)]
    if context.tree.is_drawn:
        verdict.append(row("recording on Fashion-MNIST", "its images are drawn", packed.command, LEFT_OUT))
    return verdict
