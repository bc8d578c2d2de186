"""Triton kernels on CPU tensors, compiled for an AMD GPU and run on the emulator: see docs/triton.md."""

import triton as _triton

from wave_runtime._emulate import TRITON as _TRITON
from wave_runtime._emulate import has_triton as _has_triton

if not _has_triton():
    raise ImportError(
        f"wave_runtime.triton is for Triton {_TRITON}, and Triton {_triton.__version__} is installed: "
        f"pip install 'triton=={_TRITON}.*'"
    )

from wave_runtime.triton._aot import TritonKernel, load
from wave_runtime.triton._driver import EmulatorDriver
from wave_runtime.triton._from_triton import TritonFunction, from_triton

__all__ = ["EmulatorDriver", "TritonFunction", "TritonKernel", "from_triton", "load"]
