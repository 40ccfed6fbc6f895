"""Results of a validation that the program prints or decides by: each rank tells digests of its own, which differ where one was not averaged."""
import ast
import functools
import linecache
import re
import sys

from . import core, digest, earlier, profiling, totals
from .core import State, guard, send

# Characters of a file that is read, events behind a pass that are looked at, results that are told of one, and passes that are
# all looked at.
_LARGEST, _EVENTS, _MOST, _PASSES = 1 << 20, 20_000, 16, 8
# Beginnings of the words by which a number is called that is a result, and of those that other numbers have beside it.
_RESULT = re.compile(r"(?<![a-z])(loss|acc|err|f1|auc|top|perp|ppl|score|metric|correct|hit|right|iou|dice|r?mse|mae|psnr|bleu|val|eval|test|best|recall|precision)", re.I)
_OTHER = re.compile(
    r"(?<![a-z])(train|running|batch|local|own|time|sec|elapsed|dur|speed|throughput|lr|mem|took|steps?(?![a-z])|epoch|patience|wait|count|size|len|dt(?![a-z])|eta(?![a-z]))", re.I
)
_TIME = re.compile(r"time|sec|elapsed|dur|start|began|deadline|budget|clock|mem|rss", re.I)
_UNIT = re.compile(r"\s*(s|ms|sec\w*|min|img|samples|GB|MB)\b")
_SHOWS = re.compile(r"print|log|info|warn|write|echo|say|report|scalar", re.I)
_RANK = re.compile(r"rank|process_index|gpu|device|worker|node|main|master|root|chief|primary|leader|is_zero|global_zero|writer|wandb|verbose", re.I)
# How what prints or draws on one rank is called.
_ONE = re.compile(r"rank|0|main|master|root|accelerator|fabric|trainer|writer|tensorboard|wandb|\btb\b", re.I)
_KEEPS = re.compile(r"save|checkpoint|stop", re.I)
_MEETS = re.compile(r"reduce|gather|broadcast", re.I)


class _Use:
    """Of a value: its expression and name, the line, the lines of the loops around it, and whether it is called like a result. Whether it
    decides something, and whether that leaves a loop or a function. Whether what prints it says that it does so on one rank.
    """

    def __init__(self, node, line, loops, is_result, decides=False, leaves=False, is_shown_by_one=False):
        self.is_shown_by_one = is_shown_by_one
        self.node, self.name, self.line, self.loops, self.is_result, self.decides, self.leaves = node, _name(node), line, loops, is_result, decides, leaves

    def is_of(self, look):
        """What is printed of a training may be of one rank."""
        return self.leaves if look.trains else self.is_result


@functools.lru_cache(64)
def _tree(file):
    text = "".join(linecache.getlines(file))
    try:
        return ast.parse(text) if 0 < len(text) < _LARGEST else None
    except (SyntaxError, ValueError):
        return None


@functools.lru_cache(1024)
def _uses(file, name, line):
    """Those in a function, by its file, its name and its first line."""
    function = _function(file, name, line) if core._is_own(file) is not None else None
    if function is None:
        return []
    alone = [(block[0].lineno, block[-1].end_lineno) for block in _blocks(file) if block]
    # What each rank prints may name the rank somewhere else.
    is_of_one = lambda use: use.decides or use.is_shown_by_one or any(first <= use.line <= last for first, last in alone)
    return [use for use in _found(function) if use.name not in _of_some(file) and is_of_one(use)]


def _function(file, name, line):
    whole = _tree(file)
    if whole is None or name == "<module>":
        return whole
    for node in ast.walk(whole):
        if isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef)) and node.name == name:
            if min([node.lineno] + [by.lineno for by in node.decorator_list]) == line:
                return node
    return None


@functools.lru_cache(64)
def _blocks(file):
    """The parts of a file to which only some ranks come, as lists of statements."""
    blocks = []
    for node in ast.walk(_tree(file)):
        for body in (getattr(node, "body", None), getattr(node, "orelse", None)):
            if not isinstance(body, list):
                continue
            if isinstance(node, ast.If) and _names_rank(node.test):
                blocks.append(body)
            for at, step in enumerate(body):
                if isinstance(step, ast.If) and _names_rank(step.test) and isinstance(step.body[-1], (ast.Return, ast.Continue)):
                    # The others have left.
                    blocks.append(body[at + 1:])
    return blocks


