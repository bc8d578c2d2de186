"""Where GPUs compute otherwise than AMD's documents say, or where these are silent: what was measured on a gfx1100 and
a gfx1201 by AMD (ROCm/rocm-systems, emulation/rocjitsu: shared/division.h, minmax.h, fract.h, output_modifier.h, and
tests/valu_fp_mode_test.cpp), and what tinygrad's tests of a gfx1100 say (test/amd/hw/test_vop3.py).
"""

from __future__ import annotations

import struct
from collections.abc import Sequence
from typing import NamedTuple

import machine
import numpy as np
import pytest
import rdna_machine
from machine import encode

CDNA, RDNA = ("gfx90a", "gfx942", "gfx950"), ("gfx1030", "gfx1100", "gfx1150", "gfx1201")
TARGETS = (*CDNA, *RDNA)
KEEPS, FLUSHES, IEEE, CLAMPS_NAN, OVERFLOW = 0xF0, 0xC0, 0x200, 0x100, 1 << 23  # of MODE; FLUSHES is of f32
TIMES_2, TIMES_4, HALF = 1, 2, 3  # OMOD
INFINITY, LARGEST, SMALLEST, NAN, MINUS = 0x7F800000, 0x7F7FFFFF, 0x00800000, 0x7FC00000, 0x80000000


def f32(value: float) -> int:
    return int(struct.unpack("<I", struct.pack("<f", value))[0])


class Result(NamedTuple):
    registers: tuple[int, ...]  # v8 and its followers
    vcc: int  # the first lane's bit


def run(target: str, mnemonic: str, sources: Sequence[int], mode: int = KEEPS, **fields: int) -> Result:
    """A vector instruction on v0 and its followers, in all lanes. A source of two dwords has two registers."""
    rdna = target in RDNA
    row = next(row for row in machine.isa_rows(target) if row["mnemonic"] == mnemonic)
    state = rdna_machine.State(1, 32) if rdna else machine.State(1)
    state.mode[:] = mode
    register = 0
    for operand in row["operands"]:
        if operand["read"] and operand["field"].startswith("SRC"):
            value, fields[operand["field"]] = sources[int(operand["field"][3])], 256 + register
            for dword in range(operand["dwords"]):
                state.v[0, register] = value >> 32 * dword & 0xFFFFFFFF
                register += 1
            register += register % 2
    present = {operand["field"] for operand in row["operands"]}
    fields |= {"SDST": 106} if "SDST" in present else {}
    words = encode(row, VDST=8, **fields)
    found = rdna_machine.run(target, words, state) if rdna else machine.run(words, state, processor=target)  # type: ignore[arg-type]
    assert (found.v[0, 8] == found.v[0, 8, 0]).all()
    return Result(tuple(int(bits) for bits in found.v[0, 8:10, 0]), int(found.vcc[0, 0] & 1))


def is_nan(bits: int) -> bool:
    return bits & 0x7FFFFFFF > INFINITY


def same(found: int, wanted: int) -> bool:
    return found == wanted or (is_nan(found) and is_nan(wanted))


def bf16(value: float) -> int:
    return f32(value) >> 16


def f16(value: float) -> int:
    return int(struct.unpack("<H", struct.pack("<e", value))[0])


@pytest.mark.parametrize("below", range(24, 30))
@pytest.mark.parametrize("target", ["gfx1100", "gfx1150", "gfx1201"])
def test_sums_of_products_are_cut_off_26_places_below_their_first(target: str, below: int) -> None:
    """csrc/emulator/rdna_sums.h says whose rule that is. Half of a last place of C is rounded up by what is more."""
    x, y = 2.0**-12 + 2.0 ** (12 - below) * (below > 24), 2.0**-12
    wanted = f32(1 + 2.0**-23 if 24 < below <= 26 else 1)
    for kind, code in (("f16", f16), ("bf16", bf16)):
        assert run(target, f"v_dot2_f32_{kind}", [code(x), code(y), f32(1)], OP_SEL_HI=3).registers[0] == wanted


@pytest.mark.parametrize("below", range(150, 155))
def test_sums_of_small_products_are_cut_off_26_places_below_normal_numbers(below: int) -> None:
    """By RDNA4, which makes denormals of f32: half of the least one is rounded up by what is more."""
    x, y = 2.0**-75 + 2.0 ** (75 - below) * (below > 150), 2.0**-75
    found = run("gfx1201", "v_dot2_f32_bf16", [bf16(x), bf16(y), 0], OP_SEL_HI=3).registers[0]
    assert found == (1 if 150 < below <= 152 else 0)


