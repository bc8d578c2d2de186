"""Compilers, and a cache of each test's own."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest

import wave_runtime
from wave_runtime._compile import _clang


@pytest.fixture(autouse=True)
def cache(empty_cache: Path) -> Path:
    """Each test's own."""
    return empty_cache


@pytest.fixture(scope="session")
def clang() -> str:
    """The compiler's path; skips where there is none, or no linker beside it."""
    try:
        program = _clang.find().path
    except wave_runtime.CompileError as error:
        pytest.skip(str(error))
    if not any(shutil.which(name) for name in ("ld.lld-19", "ld.lld", "lld")) and _clang.rocm_of(_clang.find()) is None:
        pytest.skip("lld is not installed")
    return program
