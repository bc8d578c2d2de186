"""The table proves itself: no two rows overlap, and every column makes sense."""

from __future__ import annotations

import re
from collections import Counter, defaultdict
from itertools import combinations
from typing import Any

import check_isa
import isa_support
import pytest
from isa.encodings import SCALED, SHORT_FORMATS, classified_format, classify, encodings, fields

ROWS = isa_support.rows()
FIELDS = fields()
WIDTHS = {1, 2, 3, 4, 8, 16, 32}


def name(row: dict[str, Any]) -> str:
    return f"{row['format']} {row['opcode']:#x} {row['mnemonic']}"


def overlap(a: dict[str, Any], b: dict[str, Any]) -> bool:
    """Whether some bits are an instruction of both rows."""
    if (a["match"] ^ b["match"]) & a["mask"] & b["mask"]:
        return False
    if a["format"] == b["format"] == SCALED:  # whose opcode is in the third dword
        return bool(a["opcode"] == b["opcode"])
    # a format leaves codes of SRC0 to the forms with a further dword: VOP1 to VOP1_DPP
    first, second = classified_format(a["format"]), classified_format(b["format"])
    return first == second or first.partition("_")[0] != second.partition("_")[0]


@pytest.mark.parametrize("processor", isa_support.PROCESSORS)
def test_the_extension_has_the_committed_table(processor: str) -> None:
    """Every column of every row comes out as the file has it, so the names of all enumerations are right."""
    path = isa_support.ROOT / "csrc/emulator/isa" / f"{processor}.inc"
    rows = [line for line in path.read_text().splitlines() if not line.startswith("//")]
    assert [str(row) for row in check_isa.table(processor).rows] == rows


@pytest.mark.parametrize("processor", isa_support.PROCESSORS)
def test_no_two_rows_overlap(processor: str) -> None:
    rows = isa_support.rows(processor)
    overlapping = [(name(a), name(b)) for a, b in combinations(rows, 2) if overlap(a, b)]
    assert overlapping == []


def test_each_encoding_and_opcode_has_one_row() -> None:
    keys = Counter((classify(row["match"], encodings()).format, row["opcode"]) for row in ROWS)
    assert [key for key, count in keys.items() if count > 1] == []


def test_rows_are_sorted_by_encoding_and_opcode() -> None:
    order = [encoding.format for encoding in encodings()]
    keys = [(order.index(classify(row["match"], encodings()).format), row["opcode"]) for row in ROWS]
    assert keys == sorted(keys)


def test_fixed_bits_contain_encoding_and_opcode() -> None:
    for row in ROWS:
        encoding = classify(row["match"], encodings())
        assert encoding is not None, name(row)
        assert row["match"] & ~row["mask"] == 0, name(row)
        assert row["mask"] & encoding.mask == encoding.mask, name(row)
        assert encoding.opcode.get(row["match"]) == row["opcode"], name(row)
        assert encoding.opcode.get(row["mask"]) == encoding.opcode.mask >> encoding.opcode.low, name(row)
        assert row["mask"] < 1 << encoding.bits, name(row)


def test_operands_stand_in_fields_of_the_format() -> None:
    for row in ROWS:
        for operand in row["operands"]:
            if operand["kind"] in ("Vcc", "Immediate") and operand["field"] in ("NONE", "LITERAL"):
                continue
            assert operand["field"] in FIELDS[row["format"]], name(row)


def test_no_field_holds_two_operands() -> None:
    for row in ROWS:
        used = [operand["field"] for operand in row["operands"] if operand["field"] != "NONE"]
        assert len(used) == len(set(used)), name(row)


def test_operand_widths() -> None:
    for row in ROWS:
        for operand in row["operands"]:
            assert operand["dwords"] in WIDTHS, name(row)
            if operand["type"] in ("B64", "F64", "PackedF32") and row["format"] != "MAI":
                assert operand["dwords"] == 2, name(row)
            if operand["type"] in ("B16", "B32", "F16", "F32", "PackedB16", "PackedF16") and row["format"] != "MAI":
                assert operand["dwords"] == 1, name(row)


def test_every_operand_is_read_or_written() -> None:
    for row in ROWS:
        for operand in row["operands"]:
            assert operand["read"] or operand["written"], name(row)


def test_destinations_come_first() -> None:
    for row in ROWS:
        if row["base_name"] == "s_setreg_b32":  # writes the hardware register that its first operand names
            continue
        written = [operand["written"] for operand in row["operands"]]
        assert written == sorted(written, reverse=True), name(row)


def test_only_sources_may_be_constants() -> None:
    constants = {"ScalarSource", "VectorSource", "MatrixSource", "SdwaSource"}
    for row in ROWS:
        for operand in row["operands"]:
            assert not (operand["written"] and operand["kind"] in constants) or row["base_name"] == "v_swap_b32"


def test_a_base_name_means_one_instruction() -> None:
    """What the encodings of an instruction have in common: its operands' types and widths."""
    types = defaultdict(set)
    for row in ROWS:
        if row["format"].startswith("VOP") and row["operands"]:
            sources = tuple((o["type"], o["dwords"]) for o in row["operands"] if "SRC" in o["field"])
            types[row["base_name"]].add(sources[:2])
    assert {base: found for base, found in types.items() if len(found) > 1} == {}


def test_base_names() -> None:
    for row in ROWS:
        assert row["base_name"] == re.sub(r"_(e32|e64|sdwa|dpp)$", "", row["mnemonic"]), name(row)


def test_the_number_of_rows_of_each_format() -> None:
    """A change here is a change of the instruction set: look at it."""
    assert Counter(row["format"] for row in ROWS) == {
        "SOP1": 54, "SOP2": 53, "SOPK": 21, "SOPC": 20, "SOPP": 31, "SMEM": 84,
        "VOP1": 84, "VOP2": 61, "VOPC": 198, "VOP3": 433, "VOP3B": 10, "VOP3P": 33, "MAI": 48,
        "VOP1_SDWA": 63, "VOP2_SDWA": 49, "VOPC_SDWA": 132, "VOP1_DPP": 80, "VOP2_DPP": 56,
        "DS": 128, "FLAT": 54, "GLOBAL": 59, "SCRATCH": 27, "MUBUF": 73, "MTBUF": 16,
    }  # fmt: skip


def test_short_formats_fix_bits_of_one_dword_only() -> None:
    assert all(row["mask"] >> 32 == 0 for row in ROWS if row["format"] in SHORT_FORMATS)
