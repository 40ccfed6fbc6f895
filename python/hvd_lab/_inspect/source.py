"""The program's own source, looked through for what no hook sees: an item of a dictionary that changes, a result that goes nowhere."""
import ast
import functools
import inspect
import itertools
import linecache
import os
import re
import sys

from . import core, earlier

# `group["lr"] = rate`, also with `*=`.
_SETS_RATE = re.compile(r"\[\s*[\"']lr[\"']\s*\]\s*[-+*/]{0,2}=(?!=)")
# `parameter.grad /= size`, also with `.data` or by `div_`.
_DIVIDES = re.compile(r"\bgrad(\.data)?\s*([*/]=|\.(div|mul)_\(|=.*\bgrad\b.*/)|\b_foreach_(div|mul)_\(")
# `parameter.data -= rate * parameter.grad`, also by `sub_` or `add_`.
_UPDATES = re.compile(r"-=.*\bgrad\b|=[^=].*-.*\bgrad\b|\.(sub|add|copy)_\(.*\bgrad\b")
# `loss / world_size`, which says what it divides by: the same number may be anything else.
_DIVIDES_BY_RANKS = re.compile(r"/=?\s*(float\(|int\()?[\w.]*?(world|(?<!batch_)size\b|rank|replica|gpu|device|nproc|worker|node)", re.I)
# The number of ranks in a variable, and a division by the length of something else than a loader.
_KEEPS_SIZE = re.compile(r"^\s*([\w.,\s]+?)\s*=[^=].*(world_size|WORLD_SIZE|\.size\(\)|num_processes|local_size)")
_DIVIDES_BY_LENGTH = re.compile(r"(/=?\s*(float\(|int\()?|div_?\()len\((?!\w*(loader|batch|iter|dl\b))", re.I)
_GLOBAL_BATCH = re.compile(r"global_?batch|compute_average_loss", re.I)
_SEEDS = {
    "numpy": re.compile(r"\b(np|numpy)\.random\.seed\("),
    "python": re.compile(r"(?<![\w.])random\.seed\("),
    "lightning": re.compile(r"\bseed_everything\("),
    "torch": re.compile(r"(?<!cuda\.)\bmanual_seed\(|\b(seed_everything|set_seed)\("),
}
# Functions of libraries that seed all of them.
_SEEDS_OF_ALL = re.compile(r"(?<!def )\b(seed_everything|set_seed|random_seed)\(")
# A condition that chooses a rank.
_CHOOSES = re.compile(r"rank|main|master|chief|root|zero|primary", re.I)
# `samples[rank::size]`, `range(rank, parts, size)`: a share by the number of the rank.
_SHARES = re.compile(r"(?<![\w\"'])(?:range|islice|arange)\([^#]*\brank\b|[\w\])]\[[^\[\]#\"']*\brank\b[^\"'#]*\]")
_NO_SHARES = re.compile(r"print|environ|device|gpu|cuda|format\(|f[\"']|log")
_THREADS = re.compile(r"intra_op_parallelism_threads\b")
_STOPS = re.compile(r"\.stop_training\s*=\s*True")
# `results[: len(data) - seen]`, `results[:count]`.
_CUTS = re.compile(r"[\w\])]\[\s*:\s*(len\(|[A-Za-z_])")
_MOST_LINES = 100_000
# Lines behind a call that are looked at.
_LATER = 9
# Lines before a call that are looked at, and those behind one in which what it returns may be cut.
_EARLIER = _FAR = 60
# Functions around a call that are looked at, and values of each.
_HELPERS, _MOST_VALUES = 4, 1000


def is_thrown_away(where, name):
    return _is_thrown_away(where["file"], where["line"], name)


@functools.lru_cache(1024)
def _is_thrown_away(file, line, name):
    """Whether a line of the program is nothing but a call by this name, so that its result goes nowhere, and goes on with what it gave it.

    Without that such a call may only wait for the others.
    """
    try:
        body = ast.parse(linecache.getline(file, line).strip()).body
    except (SyntaxError, ValueError):
        return False
    call = body[0].value if len(body) == 1 and isinstance(body[0], ast.Expr) else None
    of = getattr(call, "func", None)
    if not isinstance(call, ast.Call) or name not in (getattr(of, "attr", ""), getattr(of, "id", "")):
        return False
    given = call.args[0] if call.args else None
    if not isinstance(given, (ast.Name, ast.Attribute)):
        return False
    used = re.compile(r"(?<![\w.])%s\b" % re.escape(ast.unparse(given) if hasattr(ast, "unparse") else getattr(given, "id", "")))
    return any(used.search(text) for text in _lines_behind(file, line, _LATER))


