"""Operators on DTensors of two processes, on the emulator."""

from __future__ import annotations

from pathlib import Path

from ranks import run_ranks
from support import ROOT


def test_the_gemm_is_sharded_by_rows_columns_and_k(tmp_path: Path) -> None:
    output = run_ranks(ROOT / "examples" / "sharded_gemm.py", directory=tmp_path, is_warm=True)
    assert "All results equal torch's" in output
    for result in ("S(0)", "S(1)", "P(sum)", "R"):
        assert f" {result} " in output


def test_rules(tmp_path: Path) -> None:
    program = Path(__file__).with_name("sharding_rules.py")
    assert "all rules hold" in run_ranks(program, directory=tmp_path, is_warm=True)
