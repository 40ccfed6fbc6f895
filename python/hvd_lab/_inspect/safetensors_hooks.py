"""Files that safetensors writes, once the program has imported it."""
from . import core, states


def install(safetensors):
    core.replace(safetensors, "save_file", states.tells_file("safetensors", 1))
    core.replace(safetensors, "save_model", states.tells_file("safetensors", 1))
