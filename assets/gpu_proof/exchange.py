"""What the ranks' GPUs send each other: NCCL at size 1, two ranks on one card, and the order of the streams."""
import math

import events as read
from part import FAILED, NOT_SHOWN, OK, Failed, LeftOut, judged, row

WITHOUT = "HVD_LAB_PROOF_WITHOUT_EVENTS"
SHARING = "NCCL_MULTI_RANK_GPU_ENABLE"
SHORT = ["--model", "wrn-16-10", "--batch-size", "512", "--train-images", "10240", "--validation-images", "512", "--epochs", "1",
         "--target-accuracy", "2"]


def collectives(context, np, **extra):
    argv = context.tree.ranks(np) + [context.tree.program("hvd-measure"), "collectives", "--algorithm", "nccl"]
    return context.run(argv + ["-b", "1K", "-e", "256M", "-f", "8", "-n", "20", "-w", "5"], **extra)


def sums(output, np):
    """Rows of the table: no number of any sum may be wrong."""
    if output.problem():
        raise Failed(f"hvd-measure collectives {output.problem()}")
    rows = read.rows_of_collectives(output.text, "nccl")
    wrong = sum(int(words[-1]) for words in rows)
    if not rows:
        raise Failed("hvd-measure collectives printed no row of nccl")
    last = rows[-1]
    return [judged(f"NCCL's sums, np {np}, {len(rows)} sizes to {int(last[1]) >> 20} MiB", f"{wrong} wrong numbers", output.command, wrong == 0),
            row(f"NCCL's allreduce of {int(last[1]) >> 20} MiB, np {np}", f"{last[-4]} us, algorithm bandwidth {last[-3]} GB/s", output.command,
                beside="one rank exchanges nothing: a copy on the card" if np == 1 else "both ranks on one card: no link between GPUs")]


def same_rows(output, found, np):
    """What all ranks must agree on, whatever carried the gradients."""
    shown = {moment: read.digests(found, moment) for moment in ("start_parameters", "first_gradients", "epoch_parameters")}
    rows = []
    for moment, of_rank in shown.items():
        agree = len(of_rank) == np and len(set(of_rank.values())) == 1
        rows.append(judged(f"{moment.replace('_', ' ')} on every rank, np {np}", " / ".join(of_rank[rank] for rank in sorted(of_rank)), output.command, agree))
    own, applied = read.samples(found, "own_gradients"), read.samples(found, "first_gradients")
    if len(own) != np or not all(own.values()) or not applied.get(0):
        return rows + [row(f"gradients applied against the mean of the ranks' own, np {np}", "they told no numbers", output.command, FAILED)]
    means = [sum(numbers) / np for numbers in zip(*own.values())]
    scale = max(map(abs, means)) or 1.0
    apart = max(abs(mean - number) for mean, number in zip(means, applied[0])) / scale
    return rows + [judged(f"gradients applied against the mean of the ranks' own, np {np}", f"{apart:.1e} apart at most, of {len(means)} numbers",
                          output.command, apart < 1e-5, apart=apart)]


def device_row(output, found, np):
    cards = {event.get("device_uuid") for event in read.of(found, "topology")}
    return judged(f"GPU of the ranks, np {np}", ", ".join(sorted(map(str, cards))), output.command, len(cards) == 1 and None not in cards)


def nccl(context):
    """NCCL with one rank: the whole way of a gradient through its stream, without a second GPU."""
    measured = collectives(context, 1)
    trained = context.train(1, *SHORT, *context.images())
    if context.dry:
        return []
    found, way = read.events(trained.text), read.transport(trained.text) or "nothing said"
    return sums(measured, 1) + [judged("gradients of one rank travel by", way, trained.command, way.startswith("NCCL ")),
                                device_row(trained, found, 1)] + same_rows(trained, found, 1)


def nccl_two(context):
    """NCCL between two ranks on one card, which it allows from 2.30.3 on."""
    measured = collectives(context, 2, **{SHARING: "1"})
    refused = [line for line in measured.text.splitlines() if "nccl cannot be measured: " in line]
    if refused:
        raise LeftOut(refused[0].split("nccl cannot be measured: ", 1)[1])
    trained = context.train(2, *SHORT, *context.images(), **{SHARING: "1"})
    if context.dry:
        return []
    found, way = read.events(trained.text), read.transport(trained.text) or "nothing said"
    if not way.startswith("NCCL "):
        raise LeftOut(way)
    return sums(measured, 2) + [row("gradients of two ranks on one card travel by", way, trained.command),
                                device_row(trained, found, 2)] + same_rows(trained, found, 2)