@functools.lru_cache(64)
def _of_some(file):
    """The variables and fields that are set there: they stay behind on the other ranks, as the best value so far."""
    found = set()
    for step in (step for block in _blocks(file) for step in block):
        for node in ast.walk(step):
            found.update(_name(leaf) for target in _targets(node) for leaf in _leaves(target))
    return found


def _names_rank(value):
    """Whether an expression is about which rank this is, or about what only one has."""
    return any(_RANK.search(getattr(node, "id", getattr(node, "attr", ""))) for node in ast.walk(value) if isinstance(node, (ast.Name, ast.Attribute)))


def _nodes(of, loops=()):
    """Those of a function, each with the lines of the loops around it, but not of functions within."""
    for node in ast.iter_child_nodes(of):
        if isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef, ast.Lambda)):
            continue
        yield node, loops
        yield from _nodes(node, loops + (node.lineno,) if isinstance(node, (ast.For, ast.While)) else loops)


def _found(function):
    """Uses of values in a function, but not of what a loop around them sets."""
    nodes = list(_nodes(function))
    of_loops = {node.lineno: _names([node.target]) for node, _ in nodes if isinstance(node, ast.For)}
    return (use for use in _uses_in(nodes) if not any(use.name in of_loops.get(line, ()) for line in use.loops))


def _uses_in(nodes):
    meetings = [node for node, _ in nodes if isinstance(node, ast.Call) and _MEETS.search(_called(node))]
    for node, loops in nodes:
        if isinstance(node, ast.Call) and _shows(node):
            for leaf, before, behind in _shown(node):
                # What stands directly in front of a number says what it is; behind it, its unit.
                is_result = _is_result(_name(leaf) + " " + before[-24:]) and not _UNIT.match(behind)
                yield _Use(leaf, node.lineno, loops, is_result, is_shown_by_one=_ONE.search(_full_name(node)) is not None)
        elif isinstance(node, (ast.If, ast.While)) and not _is_exchanged(node, nodes, meetings):
            compared = list(_compared(node.test))
            leaves = any(_leaves_loop(step, loops) for step in node.body)
            if leaves or any(_decides(step, set(map(_name, compared))) for step in node.body + node.orelse):
                for leaf in compared:
                    is_own = leaves and not _TIME.search(_name(leaf)) and not _RANK.search(_name(leaf))
                    yield _Use(leaf, node.lineno, loops, _is_result(_name(leaf)), True, is_own)


def _is_exchanged(decision, nodes, meetings):
    """Whether what a decision sets, or what follows from that, goes to the other ranks: then the line itself decides nothing."""
    decided, known = _names(target for node in ast.walk(decision) for target in _targets(node)), None
    while known != decided:
        known = set(decided)
        for node, _ in nodes:
            if _targets(node) and not decided.isdisjoint(_names([node.value])):
                decided |= _names(_targets(node))
    return any(not decided.isdisjoint(_names(_given(node))) for node in meetings)


def _given(call):
    return [*call.args, *(keyword.value for keyword in call.keywords)]


def _targets(node):
    """What a statement sets."""
    return node.targets if isinstance(node, ast.Assign) else [node.target] if isinstance(node, (ast.AugAssign, ast.AnnAssign)) else []


def _names(nodes):
    """The variables and fields that stand in expressions."""
    return {_name(inner) for node in nodes if node is not None for inner in ast.walk(node) if isinstance(inner, (ast.Name, ast.Attribute))} - {""}


def _leaves_loop(step, loops):
    return bool(loops) and any(isinstance(node, (ast.Break, ast.Return)) for node in ast.walk(step))


