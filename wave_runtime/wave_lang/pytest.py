"""Runs wave-lang's own tests on CPU tensors: ``pytest -p wave_runtime.wave_lang.pytest --run-e2e tests/kernel/wave``.

Kernels are compiled for gfx942 with ``wave_runtime=True``, tensors made on "cuda" are CPU tensors, and the references
that the tests have IREE compute are compiled for the CPU.
"""

from __future__ import annotations

import contextlib
import time
from collections.abc import Callable, Iterator
from fnmatch import fnmatchcase
from pathlib import Path
from typing import Any

import pytest
import torch
from torch.overrides import TorchFunctionMode

import wave_runtime
from wave_runtime.wave_lang import _cpu

REFERENCE_OPTIONS = (
    "--iree-hal-target-device=local",
    "--iree-hal-local-target-device-backends=llvm-cpu",
    "--iree-llvmcpu-target-cpu=host",
    "--iree-vm-target-truncate-unsupported-floats",
)


class _CpuTensors(TorchFunctionMode):
    """Makes tensors on the CPU that are asked for on a GPU."""

    def __torch_function__(self, function: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        if function is torch.Tensor.cuda:
            return args[0]
        return function(*map(_on_cpu, args), **{name: _on_cpu(value) for name, value in (kwargs or {}).items()})


def _on_cpu(value: object) -> object:
    is_gpu = isinstance(value, (str, torch.device)) and str(value).partition(":")[0] == "cuda"
    return torch.device("cpu") if is_gpu else value


class _Launches:
    """Counts launches and the tests that made them."""

    def __init__(self) -> None:
        self.count = 0
        self.seconds = 0.0
        self.tests: dict[str, int] = {}

    def counted(self, invoke: Callable[..., None]) -> Callable[..., None]:
        def counting(*args: Any) -> None:
            self.count += 1
            begin = time.perf_counter()
            try:
                invoke(*args)
            finally:
                self.seconds += time.perf_counter() - begin

        return counting

    @pytest.hookimpl(hookwrapper=True)
    def pytest_runtest_call(self, item: pytest.Item) -> Iterator[None]:
        before = self.count
        yield
        if self.count > before:
            self.tests[item.nodeid] = self.count - before

    def pytest_terminal_summary(self, terminalreporter: Any) -> None:
        outcomes = {
            name: sum(report.nodeid in self.tests for report in terminalreporter.getreports(name))
            for name in ("passed", "failed", "xfailed")
        }
        counts = ", ".join(f"{count} {name}" for name, count in outcomes.items() if count)
        terminalreporter.write_line(
            f"{len(self.tests)} tests launched kernels ({counts}): {self.count} launches, {self.seconds:.0f} s in them"
        )


def _compile_reference(asm: str, options: object) -> bytes:
    """What wave-lang's ``compile_to_vmfb`` does, for the CPU."""
    from iree.compiler import compile_str

    compiled: bytes = compile_str(asm, extra_args=REFERENCE_OPTIONS)
    return compiled


def _exit_of(*contexts: contextlib.AbstractContextManager[Any]) -> Callable[[], None]:
    """Enter contexts, and return what leaves them."""
    stack = contextlib.ExitStack()
    for context in contexts:
        stack.enter_context(context)
    return stack.close


class _NoStream:
    """Stands for torch's current stream where torch has none."""

    cuda_stream = 0

    def synchronize(self) -> None:
        """Launches on CPU tensors are done when they return."""


@contextlib.contextmanager
def _no_streams() -> Iterator[None]:
    """Let tests ask torch for a GPU's stream, and wait for it."""
    synchronize, current_stream = torch.cuda.synchronize, torch.cuda.current_stream
    torch.cuda.synchronize = lambda device=None: None
    torch.cuda.current_stream = lambda device=None: _NoStream()  # type: ignore[assignment, return-value]
    try:
        yield
    finally:
        torch.cuda.synchronize, torch.cuda.current_stream = synchronize, current_stream


def _force_wave_runtime() -> None:
    from wave_lang.kernel.wave.compile_options import WaveCompileOptions

    make = WaveCompileOptions.__init__

    def make_for_us(self: Any, *args: Any, **options: Any) -> None:
        make(self, *args, **options)
        self.wave_runtime = not self.run_bench  # which it cannot benchmark with

    WaveCompileOptions.__init__ = make_for_us


def pytest_addoption(parser: pytest.Parser) -> None:
    """Add ``--known-failures``."""
    parser.addoption(
        "--known-failures",
        type=Path,
        help="a file with a line '<pattern of test ids>: <cause>' for each test that is expected to fail",
    )


def pytest_configure(config: pytest.Config) -> None:
    """Prepare wave-lang before tests are collected."""
    _cpu.enable_cpu()
    from wave_lang.kernel.wave import compile as wave_compile
    from wave_lang.kernel.wave import iree_utils

    _force_wave_runtime()
    iree_utils.compile_to_vmfb = _compile_reference
    launches = _Launches()
    wave_compile.invoke_with_wave_runtime = launches.counted(_cpu.invoke)
    config.pluginmanager.register(launches, "wave_runtime_launches")
    config.add_cleanup(_exit_of(_CpuTensors(), _no_streams()))


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Expect the known failures."""
    path: Path | None = config.getoption("--known-failures")
    lines = [] if path is None else path.read_text().splitlines()
    for line in lines:
        pattern, _, cause = line.partition(": ")
        if not cause or line.startswith("#"):
            continue
        for item in items:
            if fnmatchcase(item.nodeid, pattern):
                item.add_marker(pytest.mark.xfail(reason=cause, strict=True))


def pytest_report_header() -> str:
    """Say which of the two modules of this name runs the kernels."""
    return f"wave_runtime {wave_runtime.__version__}: Wave kernels for {_cpu.TARGET} run on CPU tensors"
