"""A plain model of the matrix instructions.

Layouts are the equations of the AMD Matrix Instruction Calculator. Sums are chains of fused multiply-adds in ascending
k; or, where WAVE_RUNTIME_MFMA is "exact", those of "Accurate Models of AMD Matrix Cores" (arXiv 2609.14845) for CDNA3.
"""

from __future__ import annotations

import ctypes
import ctypes.util
import os
import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt
import torch
from machine import LANES

Array = npt.NDArray[Any]
Instruction = Mapping[str, object]

EXACT = os.environ.get("WAVE_RUNTIME_MFMA") == "exact"
NAME = re.compile(r"v_(s?mfma)c?_(f32|f64|i32)_(\d+)x\d+x(\d+)(?:_(\d+)b)?_([a-z0-9]+)(?:_([a-z0-9]+))?$")


@dataclass(frozen=True)
class Element:
    bits: int
    tensor: torch.dtype | None = None  # what torch calls it


ELEMENTS = {
    "f16": Element(16, torch.float16),
    "bf16": Element(16, torch.bfloat16),
    "fp8": Element(8, torch.float8_e4m3fnuz),
    "bf8": Element(8, torch.float8_e5m2fnuz),
    "xf32": Element(32, torch.float32),
    "f32": Element(32, torch.float32),
    "f64": Element(64, torch.float64),
    "i8": Element(8, torch.int8),
}
CODES = {8: np.uint8, 16: np.uint16, 32: np.uint32, 64: np.uint64}
SIGNED = {8: torch.int8, 16: torch.int16, 32: torch.int32, 64: torch.int64}