@pytest.mark.parametrize("target", TARGETS)
@pytest.mark.parametrize(
    ("denominator", "numerator", "scaled_denominator", "scaled_numerator", "vcc"),
    [
        (4.0, 1.0, 4.0, 1.0, 0),
        (0.0, 1.0, None, None, 1),
        (1.0, 0.0, None, None, 1),
        (1.0, 2.0**-126, 1.0, 2.0**-62, 1),  # the quotient is no denormal
        (1.0, 2.0**-96, 1.0, 2.0**-32, 1),
        (1.0, 2.0**-95, 1.0, 2.0**-95, 0),
        (2.0**-96, 1.0, 2.0**-32, 1.0, 1),
        (2.0**-95, 1.0, 2.0**-95, 1.0, 0),
        (2.0**126, 2.0**40, 2.0**62, 2.0**-24, 0),
        (2.0**126, 2.0**30, 2.0**62, 2.0**30, 1),
        (2.0**-149, 2.0**-60, 2.0**-85, 2.0**4, 0),
        (2.0**-103, 2.0**-103, 2.0**-39, 2.0**-39, 0),
        (2.0**-102, 2.0**-102, 2.0**-102, 2.0**-102, 0),
    ],
)
def test_scaling_of_a_division(
    target: str,
    denominator: float,
    numerator: float,
    scaled_denominator: float | None,
    scaled_numerator: float | None,
    vcc: int,
) -> None:
    for value, wanted in ((denominator, scaled_denominator), (numerator, scaled_numerator)):
        if denominator == numerator and value is numerator:
            continue
        found = run(target, "v_div_scale_f32", [f32(value), f32(denominator), f32(numerator)])
        assert same(found.registers[0], NAN if wanted is None else f32(wanted))
        assert found.vcc == vcc


def f64(value: float) -> int:
    return int(struct.unpack("<Q", struct.pack("<d", value))[0])


@pytest.mark.parametrize("target", TARGETS)
@pytest.mark.parametrize(
    ("denominator", "numerator", "scaled", "vcc"),
    [
        (1.0, 2.0**-768, 2.0**-640, 1),
        (1.0, 2.0**-767, 2.0**-767, 0),
        (2.0**1022, 2.0**300, 2.0**172, 0),
        (2.0**-970, 2.0**-970, 2.0**-842, 0),
        (2.0**-969, 2.0**-969, 2.0**-969, 0),
    ],
)
def test_scaling_of_a_division_of_doubles(
    target: str, denominator: float, numerator: float, scaled: float, vcc: int
) -> None:
    found = run(target, "v_div_scale_f64", [f64(numerator), f64(denominator), f64(numerator)])
    assert found.registers == (f64(scaled) & 0xFFFFFFFF, f64(scaled) >> 32)
    assert found.vcc == vcc


@pytest.mark.parametrize("target", TARGETS)
@pytest.mark.parametrize("sign", [0, MINUS])
def test_a_quotient_that_overflows_is_rounded_as_mode_says(target: str, sign: int) -> None:
    up, down = (LARGEST, INFINITY) if sign else (INFINITY, LARGEST)
    for rounding, wanted in enumerate([INFINITY, up, down, LARGEST]):
        mode = KEEPS | rounding | rounding << 2
        for quotient in (INFINITY, NAN):
            found = run(target, "v_div_fixup_f32", [quotient, f32(0.5) | sign, LARGEST], mode)
            assert found.registers[0] == wanted | sign
        for quotient in (0x7C00, 0x7E00):
            found = run(target, "v_div_fixup_f16", [quotient, 0x3800 | sign >> 16, 0x7BFF], mode)
            assert found.registers[0] & 0xFFFF == (0x7C00 if wanted == INFINITY else 0x7BFF) | sign >> 16


@pytest.mark.parametrize("target", TARGETS)
def test_the_median_of_zeros_is_that_of_signed_ones(target: str) -> None:
    for count, places in enumerate([(), (0,), (0, 1), (0, 1, 2)]):
        for turn in range(3):
            sources = [MINUS if (i + turn) % 3 in places else 0 for i in range(3)]
            mnemonic = "v_med3_num_f32" if target == "gfx1201" else "v_med3_f32"
            assert run(target, mnemonic, sources).registers[0] == (MINUS if count >= 2 else 0)


@pytest.mark.parametrize("target", TARGETS)
@pytest.mark.parametrize("rounding", range(4))
def test_the_fraction_of_an_integer_is_positive(target: str, rounding: int) -> None:
    for value in (0.0, -0.0, 1.0, -3.0):
        assert run(target, "v_fract_f32_e32", [f32(value)], KEEPS | rounding).registers[0] == 0


# Of the results of additions of zero.
SCALED = [
    (MINUS | SMALLEST, HALF, MINUS),
    (0x00FFFFFF, HALF, 0),  # and not rounded to the smallest normal number
    (MINUS, TIMES_2, 0),
    (MINUS, HALF, 0),
    (f32(-3.0), HALF, f32(-1.5)),
    (f32(3.0), TIMES_4, f32(12.0)),
    (LARGEST, TIMES_2, INFINITY),
]


@pytest.mark.parametrize("target", [*CDNA, "gfx1201"])
@pytest.mark.parametrize(("source", "omod", "wanted"), SCALED)
def test_output_modifiers(target: str, source: int, omod: int, wanted: int) -> None:
    assert run(target, "v_add_f32_e64", [source, MINUS], FLUSHES, OMOD=omod).registers[0] == wanted