def _decides(step, compared):
    """Whether a statement keeps what was compared, counts, or writes a file: not where a number is only shown in another way."""
    for node in ast.walk(step):
        targets = [leaf for target in _targets(node) for leaf in _leaves(target)]
        if isinstance(node, ast.AugAssign) or any(isinstance(target, ast.Attribute) or _name(target) in compared for target in targets):
            return True
        if isinstance(node, ast.Call) and _KEEPS.search(_called(node)):
            return True
    return False


def _is_result(words):
    return bool(_RESULT.search(words)) and not _OTHER.search(words)


def _full_name(call):
    """`writer.add_scalar`, `print`."""
    return getattr(call.func, "id", "") or _name(call.func)


def _called(call):
    return getattr(call.func, "attr", getattr(call.func, "id", ""))


def _shows(call):
    """Whether a call prints: not one such as `math.log`, and not for each rank apart."""
    given = _given(call)
    inner = [node for value in given for node in ast.walk(value)]
    has_text = any(isinstance(node, ast.JoinedStr) or isinstance(node, ast.Constant) and isinstance(node.value, str) for node in inner)
    return _SHOWS.search(_called(call)) is not None and has_text and not any(map(_names_rank, given))


def _shown(call):
    """The values in what is printed, each with the text in front of it and behind it."""
    before = ""
    for value in _given(call):
        if isinstance(value, ast.Constant):
            before = str(value.value)
        elif isinstance(value, ast.JoinedStr):
            parts = value.values + [None]
            for part, behind in zip(parts, parts[1:]):
                if isinstance(part, ast.Constant):
                    before = str(part.value)
                else:
                    behind = str(behind.value) if isinstance(behind, ast.Constant) else ""
                    for leaf in _leaves(part.value):
                        yield leaf, before, behind
        elif isinstance(value, ast.Dict):
            for key, item in zip(value.keys, value.values):
                for leaf in _leaves(item):
                    yield leaf, str(getattr(key, "value", "")), ""
        else:
            for leaf in _leaves(value):
                yield leaf, before, ""


def _leaves(node):
    """The variables, fields and items in an expression."""
    if _name(node):
        yield node
    elif isinstance(node, ast.Call):
        inner = [node.func.value] if isinstance(node.func, ast.Attribute) and not isinstance(node.func.value, ast.Constant) else []
        # Of `len(loader)` it is no result.
        for value in [*inner, *([] if _called(node) == "len" else node.args)]:
            yield from _leaves(value)
    elif isinstance(node, (ast.BinOp, ast.UnaryOp, ast.Tuple, ast.List, ast.IfExp)):
        for value in ast.iter_child_nodes(node):
            yield from _leaves(value)


def _compared(test):
    for node in ast.walk(test):
        if isinstance(node, ast.Compare) and all(isinstance(by, (ast.Lt, ast.LtE, ast.Gt, ast.GtE)) for by in node.ops):
            for side in (node.left, *node.comparators):
                yield from _leaves(side)


def _name(node):
    """`acc`, `self.best`, `metrics["acc"]`; empty of anything else."""
    if isinstance(node, ast.Name):
        return node.id
    if isinstance(node, ast.Attribute):
        of = _name(node.value)
        return of and of + "." + node.attr
    key = _key(node) if isinstance(node, ast.Subscript) else None
    of = _name(node.value) if key is not None else ""
    return of and "%s[%r]" % (of, key)


def _key(node):
    # Python 3.8 has an `Index` around it.
    key = getattr(node.slice, "value", node.slice)
    key = getattr(key, "value", key)
    return key if isinstance(key, (str, int)) else None


def _value(node, variables):
    """Without running anything of the program's; `None` where that gives none."""
    if isinstance(node, ast.Name):
        return variables.get(node.id)
    of = _value(node.value, variables)
    if isinstance(node, ast.Attribute):
        fields = getattr(of, "__dict__", None)
        # Of what a meter computes, all that it has.
        return fields.get(node.attr, of) if type(fields) is dict else None
    key = _key(node)
    if type(of) in (list, tuple):
        return of[key] if isinstance(key, int) and -len(of) <= key < len(of) else None
    # An item of a tensor is a part of what there is to tell.
    return of.get(key) if isinstance(of, dict) else of


