"""A cache of compiled kernels for all these tests."""

from __future__ import annotations

import pytest


@pytest.fixture(autouse=True)
def _cache(tmp_path_factory: pytest.TempPathFactory, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("WAVE_RUNTIME_CACHE_DIR", str(tmp_path_factory.getbasetemp() / "compiled"))
