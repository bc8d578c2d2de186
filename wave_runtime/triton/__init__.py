"""Triton kernels on CPU tensors, compiled for an AMD GPU and run on the emulator: see docs/triton.md."""

from wave_runtime.triton._aot import TritonKernel, load
from wave_runtime.triton._driver import EmulatorDriver

__all__ = ["EmulatorDriver", "TritonKernel", "load"]