def _numbers(value, depth=1):
    """Of a number, of a small tensor of some, and of a meter of the program's own."""
    if type(value) is float or type(value) is int and value.bit_length() < 64:
        return [float(value)]
    if type(value).__module__ == "numpy" and getattr(value, "ndim", 1) == 0 and getattr(getattr(value, "dtype", None), "kind", "") in "fiu":
        return [float(value)]
    torch = sys.modules.get("torch")
    if torch is not None and type(value) is torch.Tensor and value.layout == torch.strided and not value.is_complex() and 0 < value.numel() <= 8:
        return [float(number) for number in value.detach().reshape(-1).tolist()]
    fields = getattr(value, "__dict__", None)
    if depth and type(fields) is dict and len(fields) <= 8 and core.is_of_program(value):
        numbers = [number for field in list(fields.values()) for number in _numbers(field, depth - 1) or ()]
        return numbers or None
    return None


class _Look:
    """From the end of a pass until something else begins."""

    def __init__(self, begun, trains):
        self.loop, self.loader, self.trains, self.left, self.found = begun.where, begun.index, trains, _EVENTS, {}
        # Of several validations what was there before the first.
        self.earlier = begun.earlier if trains else State.earlier

    def watch(self, frame, event, called):
        self.left -= 1
        if self.left < 0 or not State.active:
            profiling.end()
        elif event == "return" and core._is_own(frame.f_code.co_filename) is not None:
            _collect(self, frame.f_code, frame.f_locals)

    def add(self, use, file, value):
        numbers, key = _numbers(value), (use.name, file, use.line, use.decides)
        if numbers is not None and not self.trains and not use.decides:
            totals.look(use, file, numbers)
        # Whole numbers count, as those of steps and of ranks do.
        is_known = numbers is None or self.trains and all(number.is_integer() for number in numbers) or self.earlier.knows(numbers) or hasattr(value, "data_ptr") and self.earlier.has(value)
        if not is_known and (key in self.found or len(self.found) < _MOST):
            self.found[key] = digest.of_text(" ".join("%.5g" % number for number in numbers)), State.shared


_open, _counts = [None], {False: 0, True: 0}


@guard
def _collect(look, code, variables):
    file = core._is_own(code.co_filename)
    for use in _uses(code.co_filename, code.co_name, code.co_firstlineno):
        # Within the loop over its batches a line tells how far it is.
        if use.is_of(look) and not (look.loop["file"] == file and look.loop["line"] in use.loops):
            look.add(use, file, _value(use.node, variables))


def begin(begun, trains):
    """A pass has ended."""
    if _open[0] is not None or State.size < 2 or not core.may_speak():
        return
    _counts[trains] += 1
    if _counts[trains] > _PASSES and not core.sampled(_counts[trains]):
        return
    _open[0] = _Look(begun, trains)
    # What a function leaves behind shows when it returns.
    profiling.begin(_open[0].watch)


def is_open():
    return _open[0] is not None


def loader():
    """The number of the loader whose pass has ended, while that is looked behind."""
    return _open[0].loader if is_open() else -1


def close(frame):
    """Something else begins, in a function of the program that is under way, or the program ends."""
    look, _open[0] = _open[0], None
    if look is None:
        return
    profiling.end()
    for of in earlier.frames(frame):
        if _uses(of.f_code.co_filename, of.f_code.co_name, of.f_code.co_firstlineno):
            earlier.read(of, functools.partial(_collect, look, of.f_code))
    main = sys.modules.get("__main__")
    if frame is None and core._is_own(getattr(main, "__file__", None) or "<none>") is not None:
        _collect(look, _Module(main.__file__), vars(main))
    for (name, file, line, decides), (value, shared) in look.found.items():
        # What is exchanged behind a decision may be the decision.
        if not decides or shared == State.shared:
            send("result", name=name[:80], place={"file": file, "line": line}, decides=decides, trains=look.trains, value=value, updates=State.updates)
    profiling.forget(frame)


class _Module:
    """The code of a program's file, which has run to its end."""

    co_name, co_firstlineno = "<module>", 1

    def __init__(self, file):
        self.co_filename = file


@guard
def finish():
    close(None)
