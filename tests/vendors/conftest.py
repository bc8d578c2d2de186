"""A compiler, and a cache of each test's own."""

from __future__ import annotations

from pathlib import Path

import pytest
from requirements import need
from vendors_support import SCALE

from wave_runtime.compat import vendors


@pytest.fixture(autouse=True)
def cache(empty_cache: Path) -> Path:
    """Each test's own."""
    return empty_cache


@pytest.fixture
def compiler() -> None:
    """Skips a test where nothing compiles for AMD GPUs."""
    need("clang")


@pytest.fixture
def scale(compiler: None) -> vendors.PortableKernel:
    """b = factor * a."""
    signature = "a: *f32 const, b: *f32, factor: f32, n: i32"
    return vendors.kernel("scale", amd=SCALE, nvidia=SCALE, signature=signature)
