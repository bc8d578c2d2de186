"""Several emulated GPUs, a process for each: gloo stands in for NCCL."""

from __future__ import annotations

from pathlib import Path

from ranks import run_ranks

import wave_runtime


def test_training_on_two(tmp_path: Path) -> None:
    with wave_runtime.emulate("gfx942", devices=2):
        printed = run_ranks(Path(__file__).parent / "emulated_training.py", directory=tmp_path)
    assert sorted(line for line in printed.splitlines() if line.startswith("rank")) == [
        f"rank {rank} on Wave Runtime emulator (gfx942): gloo" for rank in range(2)
    ]