@pytest.mark.parametrize(("source", "omod", "wanted"), [*SCALED, (1, TIMES_4, 0), (MINUS | 1, TIMES_4, 0)])
def test_output_modifiers_of_gfx1201_count_where_denormals_are_kept(source: int, omod: int, wanted: int) -> None:
    assert run("gfx1201", "v_add_f32_e64", [source, MINUS], OMOD=omod).registers[0] == wanted
    assert run("gfx942", "v_add_f32_e64", [source, MINUS], OMOD=omod).registers[0] == source


@pytest.mark.parametrize("target", TARGETS)
@pytest.mark.parametrize("rounding", range(4))
@pytest.mark.parametrize(
    ("mnemonic", "source", "wanted"),
    [
        ("v_exp_f32", 0x43000000, INFINITY),
        ("v_exp_f32", 0x42FFFFFF, 0x7F7FFFA7),
        ("v_exp_f32", 0xC2FC0000, SMALLEST),
        ("v_exp_f32", 0xC2FC0001, 0),
        ("v_log_f32", MINUS | 1, MINUS | INFINITY),
        ("v_rcp_f16", 0x4200, 0x3555),
        ("v_rcp_f16", 0xC200, 0xB555),
        ("v_rcp_f16", 0x7401, 0x03FF),
        ("v_rcp_f16", 0x0101, 0x7BF8),
    ],
)
def test_transcendental_functions_round_to_nearest(
    target: str, rounding: int, mnemonic: str, source: int, wanted: int
) -> None:
    found = run(target, f"{mnemonic}_e32", [source], KEEPS | rounding | rounding << 2).registers[0]
    assert found & (0xFFFF if "f16" in mnemonic else 0xFFFFFFFF) == wanted


@pytest.mark.parametrize("target", [*CDNA, "gfx1201"])
@pytest.mark.parametrize("denormals", range(0, 0x40, 0x10))
def test_output_modifiers_of_functions_without_denormals_count_always(target: str, denormals: int) -> None:
    for omod, wanted in ((TIMES_2, 4.0), (TIMES_4, 8.0), (HALF, 1.0)):
        found = run(target, "v_log_f32_e64", [f32(4.0)], FLUSHES | denormals, OMOD=omod)
        assert found.registers[0] == f32(wanted)
    if target != "gfx1201":
        found = run(target, "v_log_f32_e64", [f32(4.0)], FLUSHES | denormals | IEEE, OMOD=TIMES_2)
        assert found.registers[0] == f32(2.0)


@pytest.mark.parametrize("target", CDNA)
@pytest.mark.parametrize(
    ("mnemonic", "source", "wanted"),
    [
        ("v_rcp_f16", 0x0000, 0x7BFF),
        ("v_log_f16", 0x0000, 0xFBFF),
        ("v_log_f16", 0x7C00, 0x7C00),
        ("v_exp_f16", 0x4C00, 0x7BFF),
        ("v_exp_f16", 0x7C00, 0x7C00),
        ("v_rcp_f16", 0x8000, 0xFBFF),
    ],
)
def test_an_infinity_of_a_finite_half_saturates(target: str, mnemonic: str, source: int, wanted: int) -> None:
    found = run(target, f"{mnemonic}_e32", [source], KEEPS | OVERFLOW)
    assert found.registers[0] & 0xFFFF == wanted


@pytest.mark.parametrize("target", ["gfx1030", "gfx1100", "gfx1150", "gfx1201"])
@pytest.mark.parametrize("denormals", range(0, 0x40, 0x10))
@pytest.mark.parametrize(
    ("sources", "wanted"),
    [
        ((0, INFINITY, f32(1.0)), f32(1.0)),
        ((0x7FC01234, MINUS, f32(1.0)), f32(1.0)),
        ((1, 0x4B000000, 0), 0),
        ((SMALLEST, f32(0.5), 0), 0),
        ((0, INFINITY, MINUS | 1), 0),
        ((MINUS, f32(1.0), MINUS), 0),
        ((f32(1.0), f32(1.0), f32(1.0)), f32(2.0)),
    ],
)
def test_multiply_adds_in_which_zero_wins_know_no_denormals(
    target: str, denormals: int, sources: tuple[int, int, int], wanted: int
) -> None:
    mnemonic = "v_fma_legacy_f32" if target == "gfx1030" else "v_fma_dx9_zero_f32"
    assert run(target, mnemonic, sources, FLUSHES | denormals).registers[0] == wanted


def test_the_machine_is_told_apart() -> None:
    """The helper gives each source its own register, and a double two."""
    assert run("gfx942", "v_fma_f32", [f32(2.0), f32(3.0), f32(4.0)]).registers[0] == f32(10.0)
    wanted = np.array([10.0]).view(np.uint32).tolist()
    assert list(run("gfx1100", "v_fma_f64", [f64(2.0), f64(3.0), f64(4.0)]).registers) == wanted
