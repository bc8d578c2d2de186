"""The compiler, where it is installed."""

from __future__ import annotations

from collections.abc import Iterator
from concurrent.futures import ProcessPoolExecutor
from multiprocessing import get_context
from pathlib import Path

import pytest
from requirements import need
from support import KNOWN_FINDINGS
from wave_support import Compile, compile_kernel

import wave_runtime


@pytest.fixture(autouse=True)
def _without_findings() -> Iterator[None]:
    """None of these kernels has a mistake: what the sanitizer finds is a false alarm."""
    with wave_runtime.sanitize(fail=True, suppressions=KNOWN_FINDINGS):
        yield


@pytest.fixture(scope="session")
def compile_wave(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Compile]:
    """Compiles a kernel that an expression makes, and returns the path of the code object without its suffix."""
    need("wave-lang")
    folder = tmp_path_factory.mktemp("wave")
    with ProcessPoolExecutor(max_workers=1, mp_context=get_context("spawn")) as pool:

        def compile_wave(expression: str) -> str:
            path = folder / str(len(list(folder.iterdir())))
            pool.submit(compile_kernel, expression, Path(f"{path}.hsaco")).result()
            return str(path)

        yield compile_wave
