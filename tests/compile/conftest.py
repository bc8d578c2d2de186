"""Compilers, and a cache of each test's own."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from requirements import absent, need

from wave_runtime._compile import _clang

HEADERS = _clang._HEADERS
# What kernels need that say where they are and wait for each other: a fifth of all that compilers read otherwise.
FEW = ("set_macros_aside", "index", "synchronize", "vector_types", "bring_macros_back")


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


@pytest.fixture(scope="session")
def folder_of_few_headers(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("few_headers")
    for name in ("wave_device", "cuda"):
        (folder / name).symlink_to(HEADERS / name)
    (folder / "hip").mkdir()
    for header in (HEADERS / "hip").iterdir():
        (folder / "hip" / header.name).symlink_to(header)
    text = (HEADERS / "hip" / "hip_runtime.h").read_text()
    text, count = re.subn(rf'^#include "wave_device/(?!{"|".join(FEW)}).*$', "", text, flags=re.MULTILINE)
    assert count > 5
    (folder / "hip" / "hip_runtime.h").unlink()
    (folder / "hip" / "hip_runtime.h").write_text(text)
    return folder


@pytest.fixture
def few_headers(folder_of_few_headers: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """For tests of what stands around the compiler, which run it often: it is through three times as fast."""
    monkeypatch.setattr(_clang, "_HEADERS", folder_of_few_headers)


@pytest.fixture
def all_headers(few_headers: None, monkeypatch: pytest.MonkeyPatch) -> None:
    """For one of them that takes the others, too."""
    monkeypatch.setattr(_clang, "_HEADERS", HEADERS)
