"""Both checks, hazards and races, find nothing in what compilers make."""

from __future__ import annotations

from typing import Any

import pytest
import warm_python
from catalog import CATALOG


@pytest.fixture(autouse=True, params=["hazards", "races"])
def _check(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("WAVE_RUNTIME_CHECK", request.param)


@pytest.mark.parametrize("example", CATALOG, ids=lambda example: str(example.name))
def test_example_kernels_have_none(example: Any) -> None:
    """What clang and Wave's compiler make waits where it must, and is ordered."""
    example.run(*example.inputs(*example.sizes[0]))


def test_compiled_probes_have_none() -> None:
    """The tests of what compilers make of HIP's language and library, under the check."""
    files = ["tests/emulator/test_launch_state.py", "tests/emulator/test_control.py"]
    done = warm_python.run("-m", "pytest", "-q", "-p", "no:cacheprovider", *files)
    assert done.returncode == 0, done.stdout
