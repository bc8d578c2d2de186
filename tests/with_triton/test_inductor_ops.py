"""Inductor's Triton kernels for an emulated GPU, of operators drawn from torch's own database: see inductor_ops.py."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest
from support import first_or_long

EACH = 5


@pytest.mark.parametrize("first", first_or_long(range(0, 300, EACH), 1))
def test_operators_of_torch(first: int, tmp_path: Path) -> None:
    """As torch has them, or as Inductor's C++ kernels do."""
    program = [sys.executable, "-W", "ignore", Path(__file__).with_name("inductor_ops.py")]
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(filter(None, sys.path))}
    done = subprocess.run(
        [*program, str(first), str(first + EACH)],
        env={**environment, "TORCHINDUCTOR_CACHE_DIR": str(tmp_path)},
        capture_output=True,
        text=True,
    )
    assert done.returncode == 0, done.stderr
    *different, summary = done.stdout.splitlines()
    assert different == []
    assert summary.startswith(f"{EACH} operators, ")
    assert first or not summary.endswith(", 0 launches")  # elsewhere all five may be views
