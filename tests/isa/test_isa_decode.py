"""Decoding: lengths, literals, operands, and words that are no instruction."""

from __future__ import annotations

import struct
from typing import Any

import isa_support
import pytest
from hypothesis import given
from hypothesis import strategies as st
from isa_support import PROCESSOR, decode, text

from wave_runtime import _C

S_NOP = 0xBF800000


def places(*words: int) -> list[tuple[str, int, int]]:
    decoded = decode(*words)
    assert decoded is not None
    return [(o["place"], o["value"], o["located_dwords"]) for o in decoded["operands"]]


def test_a_decoded_instruction_tells_everything() -> None:
    decoded = decode(0x020200F2)  # v_add_f32_e32 v1, 1.0, v0
    assert decoded is not None
    assert (decoded["mnemonic"], decoded["base_name"], decoded["format"], decoded["opcode"]) == (
        "v_add_f32_e32",
        "v_add_f32",
        "VOP2",
        1,
    )
    assert decoded["fields"] == {"SRC0": 242, "VSRC1": 0, "VDST": 1}
    assert decoded["operands"][1] == {
        "field": "SRC0",
        "kind": "VectorSource",
        "type": "F32",
        "dwords": 1,
        "written": False,
        "read": True,
        "place": "Scalar",
        "value": 242,
        "located_dwords": 1,
    }
    assert decoded["text"] == "v_add_f32_e32 v1, 1.0, v0"


@pytest.mark.parametrize(
    ("upper", "is_known"),
    [
        ((0xD3AD0952, 0xEC0AE530), True),  # v_mfma_f32_16x16x128_f8f6f4 with ABID 1, which says that scales are there
        ((0xD3AD0152, 0xEC0AE530), False),
        ((0xD3AD1152, 0xEC0AE530), False),
        ((0xBF800800, 0xEC0AE530), False),  # no VOP3P
    ],
)
def test_products_with_scales(upper: tuple[int, int], is_known: bool) -> None:
    decoded = decode(0xD3AC0000, 0x100367A7, *upper, processor="gfx950")
    assert (decoded is not None) == is_known
    assert decoded is None or decoded["mnemonic"] == "v_mfma_scale_f32_16x16x128_f8f6f4"


@pytest.mark.parametrize(
    ("words", "dwords", "literal"),
    [
        ((0xBE8000FF, 0x12345678), 2, 0x12345678),  # s_mov_b32 s0, 0x12345678
        ((0x8000FFFF, 0x12345678), 2, 0x12345678),  # s_add_u32 with the literal twice
        ((0x020000FF, 0x3F9D70A4), 2, 0x3F9D70A4),  # v_add_f32_e32 v0, 0x3f9d70a4, v0
        ((0x2E000000, 0x3F9D70A4), 2, 0x3F9D70A4),  # v_fmamk_f32: K always follows
        ((0x300000FF, 0x3F9D70A4), 2, 0x3F9D70A4),  # v_fmaak_f32: SRC0 and K share it
        ((0x48000000, 0x00003800), 2, 0x00003800),  # v_madmk_f16
        ((0xBA000001, 0x000000F0), 2, 0x000000F0),  # s_setreg_imm32_b32
        ((0xBE800000,), 1, 0),
        ((0xD1010000, 0x00000000), 2, 0),  # VOP3 has no literal on this target
    ],
)
def test_literals(words: tuple[int, ...], dwords: int, literal: int) -> None:
    decoded = decode(*words, S_NOP)
    assert decoded is not None
    assert (decoded["dwords"], decoded["literal"]) == (dwords, literal)


