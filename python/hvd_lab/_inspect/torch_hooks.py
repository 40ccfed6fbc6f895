"""Looks into PyTorch once it has been imported."""
import sys

from . import averaging, beside, clearing, collectives, core, horovod_torch, joins, loading, manual, states, unloaded, watching


def install(torch):
    core.State.framework = "torch"
    core.State.versions.append("torch " + str(torch.__version__))
    averaging.install(torch)
    clearing.install(torch)
    beside.install(torch)
    joins.install(torch)
    loading.install(torch)
    collectives.install(torch)
    horovod_torch.watch_clipping(torch)
    states.install(torch)
    unloaded.install(torch)
    # Behind it the caller of `backward` is the program.
    manual.install(torch)
    watching.install(torch)
    if "horovod" in sys.modules:
        core.State.versions.append("horovod " + str(getattr(sys.modules["horovod"], "__version__", "")))
