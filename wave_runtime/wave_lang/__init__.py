"""wave-lang without a GPU, and Wave kernels as kernels of this package. See docs/upstream.md."""

from wave_runtime.wave_lang._cpu import enable_cpu

__all__ = ["enable_cpu"]