class Shape:
    """What the name of an instruction says, and where its operands' elements lie."""

    def __init__(self, mnemonic: str, in_pairs: bool = False) -> None:
        match = NAME.match(mnemonic)
        assert match is not None, mnemonic
        kind, self.sum, size, depth, blocks, self.a, b = match.groups()
        self.b = b or self.a
        self.sparse = kind == "smfma"
        self.size, self.depth, self.blocks = int(size), int(depth), int(blocks or 1)
        self.bits = ELEMENTS[self.a].bits
        self.in_pairs = in_pairs  # gfx90a's sums of f16 and bf16
        self.takes_cbsz = self.blocks > 1 and self.sum != "f64"
        self.takes_blgp = self.takes_cbsz or self.a == "f32"

    def input(self, depth: int) -> tuple[Array, Array]:
        """[block, row or column, k]: the element's number within the lane, and the lane."""
        block, i, k = np.ix_(range(self.blocks), range(self.size), range(depth))
        per_lane = depth // (LANES // (self.size * self.blocks))
        return np.broadcast_arrays(k % per_lane, k // per_lane * self.size * self.blocks + block * self.size + i)

    def b_input(self) -> tuple[Array, Array]:
        """The same for B: of sparse instructions 16 bytes of consecutive k, and 16 more of those behind all lanes'."""
        per_lane = self.depth // (LANES // (self.size * self.blocks))
        run = min(per_lane, 128 // self.bits) if self.sparse else per_lane
        block, i, k = np.ix_(range(self.blocks), range(self.size), range(self.depth))
        splits = LANES // (self.size * self.blocks)
        lane = k // run % splits * self.size * self.blocks + block * self.size + i
        return np.broadcast_arrays(k % run + k // (run * splits) * run, lane)

    def output(self) -> tuple[Array, Array]:
        """[block, i, j]: the accumulator's number within the lane, and the lane."""
        block, i, j = np.ix_(range(self.blocks), range(self.size), range(self.size))
        height = 1 if self.sum == "f64" else 4
        groups_in_register = LANES // self.size
        blocks_in_register = -(-LANES // (self.size * self.size // height))
        number = block * (self.size * self.size // LANES) + i // (height * groups_in_register) * height + i % height
        lane = block % blocks_in_register * self.size + j
        lane = lane + i // height % groups_in_register * blocks_in_register * self.size
        return np.broadcast_arrays(number, lane)

    def registers(self, row: Instruction) -> list[int]:
        return [operand["dwords"] for operand in row["operands"]]  # type: ignore[attr-defined]


def elements(rows: Array, bits: int) -> Array:
    """[wave, element of the lane, lane] of the registers [wave, register, lane]."""
    by_lane = np.ascontiguousarray(rows.transpose(0, 2, 1)).view(CODES[bits])
    return by_lane.transpose(0, 2, 1)


def values(codes: Array, element: str) -> Array:
    if element == "i8":
        return codes.view(np.int8).astype(np.int64)
    if element == "f64":
        return codes.view(np.float64)
    codes = np.ascontiguousarray(codes)
    if element == "xf32":
        codes = codes & np.uint32(0xFFFFE000)
    kind = ELEMENTS[element]
    tensor = torch.from_numpy(codes.view(f"i{kind.bits // 8}")).view(kind.tensor)
    return tensor.to(torch.float32).numpy()


def fma32(a: Array, b: Array, c: Array) -> Array:
    """a * b + c, rounded once: the sum in f64 is rounded to odd, so that rounding it to f32 is exact."""
    product, addend = a.astype(np.float64) * b.astype(np.float64), c.astype(np.float64)
    total = product + addend
    part = total - product
    error = (product - (total - part)) + (addend - part)
    even = total.view(np.uint64) & np.uint64(1) == 0
    inexact = np.isfinite(total) & np.isfinite(error) & (error != 0) & even
    return np.where(inexact, np.nextafter(total, np.copysign(np.inf, error)), total).astype(np.float32)


_libm = ctypes.CDLL(ctypes.util.find_library("m"))
_libm.fma.argtypes, _libm.fma.restype = [ctypes.c_double] * 3, ctypes.c_double
_fma64 = np.frompyfunc(_libm.fma, 3, 1)


def multiply_add(kind: str, a: Array, b: Array, c: Array) -> Array:
    if kind == "i32":
        return c + a * b
    return fma32(a, b, c) if kind == "f32" else _fma64(a, b, c).astype(np.float64)


# Values of k that are summed at once in exact mode, and the exponent of the least normal number.
GROUPS = {"f16": 8, "bf16": 8, "fp8": 16, "bf8": 16, "xf32": 4}
MIN_EXPONENTS = {"f16": -14, "bf16": -126, "fp8": -7, "bf8": -15, "xf32": -126, "f32": -126}


NONE = -1000  # the exponent of a zero, below that of any product


def split(value: Array, element: str) -> tuple[Array, Array]:
    """Significand, below 2 in magnitude, and exponent."""
    value = value.astype(np.float64)
    exponent = np.where(value == 0, NONE, np.maximum(np.frexp(value)[1] - 1, MIN_EXPONENTS[element]))
    return np.ldexp(value, -exponent), exponent


def truncated_sum(significand: Array, exponent: Array) -> tuple[Array, Array]:
    """Over the last axis, with 24 fractional bits. Without products there is no exponent."""
    largest = exponent.max(-1)
    terms = np.trunc(np.ldexp(significand, 24 + exponent - largest[..., None]))
    return np.ldexp(terms.sum(-1), -24), np.maximum(largest, NONE)


def floor_to(value: Array, bits: Array | int) -> Array:
    """Rounded down to so many fractional bits."""
    return np.ldexp(np.floor(np.ldexp(value, bits)), -bits)


def add_group(shape: Shape, a: Array, b: Array, c: Array) -> Array:
    """c plus the sum of a * b over the last axis."""
    (sa, ea), (sb, eb) = split(a, shape.a), split(b, shape.b)
    s, e = sa * sb, ea + eb
    if shape.bits == 8:
        (even, e_even), (odd, e_odd) = (
            truncated_sum(s[..., 0::2], e[..., 0::2]),
            truncated_sum(s[..., 1::2], e[..., 1::2]),
        )
        e = np.maximum(e_even, e_odd)
        s = floor_to(np.ldexp(even, e_even - e), 24) + floor_to(np.ldexp(odd, e_odd - e), 24)
    else:
        s, e = truncated_sum(s, e)
    c = c.astype(np.float64)
    ec = np.where(c == 0, -126, np.maximum(np.frexp(c)[1] - 1, -126))
    addend = floor_to(np.ldexp(c, -e), 24)
    if shape.bits == 8:
        addend = np.where(e - ec > 25, 0.0, addend)
    early = np.ldexp(s + addend, e)
    late = floor_to(np.ldexp(s, e - ec), 32) + np.ldexp(c, -ec)
    own = np.maximum(np.frexp(late)[1] - 1, -126 - ec)  # relative to C's
    late = np.ldexp(floor_to(late, 31 - own), ec)
    products = a.astype(np.float64) * b.astype(np.float64)
    plain = products.sum(-1) + c
    above, below = (products >= 2.0**128).any(-1), (products <= -(2.0**128)).any(-1)
    total = np.where(e >= ec, early, late)
    total = np.where(above, np.where(below, np.nan, np.inf), np.where(below, -np.inf, total))
    return np.where(np.isfinite(plain), total, plain).astype(np.float32)


def without_denormals(value: Array, exponent: int, keep_sign: bool) -> Array:
    return np.where(np.abs(value) < 2.0**exponent, value * np.float32(0) if keep_sign else np.float32(0), value)


def sum_in_pairs(products: Array) -> Array:
    """Over the last axis, in f32 without denormals: each half, then both."""
    count = products.shape[-1]
    if count == 1:
        return products[..., 0]
    halves = [sum_in_pairs(part) for part in (products[..., : count // 2], products[..., count // 2 :])]
    return without_denormals(halves[0] + halves[1], -126, True)


def add_in_pairs(shape: Shape, a: Array, b: Array, c: Array) -> Array:
    """The products of each lane's k are summed on their own, as microsoft/MMA-Sim has it of CDNA2."""
    a, b = (without_denormals(x.astype(np.float32), MIN_EXPONENTS[shape.a], False) for x in (a, b))
    c = without_denormals(c, -126, False)
    together = shape.depth * shape.size * shape.blocks // LANES
    for k in range(0, a.shape[-1], together):
        products = without_denormals(a[..., k : k + together] * b[..., k : k + together], -126, True)
        c = without_denormals(c + sum_in_pairs(products), -126, True)
    return c


def add_products(shape: Shape, a: Array, b: Array, c: Array) -> Array:
    """c plus the sum of a * b over the last axis, which counts k."""
    if shape.in_pairs:
        return add_in_pairs(shape, a, b, c)
    if EXACT and shape.a in GROUPS and not shape.sparse:
        for k in range(0, a.shape[-1], GROUPS[shape.a]):
            c = add_group(shape, a[..., k : k + GROUPS[shape.a]], b[..., k : k + GROUPS[shape.a]], c)
        return c
    for k in range(a.shape[-1]):
        c = multiply_add(shape.sum, a[..., k], b[..., k], c)
    return c


@dataclass
class Operands:
    """Registers [wave, register, lane] of one instruction, and its modifiers."""

    a: Array
    b: Array
    c: Array
    index: Array
    cbsz: int = 0
    abid: int = 0
    blgp: int = 0


def b_lanes(blgp: int) -> Array:
    lane = np.arange(LANES)
    group = {0: lane, 1: lane % 32, 2: lane % 32 + 32, 3: (lane + 16) % LANES}
    return group[blgp] if blgp < 4 else lane % 16 + 16 * (blgp - 4)


def gather_sparse(shape: Shape, given: Operands, b: Array) -> Array:
    """[wave, i, k of A's stored values, j]: the value of B that meets each stored value of A."""
    number, lane = shape.input(shape.depth // 2)
    sets = shape.bits // 4  # four of 8 bits, two of 16 bits
    which = given.abid % sets if given.cbsz & 3 == 0 else 0
    index = given.index[:, 0, :] >> np.uint32(which * 32 // sets)
    chosen = index[:, lane[0]] >> (2 * number[0]).astype(np.uint32) & np.uint32(3)  # [wave, i, stored k]
    k = np.arange(shape.depth // 2) // 2 * 4 + chosen.astype(np.int64)
    wave = np.arange(b.shape[0])[:, None, None]
    return b[:, 0].transpose(0, 2, 1)[wave, k]


def factors(shape: Shape, given: Operands) -> tuple[Array, Array, Array]:
    """Values of A and B that are multiplied, [wave, block, i, j, k], and of C, [wave, block, i, j]."""
    sum_bits = 64 if shape.sum == "f64" else 32
    number, lane = shape.input(shape.depth // 2 if shape.sparse else shape.depth)
    block = np.arange(shape.blocks)
    if shape.takes_cbsz:
        block = block >> given.cbsz << given.cbsz | given.abid
    a = values(elements(given.a, shape.bits), shape.a)[:, number, lane[block]]  # [wave, block, i, k]
    number, lane = shape.b_input()
    if shape.takes_blgp:
        lane = b_lanes(given.blgp)[lane]
    b = values(elements(given.b, shape.bits), shape.b)[:, number, lane]  # [wave, block, j, k]
    codes = elements(given.c, sum_bits)[(slice(None), *shape.output())]
    c = (
        codes.astype(np.int64)
        if shape.sum == "i32"
        else codes.view(shape.sum.replace("f32", "f4").replace("f64", "f8"))
    )
    if shape.sum == "f64":
        a, b, c = (-x if given.blgp >> i & 1 else x for i, x in enumerate((a, b, c)))
    partners = gather_sparse(shape, given, b) if shape.sparse else b
    partners = partners[:, None].swapaxes(-1, -2) if shape.sparse else partners[:, :, None]
    return a[:, :, :, None], partners, c


def expected(shape: Shape, given: Operands) -> Array:
    """The registers of D [wave, register, lane]."""
    with np.errstate(all="ignore"):
        c = add_products(shape, *factors(shape, given))
    sum_bits = 64 if shape.sum == "f64" else 32
    out, out_lane = shape.output()
    result = np.zeros((given.c.shape[0], given.c.shape[1] * 32 // sum_bits, LANES), dtype=CODES[sum_bits])
    result[:, out, out_lane] = c.astype(np.uint32) if shape.sum == "i32" else c.view(CODES[sum_bits])
    by_lane = np.ascontiguousarray(result.transpose(0, 2, 1)).view(np.uint32)
    return by_lane.transpose(0, 2, 1)
