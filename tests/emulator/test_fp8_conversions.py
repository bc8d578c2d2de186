"""Conversions between f32 and the FNUZ float types of one byte, against torch's and exact arithmetic."""

from __future__ import annotations

import math
from fractions import Fraction
from typing import Any

import machine
import numpy as np
import numpy.typing as npt
import pytest
import torch
from machine import DEFAULT_MODE, LANES, State

Array = npt.NDArray[Any]

ROWS = {str(row["mnemonic"]): row for row in machine.ROWS}
TORCH = {"fp8": torch.float8_e4m3fnuz, "bf8": torch.float8_e5m2fnuz}
MANTISSA, BIAS = {"fp8": 3, "bf8": 2}, {"fp8": 8, "bf8": 16}
NAN = 0x80
SATURATE = 1 << 23  # MODE.FP16_OVFL
KINDS = pytest.mark.parametrize("kind", ["fp8", "bf8"])


def floats(codes: Array, kind: str) -> Array:
    return torch.from_numpy(codes.astype(np.uint8)).view(TORCH[kind]).float().numpy()


def same(actual: Array, wanted: Array) -> bool:
    """f32 as uint32: bitwise, but that any NaN equals any NaN."""
    nan = np.isnan(actual.view(np.float32)) & np.isnan(wanted.view(np.float32))
    return bool(np.all((actual == wanted) | nan))


