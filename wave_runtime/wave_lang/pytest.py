"""Runs wave-lang's own tests on CPU tensors: ``pytest -p wave_runtime.wave_lang.pytest --run-e2e tests/kernel/wave``.

Kernels are compiled for gfx942 with ``wave_runtime=True``, a GPU is emulated (docs/emulate.md), and the references that
the tests have IREE compute are compiled for the CPU.
"""

from __future__ import annotations

from typing import Any

import pytest

import wave_runtime
from wave_runtime.wave_lang import _cpu

pytest_plugins = ("wave_runtime.pytest",)

REFERENCE_OPTIONS = (
    "--iree-hal-target-device=local",
    "--iree-hal-local-target-device-backends=llvm-cpu",
    "--iree-llvmcpu-target-cpu=host",
    "--iree-vm-target-truncate-unsupported-floats",
)


def _compile_reference(asm: str, options: object) -> bytes:
    """What wave-lang's ``compile_to_vmfb`` does, for the CPU."""
    from iree.compiler import compile_str

    compiled: bytes = compile_str(asm, extra_args=REFERENCE_OPTIONS)
    return compiled


def _force_wave_runtime() -> None:
    from wave_lang.kernel.wave.compile_options import WaveCompileOptions

    make = WaveCompileOptions.__init__

    def make_for_us(self: Any, *args: Any, **options: Any) -> None:
        make(self, *args, **options)
        self.wave_runtime = not self.run_bench  # which it cannot benchmark with

    WaveCompileOptions.__init__ = make_for_us


def pytest_configure(config: pytest.Config) -> None:
    """Prepare wave-lang before tests are collected."""
    config.add_cleanup(_cpu.enable_cpu().stop)
    from wave_lang.kernel.wave import iree_utils

    _force_wave_runtime()
    iree_utils.compile_to_vmfb = _compile_reference
    config.add_cleanup(wave_runtime.emulate(_cpu.TARGET).stop)


def pytest_report_header() -> str:
    """Say which of the two modules of this name runs the kernels."""
    return f"wave_runtime {wave_runtime.__version__}: Wave kernels for {_cpu.TARGET} run on CPU tensors"
