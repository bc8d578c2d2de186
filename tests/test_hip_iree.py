"""IREE's HIP driver over the library: operators and a small model give what they give on IREE's CPU."""

from __future__ import annotations

import re
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path

import pytest
from support import ROOT

pytestmark = pytest.mark.needs("iree")

OPERATORS = (ROOT / "tests" / "iree_operators.mlir").read_text()
NAMES = re.findall(r"@(\w+)\(", OPERATORS)
FEW = ["add", "exp", "matmul_f16", "convolution", "softmax", "gather", "model"]
CPU = ["--iree-hal-target-device=local", "--iree-hal-local-target-device-backends=llvm-cpu"]


def run_on(processor: str, names: Sequence[str], folder: Path) -> list[str]:
    """Compile the functions of these names, run them; what the program printed."""
    functions = re.findall(r"^func\.func @(\w+)(.*?\n}\n)", OPERATORS, re.MULTILINE | re.DOTALL)
    text = "\n".join(f"func.func @{name}{rest}" for name, rest in functions if name in names)
    (folder / "operators.mlir").write_text(text)
    hip = ["--iree-hal-target-device=hip", f"--iree-hip-target={processor}"]
    compilers = []
    for options, name in ((hip, "hip"), ([*CPU, "--iree-llvmcpu-target-cpu=generic"], "cpu")):
        command = [sys.executable, "-m", "iree.compiler.tools.scripts.iree_compile", *options, "operators.mlir"]
        compilers.append(subprocess.Popen([*command, "-o", f"{name}.vmfb"], cwd=folder))
    assert [compiler.wait() for compiler in compilers] == [0, 0]
    program = [ROOT / "tests" / "iree_on_hip.py", "operators.mlir", "hip.vmfb", "cpu.vmfb"]
    emulated = [sys.executable, "-m", "wave_emulator", "run", "--target", processor, "--", sys.executable, *program]
    done = subprocess.run(emulated, cwd=folder, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    return done.stdout.splitlines()


def test_operators(tmp_path: Path) -> None:
    device, *names = run_on("gfx942", FEW, tmp_path)
    assert names == FEW
    assert device == "Wave Runtime emulator (gfx942)"


@pytest.mark.long
@pytest.mark.parametrize("processor", ["gfx90a", "gfx942", "gfx950", "gfx1100", "gfx1201"])
def test_all_operators(processor: str, tmp_path: Path) -> None:
    assert run_on(processor, NAMES, tmp_path)[1:] == NAMES
