"""What the tests of launches that are chosen by their times share."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

import wave_runtime
from wave_runtime._op import _tuning


@pytest.fixture
def cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder for times, which are measured a tenth as long as for users: no test asks which launch is faster."""
    monkeypatch.setattr(_tuning, "SECONDS", _tuning.SECONDS / 10)
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
