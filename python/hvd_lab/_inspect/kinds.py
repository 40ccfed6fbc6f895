"""Kinds of training in which ranks hold different weights or gradients on purpose: seen at the first update of an optimizer."""
import sys

# The first part of a module's name on the stack of an update, and how people call what is at work there.
_ON_STACK = (
    ("deepspeed", "DeepSpeed"),
    ("torch.distributed.optim.post_localSGD_optimizer", "PostLocalSGDOptimizer"),
    ("torch.distributed.algorithms.model_averaging", "PostLocalSGDOptimizer"),
    ("colossalai", "ColossalAI"),
    ("megatron", "Megatron"),
)
# As above, for modules that nobody loads who does not train with them.
_LOADED = (("torch.distributed.pipelining", "Pipeline"), ("fairscale", "fairscale"), ("megatron.core", "Megatron"))


def kinds(optimizer, parameters):
    """The names of all kinds that show."""
    found = set()
    if type(optimizer).__name__ == "ZeroRedundancyOptimizer":
        found.add("ZeroRedundancyOptimizer")
    found.update(name for module, name in _LOADED if module in sys.modules)
    frame = sys._getframe(1)
    while frame is not None:
        module = frame.f_globals.get("__name__") or ""
        found.update(name for start, name in _ON_STACK if module == start or module.startswith(start + "."))
        frame = frame.f_back
    for parameter in parameters[:256]:
        if hasattr(parameter, "to_local"):
            found.add("FSDP" if _has_fsdp() else "parallelize_module")
        elif getattr(parameter, "_is_flat_param", False) or getattr(parameter, "_fsdp_flattened", False):
            found.add("FSDP")
        elif hasattr(parameter, "ds_id"):
            found.add("DeepSpeed")
    return sorted(found)


def _has_fsdp():
    return "torch.distributed.fsdp" in sys.modules or "torch.distributed._composable.fsdp" in sys.modules
