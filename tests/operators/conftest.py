"""What the tests of launches that are chosen by their times share."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

import wave_runtime


@pytest.fixture
def cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("WAVE_RUNTIME_CACHE_DIR", str(tmp_path))
    return tmp_path


@pytest.fixture
def blocks() -> Iterator[Callable[[], list[int]]]:
    """The block sizes of the launches since it was last asked."""
    seen: list[int] = []

    def since() -> list[int]:
        result = seen.copy()
        seen.clear()
        return result

    with wave_runtime.hooks.launch_hook(enter=lambda event: seen.append(event.block[0])):
        yield since
