"""The disassembler's text, compared with what LLVM 22 wrote: every row, every modifier, no LLVM needed."""

from __future__ import annotations

import functools
from pathlib import Path
from typing import Any

import pytest
from isa.encodings import fields, generation
from isa_support import PROCESSORS, decode, rows, text

every_processor = pytest.mark.parametrize("processor", PROCESSORS)


@functools.cache
def golden(processor: str) -> list[tuple[tuple[int, ...], str]]:
    """Words and text."""
    lines = (Path(__file__).parent / f"golden_{processor}.txt").read_text().splitlines()
    parts = (line.partition("\t") for line in lines)
    return [(tuple(int(word, 16) for word in words.split()), text) for words, _, text in parts]


@functools.cache
def decoded_golden(processor: str) -> list[dict[str, Any]]:
    decoded = (decode(*words, processor=processor) for words, _ in golden(processor))
    return [instruction for instruction in decoded if instruction]


@every_processor
def test_the_text_is_that_of_llvm(processor: str) -> None:
    pairs = [(words, wanted, text(*words, processor=processor)) for words, wanted in golden(processor)]
    assert [pair for pair in pairs if pair[1] != pair[2]] == []


@every_processor
def test_the_length_is_that_of_llvm(processor: str) -> None:
    """Each instruction is as long as its words, also when others follow, and none when one is missing."""
    for words, wanted in golden(processor):
        decoded = decode(*words, 0xBF800000, 0xBF800000, processor=processor)
        assert decoded is not None, wanted
        assert decoded["dwords"] == len(words), wanted
        if len(words) > 1:
            assert decode(*words[:-1], processor=processor) is None, wanted


@every_processor
def test_every_row_is_there(processor: str) -> None:
    seen = {decoded["mnemonic"] for words, _ in golden(processor) if (decoded := decode(*words, processor=processor))}
    assert {row["mnemonic"] for row in rows(processor)} - seen == set()


DEPENDENCIES = {  # of S_WAITCNT_DEPCTR, as they are named: the first bit, and how many
    "hold_cnt": (7, 1),
    "sa_sdst": (0, 1),
    "va_vdst": (12, 4),
    "va_sdst": (9, 3),
    "va_ssrc": (8, 1),
    "va_vcc": (1, 1),
    "vm_vsrc": (2, 3),
}


@pytest.mark.parametrize("processor", ["gfx1030", "gfx1100", "gfx1201"])
def test_dependencies_that_are_waited_for_are_named(processor: str) -> None:
    """Where one of them is, all others being at their most, and where one is not."""
    (wait,) = (row for row in rows(processor) if row["mnemonic"] in ("s_waitcnt_depctr", "s_wait_alu"))
    most = {name: (1 << bits) - 1 << first for name, (first, bits) in DEPENDENCIES.items()}

    def named(simm16: int) -> str:
        mnemonic, _, names = text(int(wait["match"]) | simm16, processor=processor).partition(" ")
        assert mnemonic == wait["mnemonic"]
        return names

    for name in DEPENDENCIES:
        others = [other for other in DEPENDENCIES if other != name]
        assert named(sum(most[other] for other in others)) == f"depctr_{name}(0)"
        assert named(most[name]) == " ".join(f"depctr_{other}(0)" for other in others)


@pytest.mark.parametrize(
    ("processor", "format_"), [(each, format_) for each in PROCESSORS for format_ in sorted(fields(generation(each)))]
)
def test_every_modifier_is_there(processor: str, format_: str) -> None:
    """Each field that is no operand has been seen set, unless the rows fix or ignore it."""
    of_format = [row for row in rows(processor) if row["format"] == format_]
    operands = {operand["field"] for row in of_format for operand in row["operands"]}
    free = {
        name
        for name, bit_field in fields(generation(processor))[format_].items()
        if name not in operands and any(bit_field.mask & ~row["mask"] & ~row["ignored"] for row in of_format)
    }
    decoded = [instruction for instruction in decoded_golden(processor) if instruction["format"] == format_]
    assert {name for name in free if not any(d["fields"][name] for d in decoded)} == set()
