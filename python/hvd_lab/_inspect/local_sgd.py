"""PyTorch's averagers of models, once the program has imported them."""
from . import core


def install(utils):
    core.replace(utils, "average_parameters", core.looks_first(_tell))


@core.guard
def _tell(*args, **kwargs):
    core.tell_once("averaged weights")
