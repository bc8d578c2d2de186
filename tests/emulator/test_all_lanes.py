"""What a lane computes does not depend on which others are enabled: light vector instructions have routines for waves
all of whose lanes are enabled, by what their sources are, and one with EXEC."""

from __future__ import annotations

import itertools
from collections.abc import Iterator
from typing import Any

import machine
import numpy as np
import pytest
import rdna_machine
import test_instructions
import test_rdna_arithmetic
from machine import Words
from model.draw import Case
from model.operands import EXEC
from rdna_machine import Row
from simd_levels import LEVELS, run_again
from test_rdna2_instructions import state_of

from wave_runtime import _C

EVEN, SIGN = np.uint32(0x55555555), np.uint32(0x80000000)
DENORMALS = 0xF0  # of MODE: rounds to nearest, and keeps them
ACROSS = (
    "permlane",
    "readlane",
    "readfirstlane",
    "writelane",
    "movrel",
    "swap",
)  # what reads other lanes, and the like
SOURCES = {"a vector register": 256 + 8, "a constant": 130, "a scalar register": 16}
MODIFIERS = ("CLAMP", "OMOD", "NEG", "ABS", "OP_SEL", "NEG_HI")


def are_nans(words: Words, type_: str) -> Any:
    """The bits of registers that belong to NaNs of a type: of doubles those of the upper register and of the lower."""
    if type_ in ("F16", "PackedF16"):
        low, high = ((words >> shift & 0x7FFF) > 0x7C00 for shift in (0, 16))
        return np.where(low, 0xFFFF, 0).astype(np.uint32) | np.where(high, 0xFFFF0000, 0).astype(np.uint32)
    if type_ == "F64":
        upper = np.where(words & ~SIGN >= 0x7FF80000, 0xFFFFFFFF, 0).astype(np.uint32)  # results' NaNs are quiet
        return upper | np.roll(upper, -1, axis=1)
    return np.where(words & ~SIGN > 0x7F800000, 0xFFFFFFFF, 0).astype(np.uint32)


def same(a: Words, b: Words, type_: str = "F32") -> bool:
    """But for which NaN it is: the host's instructions take one or the other, as compilers order factors and sums."""
    return not np.any((a ^ b) & ~(are_nans(a, type_) & are_nans(b, type_)))


def rows_of(target: str, format_: str) -> list[Row]:
    rows = test_instructions.ROWS if target == "gfx942" else test_rdna_arithmetic.ROWS[target]
    return [row for row in rows if row["format"] == format_ and not any(name in row["base_name"] for name in ACROSS)]


def cases_without_exec(target: str, row: Row, lanes: int) -> Iterator[Case]:
    """Those that do not read EXEC as a number."""
    sources = ("SRC0", "SRC1", "SRC2")
    if target == "gfx942":
        cases = (c for c in test_instructions.cases(row, 20) if not test_instructions.refusal(c, target))
    else:
        cases = test_rdna_arithmetic.cases(target, row, lanes)
    return (c for c in cases if not {c.fields.get(name) for name in sources} & {EXEC, EXEC + 1})


def plain(target: str, case: Case) -> Iterator[Case]:
    """The same without modifiers, with each kind of first source."""
    kinds = {operand["field"]: operand["kind"] for operand in case.row["operands"]}
    if kinds.get("SRC0") != "VectorSource":
        return
    fields = {name: value for name, value in case.fields.items() if name not in MODIFIERS}
    literal = case.literal if fields["SRC0"] != 255 else None
    for code in SOURCES.values():
        changed = Case(case.row, {**fields, "SRC0": code}, literal, case.state)
        decoded = _C.decode(target, test_instructions.code(changed))
        if decoded is not None and decoded["mnemonic"] == case.row["mnemonic"]:
            yield changed


def run(target: str, case: Case, lanes: int, enabled: np.uint32) -> Any:
    """The state after the instruction, where these lanes of each 32 are enabled."""
    state: Any = case.state if target == "gfx942" else state_of(case.state, lanes)
    state.mode[:] = DENORMALS
    state.exec[:, : lanes // 32] = enabled
    if target == "gfx942":
        return machine.run(case.words, state)
    return rdna_machine.run(target, case.words, state)


@pytest.mark.parametrize("format_", ["VOP1", "VOP2", "VOPC", "VOP3", "VOP3B", "VOP3P"])
@pytest.mark.parametrize(("target", "lanes"), [("gfx942", 64), ("gfx1201", 32), ("gfx1201", 64)])
@pytest.mark.parametrize("count", [1, pytest.param(10, marks=pytest.mark.long)])
def test_lanes(count: int, target: str, lanes: int, format_: str) -> None:
    rows = rows_of(target, format_)
    assert rows
    found = 0
    for row in rows:
        for drawn in itertools.islice(cases_without_exec(target, row, lanes), count):
            for case in (drawn, *plain(target, drawn)):
                both = run(target, case, lanes, EVEN | ~EVEN)
                for first, bits in ((0, EVEN), (1, ~EVEN)):
                    half = run(target, case, lanes, bits)
                    what = f"{row['mnemonic']} {case.fields}, lanes {first}, {first + 2} and so on"
                    type_ = row["operands"][0]["type"] if row["operands"] else "F32"
                    assert same(both.v[:, :, first::2], half.v[:, :, first::2], type_), what
                    for name in ("s", "vcc"):  # masks of lanes
                        assert not np.any((getattr(both, name) ^ getattr(half, name)) & bits), what
                found += case is not drawn
    assert found >= len(rows)


@pytest.mark.parametrize("level", LEVELS)
def test_simd_levels(level: str) -> None:
    run_again(level, __file__, "-k", "test_lanes and VOP2")
