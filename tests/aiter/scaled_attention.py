"""Attention whose operands have a scale for each block of 32: csrc/py_itfs_cu/asm_mha_v4_fwd.cu.

The layouts are those of aiter/ops/mha_v4.py, of the quantizers that it calls (csrc/kernels/mha_v4_quant.cu,
aiter/ops/triton/quant/mxfp6_fmha_pack.py) and of their tests (op_tests/test_mha_v4.py).
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass
from functools import partial
from pathlib import Path

import torch
from attention import quantized_attention
from launches import Case, Launch, Row, Value, listed

BATCH, HEADS, DEPTH, BLOCK = 2, 2, 128, 32
TILE = 128  # keys of a tile
FP8, FP6, FP4 = "3", "7", "9"  # as the list has them: E4M3, E2M3, E2M1
BITS = {FP8: 8, FP6: 6, FP4: 4}


@dataclass(frozen=True)
class Operand:
    """What a kernel is given of one of its operands.

    Attributes:
        data: the bytes, as the kernel has them.
        strides: bytes from a row, a head and a sequence to the next.
        scales: a number for each tensor or channel, or exponents for each block.
        scale_strides: bytes from a sequence's scales to the next one's, and from a head's.
        values: what is meant, [batch, rows, heads, depth].
    """

    data: torch.Tensor
    strides: list[int]
    scales: torch.Tensor
    scale_strides: list[int]
    values: torch.Tensor


def meaning(codes: torch.Tensor, form: str) -> torch.Tensor:
    """The numbers that codes of a form stand for."""
    if form == FP8:
        return codes.view(torch.float8_e4m3fn).float()
    mantissa_bits, magnitude = (3, 31) if form == FP6 else (1, 7)
    exponent, mantissa = (codes & magnitude) >> mantissa_bits, (codes & (1 << mantissa_bits) - 1) / (1 << mantissa_bits)
    numbers = torch.where(exponent == 0, mantissa, (1 + mantissa) * torch.exp2(exponent - 1.0))
    return torch.where(codes > magnitude, -numbers, numbers)


def packed(codes: torch.Tensor, form: str) -> torch.Tensor:
    """The last axis as bytes, the first code in the lowest bits."""
    if form == FP8:
        return codes
    groups = codes.long().unflatten(-1, (-1, 4))
    words = (groups << torch.arange(4) * BITS[form]).sum(-1, keepdim=True)
    return (words >> torch.arange(BITS[form] // 2) * 8).to(torch.uint8).flatten(-2)


def drawn(rows: int, form: str) -> torch.Tensor:
    """Random codes, [batch, rows, heads, depth]."""
    shape = (BATCH, rows, HEADS, DEPTH)
    if form == FP8:
        return torch.randn(shape).to(torch.float8_e4m3fn).view(torch.uint8)
    return torch.randint(0, 1 << BITS[form], shape, dtype=torch.uint8)


def drawn_values(rows: int, form: str) -> torch.Tensor:
    """Random codes, positive in the last tile and negative before: so it shows how much of it there is in a result."""
    sign = 1 << BITS[form] - 1
    codes = drawn(rows, form) & sign - 1
    codes[:, : rows // TILE * TILE] |= sign
    return codes


def exponents(*shape: int) -> torch.Tensor:
    """Random scales between an eighth and two."""
    return torch.randint(124, 129, shape, dtype=torch.uint8)


def factors(scales: torch.Tensor) -> torch.Tensor:
    return torch.exp2(scales - 127.0)


def whole_tensor(codes: torch.Tensor, form: str, scale: float) -> Operand:
    """One scale for all, in float."""
    strides = [codes.stride(1), codes.stride(2), codes.stride(0)]
    return Operand(codes, strides, torch.tensor([scale]), [0, 0], meaning(codes, form) * scale)


def in_tiles(codes: torch.Tensor) -> torch.Tensor:
    """Keys by tiles, [batch, heads, tiles, keys of a tile, depth], filled up with zeros."""
    missing = -codes.shape[1] % TILE
    return torch.nn.functional.pad(codes, (0, 0, 0, 0, 0, missing)).permute(0, 2, 1, 3).unflatten(2, (-1, TILE))


def of_tiles(tiles: torch.Tensor, row: int, slack: int) -> tuple[torch.Tensor, list[int]]:
    """The bytes of tiles one behind the other, and the strides of rows of so many bytes."""
    by_head = tiles[0, 0].numel()
    return torch.cat([tiles.flatten(), torch.zeros(slack, dtype=torch.uint8)]), [row, by_head, HEADS * by_head]


def queries(rows: int, form: str, damping: int) -> Operand:
    """Rows one behind the other, with a scale for each block of 32 of a row, smaller by `damping` powers of two."""
    codes, scales = drawn(rows, form), exponents(BATCH, rows, HEADS, DEPTH // BLOCK) - damping
    data = packed(codes, form)
    values = meaning(codes, form) * factors(scales).repeat_interleave(BLOCK, -1)
    return Operand(
        data, [data.stride(1), data.stride(2), data.stride(0)], scales, [scales.stride(0), scales.stride(2)], values
    )


def keys(rows: int, form: str) -> Operand:
    """The same in tiles of 128 rows: FP4 by quarters of the depth, FP6 in two parts, with its scales behind."""
    codes, scales = drawn(rows, form), exponents(BATCH, rows, HEADS, DEPTH // BLOCK)
    values = meaning(codes, form) * factors(scales).repeat_interleave(BLOCK, -1)
    by_scale = [scales.stride(0), scales.stride(2)]
    if form == FP8:
        return Operand(codes, [codes.stride(1), codes.stride(2), codes.stride(0)], scales, by_scale, values)
    blocks = (
        packed(in_tiles(codes), form).unflatten(-1, (DEPTH // BLOCK, -1)).transpose(-2, -3)
    )  # [.., quarter, key, byte]
    if form == FP4:
        return Operand(*of_tiles(blocks.contiguous(), 64, 0), scales, by_scale, values)
    by_32 = blocks.unflatten(-2, (4, 32)).transpose(3, 4)  # [.., 32 keys, quarter, key, byte]
    parts = [
        by_32[..., :16].flatten(3),
        by_32[..., 16:].flatten(3),
        torch.zeros(*by_32.shape[:3], 4096, dtype=torch.uint8),
    ]
    image = in_tiles(scales).flatten(2)  # scales of keys one behind the other, as bytes
    for shift in (0, 1):
        moved = torch.nn.functional.pad(image[..., shift:], (0, shift)).unflatten(-1, (-1, 4, 2, 16, 4))
        parts.append(moved.permute(0, 1, 2, 4, 5, 3, 6).flatten(3))
    return Operand(*of_tiles(torch.cat(parts, -1), 136, 256), scales, by_scale, values)


def values_by_channel(rows: int) -> Operand:
    """FP8 with a scale for each channel, in float."""
    codes, scales = drawn_values(rows, FP8), torch.rand(BATCH, HEADS, DEPTH) + 0.5
    strides = [codes.stride(1), codes.stride(2), codes.stride(0)]
    return Operand(
        codes, strides, scales, [scales.stride(0) * 4, scales.stride(1) * 4], meaning(codes, FP8) * scales[:, None]
    )


def order_of_keys(form: str) -> torch.Tensor:
    """Which of 64 keys a place holds: [two blocks of scales, 32]."""
    place = torch.arange(64)
    if form == FP6:  # as the kernel has the probabilities in FP8, whose places have bits 4 and 5 the other way round
        other = (place & 15) | (place & 16) << 1 | (place & 32) >> 1
        group, byte = other // 32, other % 32
        return (32 * (byte // 16) + 8 * (byte % 16 // 4) + byte % 4 + 4 * group).view(2, 32)
    lane = place % 32
    return (32 * (place // 32) + 4 * (lane // 8) + 16 * (lane // 4 % 2) + lane % 4).argsort().view(2, 32)


def values_by_block(rows: int, form: str) -> Operand:
    """FP6 or FP4, in tiles of 128 rows in the kernel's order, with a scale for 32 rows of a channel."""
    codes = drawn_values(rows, form)
    order = order_of_keys(form)
    halves = in_tiles(codes).unflatten(3, (2, 64))[..., order, :]  # [batch, heads, tile, half, block, place, channel]
    batch, heads, tiles = halves.shape[:3]
    scales = exponents(batch, heads, tiles, 2, 2, DEPTH)
    scaled = meaning(halves, form) * factors(scales)[..., None, :]
    rows_again = torch.empty(batch, heads, tiles, 2, 64, DEPTH)
    rows_again[..., order, :] = scaled
    values = rows_again.flatten(2, 4).transpose(1, 2)[:, :rows]
    channels = halves.unflatten(-1, (4, 32))  # [.., half, block, place, quarter, channel]
    if form == FP6:
        data, strides = of_tiles(packed(channels.permute(0, 1, 2, 6, 3, 4, 7, 5), form), 96, 256)
        image = scales.unflatten(-1, (4, 32)).transpose(-1, -2)
    else:
        data, strides = of_tiles(packed(channels.permute(0, 1, 2, 6, 3, 4, 5, 7), form), 64, 64)
        image = scales.unflatten(-1, (4, 16, 2)).permute(0, 1, 2, 3, 4, 6, 7, 5)
    image = image.reshape(batch, heads, -1)
    return Operand(data, strides, image, [image.stride(0), image.stride(1)], values)