def interesting(kind: str) -> Array:
    """f32 as uint32, a multiple of 64: all values of the type, what lies between, and beside these; wild bits."""
    values = floats(np.arange(128), kind)
    between = (values[:-1].astype(np.float64) + values[1:]) / 2
    above = np.float32(values[-1] * 2 - values[-2])
    edges = np.array([above, (above + values[-1]) / 2, 1e9, np.inf, np.nan, 1e-45, 1e-39, 0.0], dtype=np.float32)
    centers = np.concatenate([values, between.astype(np.float32), edges]).view(np.uint32)
    near = np.concatenate([centers, centers + np.uint32(1), np.maximum(centers, 1) - np.uint32(1)])
    random = np.random.default_rng(3)
    normal = random.standard_normal(64 * 40).astype(np.float32).view(np.uint32)
    wild = random.integers(0, 2**32, 64 * 40, dtype=np.uint32)
    bits = np.concatenate([near, near | np.uint32(1 << 31), normal, wild])
    return np.resize(bits, -(-len(bits) // LANES) * LANES)


@KINDS
@pytest.mark.parametrize("form", ["e32", "e64", *(f"sdwa{byte}" for byte in range(4))])
def test_to_f32(kind: str, form: str) -> None:
    state = State(4)
    codes = np.random.default_rng(0).permuted(np.tile(np.arange(256, dtype=np.uint8), (4, 1)), axis=1)
    state.v[:, 0] = np.ascontiguousarray(codes.reshape(4, LANES, 4)).view(np.uint32)[:, :, 0]
    if form.startswith("sdwa"):
        byte = int(form[-1])
        words = machine.encode(ROWS[f"v_cvt_f32_{kind}_sdwa"], VDST=1, SRC0=0, SRC0_SEL=byte)
    else:
        byte = 0
        words = machine.encode(ROWS[f"v_cvt_f32_{kind}_{form}"], VDST=1, SRC0=256)
    after = machine.run(words, state)
    assert same(after.v[:, 1], floats(codes.reshape(4, LANES, 4)[:, :, byte], kind).view(np.uint32))


@KINDS
@pytest.mark.parametrize("word", [0, 1])
def test_pairs_to_f32(kind: str, word: int) -> None:
    state = State(4)
    codes = np.random.default_rng(0).permuted(np.tile(np.arange(256, dtype=np.uint8), (4, 1)), axis=1)
    state.v[:, 0] = np.ascontiguousarray(codes.reshape(4, LANES, 4)).view(np.uint32)[:, :, 0]
    words = machine.encode(ROWS[f"v_cvt_pk_f32_{kind}_sdwa"], VDST=2, SRC0=0, SRC0_SEL=4 + word)
    after = machine.run(words, state)
    for half in range(2):
        wanted = floats(codes.reshape(4, LANES, 4)[:, :, 2 * word + half], kind)
        assert same(after.v[:, 2 + half], wanted.view(np.uint32))


def narrowed(bits: Array, kind: str, saturate: bool) -> Array:
    codes = torch.from_numpy(bits.view(np.float32)).to(TORCH[kind]).view(torch.uint8).numpy()
    finite = np.isfinite(bits.view(np.float32))
    largest = (0x7F | bits >> 24 & 0x80).astype(np.uint8)
    return np.where((codes == NAN) & finite & saturate, largest, codes)


@KINDS
@pytest.mark.parametrize("high", [False, True])
@pytest.mark.parametrize("saturate", [False, True])
def test_from_f32(kind: str, high: bool, saturate: bool) -> None:
    bits = interesting(kind)
    first, second = bits.reshape(-1, LANES), bits[::-1].reshape(-1, LANES)
    state = State(len(first))
    state.v[:, 0], state.v[:, 1], state.v[:, 2] = first, second, 0xDEADBEEF
    state.mode[:] = DEFAULT_MODE | (SATURATE if saturate else 0) | 1  # the rounding mode does not count
    words = machine.encode(ROWS[f"v_cvt_pk_{kind}_f32"], VDST=2, SRC0=256, SRC1=257, OP_SEL=8 if high else 0)
    after = machine.run(words, state)
    low, above = (narrowed(np.ascontiguousarray(x), kind, saturate).astype(np.uint32) for x in (first, second))
    pair = low | above << 8
    wanted = pair << 16 | 0xBEEF if high else pair | 0xDEAD0000
    assert np.array_equal(after.v[:, 2], wanted)


def stochastic(bits: int, seed: int, kind: str, saturate: bool) -> int:
    """The magnitude in units of the last place plus a fraction of as many bits as f32 has more, cut off."""
    value = float(np.uint32(bits).view(np.float32))
    sign = bits >> 24 & 0x80
    if not math.isfinite(value):
        return NAN
    more = 23 - MANTISSA[kind]
    exponent = max(math.frexp(value)[1] - 1, 1 - BIAS[kind]) if value else 1 - BIAS[kind]
    unit = Fraction(2) ** (exponent - MANTISSA[kind])
    units = math.floor(abs(Fraction(value)) / unit + Fraction(seed >> (32 - more), 2**more))
    code = units + ((exponent - 1 + BIAS[kind]) << MANTISSA[kind])
    if code > 0x7F:
        return sign | 0x7F if saturate else NAN
    return sign | code if code else 0


@KINDS
@pytest.mark.parametrize("byte", range(4))
def test_stochastic_from_f32(kind: str, byte: int) -> None:
    bits = interesting(kind).reshape(-1, LANES)
    seeds = np.random.default_rng(4).integers(0, 2**32, bits.shape, dtype=np.uint32)
    seeds[:, ::4], seeds[:, 1::4] = 0, 0xFFFFFFFF
    state = State(len(bits))
    state.v[:, 0], state.v[:, 1], state.v[:, 2] = bits, seeds, 0xDEADBEEF
    saturate = byte % 2 == 1
    state.mode[:] = DEFAULT_MODE | (SATURATE if saturate else 0)
    words = machine.encode(ROWS[f"v_cvt_sr_{kind}_f32"], VDST=2, SRC0=256, SRC1=257, OP_SEL=byte << 2)
    after = machine.run(words, state)
    kept = 0xDEADBEEF & ~(0xFF << 8 * byte)
    wanted = [
        stochastic(int(a), int(b), kind, saturate) << 8 * byte | kept
        for a, b in zip(bits.flat, seeds.flat, strict=True)
    ]
    assert after.v[:, 2].reshape(-1).tolist() == wanted


@KINDS
def test_input_modifiers(kind: str) -> None:
    state = State(1)
    state.v[0, 0], state.v[0, 1] = (np.float32(x).view(np.uint32) for x in (-1.5, 0.25))
    words = machine.encode(ROWS[f"v_cvt_pk_{kind}_f32"], VDST=2, SRC0=256, SRC1=257, NEG=2, ABS=1)
    codes = machine.run(words, state).v[0, 2, :1].view(np.uint8)[:2]
    assert floats(codes, kind).tolist() == [1.5, -0.25]
