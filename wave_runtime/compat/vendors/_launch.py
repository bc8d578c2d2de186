"""One call that launches on whichever vendor's device, or on the emulator."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import torch

from wave_runtime import _C
from wave_runtime._compile import CompileError
from wave_runtime._kernel import Dims
from wave_runtime.compat.vendors import _sycl
from wave_runtime.compat.vendors._kernel import PortableKernel, vendor_of

# By vendor: torch's kind of device, and the interface that the code goes through.
_VENDORS = {
    "amd": ("cuda", "HIP"),
    "nvidia": ("cuda", "CUDA"),
    "intel": ("xpu", "SYCL"),
    "apple": ("mps", "Metal"),
    "emulator": ("cpu", "emulator"),
}


class LaunchError(RuntimeError):
    """A launch by :func:`launch_kernel` could not be made or failed, or there is no such device."""


def launch_kernel(
    kernel: PortableKernel | _C.Kernel,
    buffers: Sequence[torch.Tensor],
    scalars: Sequence[int | float],
    grid: Dims,
    workgroup: Dims,
    vendor: str | None = None,
) -> None:
    """Launch a kernel, and wait until it has ended and the buffers have what it wrote.

    Args:
        kernel: of :func:`kernel`, or of a module.
        buffers: the tensors that it takes, all on one device; they come first among its arguments.
        scalars: the numbers behind them.
        grid: workgroups, in one to three dimensions.
        workgroup: work-items of one.
        vendor: "amd", "nvidia", "intel", "apple" or "emulator", to which buffers that lie elsewhere are copied, and
            back afterwards; by default that of the buffers' device. "intel" is Intel's device for CPUs where torch sees
            no GPU of Intel's. Such GPUs and "apple" are experimental.

    Raises:
        TypeError, ValueError: an argument does not fit, or there is no such vendor.
        LaunchError: "launch error: HIP compilation failed: ...", "... kernel execution failed: ...", or torch sees no
            device of the vendor.
        KernelFault: on the emulator, the kernel did what it must not.
    """
    for name, values in (("buffers", buffers), ("scalars", scalars)):
        if not isinstance(values, Sequence):
            raise TypeError(f"launch_kernel: {name} must be a list, given {type(values).__name__}")
    device = _device_of(kernel, buffers) if vendor is None else _device_for(vendor)
    interface = _VENDORS[vendor or ("emulator" if device.type == "cpu" else vendor_of(device))][1]
    here = [buffer if buffer.device == device else buffer.to(device) for buffer in buffers]
    try:
        if vendor == "intel":
            _launch_on_intel(kernel, device, [*here, *scalars], grid, workgroup)
        else:
            kernel(*here, *scalars, grid=grid, block=workgroup)
        if device.type != "cpu":
            getattr(torch, device.type).synchronize()
    except CompileError as error:
        what = "shader compilation" if interface == "Metal" else "compilation"
        raise LaunchError(f"launch error: {interface} {what} failed: {error}") from error
    except _C.KernelFault:
        raise
    except RuntimeError as error:
        raise LaunchError(f"launch error: {interface} kernel execution failed: {error}") from error
    with torch.no_grad():
        for buffer, copy in zip(buffers, here, strict=True):
            if copy is not buffer:
                buffer.copy_(copy)


def _launch_on_intel(
    kernel: PortableKernel | _C.Kernel, device: torch.device, arguments: Sequence[Any], grid: Dims, block: Dims
) -> None:
    """Intel's code even where the device is the CPU, for which a kernel may have AMD's, too."""
    if not isinstance(kernel, PortableKernel):
        raise ValueError(f"{kernel._text} is a binary of AMD's or NVIDIA's: it does not run on intel")
    kernel._launch_outside("intel", device, tuple(arguments), grid, block, 0, {})


def _device_of(kernel: PortableKernel | _C.Kernel, buffers: Sequence[torch.Tensor]) -> torch.device:
    if not buffers:
        raise ValueError(f"kernel '{kernel.name}': without buffers, vendor= must say where to launch")
    return buffers[0].device


def _device_for(vendor: str) -> torch.device:
    """The current device of a vendor."""
    if vendor not in _VENDORS:
        raise ValueError(f"vendor={vendor!r}: expected one of {', '.join(_VENDORS)}")
    kind = _VENDORS[vendor][0]
    if kind == "cpu":
        return torch.device("cpu")
    interface = getattr(torch, kind)
    if vendor == "intel" and not interface.is_available() and _sycl.find_cpu():
        return torch.device("cpu")
    is_built = kind != "cuda" or (torch.version.hip is not None) == (vendor == "amd")
    if not is_built or not interface.is_available():
        raise LaunchError(
            f"launch error: torch {torch.__version__} sees no device of {vendor}"
            + {"amd": "; vendor='emulator' runs the same code on the CPU", "intel": f"; {_sycl.missing()}"}.get(
                vendor, ""
            )
        )
    return torch.device(kind) if kind == "mps" else torch.device(kind, interface.current_device())
