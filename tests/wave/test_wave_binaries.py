"""The committed binaries are what the compiler makes of the sources."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest
from catalog import BINARIES
from support import EXAMPLES

HIP = {path.stem for suffix in ("hip", "cu") for path in (EXAMPLES / "sources").glob(f"*.{suffix}")}
NAMES = sorted({path.stem for path in BINARIES.glob("*.hsaco")} - HIP)

pytestmark = pytest.mark.needs("wave-lang")


@pytest.mark.parametrize(
    "names",
    [
        pytest.param(["gemm_f16_16x16x16", "softmax_f32_256"], id="two"),
        pytest.param(NAMES, id="all", marks=pytest.mark.long),
    ],
)
def test_sources_make_the_binaries(names: list[str], tmp_path: Path) -> None:
    subprocess.run([sys.executable, EXAMPLES / "build.py", "--output", tmp_path, *names], check=True)
    different = [
        name for name in names if (tmp_path / f"{name}.hsaco").read_bytes() != (BINARIES / f"{name}.hsaco").read_bytes()
    ]
    assert different == []


@pytest.mark.long
def test_every_wave_binary_has_a_source(tmp_path: Path) -> None:
    code = "import build; print(*sorted(build.wave_builders()), sep='\\n')"
    done = subprocess.run([sys.executable, "-c", code], cwd=EXAMPLES, check=True, capture_output=True, text=True)
    assert done.stdout.split() == NAMES