def _lines_behind(file, line, count):
    """So many lines behind a line, as far as its function goes."""
    later = (linecache.getline(file, line + after).split("#")[0] for after in range(1, count))
    return itertools.takewhile(lambda text: not text.lstrip().startswith(("def ", "class ")), later)


@functools.lru_cache(64)
def cuts_behind(file, line):
    """Whether lines behind a line keep the first so many of something: `results[: len(data) - seen]`, but not a fixed number of them."""
    return any(_CUTS.search(text) for text in _lines_behind(file, line, _FAR))


def look_at_rate(optimizer):
    """Tells the line that sets a rate once it is not the one that the optimizer was made with, and no schedule of torch set it."""
    made = getattr(optimizer, "defaults", {}).get("lr")
    groups = [group for group in optimizer.param_groups if "initial_lr" not in group]
    if made is None or "rate set" in core._told or all(group.get("lr") == made for group in groups):
        return
    found = list(_lines(_SETS_RATE))
    # Of several lines it cannot be said which one it was.
    core.tell_once("rate set", found[0] if len(found) == 1 else core.NO_PLACE)


def look_at_rate_made(made, rate):
    """Tells the line that computes the rate which an optimizer was made with, where it is the value of a variable that a formula sets."""
    line = _line_of_formula(made["file"], made["line"])
    if line is not None:
        core.tell_once("rate computed", {"file": made["file"], "line": line}, (repr(rate),))


def _nodes(file):
    """All of a file of the program; nothing where it cannot be parsed."""
    try:
        return list(ast.walk(ast.parse("".join(linecache.getlines(file)))))
    except (SyntaxError, ValueError):
        return []


def _line_of_formula(file, line):
    nodes = _nodes(file)
    calls = [node for node in nodes if isinstance(node, ast.Call) and node.lineno <= line <= node.end_lineno]
    rates = [word.value for call in calls for word in call.keywords if word.arg == "lr" and isinstance(word.value, (ast.Name, ast.Attribute))]
    if not rates:
        return None
    wanted = _without_context(rates[0])
    found = [node for node in nodes if isinstance(node, (ast.Assign, ast.AugAssign)) and node.lineno < line and wanted in map(_without_context, _targets(node))]
    last = max(found, key=lambda node: node.lineno, default=None)
    is_formula = isinstance(last, ast.AugAssign) or isinstance(getattr(last, "value", None), ast.BinOp)
    return last.lineno if is_formula else None


def _targets(node):
    return node.targets if isinstance(node, ast.Assign) else [node.target]


def _without_context(node):
    return ast.dump(node).replace("Store()", "Load()")


def line_that_divides(otherwise):
    """Of the lines that divide gradients the last one, which comes behind an average that may need one such line itself."""
    found = list(_lines(_DIVIDES))
    return found[-1] if found and len({line["file"] for line in found}) == 1 else otherwise


@functools.lru_cache(1)
def divides_by_all():
    """Whether the program divides anything by the number of ranks, or of all samples: it may do so before it adds something up."""
    kept = [_KEEPS_SIZE.search(linecache.getline(line["file"], line["line"])).group(1) for line in _lines(_KEEPS_SIZE)]
    names = {name for names in kept for name in re.findall(r"\w+", names)} or {"world_size"}
    by_name = re.compile(r"(/=?\s*(float\(|int\()?|div_?\()(self\.)?(%s)\b" % "|".join(sorted(names)))
    return any(next(_lines(pattern), None) is not None for pattern in (_DIVIDES_BY_RANKS, _DIVIDES_BY_LENGTH, by_name))


@functools.lru_cache(1)
def knows_global_batch():
    """Whether the program has a number for the samples of all ranks, by which it may divide its losses."""
    return next(_lines(_GLOBAL_BATCH), None) is not None


def line_that_divides_a_loss(where):
    """Of the lines in front of a backward pass the last one that divides by the number of ranks, in the same function, if there is one."""
    for line in range(where["line"], max(0, where["line"] - _EARLIER), -1):
        text = linecache.getline(where["file"], line).split("#")[0]
        if text.lstrip().startswith("def "):
            break
        if _DIVIDES_BY_RANKS.search(text) and "print" not in text:
            return {"file": where["file"], "line": line}
    return None


def line_that_updates(otherwise):
    return _only_line(_UPDATES, otherwise)


def line_of_value(where, method):
    """The line that gives a variable its value before a line calls a method of it, or else that line."""
    called = re.search(r"\b(\w+)\.%s\(" % method, linecache.getline(where["file"], where["line"]))
    for line in range(where["line"] - 1, max(0, where["line"] - 1 - _EARLIER) if called else where["line"], -1):
        text = linecache.getline(where["file"], line)
        if text.lstrip().startswith("def "):
            break
        if re.match(r"\s*%s\s*=(?!=)" % re.escape(called.group(1)), text):
            return {"file": where["file"], "line": line}
    return where


