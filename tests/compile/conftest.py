"""Compilers, and a cache of each test's own."""

from __future__ import annotations

from pathlib import Path

import pytest
from requirements import absent, need


@pytest.fixture(autouse=True)
def cache(empty_cache: Path) -> Path:
    """Each test's own."""
    return empty_cache


@pytest.fixture(autouse=True)
def _knows_target(request: pytest.FixtureRequest) -> None:
    """clang 19 does not know gfx950, and warns of code for generic targets."""
    target = getattr(request.node, "callspec", None) and request.node.callspec.params.get("target", "")
    if target and (target == "gfx950" or target.endswith("-generic")) and "clang-19" in str(need("clang")):
        absent("clang-22")


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
