"""Compiled GPU kernels as first-class PyTorch operators; on CPU tensors, AMD kernels run on an emulator.

import torch, wave_runtime
gemm = wave_runtime.load("gemm.hsaco")["gemm"]
gemm(a, b, c, grid=(4, 4))
"""

import torch as _torch  # noqa: F401  first: the extension links against its libraries

from wave_runtime import _kernel as _kernel  # says how torch.compile traces a call
from wave_runtime._C import Kernel, KernelFault
from wave_runtime._module import Module, load
from wave_runtime._version import __version__

__all__ = ["Kernel", "KernelFault", "Module", "__version__", "load"]
