"""Programs and kernels as functions of tensors, with the names of wave_lang.runtime. See docs/launchable.md."""

from wave_runtime._runtime._device import Device, DeviceState, get_vm_instance
from wave_runtime._runtime._errors import (
    MismatchedDeviceSetClearError,
    NoCurrentDeviceError,
    UnsupportedTorchDeviceError,
)
from wave_runtime._runtime._invoke import invoke_vm_function
from wave_runtime._runtime._launchable import Launchable

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
