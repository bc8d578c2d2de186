"""Programs and kernels as functions of tensors, with the names of wave_lang.runtime. See docs/launchable.md."""

from wave_runtime.compat.launchable._device import Device, DeviceState, get_vm_instance
from wave_runtime.compat.launchable._errors import (
    MismatchedDeviceSetClearError,
    NoCurrentDeviceError,
    UnsupportedTorchDeviceError,
)
from wave_runtime.compat.launchable._invoke import invoke_vm_function
from wave_runtime.compat.launchable._launchable import Launchable

__all__ = [
    "Device",
    "DeviceState",
    "Launchable",
    "MismatchedDeviceSetClearError",
    "NoCurrentDeviceError",
    "UnsupportedTorchDeviceError",
    "get_vm_instance",
    "invoke_vm_function",
]
