"""Compiled GPU kernels as first-class PyTorch operators; on CPU tensors, AMD kernels run on an emulator.

import torch, wave_runtime
gemm = wave_runtime.load("gemm.hsaco")["gemm"]
gemm(a, b, c, grid=(4, 4))

The names here are the core of the package, and the six functions and types of upstream's ``wave_runtime``, whose place
is fixed. What serves those who come from other libraries is in ``wave_runtime.compat``.
"""

from collections.abc import Iterable as _Iterable
from collections.abc import Mapping as _Mapping
from importlib import import_module as _import_module
from typing import TYPE_CHECKING as _TYPE_CHECKING
from typing import Any as _Any

# The first imports torch, whose libraries the extension links against, and raises where ours were built for another;
# the second raises where this package does not know the torch that is here.
from wave_runtime import _abi as _abi
from wave_runtime import _torch as _torch  # isort: split

from wave_runtime import _kernel as _kernel  # says how torch.compile traces a call
from wave_runtime import hooks
from wave_runtime._bench import do_bench
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
from wave_runtime._emulate import Emulation, emulate
from wave_runtime._emulate import from_environment as _from_environment
from wave_runtime._module import Loaded, Module, load, loaded
from wave_runtime._op import Operator, Variants, autotune, cdiv, define_op, variants
from wave_runtime._profile import Profile, profile
from wave_runtime._profile import from_environment as _profile_from_environment
from wave_runtime._sanitize import Finding, Sanitation, SanitizeError, sanitize
from wave_runtime._sanitize import from_environment as _sanitize_from_environment
from wave_runtime._upstream import load_binary, load_hip_functions
from wave_runtime._version import __version__

if _TYPE_CHECKING:
    from wave_runtime import compat as compat
    from wave_runtime import triton as triton
    from wave_runtime.compat import op_reg as op_reg
    from wave_runtime.compat import pyhip as pyhip
    from wave_runtime.compat.launchable import Device as Device
    from wave_runtime.compat.launchable import DeviceState as DeviceState
    from wave_runtime.compat.launchable import Launchable as Launchable
    from wave_runtime.compat.launchable import get_vm_instance as get_vm_instance
    from wave_runtime.compat.launchable import invoke_vm_function as invoke_vm_function
    from wave_runtime.compat.pyhip import module as module
    from wave_runtime.compat.vendors import LaunchError as LaunchError
    from wave_runtime.compat.vendors import kernel as kernel
    from wave_runtime.compat.vendors import launch_kernel as launch_kernel
    from wave_runtime.triton import TritonFunction as _TritonFunction
    from wave_runtime.wave_lang import WaveFunction as _WaveFunction

__all__ = [
    "BoundLaunch",
    "Comparison",
    "CompileError",
    "Emulation",
    "Finding",
    "Int32Vector",
    "Int64Vector",
    "Kernel",
    "KernelFault",
    "KernelLaunchInfo",
    "Loaded",
    "Module",
    "Operator",
    "Profile",
    "Sanitation",
    "SanitizeError",
    "Sequence",
    "Variants",
    "__version__",
    "autotune",
    "cdiv",
    "compare",
    "compile",
    "define_op",
    "do_bench",
    "emulate",
    "from_triton",
    "from_wave",
    "hooks",
    "launch",
    "load",
    "load_binary",
    "load_hip_functions",
    "loaded",
    "profile",
    "sanitize",
    "sequence",
    "variants",
]


# Names that other libraries' users may import from here, as their pages in docs/ promise, and the module of
# wave_runtime.compat that has each. They are imported when they are first asked for.
_ELSEWHERE = {
    "Device": "launchable",
    "DeviceState": "launchable",
    "LaunchError": "vendors",
    "Launchable": "launchable",
    "get_vm_instance": "launchable",
    "invoke_vm_function": "launchable",
    "kernel": "vendors",
    "launch_kernel": "vendors",
    "module": "pyhip",
}
_MODULES = ("compat", "op_reg", "pyhip", "triton")


def __getattr__(name: str) -> _Any:
    if name in _MODULES:
        return _import_module(f"wave_runtime.{name}")
    if name in _ELSEWHERE:
        return getattr(_import_module(f"wave_runtime.compat.{_ELSEWHERE[name]}"), name)
    raise AttributeError(f"module 'wave_runtime' has no attribute '{name}'")


def sequence(launches: _Iterable[BoundLaunch]) -> Sequence:
    """Bound launches as one call that makes them in their order: the cheapest way to launch many kernels."""
    return Sequence(list(launches))


def from_triton(
    kernel: _Any,
    signature: str,
    *,
    constants: _Mapping[str, _Any] | None = None,
    target: str | None = None,
    **options: _Any,
) -> "_TritonFunction":
    """A Triton function, compiled for one signature: see ``wave_runtime.triton.from_triton``."""
    from wave_runtime import triton  # only now: it imports a compiler

    return triton.from_triton(kernel, signature, constants=constants, target=target, **options)


def from_wave(kernel: _Any, options: _Any = None) -> "_WaveFunction":
    """A Wave kernel as a function that knows its grid: see ``wave_runtime.wave_lang.from_wave``."""
    from wave_runtime import wave_lang  # only now: it imports a compiler

    return wave_lang.from_wave(kernel, options)


_from_environment()
_sanitize_from_environment()
_profile_from_environment()
