"""wave-lang without a GPU, and Wave kernels as kernels of this package. See docs/upstream.md."""

from wave_runtime.wave_lang._cpu import enable_cpu
from wave_runtime.wave_lang._from_wave import WaveFunction, from_wave

__all__ = ["WaveFunction", "enable_cpu", "from_wave"]
