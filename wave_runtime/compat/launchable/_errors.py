"""What goes wrong with IREE's devices, with the names and texts of wave_lang.runtime."""

from __future__ import annotations

import importlib
from types import ModuleType

import torch


class NoCurrentDeviceError(Exception):
    """There is no current device on this thread."""

    def __init__(self) -> None:
        super().__init__(
            "You accessed a method which requires a current device but none was set on this thread. Either pass an "
            "explicit 'device=' or set a current device via `with device:`"
        )


class MismatchedDeviceSetClearError(AssertionError):
    """A device was cleared that is not the current one."""

    def __init__(self) -> None:
        super().__init__("Calls to Device.set()/clear() are mismatched or unbalanced.")


class UnsupportedTorchDeviceError(Exception):
    """IREE's runtime has no driver for a device of torch."""

    def __init__(self, device: torch.device) -> None:
        super().__init__(f"Attempt to use turbine with a torch.device that is not supported by this build: {device}")


def require(module: str) -> ModuleType:
    """Import a module of IREE's.

    Raises:
        ModuleNotFoundError: it is not installed; the message says how to install it.
    """
    try:
        return importlib.import_module(module)
    except ModuleNotFoundError as error:
        if not str(error.name).startswith("iree"):  # what IREE needs is missing
            raise
        package = "iree-base-compiler" if module.startswith("iree.compiler") else "iree-base-runtime"
        what = "MLIR is compiled" if package == "iree-base-compiler" else "VMFB programs and IREE's devices are run"
        raise ModuleNotFoundError(
            f"{what} by {package}, which is not installed: pip install {package}", name=error.name
        ) from error
