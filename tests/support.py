"""Names that several tests share."""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path
from typing import NoReturn

import pytest

import wave_runtime

ROOT = Path(__file__).parent.parent
EXAMPLES = ROOT / "examples" / "kernels"
PROBES = ROOT / "tests" / "emulator" / "kernels"

LoadKernel = Callable[..., wave_runtime.Kernel]


def absent(requirement: str, reason: str) -> NoReturn:
    """Skip a test that needs what is not there; fail it where WAVE_RUNTIME_REQUIRE lists the requirement."""
    if requirement in os.environ.get("WAVE_RUNTIME_REQUIRE", "").split(","):
        pytest.fail(f"{reason}, but WAVE_RUNTIME_REQUIRE={requirement}")
    pytest.skip(reason)