def line_of_field(owner, name):
    """The line in the class of an object that sets this field."""
    return line_in(type(owner), re.compile(r"\bself\.%s\s*=" % re.escape(name)))


def line_in(of, pattern, is_only=False):
    """The first line of a class or a function of the program that matches, or the only one; `None` where there is none."""
    try:
        file = core._is_own(inspect.getsourcefile(of) or "<none>")
        lines, first = inspect.getsourcelines(of)
    except (OSError, TypeError):
        return None
    found = [at for at, text in enumerate(lines) if pattern.search(text.split("#")[0])]
    return {"file": file, "line": max(first, 1) + found[0]} if file is not None and found and not (is_only and len(found) > 1) else None


def line_of_share(otherwise):
    """The only line that takes a share by the number of the rank, or else another line."""
    return _only_line(_SHARES, otherwise, unless=_NO_SHARES)


def line_that_stops(otherwise):
    """The only line that ends the training of a Keras model, or else another line."""
    return _only_line(_STOPS, otherwise)


def line_of_threads():
    """The only line that asks TensorFlow for threads, or no place."""
    return _only_line(_THREADS, core.NO_PLACE)


def line_that_seeds(kind):
    """The only line that seeds random numbers of NumPy, Python or PyTorch, or those of Lightning's loaders; or no place."""
    where = _only_line(_SEEDS[kind], core.NO_PLACE)
    return where if where["line"] else _only_line(_SEEDS_OF_ALL, where)


@functools.lru_cache(64)
def statements(file):
    """Loops and conditions of a file: whether it is a loop, its first and its last line, and the first line of what it decides about."""
    kinds = (ast.For, ast.While, ast.If, ast.IfExp)
    named = [node for node in _nodes(file) if isinstance(node, kinds) or isinstance(getattr(node, "value", None), ast.BoolOp)]
    named = [node for node in named if not (isinstance(node, ast.If) and "__name__" in ast.dump(node.test))]
    decides_from = lambda node: node.body[0].lineno if isinstance(node, ast.If) else node.lineno
    return tuple((isinstance(node, kinds[:2]), node.lineno, node.end_lineno, decides_from(node)) for node in named)


def conditions(frame):
    """The lines of the conditions in its function that a frame is inside of, also of those that stand in one line with it."""
    file, line, first = frame.f_code.co_filename, frame.f_lineno, frame.f_code.co_firstlineno
    return [begin for is_loop, begin, end, inside in statements(file) if not is_loop and first <= begin and inside <= line <= end]


def place_of_choice(frame):
    """The line of the program that is there for some ranks only, of those under way, or else the innermost one."""
    for of in earlier.frames(frame):
        if any(_CHOOSES.search(linecache.getline(of.f_code.co_filename, line)) for line in conditions(of)):
            return core.place(of)
    return core.place(frame)


def place_of_model(frame):
    """The innermost line of the program that has the whole model in its reach: a helper may have been given a part of it."""
    counted = [(_parameters_in_reach(of), core.place(of)) for of in itertools.islice(earlier.frames(frame), _HELPERS)]
    most = max((count for count, _ in counted), default=0)
    return next((where for count, where in counted if count == most), core.place(frame))


def _parameters_in_reach(frame):
    """Parameter tensors of the largest model among the variables of a function, those that it uses of its file, and the fields of its object."""
    torch = sys.modules["torch"]
    names, found = frame.f_code.co_names, []

    def look(variables):
        own = getattr(variables.get("self"), "__dict__", None)
        found.extend([*variables.values(), *(frame.f_globals.get(name) for name in names), *(own.values() if type(own) is dict else ())])

    earlier.read(frame, look)
    return max((sum(1 for _ in value.parameters()) for value in found[:_MOST_VALUES] if issubclass(type(value), torch.nn.Module)), default=0)


def _only_line(pattern, otherwise, unless=None):
    found = [line for line in _lines(pattern) if unless is None or not unless.search(linecache.getline(line["file"], line["line"]))]
    return found[0] if len(found) == 1 else otherwise


def _lines(pattern):
    left = _MOST_LINES
    for file in {getattr(module, "__file__", None) for module in list(sys.modules.values())}:
        if not isinstance(file, str) or not file.endswith(".py") or core._is_own(file) is None:
            continue
        for number, text in enumerate(linecache.getlines(file)[:left], 1):
            left -= 1
            if pattern.search(text.split("#")[0]):
                yield {"file": os.path.abspath(file), "line": number}
