"""The order in which a program sends gradients or weights one by one: collectives meet in the order of the calls, whatever they send."""
from . import beside, digest
from .core import send

# Names that are told of a line; the digest is of all.
_MOST = 16
# What was told, with the line.
_told = set()


def look(by, parameters, calls):
    """With an update. `calls` has the collective of each of these parameters. Each line of the program that sends some is told once."""
    if any(call.is_named for call in calls):
        return
    lines = {}
    for number, (parameter, call) in enumerate(zip(parameters, calls)):
        lines.setdefault((by, call.place["file"], call.place["line"]), []).append((call.number, number, parameter, call.place))
    for key, sent in lines.items():
        if key not in _told and len(sent) > 1:
            _told.add(key)
            _tell(by, sorted(sent, key=lambda one: one[0]))


def _tell(by, sent):
    ids = {id(parameter) for _, _, parameter, _ in sent}
    named = [(name, id(parameter)) for module in beside.modules() for name, parameter in module.named_parameters() if id(parameter) in ids]
    # The longest name is that in the whole model.
    names = {parameter: name for name, parameter in sorted(named, key=lambda pair: len(pair[0]))}
    told = [names.get(id(parameter), "parameter tensor %d" % number) for _, number, parameter, _ in sent[:_MOST]]
    order = digest.of_text(" ".join(str(number) for _, number, _, _ in sent))
    send("wrapped", by=by, place=sent[0][3], settings=[order, *told])
