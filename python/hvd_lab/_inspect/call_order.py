"""The order in which a program sends gradients or weights one by one: collectives meet in the order of the calls, whatever they send."""
from . import beside, core, digest

# Names that are told; the digest is of all.
_MOST = 16


def look(by, parameters, calls, where):
    """With an update. `calls` has the collective of each of these parameters, and `where` is the line of the program that made them."""
    if len(parameters) < 2 or by in core._told or any(call.is_named for call in calls):
        return
    at = {id(parameter): str(number) for number, parameter in enumerate(parameters)}
    in_order = [parameter for parameter, _ in sorted(zip(parameters, calls), key=lambda pair: pair[1].number)]
    named = [(name, id(parameter)) for module in beside.modules() for name, parameter in module.named_parameters() if id(parameter) in at]
    # The longest name is that in the whole model.
    names = {parameter: name for name, parameter in sorted(named, key=lambda pair: len(pair[0]))}
    told = [names.get(id(parameter), "parameter tensor " + at[id(parameter)]) for parameter in in_order[:_MOST]]
    core.tell_once(by, where, (digest.of_text(" ".join(at[id(parameter)] for parameter in in_order)), *told))
