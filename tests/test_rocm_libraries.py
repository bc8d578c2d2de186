"""AMD's rocSPARSE and rocRAND, binaries that nobody here has built, on tensors of an emulated GPU."""

from __future__ import annotations

import subprocess
import sys

import pytest
from support import ROOT

pytestmark = pytest.mark.needs("rocm-libraries")

PROGRAM = ROOT / "tests" / "rocm_libraries.py"
FUNCTIONS = ["csrmv", "csrmm", "csrsv", "csrsort", "gtsv", "philox", "sobol"]


def run(command: str, target: str, *functions: str) -> subprocess.CompletedProcess[str]:
    words = [sys.executable, "-m", "wave_runtime", command, "--target", target, "--", sys.executable, str(PROGRAM)]
    return subprocess.run([*words, *functions], capture_output=True, text=True)


@pytest.mark.parametrize("target", ["gfx90a", "gfx1030"])
def test_functions(target: str) -> None:
    done = run("emulate", target, *FUNCTIONS)
    assert done.stdout.splitlines() == FUNCTIONS, done.stderr


def test_what_the_sanitizer_finds() -> None:
    """Waves end before a barrier to which the others come, in one kernel alone. Debian builds with lines of sources."""
    done = run("sanitize", "gfx90a", *FUNCTIONS)
    assert done.stdout.splitlines() == FUNCTIONS, done.stderr
    errors = [line for line in done.stderr.splitlines() if ": error: " in line]
    assert len(errors) == 4
    for error in errors:
        assert "kernel 'csrmmnn_general_kernel<" in error
        assert error.endswith("[barriers:ended-wave]")
    assert "(./library/src/level3/csrmm_device.h:80)" in done.stderr
