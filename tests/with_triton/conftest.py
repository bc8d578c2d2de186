"""Triton is found here, or all of this folder is skipped; its cache is the test run's own."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
from requirements import need

import wave_runtime


@pytest.hookimpl(tryfirst=True)
def pytest_runtest_setup(item: pytest.Item) -> None:
    if Path(__file__).parent in item.path.parents:
        need("triton")


@pytest.fixture(scope="session", autouse=True)
def _own_cache(tmp_path_factory: pytest.TempPathFactory) -> Iterator[None]:
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("TRITON_DEFAULT_FP_FUSION", "1")  # not set, it is a warning
        patch.setenv("TRITON_CACHE_DIR", str(tmp_path_factory.mktemp("triton")))
        yield


@pytest.fixture
def gfx942() -> Iterator[wave_runtime.Emulation]:
    with wave_runtime.emulate("gfx942") as emulation:
        yield emulation
