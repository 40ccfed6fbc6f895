"""The flags of the program: those of the original script, and what the lab adds."""
from types import SimpleNamespace

from ._library import started


def parse_args(**defaults):
    """The flags, as an object: `args.epochs`, `args.batch_size`, `args.base_lr` and so on. `--help` lists them.

    `parse_args(epochs=12)` says what a flag is if nobody gives it.
    """
    native = started()
    if defaults:
        native.set_defaults([("--" + name.replace("_", "-"), str(value)) for name, value in defaults.items()])
    return SimpleNamespace(**native.flags())
