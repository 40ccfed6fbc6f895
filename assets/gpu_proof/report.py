"""All parts in one: results.json, and a table in Markdown with each figure, its command and its verdict."""
import json

from part import FAILED, LEFT_OUT, NOT_SHOWN, OK, row
from published import FLOP_PER_IMAGE, FORWARD_GMAC

ABOUT = "What this card showed, by `make gpu-proof`. Each figure was measured on it by the command beside it, unless it says `published elsewhere`."


def value(parts, name, start, key):
    """A number of a part that has it, from the row whose words begin so."""
    for found in parts.get(name, {}).get("rows", []):
        if found["what"].startswith(start) and found["verdict"] == OK:
            return found["values"].get(key)
    return None


def derived(parts):
    """Ratios of figures that two parts measured."""
    rows = []
    for precision in ("bf16", "tf32", "fp32"):
        for kind, words, program in (("fixed", "one fixed batch", "hvd-measure bench"), ("pipeline", "with data pipeline", "hvd-train")):
            own = value(parts, f"speed-{precision}", f"images/s, {program}, {words}", "images_per_sec")
            for found in parts.get(f"pytorch-{precision}", {}).get("rows", []):
                values = found["values"]
                if own and values.get("kind") == kind and values.get("images_per_sec"):
                    rows.append(row(f"{program} against PyTorch {values['mode']}, {words}, {precision}", f"{own / values['images_per_sec']:.2f}",
                                    f"rows above: parts speed-{precision}, pytorch-{precision}", ratio=own / values["images_per_sec"]))
    peak = value(parts, "matmul", "bf16 matmul peak", "tflops")
    own = value(parts, "speed-bf16", "images/s, hvd-measure bench, one fixed batch", "images_per_sec")
    if peak and own:
        share = own * FLOP_PER_IMAGE / (peak * 1e12)
        rows.append(row("share of the measured bf16 matmul peak, one fixed batch", f"{share:.1%}",
                        f"rows above: images/s x 3 x 2 x {FORWARD_GMAC} GMAC over the peak; parts speed-bf16, matmul", share=share))
    return rows


def whole(results, card, environment, began, seconds):
    """Everything, for results.json. `results` are the parts in their order."""
    parts = {found["name"]: found for found in results if found["verdict"] != LEFT_OUT}
    counts = {verdict: sum(found["verdict"] == verdict for found in results) for verdict in (OK, FAILED, NOT_SHOWN, LEFT_OUT)}
    return {"card": card, "environment": environment, "began_at": began, "seconds": round(seconds, 1), "counts": counts,
            "parts": results, "derived": derived(parts)}


def cell(text):
    return str(text).replace("|", "\\|").replace("\n", " ")


def table(rows):
    """The rows, and below them their commands, to which they point by number: a command is longer than a cell should be."""
    commands = list(dict.fromkeys(found["command"] for found in rows if found["command"]))
    lines = ["| what | figure | beside it | command | verdict |", "|---|---|---|---|---|"]
    for found in rows:
        number = commands.index(found["command"]) + 1 if found["command"] else ""
        lines.append(f"| {cell(found['what'])} | {cell(found['figure'])} | {cell(found['beside'])} | {number} | {found['verdict']} |")
    return lines + [""] + [f"{number}. `{command}`" for number, command in enumerate(commands, 1)]


def markdown(all_, tree, out):
    """`tree` and `out` are written as TREE and OUT: where they were on that machine is in results.json."""
    card, counts = all_["card"], all_["counts"]
    lines = ["# Proof on a GPU", "", ABOUT, ""]
    lines.append(f"Card: {card['name']}, {card['uuid']}, driver {card.get('driver') or 'unknown: nvidia-smi does not answer'}. Began "
                 f"{all_['began_at']}, {all_['seconds']:.0f} s this time. Parts: {', '.join(f'{count} {name}' for name, count in counts.items())}.")
    lines += ["", "All commands were run with these variables:", "", "```sh"]
    lines += [f"export {name}={text}" for name, text in sorted(all_["environment"].items()) if name != "PATH"] + ["```", ""]
    for found in all_["parts"]:
        why = f" ({found['reason']})" if found["reason"] else ""
        lines += [f"## {found['name']}: {found['verdict']}{why}", "", f"{found['about']} {found['seconds']:.0f} s, finished {found['finished_at']}.", ""]
        lines += (table(found["rows"]) + [""]) if found["rows"] else []
    if all_["derived"]:
        lines += ["## Ratios", ""] + table(all_["derived"]) + [""]
    return "\n".join(lines).replace(str(out), "OUT").replace(str(tree), "TREE")


def as_json(all_):
    return json.dumps(all_, indent=1, ensure_ascii=False) + "\n"
