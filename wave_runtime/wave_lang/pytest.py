"""Runs wave-lang's own tests on CPU tensors: ``pytest -p wave_runtime.wave_lang.pytest --run-e2e tests/kernel``.

Kernels are compiled with ``wave_runtime=True`` for a GPU that is emulated (docs/emulate.md): ``--wave-emulate=gfx950``
says which, else ``WAVE_DEFAULT_ARCH``, else it is gfx942. The references that the tests have IREE compute are compiled
for the CPU.
"""

from __future__ import annotations

import os
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


def _target(config: pytest.Config) -> str:
    """The processor that the tests' kernels are for."""
    asked_for: str | None = config.known_args_namespace.wave_emulate
    return asked_for or os.environ.get(_cpu.ARCH) or _cpu.TARGET


@pytest.hookimpl(tryfirst=True)
def pytest_load_initial_conftests(early_config: pytest.Config) -> None:
    """Begin before the tests' conftest.py files are loaded, which may ask for the processor.

    Raises:
        UsageError: there is no such processor.
    """
    target = _target(early_config)
    if early_config.known_args_namespace.wave_emulate is None:  # which wave_runtime.pytest would have heard
        try:
            early_config.add_cleanup(wave_runtime.emulate(target).stop)
        except ValueError as error:
            raise pytest.UsageError(f"{_cpu.ARCH}: {error}") from None
    os.environ[_cpu.ARCH] = target


def pytest_configure(config: pytest.Config) -> None:
    """Prepare wave-lang before tests are collected."""
    config.add_cleanup(_cpu.enable_cpu().stop)
    from wave_lang.kernel.wave import iree_utils

    _force_wave_runtime()
    iree_utils.compile_to_vmfb = _compile_reference


def pytest_report_header(config: pytest.Config) -> str:
    """Say which of the two modules of this name runs the kernels."""
    return f"wave_runtime {wave_runtime.__version__}: Wave kernels for {_target(config)} run on CPU tensors"
