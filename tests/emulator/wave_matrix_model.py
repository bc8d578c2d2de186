"""A plain model of WMMA and SWMMAC: RDNA3 and RDNA4 ISA documents, "Wave Matrix Multiply Accumulate".

Sums are chains of fused multiply-adds in f32 in ascending k, and are rounded to 16 bits at the end where D has as many.
Where WAVE_RUNTIME_MFMA is "exact", dense ones of f16 and bf16 are as model/rdna_sums.py has them.
"""

from __future__ import annotations

import re
from typing import Any

import numpy as np
import numpy.typing as npt
import torch
from matrix_model import CODES, EXACT, fma32
from model import rdna_sums

Array = npt.NDArray[Any]

SIZE = 16
BITS = {"f32": 32, "i32": 32, "f16": 16, "bf16": 16, "fp8": 8, "bf8": 8, "iu8": 8, "iu4": 4}
TENSORS = {
    "f16": torch.float16,
    "bf16": torch.bfloat16,
    "fp8": torch.float8_e4m3fn,
    "bf8": torch.float8_e5m2,
    "f32": torch.float32,
}
NAME = re.compile(r"v_(wmma|swmmac)_([a-z]+\d+)_16x16x(\d+)_([a-z]+\d+)(?:_([a-z]+\d+))?$")


