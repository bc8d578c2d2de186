"""Which bodies carry out which rows: nothing is left over on either side, and `coverage` says what is missing."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import pytest
from machine import isa_rows
from support import ROOT

from wave_runtime import _C

PROCESSORS = ("gfx90a", "gfx942", "gfx950", "gfx1030", "gfx1100", "gfx1150", "gfx1201")
# What depends on more than the row: GDS, and the hardware registers since GFX10.
BY_FIELDS = re.compile(r" gds$|^s_(getreg|setreg|setreg_imm32)_b32 ")

Key = tuple[str, int, str]


def key(row: dict[str, Any]) -> Key:
    return row["format"], row["opcode"], row["mnemonic"]


def halves(row: dict[str, Any]) -> list[str]:
    """The instructions that a row is: of VOPD two."""
    if row["format"] != "VOPD":
        return [row["base_name"]]
    return [f"v_{half.removeprefix('v_dual_')}" for half in row["mnemonic"].split(" :: ")]


def bodies_by_row(processor: str, lanes: int = 0) -> dict[Key, list[list[tuple[str, str]]]]:
    """For each row, and of VOPD for each half, the bodies, in waves of so many lanes (0: the usual ones)."""
    rows, bound = isa_rows(processor), _C.bound_bodies(processor, lanes)
    return {key(row): list(bodies[: len(halves(row))]) for row, bodies in zip(rows, bound, strict=True)}


def test_every_body_is_bound() -> None:
    tables = [bodies_by_row(name, lanes) for name in PROCESSORS for lanes in (32, 64)]
    bound = {body for table in tables for row in table.values() for half in row for body in half}
    assert set(_C.emulator_bodies()) - bound == set()


def test_bodies_of_a_name_are_told_apart() -> None:
    bodies = _C.emulator_bodies()
    assert len(bodies) == len(set(bodies))


@pytest.mark.parametrize("processor", PROCESSORS)
def test_every_entry_binds(processor: str) -> None:
    """An instruction that the family has, to bodies that there are."""
    entries = _C.binding_entries(processor)
    assert len({instruction for instruction, _ in entries}) == len(entries)
    assert {body for _, body in entries} - {name for name, _ in _C.emulator_bodies()} == set()
    instructions = {instruction for row in isa_rows(processor) for instruction in halves(row)}
    assert {instruction for instruction, _ in entries} - instructions == set()


def examples(processor: str) -> dict[Key, tuple[bytes, str]]:
    """An instruction of each row, and its text."""
    found = {}
    for row in isa_rows(processor):
        found[key(row)] = row["match"].to_bytes(8, "little"), row["mnemonic"]  # of those that no text tells apart
    for line in (ROOT / "tests" / "isa" / f"golden_{processor}.txt").read_text().splitlines():
        words, text = line.split("\t")
        code = b"".join(int(word, 16).to_bytes(4, "little") for word in words.split())
        row = _C.decode(processor, code)
        assert row is not None
        found[key(row)] = code, text
    return found


@pytest.mark.parametrize("processor", PROCESSORS)
def test_coverage_agrees(processor: str) -> None:
    """Coverage reports an example of each row that is bound to nothing, and of no other, but for operands of LDS."""
    code = examples(processor)
    for row, bodies in bodies_by_row(processor).items():
        is_missing, text = _C.unsupported(processor, code[row][0]) is not None, code[row][1]
        if not BY_FIELDS.search(text):
            assert is_missing == (not all(bodies) or "src_lds_direct" in text), text


@pytest.mark.parametrize("processor", ["gfx1030", "gfx1100", "gfx1150", "gfx1201"])
def test_what_is_unbound_is_listed(processor: str) -> None:
    """By instruction. Those of gfx942 stand in docs/emulator.md: test_coverage.py."""
    bodies, unbound = bodies_by_row(processor), set()
    for row in isa_rows(processor):
        unbound |= {name for name, half in zip(halves(row), bodies[key(row)], strict=True) if not half}
    assert unbound == set((Path(__file__).parent / f"unbound_{processor}.txt").read_text().split())