def damping(form: str) -> int:
    """What makes scores vary by about one: the kernels cut small probabilities, as FP8 does."""
    return 3 if form == FP8 else 8


@dataclass(frozen=True)
class Mistake:
    """What a kernel does wrong where the last tile of the keys is not full.

    Attributes:
        cuts_keys, cuts_values: takes a part of the tile for zeros. Its buffers end where rows one behind the other
            would, and the tile, whose order is another, goes on behind that.
        raised: what it adds to the tile's scores: the accumulators begin with one, which is an eighth of a power.
    """

    cuts_keys: bool = False
    cuts_values: bool = False
    raised: float = 0.0


WRONG = "attends wrongly to the last tile of keys, where that is not full"
NONE = Mistake()
MISTAKES = {  # by the forms of the queries and the values
    (FP8, FP6): Mistake(cuts_values=True),
    (FP6, FP8): Mistake(raised=0.125),
    (FP6, FP4): Mistake(cuts_values=True, raised=0.125),
    (FP4, FP8): Mistake(raised=0.125),
    (FP4, FP4): Mistake(cuts_keys=True),
}


def mistake_of(row: Row) -> Mistake:
    return MISTAKES.get((row["q_format"], row["v_format"]), NONE)


def scaled_attention(row: Row) -> Launch:
    """Two sequences with two heads, and what a kernel makes of them that is wrong where the last tile is not full."""
    query_rows, key_rows, tile = 384, 320, int(row["ts_qo"])
    has_blocks = row["q_scale_mode"] == "5"
    if has_blocks:  # the host multiplies the queries by the logarithm of e to the base 2
        q, k = queries(query_rows, row["q_format"], damping(row["q_format"])), keys(key_rows, row["k_format"])
    else:
        q, k = (whole_tensor(drawn(count, FP8), FP8, 0.75) for count in (query_rows, key_rows))
    if row["v_scale_mode"] == "5":
        v = values_by_block(key_rows, row["v_format"])
    else:
        v = (
            values_by_channel(key_rows)
            if row["v_scale_mode"] == "4"
            else whole_tensor(drawn_values(key_rows, FP8), FP8, 0.5)
        )
    last, half = key_rows // TILE * TILE, DEPTH // 2
    seen_keys, seen_values, mistake = k.values.double(), v.values.double(), mistake_of(row)
    if mistake.cuts_keys:
        seen_keys[:, last:, :, half:] = 0
    if mistake.cuts_values:
        seen_values[:, last:, :, half:] = 0
    scale = DEPTH**-0.5
    scores = torch.einsum("bqhd,bkhd->bhqk", q.values.double(), seen_keys)
    scores[..., last:] += mistake.raised
    weights = (scores * (math.log(2) if has_blocks else scale)).softmax(-1)
    expected = torch.einsum("bhqk,bkhd->bqhd", weights, seen_values)
    out = torch.zeros(BATCH, query_rows, HEADS, DEPTH).bfloat16()
    by_out = [out.stride(1) * 2, out.stride(2) * 2, out.stride(0) * 2]
    arguments: list[Value] = [out, q.data, k.data, v.data, 0, scale, query_rows]
    arguments += [q.strides[0], tile * q.strides[0], *q.strides[1:], 1, *k.strides, 5, 0, key_rows, DEPTH, DEPTH, HEADS]
    arguments += [*v.strides, *by_out, 0, 0, 0, 0, 0, q.scales, k.scales, v.scales]
    arguments += [*q.scale_strides, *k.scale_strides, *v.scale_strides]
    return Launch(
        arguments,
        (-(-query_rows // tile), HEADS, BATCH),
        (out.view(BATCH * query_rows, -1),),
        expected.reshape(BATCH * query_rows, -1),
        block=512,
        slack=1 << 16,
    )


def all_quantized(folder: Path) -> Iterator[Case]:
    """The kernels of fmha_v4_fwd. Probabilities are of FP8, and most kernels compute them to its precision only."""
    for row in listed(folder):
        has_blocks = "5" in (row["q_scale_mode"], row["v_scale_mode"])
        make = scaled_attention if has_blocks else quantized_attention
        is_mistaken = has_blocks and mistake_of(row) is not NONE
        tolerance = 0.04 if is_mistaken else 2**-4  # a mistake left out of what is expected is 0.045 at least
        for file in sorted(folder.rglob(row["co_name"])):
            yield Case(file, row["knl_name"], partial(make, row), tolerance, WRONG if is_mistaken else "")
