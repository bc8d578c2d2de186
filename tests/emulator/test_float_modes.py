"""f32 arithmetic under MODE's rounding and denormal settings, and output modifiers, against exact arithmetic."""

from __future__ import annotations

import itertools
import math
import struct
from collections.abc import Callable
from fractions import Fraction

import machine
import numpy as np
import pytest
import rdna_machine
import torch
from model.floats import F16, F32, Rounding, number
from simd_levels import LEVELS, run_again
from support import LoadKernel
from test_rdna_instructions import encode

EDGES = [
    0.0,
    -0.0,
    1.0,
    -1.0,
    0.1,
    1.5,
    -2.75,
    3.0,
    0.3333333,
    1e-45,
    -1e-45,
    1.1e-38,
    -1.3e-38,
    1.1754944e-38,
    2e-30,
    1e20,
]
EDGES += [
    3.4028235e38,
    -3.4028235e38,
    2**-126 * (1 - 2**-23),
    1 + 2**-23,
    math.inf,
    -math.inf,
    math.nan,
    0.5,
    0.75,
    7e-39,
]

TINY = Fraction(2) ** -126
LARGEST = Fraction(2 - Fraction(2) ** -23) * 2**127


def f32(value: float) -> float:
    return struct.unpack("f", struct.pack("f", value))[0]


def rounded(exact: Fraction, direction: str) -> float:
    """The f32 that `exact`, which is not zero, rounds to."""
    magnitude = abs(exact)
    exponent = max(math.frexp(float(magnitude))[1] if magnitude > Fraction(2) ** -1000 else -(10**6), -125)
    while Fraction(2) ** (exponent - 1) > magnitude and exponent > -125:
        exponent -= 1
    unit = Fraction(2) ** (exponent - 24)
    floor = magnitude // unit
    rest = magnitude / unit - floor
    up = {
        "nearest": rest > Fraction(1, 2) or (rest == Fraction(1, 2) and floor % 2 == 1),
        "up": rest > 0 and exact > 0,
        "down": rest > 0 and exact < 0,
        "zero": False,
    }[direction]
    result = (floor + up) * unit
    if result > LARGEST:
        away = direction == "nearest" or (direction == "up" and exact > 0) or (direction == "down" and exact < 0)
        result = math.inf if away else LARGEST
    return math.copysign(float(result), -1.0 if exact < 0 else 1.0)


def flushed(value: float) -> float:
    is_denormal = value != 0 and not math.isinf(value) and not math.isnan(value) and abs(Fraction(value)) < TINY
    return math.copysign(0.0, value) if is_denormal else value


def add(a: float, b: float, direction: str) -> float:
    if math.isnan(a) or math.isnan(b) or math.isinf(a) or math.isinf(b):
        return a + b
    exact = Fraction(a) + Fraction(b)
    if exact != 0:
        return rounded(exact, direction)
    if math.copysign(1, a) == math.copysign(1, b):
        return a + b  # both zeros of one sign
    return -0.0 if direction == "down" else 0.0


def multiply(a: float, b: float, direction: str) -> float:
    if math.isnan(a) or math.isnan(b) or math.isinf(a) or math.isinf(b) or a == 0 or b == 0:
        return a * b
    return rounded(Fraction(a) * Fraction(b), direction)


def output(value: float, *, doubles: bool, dx10: bool) -> float:
    """OMOD *2, which IEEE mode and kept denormals switch off, then clamp."""
    if doubles:  # where denormal results are flushed, which comes first
        value = flushed(value) * 2 if flushed(value) != 0 else 0.0
        value = (
            f32(value)
            if abs(value) <= float(LARGEST) or math.isinf(value) or math.isnan(value)
            else math.copysign(math.inf, value)
        )
    if math.isnan(value):
        return 0.0 if dx10 else value
    return min(value, 1.0) if value > 0 else 0.0


def same(a: float, b: float) -> bool:
    return (math.isnan(a) and math.isnan(b)) or (a == b and math.copysign(1, a) == math.copysign(1, b))


