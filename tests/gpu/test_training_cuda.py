"""The example that trains a transformer, on the kernels of tiny_transformer.cu on an NVIDIA GPU, against torch."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest
from support import ROOT
from training_operators import load_kernels
from training_support import calls, opcheck

pytestmark = [
    pytest.mark.gpu,
    pytest.mark.needs("cuda", "cuda-compiler"),
    pytest.mark.filterwarnings("default"),  # Inductor has advice for each GPU.
]


def test_operators_pass_torchs_checks() -> None:
    load_kernels("cuda")
    for call in calls("cuda"):
        opcheck(call)


@pytest.mark.parametrize("options", [(), ("--compile",)], ids=["eager", "compiled"])
def test_losses_are_torchs(options: tuple[str, ...], tmp_path: Path) -> None:
    """The program compares them, and fails where they differ."""
    files = ("--json", tmp_path / "losses.json", "--picture", tmp_path / "losses.png")
    command = [sys.executable, "examples/train_tiny_transformer.py", "--device=cuda", "--compare", "--steps=30"]
    done = subprocess.run([*command, *files, *options], cwd=ROOT, capture_output=True, text=True, timeout=300)
    assert done.returncode == 0, done.stdout + done.stderr
    losses = json.loads((tmp_path / "losses.json").read_text())["CUDA kernels"]
    assert losses[-1] < losses[0] - 0.5
