"""Runs before the first line of a program that a lab judges, because it lies on PYTHONPATH beside the package `hvd_lab`.

The secret of the run is handed to the library and taken from where the program could read it. A `sitecustomize` that stands later on
the path still runs.
"""
import importlib.machinery
import importlib.util
import os
import sys

_SECRETS = ("HVD_LAB_EVENT_SECRET", "HVD_LAB_EVENT_SOCKET")
_HERE = os.path.dirname(os.path.abspath(__file__))


def _hand_over():
    """The library takes the secret while it is loaded; Python keeps two copies of its own."""
    path = os.environ.get("HVD_LAB_PYTHON_MODULE")
    if not path or not os.environ.get(_SECRETS[0]):
        return
    name = "hvd_lab._native"
    spec = importlib.util.spec_from_file_location(name, path, loader=importlib.machinery.ExtensionFileLoader(name, path))
    try:
        module = importlib.util.module_from_spec(spec)
        spec.loader.exec_module(module)
        sys.modules[name] = module
    except ImportError:
        # The package says so when the program imports it.
        pass
    import posix
    for name in _SECRETS:
        os.environ.pop(name, None)
        posix.environ.pop(os.fsencode(name), None)


def _hand_on():
    """Runs the `sitecustomize` that this one hides."""
    path = [folder for folder in sys.path if os.path.abspath(folder or ".") != _HERE]
    spec = importlib.machinery.PathFinder.find_spec("sitecustomize", path)
    if spec is not None and spec.loader is not None:
        module = importlib.util.module_from_spec(spec)
        sys.modules["sitecustomize"] = module
        spec.loader.exec_module(module)


_hand_over()
_hand_on()
