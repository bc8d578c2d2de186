"""Compiled GPU kernels as first-class PyTorch operators; on CPU tensors, AMD kernels run on an emulator.

import torch, wave_runtime
gemm = wave_runtime.load("gemm.hsaco")["gemm"]
gemm(a, b, c, grid=(4, 4))
"""

from collections.abc import Iterable as _Iterable
from importlib import import_module as _import_module
from typing import TYPE_CHECKING as _TYPE_CHECKING
from typing import Any as _Any

import torch as _torch  # noqa: F401  first: the extension links against its libraries

from wave_runtime import _abi as _abi  # raises where the libraries were built for another torch
from wave_runtime import _kernel as _kernel  # says how torch.compile traces a call
from wave_runtime import hooks
from wave_runtime._C import (
    BoundLaunch,
    Int32Vector,
    Int64Vector,
    Kernel,
    KernelFault,
    KernelLaunchInfo,
    Sequence,
    launch,
)
from wave_runtime._compare import Comparison, compare
from wave_runtime._compile import CompileError, compile
from wave_runtime._module import Loaded, Module, load, loaded
from wave_runtime._op import Operator, Variants, cdiv, define_op, variants
from wave_runtime._source_module import SourceKernel, SourceModule, module
from wave_runtime._upstream import load_binary, load_hip_functions
from wave_runtime._vendors import LaunchError, PortableKernel, kernel, launch_kernel
from wave_runtime._version import __version__

if _TYPE_CHECKING:
    from wave_runtime import op_reg
    from wave_runtime._runtime import Device, DeviceState, Launchable, get_vm_instance, invoke_vm_function
    from wave_runtime.wave_lang import WaveFunction as _WaveFunction

__all__ = [
    "BoundLaunch",
    "Comparison",
    "CompileError",
    "Device",
    "DeviceState",
    "Int32Vector",
    "Int64Vector",
    "Kernel",
    "KernelFault",
    "KernelLaunchInfo",
    "LaunchError",
    "Launchable",
    "Loaded",
    "Module",
    "Operator",
    "PortableKernel",
    "Sequence",
    "SourceKernel",
    "SourceModule",
    "Variants",
    "__version__",
    "cdiv",
    "compare",
    "compile",
    "define_op",
    "from_wave",
    "get_vm_instance",
    "hooks",
    "invoke_vm_function",
    "kernel",
    "launch",
    "launch_kernel",
    "load",
    "load_binary",
    "load_hip_functions",
    "loaded",
    "module",
    "op_reg",
    "sequence",
    "variants",
]


# What is imported when it is first asked for.
_LATER = {
    "Device": "_runtime",
    "DeviceState": "_runtime",
    "Launchable": "_runtime",
    "get_vm_instance": "_runtime",
    "invoke_vm_function": "_runtime",
}


def __getattr__(name: str) -> _Any:
    if name == "op_reg":
        return _import_module("wave_runtime.op_reg")
    if name in _LATER:
        return getattr(_import_module(f"wave_runtime.{_LATER[name]}"), name)
    raise AttributeError(f"module 'wave_runtime' has no attribute '{name}'")


def sequence(launches: _Iterable[BoundLaunch]) -> Sequence:
    """Bound launches as one call that makes them in their order: the cheapest way to launch many kernels."""
    return Sequence(list(launches))


def from_wave(kernel: _Any, options: _Any = None) -> "_WaveFunction":
    """A Wave kernel as a function that knows its grid: see ``wave_runtime.wave_lang.from_wave``."""
    from wave_runtime import wave_lang  # only now: it imports a compiler

    return wave_lang.from_wave(kernel, options)
