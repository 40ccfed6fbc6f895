"""Which device this process computes on."""
from ._library import started


class Device:
    """One GPU, or, where there are none, one share of the CPU's cores."""

    def __init__(self, index, name):
        self.index = index
        self.name = name

    def __repr__(self):
        return "Device({})".format(self.name)


def list_physical_devices(device_type=None):
    """The devices of this host: its GPUs, or else an equal share of the cores for each process here, whatever type is asked for.

    There is one for each process on this host: if there are more processes than GPUs, the GPUs come again.
    """
    return _Devices(Device(index, name) for index, name in enumerate(started().devices()))


class _Devices(list):
    """A list whose error says which numbers there are."""

    def __getitem__(self, index):
        try:
            return super().__getitem__(index)
        except IndexError:
            raise IndexError(
                "this host has {} devices, from 0 on, and no number {}: take the one with the number of this process on its own host, "
                "hvd.local_rank()".format(len(self), index)
            ) from None


def set_visible_devices(device, device_type=None):
    """Compute on this device. Without this call every process takes the first GPU, or any core."""
    if not isinstance(device, Device):
        raise TypeError("set_visible_devices takes one of list_physical_devices(), not {!r}".format(device))
    started().pin(device.index)