def staged(context):
    """Two ranks on one card whose gradients go through host memory."""
    trained = context.train(2, *SHORT, *context.images())
    if context.dry:
        return []
    found, way = read.events(trained.text), read.transport(trained.text) or "nothing said"
    return [judged("gradients of two ranks on one card travel by", way, trained.command, way.startswith("MPI through host memory")),
            device_row(trained, found, 2)] + same_rows(trained, found, 2)


def own_and_applied(found):
    """At size 1 a rank's own gradients are the mean. How often they were not the same, and of how many that were told."""
    own, applied = read.digests(found, "own_gradients"), read.digests(found, "first_gradients")
    wrong, told = (int(own.get(0) != applied.get(0)), 1) if own and applied else (0, 0)
    for event in read.of(found, "seen"):
        if event.get("what") == "update":
            wrong, told = wrong + (event["own"] != event["applied"]), told + 1
    return wrong, told


def apart(one, other):
    """The greatest difference of two series of losses, as a part of the loss."""
    if len(one) != len(other) or not one:
        raise Failed(f"runs of {len(one)} and {len(other)} steps cannot be compared")
    # A loss that is no number any more is null in an event.
    are_numbers = lambda *both: all(loss is not None and math.isfinite(loss) for loss in both)
    return max(abs(a - b) / max(abs(a), 1e-9) if are_numbers(a, b) else math.inf for a, b in zip(one, other))


def trial(context, flags, without=None):
    output = context.run(context.tree.ranks(1) + [context.tree.program("hvd-train"), "--events", "--log-dir", context.work / "logs"] + flags,
                         **({WITHOUT: without} if without else {}))
    if context.dry:
        return output, [], []
    found = read.events(output.text)
    losses = read.losses(found)
    # Wrong gradients may make the loss infinite, which hvd-train ends with: that is what is looked for.
    if output.problem() and not (without and losses):
        raise Failed(f"hvd-train {output.problem()}")
    way = read.transport(output.text) or ""
    if not way.startswith("NCCL "):
        raise Failed(f"gradients travel by {way or 'nothing'}, so there is no order of streams to prove")
    if without and f"WITHOUT waiting for `{without}`" not in way:
        raise Failed(f"this hvd-train does not know {WITHOUT}: build it again")
    return output, found, losses


# Large enough, and then larger: what is sent late or early has to take longer than what should wait for it.
# In bf16, because in fp32 cuDNN tries its algorithms for half a minute in the first step of each run.
SIZES = [(name, flags + ["--precision", "bf16"]) for name, flags in (
    ("wrn-16-10, 65 MiB of gradients", SHORT),
    ("vgg16, 528 MiB of gradients",
     ["--synthetic", "--model", "vgg16", "--batch-size", "64", "--train-images", "1920", "--epochs", "1", "--target-accuracy", "2"]))]
REPEATS = 2
ONE_BUCKET = ["--fusion-threshold-mb", "1024", "--no-overlap"]


def order(context):
    """The events between the streams: with them twice the same, without one of them not."""
    rows = []
    for event, bucket, loses in (("ready", [], "a bucket is sent before it is computed"),
                                 ("done", ONE_BUCKET, "the optimizer applies averages that have not arrived")):
        rows += without_event(context, event, bucket, loses)
    return [] if context.dry else rows


def without_event(context, event, bucket, loses):
    for size, model in SIZES:
        images = [] if "--synthetic" in model else context.images()
        flags = model + images + bucket
        runs = [trial(context, flags) for _ in range(2)]
        removed = [trial(context, flags, event) for _ in range(REPEATS)]
        if context.dry:
            continue
        (with_it, told, losses), (again, told_again, repeated) = runs
        noise = apart(losses, repeated)
        right = [own_and_applied(found) for found in (told, told_again)]
        if any(wrong for wrong, _ in right) or not all(of for _, of in right):
            return [row(f"gradients applied are the rank's own, np 1, with `{event}`", f"{right[0][0]} of {right[0][1]} are not", with_it.command, FAILED)]
        holds = row(f"gradients applied are the rank's own, np 1, before `{event}` is removed",
                    f"in {right[0][1]} of {right[0][1]} updates; losses of two runs {noise:.1e} apart", again.command, noise=noise)
        for output, found, without in removed:
            wrong, of = own_and_applied(found)
            steps = min(len(without), len(losses))
            difference = apart(losses[:steps], without[:steps])
            # A run of its own differs by what cuDNN chooses; a wrong gradient by far more.
            if wrong or difference > max(10 * noise, 1e-3):
                seen = f"{wrong} of {of} updates apply other gradients; losses {difference:.1e} apart ({size})"
                return [holds, row(f"without `{event}` {loses}", f"it fails, as it must: {seen}", output.command, OK, wrong=wrong, apart=difference)]
    if context.dry:
        return []
    return [holds, row(f"without `{event}` {loses}", f"not shown on this card: {REPEATS} runs each of {len(SIZES)} sizes gave the same results",
                       output.command, NOT_SHOWN)]
