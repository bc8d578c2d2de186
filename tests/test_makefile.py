"""What the Makefile runs beside pytest finds the tests' modules."""

from __future__ import annotations

import os
import re
import subprocess
import sys

import pytest
from support import ROOT


@pytest.mark.parametrize("target", ["fuzz", "campaign-random"])
def test_random_kernels_begin(target: str) -> None:
    command = ["make", "--dry-run", f"python={sys.executable}", target]
    printed = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=True).stdout
    line = re.search(r"^.* tests/emulator/test_random_kernels\.py", printed, re.MULTILINE)
    assert line is not None
    done = subprocess.run(
        ["sh", "-c", f"{line[0]} --help"],
        cwd=ROOT,
        env={**os.environ, "PYTHONPATH": str(ROOT)},  # as the Makefile exports it
        capture_output=True,
        text=True,
    )
    assert done.returncode == 0, done.stderr
