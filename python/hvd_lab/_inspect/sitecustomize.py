"""Python runs it before the program of an inspected run, because its folder comes first on PYTHONPATH.

It waits for the import of a framework, and costs nothing in a process that imports none. A `sitecustomize` of the user's own, which
this one hides, still runs.
"""
import importlib.machinery
import os
import sys

_HERE = os.path.dirname(os.path.abspath(__file__))
_seen = set()
_PACKAGE = "_hvd_lab_inspect"
# The frameworks, and the module that watches each.
_WATCHED = {
    "torch": "torch_hooks",
    "safetensors.torch": "safetensors_hooks",
    "torch.distributed.algorithms.model_averaging.utils": "local_sgd",
    "tqdm.std": "bars",
    "torch.utils.tensorboard.writer": "curves",
    "tensorboardX.writer": "curves",
    "lightning.pytorch.core.module": "lightning_hooks",
    "pytorch_lightning.core.module": "lightning_hooks",
    "lightning.fabric.fabric": "lightning_hooks",
    "lightning_fabric.fabric": "lightning_hooks",
    "lightning.pytorch.callbacks.early_stopping": "lightning_hooks",
    "lightning.pytorch.callbacks.model_checkpoint": "lightning_hooks",
    "lightning.pytorch.trainer.trainer": "trainer_hooks",
    "pytorch_lightning.callbacks.early_stopping": "lightning_hooks",
    "pytorch_lightning.callbacks.model_checkpoint": "lightning_hooks",
    "pytorch_lightning.trainer.trainer": "trainer_hooks",
    "transformers.trainer_callback": "trainer_hooks",
    "accelerate.accelerator": "accelerate_hooks",
    "horovod.torch": "horovod_torch",
    "horovod.keras": "horovod_keras",
    "horovod.tensorflow.keras": "horovod_keras",
    "horovod.tensorflow": "horovod_tensorflow",
}


class _Finder:
    """Lets the others find a framework, and looks into it when it has been loaded."""

    def __init__(self):
        self.busy = set()

    def find_spec(self, name, path=None, target=None):
        if name == _PACKAGE:
            from importlib import util

            folder = os.path.join(_HERE, "hvd_lab", "_inspect")
            return util.spec_from_file_location(
                name, os.path.join(folder, "__init__.py"), submodule_search_locations=[folder]
            )
        if name not in _WATCHED or name in self.busy:
            return None
        self.busy.add(name)
        try:
            spec = next(filter(None, (finder.find_spec(name, path, target) for finder in _others(self))), None)
        finally:
            self.busy.discard(name)
        if spec is not None and spec.loader is not None:
            _look_behind(spec, name)
        return spec


def _others(finder):
    return [other for other in sys.meta_path if other is not finder and hasattr(other, "find_spec")]


def _look_behind(spec, name):
    load = getattr(spec.loader, "exec_module", None)

    def exec_module(module):
        load(module)
        # A loader of a zip file loads other modules too, and a program may load a module again.
        if module.__name__ != name or name in _seen:
            return
        _seen.add(name)
        try:
            package = __import__(_PACKAGE + "." + _WATCHED[name], fromlist=["install"])
            package.install(module)
        except Exception as error:  # The program goes on as without the inspector.
            _say_blind(error)

    try:
        spec.loader.exec_module = exec_module
    except AttributeError:
        pass


def _say_blind(error):
    try:
        __import__(_PACKAGE + ".core", fromlist=["blind"]).blind("it could not start (%s: %s)" % (type(error).__name__, error))
    except Exception:
        pass


def _is_inspector(folder):
    """This one's folder, or that of another run, whose variables a shell may still have: two of them would see everything twice."""
    try:
        with open(os.path.join(folder or ".", "sitecustomize.py"), "rb") as other, open(os.path.join(_HERE, "sitecustomize.py"), "rb") as own:
            return other.readline() == own.readline()
    except OSError:
        return False


def _hand_on():
    """Runs the `sitecustomize` that this one hides."""
    path = [folder for folder in sys.path if not _is_inspector(folder)]
    spec = importlib.machinery.PathFinder.find_spec("sitecustomize", path)
    if spec is not None and spec.loader is not None:
        from importlib import util

        module = util.module_from_spec(spec)
        sys.modules["sitecustomize"] = module
        spec.loader.exec_module(module)


if os.environ.get("HVD_LAB_INSPECT") and os.environ.get("HVD_LAB_EVENT_SECRET"):
    sys.meta_path.insert(0, _Finder())
_hand_on()
