"""Operators on DTensors of two processes, on the emulator."""

from __future__ import annotations

from pathlib import Path

from support import ROOT
from torchrun import torchrun


def test_the_gemm_is_sharded_by_rows_columns_and_k() -> None:
    output = torchrun(ROOT / "examples" / "sharded_gemm.py")
    assert "All results equal torch's" in output
    for result in ("S(0)", "S(1)", "P(sum)", "R"):
        assert f" {result} " in output


def test_rules() -> None:
    assert "all rules hold" in torchrun(Path(__file__).with_name("sharding_rules.py"))
