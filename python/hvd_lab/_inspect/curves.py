"""Curves that a program writes for TensorBoard: the folder and the name of each. Event files have names of their own, and are shown as one."""
import os
import sys

from . import core
from .core import State, guard, place, replace, send

# Curves that are told, and the most of them.
_told, _MOST = set(), 200
# Folders of TensorFlow's writers.
_folders = core.Marks()


def install(module):
    """PyTorch's module of writers, or that of tensorboardX."""
    replace(module.SummaryWriter, "add_scalar", core.looks_first(_look))


@guard
def _look(writer, tag="", *args, **kwargs):
    tell(getattr(writer, "log_dir", None) or getattr(writer, "logdir", None), tag, sys._getframe(3))


def tell(folder, name, frame, where=None):
    if isinstance(folder, (str, os.PathLike)) and core.may_speak() and (folder, name) not in _told and len(_told) < _MOST:
        _told.add((folder, name))
        path = os.path.join(os.path.abspath(os.fspath(folder)), str(name))
        send("state", action="written", by="TensorBoard", path=path, place=where or place(frame), updates=State.updates)


def install_in_tensorflow(tensorflow):
    replace(tensorflow.summary, "create_file_writer", _remembers_folder)
    replace(tensorflow.summary, "scalar", core.looks_first(_look_at_scalar))


def _remembers_folder(old):
    def create_file_writer(logdir, *args, **kwargs):
        writer = old(logdir, *args, **kwargs)
        _folders[writer] = logdir
        return writer

    return create_file_writer


@guard
def _look_at_scalar(name="", *args, **kwargs):
    state = getattr(sys.modules.get("tensorflow.python.ops.summary_ops_v2"), "_summary_state", None)
    writer = getattr(state, "writer", None)
    if writer is not None:
        tell(_folders.get(writer), name, sys._getframe(3))
