"""Bits that the hardware does not look at: whatever stands there, it is the same instruction."""

from __future__ import annotations

import random
from collections.abc import Iterator
from typing import Any

import check_isa
import pytest
from isa.encodings import Words, classified_format, classify, encodings, fields, join, split
from isa.row import Row
from isa.samples import Sampler
from isa_support import PROCESSORS, decode, text

every_processor = pytest.mark.parametrize("processor", PROCESSORS)


def put(words: Words, bits: int) -> Words:
    """The words with other bits in the first two dwords."""
    return (*split(bits & (1 << 64) - 1, 64)[: min(2, len(words))], *words[2:])


def legal(row: Row, sampler: Sampler, processor: str) -> tuple[Words, dict[str, Any]]:
    """A random instruction of a row with zeros in the bits that are ignored, decoded."""
    for _ in range(3000):
        words = sampler.of_row(row)
        words = put(words, join(words) & ~row.ignored)
        decoded = decode(*words, processor=processor)
        if decoded is not None and (decoded["mnemonic"], decoded["format"]) == (row.mnemonic, row.format):
            return words, decoded
    raise AssertionError(f"no legal draw of {row}")


def fillings(row: Row, draw: random.Random) -> Iterator[int]:
    """Bits to put where they are ignored: each field full, each field at random, all."""
    for bit_field in fields(row.generation)[row.format].values():
        if mask := bit_field.mask & row.ignored:
            yield mask
            yield draw.getrandbits(96) & mask
    yield row.ignored
    yield draw.getrandbits(64) & row.ignored


@every_processor
def test_ignored_bits_change_nothing(processor: str) -> None:
    rows = check_isa.table(processor).rows
    sampler, draw, known = Sampler(rows, 7), random.Random(7), encodings(rows[0].generation)
    for row in rows:
        words, wanted = legal(row, sampler, processor)
        for filling in fillings(row, draw):
            bits = join(words) | filling
            encoding = classify(bits, known)
            if encoding is None or encoding.format != classified_format(row.format):
                continue  # an ignored SRC0 announces a further dword all the same
            assert decode(*put(words, bits), processor=processor) == wanted, f"{row.mnemonic}: {filling:#x}"


@every_processor
def test_a_bit_is_fixed_or_ignored_or_means_something(processor: str) -> None:
    for row in check_isa.table(processor).rows:
        known = fields(row.generation)[row.format]
        assert row.mask & row.ignored == 0, row.mnemonic
        assert row.match & ~row.mask == 0, row.mnemonic
        for operand in row.operands:
            if operand.field in known:
                assert known[operand.field].mask & row.ignored == 0, f"{row.mnemonic}: {operand.field}"


@pytest.mark.parametrize(
    ("processor", "words", "plain"),
    [
        # what LLVM 24 and AMD's own assembler put into SRC2 of two sources: the constant 0
        ("gfx1100", (0xD5030000, 0x02020201), "v_add_f32_e64 v0, s1, v1"),
        ("gfx1201", (0xD5030000, 0x02020201), "v_add_f32_e64 v0, s1, v1"),
        ("gfx942", (0xD1010000, 0x02020201), "v_add_f32_e64 v0, s1, v1"),
        ("gfx1100", (0xD5330000, 0x82020201), "v_sub_f16_e64 v0.l, s1, v1.l"),  # and NEG of that source
        ("gfx1100", (0xD7004000, 0x03FE0201), "v_add_co_u32 v0, s64, s1, v1"),
        ("gfx942", (0xBF8A1234,), "s_barrier"),
        ("gfx1100", (0xBFBD1234,), "s_barrier"),
        ("gfx942", (0xBE801CFF,), "s_getpc_b64 s[0:1]"),
        ("gfx942", (0xC0800041, 0x00000123), "s_dcache_inv"),
        ("gfx1100", (0xD4CA0005, 0x00020501), "v_cmpx_eq_u32_e64 v1, v2"),
        ("gfx1100", (0xD4CA007E, 0x00020501), "v_cmpx_eq_u32_e64 v1, v2"),
        ("gfx942", (0xDC500000, 0x017F0002), "flat_load_dword v1, v[2:3]"),
        ("gfx942", (0xDC500000, 0x01000302), "flat_load_dword v1, v[2:3]"),
        ("gfx1100", (0xDC500000, 0x017F0302), "flat_load_b32 v1, v[2:3]"),
        ("gfx942", (0xD86C0000, 0x01030302), "ds_read_b32 v1, v2"),
        ("gfx90a", (0xE0F80123, 0x45670089), "buffer_wbinvl1"),
    ],
)
def test_fields_that_an_instruction_has_no_use_for(processor: str, words: tuple[int, ...], plain: str) -> None:
    assert text(*words, processor=processor) == plain
