"""What the lab's programs print, read: event lines of hvd-train, the JSON of `hvd-measure bench`, the table of `hvd-measure collectives`."""
import json

MARKER = "@hvd"


def events(text):
    """All events, in the order in which they came. A line that is no event is skipped, as the lab does."""
    found = []
    for line in text.splitlines():
        at = line.find(MARKER)
        brace = line.find("{", at) if at >= 0 else -1
        if brace >= 0:
            try:
                found.append(json.loads(line[brace:]))
            except ValueError:
                pass  # cut off
    return [event for event in found if isinstance(event, dict) and "event" in event]


def of(found, kind, process=None):
    return [event for event in found if event["event"] == kind and process in (None, event.get("process"))]


def first_json(text):
    """The first JSON object that stands on a line of its own, or None."""
    for line in text.splitlines():
        if line.startswith("{"):
            try:
                return json.loads(line)
            except ValueError:
                pass
    return None


def transport(text):
    """How gradients travel, in the trainer's own words, or None."""
    lines = [line.split("Gradients: ", 1)[1].strip() for line in text.splitlines() if "Gradients: " in line and MARKER not in line]
    return lines[0] if lines else None


def losses(found, process=0):
    return [event["loss"] for event in of(found, "step", process)]


def digests(found, moment):
    """process -> digest, of the last one of its kind."""
    return {event["process"]: event["digest"] for event in of(found, "digest") if event["moment"] == moment}


def samples(found, moment):
    """process -> some of the numbers, of the first one of its kind."""
    taken = {}
    for event in of(found, "digest"):
        if event["moment"] == moment:
            taken.setdefault(event["process"], event.get("sample", []))
    return taken


def accuracy(epoch):
    """The validation accuracy that all ranks agree on, or this rank's own."""
    return (epoch.get("averaged") or epoch["validation"])["accuracy"]


def rows_of_collectives(text, algorithm):
    """The words of each row of one algorithm: the last one counts wrong numbers."""
    rows = [line.split() for line in text.splitlines()]
    return [row for row in rows if row and row[0] == algorithm]


def phases(epochs):
    """Seconds by phase, over all these epoch events."""
    total = {}
    for epoch in epochs:
        for name, seconds in epoch["phases"].items():
            total[name] = total.get(name, 0.0) + seconds
    return total


def images_per_sec(epochs):
    """Of one process's epoch events, without the first epoch where there are more: it holds what is done once."""
    timed = epochs[1:] if len(epochs) > 1 else epochs
    seconds = sum(epoch["phases"]["training"] for epoch in timed)
    return sum(epoch["images"] for epoch in timed) / seconds if seconds > 0 else 0.0
