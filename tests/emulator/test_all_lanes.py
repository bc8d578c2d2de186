"""What a lane computes does not depend on which others are enabled: light vector instructions have a loop for waves all
of whose lanes are enabled, and one with EXEC."""

from __future__ import annotations

import itertools
from collections.abc import Iterator

import numpy as np
import pytest
import rdna_machine
from machine import Words
from model.draw import Case
from model.operands import EXEC
from rdna_machine import Row
from simd_levels import LEVELS, run_again
from test_rdna2_instructions import state_of
from test_rdna_arithmetic import ROWS, cases

TARGET = "gfx1201"
EVEN, SIGN = np.uint32(0x55555555), np.uint32(0x80000000)
DENORMALS = 0xF0  # of MODE: rounds to nearest, and keeps them


def same(a: Words, b: Words) -> bool:
    """But for which NaN it is: the host's instructions take one or the other, as compilers order factors and sums."""
    nan = 0x7F800000
    return bool(np.all((a == b) | ((a & ~SIGN > nan) & (b & ~SIGN > nan))))


def cases_without_exec(row: Row, lanes: int) -> Iterator[Case]:
    """Those that do not read EXEC as a number."""
    sources = ("SRC0", "SRC1", "SRC2")
    return (c for c in cases(TARGET, row, lanes) if not {c.fields.get(name) for name in sources} & {EXEC, EXEC + 1})


@pytest.mark.parametrize("format_", ["VOP1", "VOP2", "VOPC", "VOP3", "VOP3B", "VOP3P"])
@pytest.mark.parametrize("lanes", [32, 64])
@pytest.mark.parametrize("count", [1, pytest.param(10, marks=pytest.mark.long)])
def test_lanes(count: int, lanes: int, format_: str) -> None:
    rows = [row for row in ROWS[TARGET] if row["format"] == format_ and "permlane" not in row["base_name"]]
    assert rows
    for row in rows:
        for case in itertools.islice(cases_without_exec(row, lanes), count):
            state = state_of(case.state, lanes)
            state.mode[:] = DENORMALS
            after = []
            for enabled in (EVEN | ~EVEN, EVEN, ~EVEN):
                state.exec[:, : lanes // 32] = enabled
                after.append(rdna_machine.run(TARGET, case.words, state))
            both, *halves = after
            for first, bits, half in zip((0, 1), (EVEN, ~EVEN), halves, strict=True):
                what = f"{row['mnemonic']} {case.fields}, lanes {first}, {first + 2} and so on"
                assert same(both.v[:, :, first::2], half.v[:, :, first::2]), what
                for name in ("s", "vcc"):  # masks of lanes
                    assert not np.any((getattr(both, name) ^ getattr(half, name)) & bits), what


@pytest.mark.parametrize("level", LEVELS)
def test_simd_levels(level: str) -> None:
    run_again(level, __file__, "-k", "test_lanes and VOP2")