class Product:
    """What a name says, and where elements lie in waves of ``lanes`` lanes of a generation, 11 or 12."""

    def __init__(self, name: str, generation: int, lanes: int) -> None:
        match = NAME.match(name)
        assert match is not None, name
        kind, self.d, depth, self.a, b = match.groups()
        self.b, self.depth, self.sparse = b or self.a, int(depth), kind == "swmmac"
        self.generation, self.lanes = generation, lanes

    @property
    def stored(self) -> int:
        """Values in a row of A as it is stored."""
        return self.depth // 2 if self.sparse else self.depth

    def groups_of_a(self) -> list[tuple[int, int]]:
        """For each stored k of A the group of 16 lanes, and the element's number in a lane."""
        return [self._sparse_a(k) if self.sparse else self._dense(k) for k in range(self.stored)]

    def groups_of_b(self) -> list[tuple[int, int]]:
        return [self._sparse_b(k) if self.sparse else self._dense(k) for k in range(self.depth)]

    def _dense(self, k: int) -> tuple[int, int]:
        if self.generation == 11:
            return 0, k  # and in each other group
        if self.lanes == 32:  # blocks of eight in turn
            return k // 8 % 2, k // 16 * 8 + k % 8
        if self.a == "iu4":
            return (k // 8 % 2 * 2 + k // 16 if self.depth == 32 else k // 8), k % 8
        return k // 4, k % 4

    def _sparse_a(self, k: int) -> tuple[int, int]:
        """RDNA4's document, "Sparse Matrices", where the two values of four consecutive k are a group."""
        group, slot, bits = k // 2, k % 2, BITS[self.a]
        if self.lanes == 32:
            if bits == 16:
                return group // 2 % 2, 4 * (group // 4) + 2 * (group % 2) + slot
            return (k // 8 % 2, k // 16 * 8 + k % 8) if self.depth == 64 else (k // 8, k % 8)
        if bits == 4:
            block = k // 8
            return block if self.depth == 32 else (block & 1) << 1 | block >> 1, k % 8
        if bits == 8:
            return 2 * (group >> 1 & 1) + (group >> 2), 2 * (group & 1) + slot
        return group // 2, 2 * (group & 1) + slot

    def _sparse_b(self, k: int) -> tuple[int, int]:
        bits = BITS[self.b]
        if self.lanes == 32:
            if bits == 16:
                return k // 8 % 2, k // 16 * 8 + k % 8
            return (k // 16 % 2, k // 32 * 16 + k % 16) if self.depth == 64 else (k // 16, k % 16)
        if bits == 4:
            block, number = divmod(k, 8 if self.depth == 32 else 16)
            return (block & 1) << 1 | block >> 1, number
        if bits == 8:
            return 2 * (k >> 3 & 1) + (k >> 4), 4 * (k >> 2 & 1) + (k & 3)
        return k // 8, k % 8

    def output(self, row: int) -> tuple[int, int]:
        """The group of lanes that has a row of D, and which of their elements it is."""
        if self.generation == 11:
            return row % (self.lanes // 16), row // (self.lanes // 16)
        if self.lanes == 32:
            return row // 8, row % 8
        return (row >> 3 & 1) + 2 * (row >> 2 & 1), row & 3

    def index_sets(self) -> int:
        """The sets of indices that a register holds; 16 bits of each lane that has values of A is the least."""
        groups = len({group for group, _ in self.groups_of_a()})
        return 16 * groups // self.stored

    def registers(self) -> tuple[int, int, int]:
        """Of D, A and B."""
        per_d = 2 if self.generation == 12 and BITS[self.d] == 16 else 1
        factors = []
        for element, places in ((self.a, self.groups_of_a()), (self.b, self.groups_of_b())):
            count = max(number for _, number in places) + 1
            factors.append(count * BITS[element] // 32)
        return SIZE * SIZE // self.lanes // per_d, factors[0], factors[1]


def codes(rows: Array, bits: int) -> Array:
    """[wave, lane, element] of the registers [wave, register, lane]."""
    by_lane = np.ascontiguousarray(rows.transpose(0, 2, 1))
    if bits == 4:
        nibbles = by_lane.view(np.uint8)
        return np.stack([nibbles & 15, nibbles >> 4], axis=-1).reshape(*nibbles.shape[:2], -1)
    return by_lane.view(CODES[bits])


def values(found: Array, element: str, signed: bool) -> Array:
    """As f32, or as int64."""
    if element == "iu4":
        return np.where(signed & (found >= 8), found.astype(np.int64) - 16, found.astype(np.int64))
    if element in ("iu8", "i32"):
        return (found.view(f"i{BITS[element] // 8}") if signed else found).astype(np.int64)
    kind = {8: np.int8, 16: np.int16, 32: np.int32}[BITS[element]]
    return torch.from_numpy(np.ascontiguousarray(found).view(kind)).view(TENSORS[element]).float().numpy()


def factor(product: Product, rows: Array, which: str, neg: int, neg_hi: int) -> Array:
    """[wave, row of A or column of B, stored k]."""
    element, places = (product.a, product.groups_of_a()) if which == "a" else (product.b, product.groups_of_b())
    found = codes(rows, BITS[element])
    lanes = np.arange(SIZE)
    picked = np.stack([found[:, 16 * group + lanes, number] for group, number in places], axis=-1)
    result = values(picked, element, bool(neg))
    if element.startswith("i"):
        return result
    odd = np.array([number % 2 for _, number in places], dtype=bool)
    return np.where(np.where(odd, neg_hi, neg).astype(bool), -result, result)


def addend(product: Product, rows: Array, op_sel: int, neg: int, neg_hi: int) -> Array:
    """C: [wave, row, column]."""
    result = []
    for row in range(SIZE):
        group, number = product.output(row)
        half = number % 2 if product.generation == 12 else op_sel >> 2 & 1
        lane = slice(16 * group, 16 * group + 16)
        if BITS[product.d] == 32:
            found = rows[:, number, lane]
        else:
            register = number // 2 if product.generation == 12 else number
            found = (rows[:, register, lane] >> np.uint32(16 * half)).astype(np.uint16)
        result.append(values(np.ascontiguousarray(found), product.d, True))
    c = np.stack(result, axis=1)
    if product.d == "i32":
        return c
    c = np.abs(c) if neg_hi else c
    return -c if neg else c


def gather(product: Product, b: Array, index: Array, key: int) -> Array:
    """[wave, row, stored k, column]: the value of B that meets each stored value of A."""
    places = product.groups_of_a()
    per_lane = max(number for _, number in places) + 1
    result = np.empty((b.shape[0], SIZE, product.stored, SIZE), dtype=b.dtype)
    waves = np.arange(b.shape[0])
    for row in range(SIZE):
        for k, (group, number) in enumerate(places):
            bits = index[:, 16 * group + row] >> np.uint32(2 * (key * per_lane + number)) & np.uint32(3)
            result[:, row, k] = b[waves, :, k // 2 * 4 + bits.astype(np.int64)]
    return result


def multiply_exactly(product: Product, a: Array, b: Array, c: Array) -> Array:
    """The same as codes, two or four products at a time. ``b`` is [wave, column, k]."""
    order, count = list(range(product.depth)), 2 if product.generation == 11 else 4
    if product.generation == 12 and product.lanes == 32:  # of the first 16 lanes and of the others in turn
        order = [k for first in (0, 8, 4, 12) for k in range(first, first + 4)]
    d = np.empty(c.shape, dtype=np.uint32 if product.d == "f32" else np.uint16)
    for wave, row, column in np.ndindex(*c.shape):
        left, right, total = a[wave, row].tolist(), b[wave, column].tolist(), c[wave, row, column]
        for i in range(0, product.depth, count):
            factors = ([side[k] for k in order[i : i + count]] for side in (left, right))
            code = rdna_sums.add(product.generation, (product.a, product.b), product.d, *factors, float(total))
            d[wave, row, column] = code & (0xFFFFFFFF if product.d == "f32" else 0xFFFF)
            total = values(d[wave, row, column : column + 1], product.d, True)[0]
    return d.astype(np.uint32)


def multiply(product: Product, a: Array, b: Array, c: Array, clamp: int) -> Array:
    """c + a * b: [wave, row, column]. ``b`` is [wave, row, k, column]."""
    with np.errstate(all="ignore"):
        for k in range(a.shape[-1]):
            left, right = np.broadcast_arrays(a[:, :, k, None], b[:, :, k])
            c = c + left * right if product.d == "i32" else fma32(left, right, c)
    if product.d != "i32":
        return c
    if clamp:
        return np.clip(c, -(2**31), 2**31 - 1).astype(np.int32).view(np.uint32)
    return c.astype(np.uint32)


def sums_exactly(product: Product) -> bool:
    return EXACT and not product.sparse and product.a in ("f16", "bf16")


def rounded(product: Product, d: Array) -> Array:
    """As codes of the type of D."""
    if product.d in ("i32", "f32"):
        return d.view(np.uint32)
    return torch.from_numpy(d).to(TENSORS[product.d]).view(torch.int16).numpy().view(np.uint16).astype(np.uint32)


def stored(product: Product, d: Array, before: Array, op_sel: int) -> Array:
    """The registers of D, of which ``before`` is what was in them."""
    after = before.copy()
    for row in range(SIZE):
        group, number = product.output(row)
        lane = slice(16 * group, 16 * group + 16)
        if BITS[product.d] == 32:
            after[:, number, lane] = d[:, row]
            continue
        half, register = (number % 2, number // 2) if product.generation == 12 else (op_sel >> 2 & 1, number)
        kept = after[:, register, lane] & np.uint32(0xFFFF0000 >> 16 * half)
        after[:, register, lane] = kept | d[:, row] << np.uint32(16 * half)
    return after
