"""The program's own source, looked through for what no hook sees: an item of a dictionary that changes."""
import linecache
import os
import re
import sys

from . import core

# `group["lr"] = rate`, also with `*=`.
_SETS_RATE = re.compile(r"\[\s*[\"']lr[\"']\s*\]\s*[-+*/]{0,2}=(?!=)")
_MOST_LINES = 100_000


def look_at_rate(optimizer):
    """Tells the line that sets a rate once it is not the one that the optimizer was made with, and no schedule of torch set it."""
    made = getattr(optimizer, "defaults", {}).get("lr")
    groups = [group for group in optimizer.param_groups if "initial_lr" not in group]
    if made is None or "rate set" in core._told or all(group.get("lr") == made for group in groups):
        return
    found = list(_lines())
    # Of several lines it cannot be said which one it was.
    core.tell_once("rate set", found[0] if len(found) == 1 else core.NO_PLACE)


def _lines():
    left = _MOST_LINES
    for file in {getattr(module, "__file__", None) for module in list(sys.modules.values())}:
        if not isinstance(file, str) or not file.endswith(".py") or core._is_own(file) is None:
            continue
        for number, text in enumerate(linecache.getlines(file)[:left], 1):
            left -= 1
            if _SETS_RATE.search(text.split("#")[0]):
                yield {"file": os.path.abspath(file), "line": number}
