"""Triton kernels on CPU tensors, compiled for an AMD GPU and run on the emulator: see docs/triton.md."""

from wave_runtime.triton._aot import TritonKernel, load
from wave_runtime.triton._driver import EmulatorDriver
from wave_runtime.triton._from_triton import TritonFunction, from_triton

__all__ = ["EmulatorDriver", "TritonFunction", "TritonKernel", "from_triton", "load"]