@pytest.mark.parametrize(
    ("name", "direction", "flush_in", "flush_out", "doubles", "dx10"),
    [
        ("float_nearest", "nearest", False, False, False, True),
        ("float_up", "up", False, False, False, True),
        ("float_down", "down", False, False, False, True),
        ("float_zero", "zero", False, False, False, True),
        ("float_flush", "nearest", True, True, True, True),
        ("float_flush_inputs", "nearest", True, False, False, False),
        ("float_flush_outputs", "nearest", False, True, True, False),
    ],
)
def test_modes(
    probe: LoadKernel, name: str, direction: str, flush_in: bool, flush_out: bool, doubles: bool, dx10: bool
) -> None:
    values = [f32(value) for value in EDGES] + torch.randn(20).tolist() + (torch.randn(20) * 1e-38).tolist()
    pairs = list(itertools.product(values, values))[: 64 * 68]
    source = torch.tensor(pairs, dtype=torch.float32)
    out = torch.zeros(len(pairs), 4)
    kernel = probe(name, "*f32 const, *f32, i32, i32")
    for begin in range(0, len(pairs), 64):
        kernel(
            source[begin : begin + 64].contiguous(),
            out[begin : begin + 64],
            0,
            0,
            grid=1,
            block=min(64, len(pairs) - begin),
        )
    read = flushed if flush_in else lambda value: value
    write = flushed if flush_out else lambda value: value
    for (a, b), found in zip(pairs, out.tolist(), strict=True):
        x, y = read(a), read(b)
        total = add(x, y, direction)
        expected = [
            write(total),
            write(multiply(x, y, direction)),
            write(add(abs(x), -y, direction)),
            write(output(total, doubles=doubles, dx10=dx10)),
        ]
        assert all(map(same, found, expected)), (a, b, found, expected)


def test_divisions_round_denormal_quotients_once() -> None:
    """Rounded to f32 before it is scaled down, this sum would be a tie, and go up."""
    state = machine.State(1)
    tie = 2.0**-75 * (1 + 2**-10 + 2**-11)  # 1025.5 units of the denormal that it is scaled to
    for register, value in enumerate((-(2.0**-75), 2.0**-30, tie)):
        state.v[0, register] = np.float32(value).view(np.uint32)
    state.vcc[:] = 0xFFFFFFFF
    row = next(row for row in machine.ROWS if row["mnemonic"] == "v_div_fmas_f32")
    found = machine.run(machine.encode(row, VDST=3, SRC0=256, SRC1=257, SRC2=258), state)
    assert found.v[0, 3].tolist() == [1025] * 64


def test_divisions_in_f64_round_denormal_quotients_once() -> None:
    """A sum between two denormals goes to the even one, unless what was left out of it says where it lies."""
    units = np.arange(1, 65, dtype=np.float64).repeat(2) + 0.5
    units[1::2] *= -1
    row = next(row for row in machine.ROWS if row["mnemonic"] == "v_div_fmas_f64")
    for left_out in (0.0, 2.0**-520, -(2.0**-520)):
        state = machine.State(2)
        for register, value in ((0, np.full(128, left_out)), (2, np.full(128, 2.0**-520)), (4, units * 2.0**-946)):
            bits = value.reshape(2, 64).view(np.uint64)
            state.v[:, register], state.v[:, register + 1] = bits & 0xFFFFFFFF, bits >> 32
        state.vcc[:] = 0xFFFFFFFF
        found = machine.run(machine.encode(row, VDST=6, SRC0=256, SRC1=258, SRC2=260), state).v[:, 6:8]
        expected = np.rint(units + np.sign(left_out) / 4)
        bits = np.uint64(found[:, 0]) | np.uint64(found[:, 1]) << np.uint64(32)
        assert np.array_equal(bits.flatten().view(np.float64) / 2.0**-1074, expected), left_out