@pytest.mark.parametrize(
    ("words", "expected"),
    [
        # buffer_load_dword: off, one register (OFFEN), two (both)
        ((0xE0500000, 0x00000000), [("Vgpr", 0, 1), ("Nowhere", 0, 0), ("Scalar", 0, 4), ("Scalar", 0, 1)]),
        ((0xE0501000, 0x80010203), [("Vgpr", 2, 1), ("Vgpr", 3, 1), ("Scalar", 4, 4), ("Scalar", 128, 1)]),
        ((0xE0503000, 0x80810204), [("Agpr", 2, 1), ("Vgpr", 4, 2), ("Scalar", 4, 4), ("Scalar", 128, 1)]),
        # ... into LDS there is no data register
        ((0xE0510000, 0x00000000), [("Nowhere", 0, 0), ("Nowhere", 0, 0), ("Scalar", 0, 4), ("Scalar", 0, 1)]),
        # global_load_dword: a 64-bit address, or a scalar base and a 32-bit offset
        ((0xDC508000, 0x017F0002), [("Vgpr", 1, 1), ("Vgpr", 2, 2), ("Nowhere", 0, 0)]),
        ((0xDC508000, 0x01040002), [("Vgpr", 1, 1), ("Vgpr", 2, 1), ("Scalar", 4, 2)]),
        # global_atomic_add: VDST exists where SC0 asks for it
        ((0xDD088000, 0x017F0302), [("Nowhere", 0, 0), ("Vgpr", 2, 2), ("Vgpr", 3, 1), ("Nowhere", 0, 0)]),
        ((0xDD098000, 0x01FF0302), [("Agpr", 1, 1), ("Vgpr", 2, 2), ("Agpr", 3, 1), ("Nowhere", 0, 0)]),
        # scratch_load_dword: off or a register for each part of the address
        ((0xDC504000, 0x017F0000), [("Vgpr", 1, 1), ("Nowhere", 0, 0), ("Nowhere", 0, 0)]),
        ((0xDC506000, 0x01050002), [("Vgpr", 1, 1), ("Vgpr", 2, 1), ("Scalar", 5, 1)]),
        # s_load_dwordx2: an immediate, a register in OFFSET, one in SOFFSET, both
        ((0xC0060083, 0x00000010), [("Scalar", 2, 2), ("Scalar", 6, 2), ("Immediate", 16, 1)]),
        ((0xC0040083, 0x00000010), [("Scalar", 2, 2), ("Scalar", 6, 2), ("Scalar", 16, 1)]),
        ((0xC0044083, 0x0A000000), [("Scalar", 2, 2), ("Scalar", 6, 2), ("Scalar", 5, 1)]),
        ((0xC0064083, 0x0A000010), [("Scalar", 2, 2), ("Scalar", 6, 2), ("Scalar", 5, 1)]),
        # v_mfma_f32_16x16x16_f16: ACC_CD for the accumulators, ACC for each source
        ((0xD3CD8004, 0x0C12090A), [("Agpr", 4, 4), ("Agpr", 10, 2), ("Vgpr", 4, 2), ("Agpr", 4, 4)]),
        # v_add_f32_sdwa: S1 makes the second source scalar
        ((0x020404F9, 0x86060600), [("Vgpr", 2, 1), ("Vgpr", 0, 1), ("Scalar", 2, 1)]),
        # v_cmp_eq_f32_sdwa: VCC, or the registers in SDST
        ((0x7C8404F9, 0x06060000), [("Scalar", 106, 2), ("Vgpr", 0, 1), ("Vgpr", 2, 1)]),
        ((0x7C8404F9, 0x06068400), [("Scalar", 4, 2), ("Vgpr", 0, 1), ("Vgpr", 2, 1)]),
        # register tuples that are not aligned are aligned down: s[3:4] is s[2:3], ttmp[1:2] is ttmp[0:1]
        ((0xBE830103,), [("Scalar", 2, 2), ("Scalar", 2, 2)]),
        ((0xBEED016D,), [("Scalar", 108, 2), ("Scalar", 108, 2)]),
    ],
)
def test_where_operands_lie(words: tuple[int, ...], expected: list[tuple[str, int, int]]) -> None:
    assert places(*words) == expected


