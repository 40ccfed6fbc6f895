"""The order in which a program sends gradients or weights one by one: collectives meet in the order of the calls, whatever they send."""
from . import beside, core, digest

# Names that are told of a line; the digest is of all.
_MOST = 16


def look(by, parameters, calls):
    """With an update. `calls` has the collective of each of these parameters. Each line of the program that sends some is told once."""
    if any(call.is_named for call in calls):
        return
    lines = {}
    for number, (parameter, call) in enumerate(zip(parameters, calls)):
        lines.setdefault((call.place["file"], call.place["line"]), []).append((call.number, number, parameter, call.place))
    for line, sent in lines.items():
        # Names and digests are not made again for a line that was told.
        if (by, line) not in core._told and len(sent) > 1:
            core.tell_once(by, sent[0][3], _order(sorted(sent, key=lambda one: one[0])), line)


def _order(sent):
    """A digest of the order of these parameters, and the names of the first of them."""
    ids = {id(parameter) for _, _, parameter, _ in sent}
    named = [(name, id(parameter)) for module in beside.modules() for name, parameter in module.named_parameters() if id(parameter) in ids]
    # The longest name is that in the whole model.
    names = {parameter: name for name, parameter in sorted(named, key=lambda pair: len(pair[0]))}
    told = [names.get(id(parameter), "parameter tensor %d" % number) for _, number, parameter, _ in sent[:_MOST]]
    return [digest.of_text(" ".join(str(number) for _, number, _, _ in sent)), *told]