@pytest.mark.parametrize("rounding", list(Rounding))
@pytest.mark.parametrize("mnemonic", ["v_fma_f16", "v_pk_fma_f16"])
def test_fused_halves_round_once(mnemonic: str, rounding: Rounding) -> None:
    """Products in the middle between two f16, and next to them, and a third number far below: the sum is no f32."""
    few_bits = np.arange(32, 64, dtype=np.float16)  # two make eleven bits or twelve, of which the last is a tie
    first, second = (grid.ravel()[:992] for grid in np.meshgrid(few_bits, few_bits * np.float16(-(2.0**-8))))
    least = np.float16(2.0**-24)
    thirds = [np.float16(0), least, -least, np.float16(3) * least, np.float16(-0.25), np.float16(60000)]
    row = next(row for row in machine.ROWS if row["mnemonic"] == mnemonic)
    options = {"OP_SEL_HI": 3, "OP_SEL_HI2": 1} if mnemonic == "v_pk_fma_f16" else {}
    code = machine.encode(row, VDST=3, SRC0=256, SRC1=257, SRC2=258, **options)
    for third in thirds:
        state = machine.State(16)
        state.mode[:] = machine.DEFAULT_MODE | rounding << 2
        sources = np.zeros((3, 1024), dtype=np.float16)
        sources[:, :992] = first, second, np.full(992, third)
        bits = sources.view(np.uint16).astype(np.uint32).reshape(3, 16, 64)
        state.v[:, :3] = (bits | bits << 16).transpose(1, 0, 2)
        found = machine.run(code, state).v[:, 3].ravel()[:992]
        for a, b, result in zip(first.tolist(), second.tolist(), found.tolist(), strict=True):
            exact = Fraction(a) * Fraction(b) + Fraction(float(third))
            expected = F16.encode(number(exact), rounding)
            assert result & 0xFFFF == expected, (a, b, third, hex(result))
            assert result >> 16 == (expected if options else 0)


SCALAR: dict[str, Callable[[Fraction, Fraction, Fraction], Fraction]] = {
    "s_add": lambda a, b, _: a + b,
    "s_sub": lambda a, b, _: a - b,
    "s_mul": lambda a, b, _: a * b,
    "s_fmac": lambda a, b, c: a * b + c,
}


@pytest.mark.parametrize("rounding", list(Rounding))
@pytest.mark.parametrize("name", SCALAR)
@pytest.mark.parametrize("kind", ["f32", "f16"])
@pytest.mark.parametrize("target", ["gfx1150", "gfx1201"])
def test_scalar_arithmetic_rounds(target: str, kind: str, name: str, rounding: Rounding) -> None:
    """Ties, what lies beside them, and what is too small for the last place, of both signs."""
    format_, places = (F32, 24) if kind == "f32" else (F16, 11)
    unit = Fraction(2) ** (1 - places)
    sizes = [1 + unit, 1 + 3 * unit, unit / 2, unit / 2 + unit * unit / 2, unit / 8, Fraction(3)]
    values = [sign * size for size in sizes for sign in (1, -1)]
    sources = list(itertools.product(values, values, (Fraction(1), Fraction(-1))))
    state = rdna_machine.State(len(sources), 32)
    state.mode[:] |= np.uint32(rounding if kind == "f32" else rounding << 2)
    for register in range(3):
        state.s[:, 5 + register] = [format_.encode(number(each[register])) for each in sources]
    words = encode(target, f"{name}_{kind}", "SOP2", SDST=7, SSRC0=5, SSRC1=6)
    found = rdna_machine.run(target, words, state).s[:, 7].tolist()
    for each, result in zip(sources, found, strict=True):
        exact = SCALAR[name](*each)
        zero = 1 << format_.width - 1 if rounding == Rounding.DOWN else 0
        assert result == (format_.encode(number(exact), rounding) if exact else zero), each


@pytest.mark.parametrize(("saturates", "largest"), [(0, 0x7C00), (1, 0x7BFF)])
def test_halves_that_are_too_large(saturates: int, largest: int) -> None:
    """FP16_OVFL makes the largest number of them, but leaves infinities as they are."""
    sums = [(65504, 65504), (-65504, -65504), (65504, 16), (np.inf, 1), (-np.inf, 1), (np.nan, 1), (1, 2), (6e-8, 6e-8)]
    state = machine.State(1)
    state.mode[:] |= saturates << 23
    state.v[0, :2] = np.array(sums * 8, dtype=np.float16).T.view(np.uint16)
    row = next(row for row in machine.ROWS if row["mnemonic"] == "v_add_f16_e32")
    found = machine.run(machine.encode(row, VDST=3, SRC0=256, VSRC1=1), state).v[0, 3]
    assert found[:8].tolist() == [largest, 0x8000 | largest, largest, 0x7C00, 0xFC00, 0x7E00, 0x4200, 2]


@pytest.mark.parametrize("level", LEVELS)
def test_simd_levels(level: str) -> None:
    """The host's own conversions of f16 are used at some."""
    run_again(level, __file__, "-k", "halves")
