"""Compilers, and a cache of each test's own."""

from __future__ import annotations

from pathlib import Path

import pytest
from requirements import need


@pytest.fixture(autouse=True)
def cache(empty_cache: Path) -> Path:
    """Each test's own."""
    return empty_cache


@pytest.fixture(scope="session")
def clang() -> str:
    """The compiler's path; skips where there is none, or no linker beside it."""
    return str(need("clang"))
