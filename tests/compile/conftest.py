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


@pytest.fixture(params=["clang-19", "clang-22"])
def each_clang(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> str:
    """The oldest and the newest compiler that docs/compile.md calls tested."""
    path = str(need(request.param))
    monkeypatch.setenv("CLANG", path)
    return path
