"""The disassembler's text, compared with what LLVM 19 wrote: every row, every modifier, no LLVM needed."""

from __future__ import annotations

from pathlib import Path

import isa_support
import pytest
from isa.encodings import fields

GOLDEN = [
    ([int(word, 16) for word in words.split()], text)
    for words, _, text in (
        line.partition("\t")
        for line in (Path(__file__).parent / "golden_gfx942.txt").read_text().splitlines()
    )
]  # fmt: skip


def test_the_text_is_that_of_llvm() -> None:
    different = [(words, text, ours) for words, text in GOLDEN if (ours := isa_support.text(*words)) != text]
    assert different == []


def test_the_length_is_that_of_llvm() -> None:
    """Each instruction is as long as its words, also when others follow, and none when one is missing."""
    for words, text in GOLDEN:
        decoded = isa_support.decode(*words, 0xBF800000, 0xBF800000)
        assert decoded is not None, text
        assert decoded["dwords"] == len(words), text
        if len(words) > 1:
            assert isa_support.decode(*words[:-1]) is None, text


def test_every_row_is_there() -> None:
    seen = {decoded["mnemonic"] for words, _ in GOLDEN if (decoded := isa_support.decode(*words))}
    assert {row["mnemonic"] for row in isa_support.rows()} - seen == set()


@pytest.mark.parametrize("format_", sorted(fields()))
def test_every_modifier_is_there(format_: str) -> None:
    """Each field that is no operand has been seen set, unless the rows fix it."""
    rows = [row for row in isa_support.rows() if row["format"] == format_]
    operands = {operand["field"] for row in rows for operand in row["operands"]}
    free = {
        name
        for name, bit_field in fields()[format_].items()
        if name not in operands and any(bit_field.mask & ~row["mask"] for row in rows)
    }
    decoded = [d for words, _ in GOLDEN if (d := isa_support.decode(*words)) and d["format"] == format_]
    assert {name for name in free if not any(d["fields"][name] for d in decoded)} == set()
