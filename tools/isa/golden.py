"""Instructions with LLVM's text, to commit: the disassembler is tested where LLVM is not installed."""

import random
from collections.abc import Iterable, Iterator

from .agreement import CODE_OF_CONSTANT, LOST_DPP, Table, exemption, filled
from .encodings import BitField, Words, fields, format_bits, join, split
from .llvm import Disassembler
from .measure import parse
from .registers import VGPRS
from .row import Row
from .samples import DPP_CONTROLS, LITERALS, Sampler

SEED = 942
ATTEMPTS = 40  # draws of a row until one is legal

# Rows to try every value of a field on; the field's values may be a sample.
SWEEPS: dict[str, tuple[str, Iterable[int]]] = {
    "s_waitcnt": ("SIMM16", (0, 0xC07F, 0x0F70, 0xCF7F, 0x3FFF, 0xFFFF, 0x8A3C)),
    "s_sendmsg": ("SIMM16", (*range(0x80), 0x112, 0x233, 0x322, 0x101, 0x0181, 0xFFFF)),
    "s_getreg_b32": ("SIMM16", (*(0xF800 | number for number in range(64)), 0x0041, 0x1881)),
    "s_set_gpr_idx_mode": ("SIMM16", range(18)),
    "s_nop": ("SIMM16", (0, 15, 64, 65, 0xFFFF)),
    "s_endpgm": ("SIMM16", (0, 1, 0xFFFF)),
    "s_branch": ("SIMM16", (0, 1, 0x7FFF, 0x8000, 0xFFFF)),
    "s_movk_i32": ("SIMM16", (0, 64, 0x8000)),
    "s_load_dword": ("OFFSET", (0, 4, 0xFFFFF, 0x100000, 0x1FFFFF)),
    "s_add_u32": ("SSRC0", range(256)),
    "s_mov_b64": ("SSRC0", range(256)),
    "v_mov_b32_e32": ("SRC0", range(260)),
    "v_add_f16_e32": ("SRC0", range(128, 256)),
    "v_add_u16_e32": ("SRC0", range(128, 256)),
    "v_add_f64": ("SRC0", range(260)),
    "v_pk_add_f16": ("SRC0", range(128, 256)),
    "v_mov_b32_dpp": ("DPP_CTRL", DPP_CONTROLS[0x80::3]),
    "v_add_f32_sdwa": ("SRC0", range(256)),
    "tbuffer_load_format_x": ("DFMT", range(16)),
    "tbuffer_store_format_x": ("NFMT", range(8)),
    "tbuffer_load_format_xy": ("FORMAT", range(80)),  # since GFX10
    "ds_swizzle_b32": (
        "OFFSET",
        (0, 0x1F, 0x41F, 0xC1F, 0x7C1F, 0x3E, 0xF5, 0x7FFF, 0x8000, 0x80E4, 0x80FF, 0x8100, 0xFFFF),
    ),
    "global_load_dword": ("OFFSET", (0, 1, 4095, 4096, 8191)),
    "flat_load_dword": ("OFFSET", (0, 4095, 8191)),
}
SWEEP_WITH = {"v_add_f32_sdwa": ("S0", 1)}  # another field to set
LITERAL_ROWS = ("s_add_u32", "s_mov_b64", "v_add_f16_e32", "v_add_u16_e32", "v_add_f32_e32", "v_rcp_f64_e32",
                "v_pk_fmac_f16_e32", "v_madmk_f16", "v_fmaak_f32", "s_setreg_imm32_b32")  # fmt: skip

Group = tuple[Row, list[Words]]  # instructions of a row, of which the first that LLVM takes for it is wanted


def _words(row: Row, bits: int, literal: int = 0) -> Words:
    return split(_legible(row, bits), format_bits(row.generation, row.format), literal)