@pytest.mark.parametrize(
    ("words", "reason"),
    [
        ((0xBE80007D,), "125 names nothing"),
        ((0xBE8000FE,), "scalar instructions do not read LDS_DIRECT"),
        ((0xBE80017F,), "exec_hi begins no pair"),
        ((0x7E0002E0,), "224 names nothing"),
        ((0xD1010000, 0x000000FF), "VOP3 takes no literal"),
        ((0xC0021F00, 0x00000000), "s_load_dword into m0"),
        ((0xD9FC0000, 0xFF000000), "ds_read_b128 into v[255:258]"),
        ((0xE05C0000, 0x801F0000), "a buffer resource in s[124:127]"),
        ((0x7E0202FA, 0xFF018000), "a dpp_ctrl that does not exist"),
        ((0x7E0202F9, 0x00060700), "a dst_sel that does not exist"),
        ((0xDC50C000, 0x00000000), "the fourth segment of FLAT"),
        ((0xF0000000, 0x00000000), "image instructions"),
        ((0xFFFFFFFF,), "no encoding"),
        ((0xD3CD0004, 0x04120600), "a matrix operand in scalar registers"),
        ((0xD2800001, 0x00020501), "a pair of vector registers that begins at an odd one"),
    ],
)
def test_what_is_no_instruction(words: tuple[int, ...], reason: str) -> None:
    assert decode(*words, S_NOP, S_NOP) is None, reason


def test_an_unknown_word_is_one_word_of_data() -> None:
    data = isa_support.pack(0xFFFFFFFF, 0xBF810000)
    assert _C.disassemble(PROCESSOR, data, 0x100) == [
        (0x100, data[:4], ".long 0xffffffff"),
        (0x104, data[4:], "s_endpgm"),
    ]


def test_an_unknown_processor_is_an_error() -> None:
    for call in (
        lambda: _C.isa_rows("gfx000"),
        lambda: _C.decode("gfx000", bytes(4)),
        lambda: _C.disassemble("x", b""),
    ):
        with pytest.raises(ValueError, match="no instruction table for the processor"):
            call()


@pytest.mark.parametrize("size", [1, 2, 3, 5, 7])
def test_bytes_must_be_words(size: int) -> None:
    with pytest.raises(ValueError, match=f"{size} bytes are not a multiple"):
        _C.disassemble(PROCESSOR, bytes(size))


def test_decode_wants_a_word() -> None:
    with pytest.raises(ValueError, match="at least 4 bytes"):
        _C.decode(PROCESSOR, b"")


@given(st.lists(st.integers(0, 2**32 - 1), max_size=40))
def test_a_sweep_covers_all_bytes(words: list[int]) -> None:
    data = isa_support.pack(*words)
    lines: list[tuple[int, bytes, str]] = _C.disassemble(PROCESSOR, data)
    assert b"".join(piece for _, piece, _ in lines) == data
    address = 0
    for line_address, piece, _ in lines:
        assert line_address == address
        address += len(piece)


ROWS = isa_support.rows()


@given(st.sampled_from(ROWS), st.integers(0, 2**64 - 1), st.integers(0, 2**32 - 1))
def test_an_instruction_depends_on_its_own_words_only(row: dict[str, Any], noise: int, literal: int) -> None:
    bits = noise & ~row["mask"] | row["match"]
    words = [bits & 0xFFFFFFFF, bits >> 32, literal]
    decoded = decode(*words)
    if decoded is None:
        return
    own = words[: decoded["dwords"]]
    assert decode(*own) == decoded
    assert decode(*own, 0xFFFFFFFF) == decoded
    assert all(decode(*own[:length]) is None for length in range(1, len(own)))


@given(st.sampled_from(ROWS), st.integers(0, 2**64 - 1))
def test_a_decoded_row_is_the_row_of_its_bits(row: dict[str, Any], noise: int) -> None:
    bits = noise & ~row["mask"] | row["match"]
    decoded = decode(bits & 0xFFFFFFFF, bits >> 32, 0)
    if decoded is not None and bits & 0x1FF not in (249, 250):
        assert decoded["mnemonic"] == row["mnemonic"]
        for name, value in decoded["fields"].items():
            assert value < 2**32, name


def test_branch_targets_are_numbers() -> None:
    assert text(0xBF82FFFF) == "s_branch 65535"
    assert struct.unpack("<h", struct.pack("<H", 65535))[0] == -1