def _legible(row: Row, bits: int) -> int:
    """The instruction as LLVM reads it in full: with what it wants in bits that are ignored, tuples of registers that
    begin at even ones, and zeros for halves of what has none, and in the lanes of DPP where it loses them."""
    bits, known = filled(bits, row), fields(row.generation)[row.format]
    for operand in row.operands:
        if operand.dwords > 1 and operand.field in known and row.generation == "gfx9":
            bits &= ~(1 << known[operand.field].low)
    if "OP_SEL" in known and "VOP3_" in f"{row.format}_" and row.generation != "gfx9":
        for index, source in enumerate(("SRC0", "SRC1", "SRC2")):
            if known[source].width == 9 and known[source].get(bits) < VGPRS:
                bits &= ~(1 << known["OP_SEL"].low + index)
    if "DPP_CTRL" in known and row.mnemonic.startswith(LOST_DPP):
        bits = known["DPP_CTRL"].put(bits, 0)
    return bits


def _modifier_fields(row: Row) -> Iterator[BitField]:
    """The fields that no operand stands in."""
    operands = {operand.field for operand in row.operands}
    for name, bit_field in fields(row.generation)[row.format].items():
        if name not in operands and bit_field.mask & ~row.mask & ~row.ignored:
            yield bit_field


def _again(row: Row, words: Words) -> Words:
    """The words, as LLVM reads them in full."""
    own = format_bits(row.generation, row.format) // 32
    return (*_words(row, join(words[:own]))[:own], *words[own:])


def _each_modifier(row: Row, sampler: Sampler, draw: random.Random) -> Iterator[Group]:
    """Random operands with one modifier at a time."""
    words = sampler.of_row(row)
    bits = join(words)
    for bit_field in _modifier_fields(row):
        bits = bit_field.put(bits, 0)
    for bit_field in _modifier_fields(row):
        value = draw.randrange(1, 1 << bit_field.width)
        yield row, [_words(row, bit_field.put(bits, value) & ~row.mask | row.match)]


def _candidates(rows: list[Row]) -> Iterator[Group]:
    """Each row at random, and each modifier where it first occurs."""
    sampler, draw = Sampler(rows, SEED), random.Random(SEED)
    seen: set[tuple[str, tuple[str, ...]]] = set()
    for row in rows:
        yield row, [_again(row, sampler.of_row(row)) for _ in range(ATTEMPTS)]
        if (row.format, row.modifiers) not in seen:
            seen.add((row.format, row.modifiers))
            yield from _each_modifier(row, sampler, draw)


def _sweeps(rows: list[Row]) -> Iterator[Group]:
    by_name = {row.mnemonic: row for row in reversed(rows)}  # of DPP and DPP8 the former
    for name, (field, values) in SWEEPS.items():
        row = by_name.get(name)
        if row is None or field not in fields(row.generation)[row.format]:  # another processor
            continue
        known, base = fields(row.generation)[row.format], row.match
        if name in SWEEP_WITH:
            other, value = SWEEP_WITH[name]
            base = known[other].put(base, value)
        for value in values:
            bits = known[field].put(base, value)
            yield row, [_words(row, bits, LITERALS[-1])]
    for name in (name for name in LITERAL_ROWS if name in by_name):
        row = by_name[name]
        source = next((operand.field for operand in row.operands if operand.field in ("SSRC0", "SRC0")), None)
        bits = fields(row.generation)[row.format][source].put(row.match, 255) if source else row.match
        for literal in LITERALS:
            yield row, [_words(row, bits, literal)]


def golden(llvm: Disassembler, rows: list[Row]) -> list[str]:
    """Lines of words and text: every row, every modifier, and the sweeps."""
    groups = [*_candidates(rows), *_sweeps(rows)]
    results = iter(llvm(words for _, group in groups for words in group))
    table = Table(rows)
    lines: dict[str, None] = {}
    for row, group in groups:
        for words, result in [(words, next(results)) for words in group]:
            fits = result.accepted and parse(result.text).mnemonic == row.mnemonic
            if fits and exemption(words, result, table) is None and not CODE_OF_CONSTANT.match(result.text):
                digits = " ".join(f"{word:08x}" for word in words[: result.dwords])
                lines.setdefault(f"{digits}\t{result.text}")
                break
    return list(lines)
