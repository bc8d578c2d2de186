"""Flash attention: csrc/cpp_itfs/mha_fwd.cu."""

from __future__ import annotations

import torch
from launches import Launch, Row, Value


def attention(row: Row) -> Launch:
    """mha_fwd.cu (csrc/cpp_itfs): two sequences with two heads, which share one of K and V.

    In group mode (1) the sequences stand one behind the other, and their begins in arrays.
    """
    depth_qk, depth_v, causal = int(row["hdim_q"]), int(row["hdim_v"]), row["mask"] != "0"
    is_group, tile, heads, batch = row["mode"] == "1", int(row["ts_qo"]), 2, 2
    length = 384  # so that the last tile is not full
    dtype = torch.bfloat16
    if row["dtype"] != "bf16":
        dtype = torch.float8_e4m3fnuz if row["processor"] == "gfx942" else torch.float8_e4m3fn
    shapes = ((heads, depth_qk), (1, depth_qk), (1, depth_v))
    q, k, v = (torch.randn(batch, length, *shape).to(dtype) for shape in shapes)
    o = torch.zeros(batch, length, heads, depth_v).bfloat16()
    strides = {"q": q, "k": k, "v": v, "o": o}
    by_row, by_head, by_batch = (
        {name: tensor.stride(axis) * tensor.element_size() for name, tensor in strides.items()} for axis in (1, 2, 0)
    )
    if is_group:
        by_batch = dict.fromkeys(by_batch, 0)
    is_wide = (depth_qk, depth_v) == (192, 128)
    is_wide_on_942 = is_wide and row["processor"] == "gfx942"
    begins, one, scale = torch.arange(batch + 1, dtype=torch.int32) * length, torch.ones(1), depth_qk**-0.5
    arguments: list[Value] = [
        o,
        q,
        k,
        v,
        0,
        scale,
        length,
        by_row["q"],
        tile * by_row["q"],
        by_head["q"],
        by_batch["q"],
    ]
    arguments += [
        heads,
        by_row["k"],
        by_head["k"],
        by_batch["k"],
        0 if is_wide_on_942 else 3 if causal else 5,
        0,
        length,
    ]
    arguments += [depth_qk, depth_v, heads, *(by[name] for name in "vo" for by in (by_row, by_head, by_batch))]
    sequences = begins if is_group else 0
    arguments += [sequences, sequences, 0, sequences, sequences, one, one, one, 0, 0, 0, 0, 0, 0]
    tiles, merged = -(-length // tile), 2 if causal and not (is_group and is_wide_on_942) else 1
    grid = (-(-tiles // merged), heads, batch)
    if is_wide_on_942:
        grid = (heads, tiles, batch)
    if is_group:
        grid = (heads, batch, -(-tiles // merged))
    scores = torch.einsum("bqhd,bkd->bhqk", q.float(), k.float()[:, :, 0]) * scale
    if causal:
        scores = scores.masked_fill(torch.ones(length, length).triu(1).bool(), float("-inf"))
    expected = torch.einsum("bhqk,bkd->bqhd", scores.softmax(-1), v.float()[:, :, 0])
    return Launch(
        arguments,
        grid,
        (o.view(batch * length, -1),),
        expected.reshape(batch * length, -1),
        block=256 if is_wide else 512,
    )


def tolerance_of_attention(row: Row) -> float:
    """With FP8 the probabilities are of FP8, too."""
    return 2**-6 if row["dtype"] == "bf16" else 2**-4


def quantized_attention(row: Row) -> Launch:
    """asm_mha_v4_fwd.cu: two sequences with two heads, of i8 or FP8 with a scale for each tensor."""
    length, batch, heads, depth = 384, 2, 2, 128
    fp8 = torch.float8_e4m3fnuz if row["processor"] == "gfx942" else torch.float8_e4m3fn
    shape = (batch, length, heads, depth)
    q, k = (
        torch.randint(-127, 128, shape, dtype=torch.int8) if row["q_format"] == "10" else torch.randn(shape).to(fp8)
        for _ in "qk"
    )
    v, out = torch.randn(shape).to(fp8), torch.zeros(shape).bfloat16()
    scales = [torch.tensor([1 / 64 if row["q_format"] == "10" else 0.75]) for _ in "qk"]
    values = [one.float() * scale for one, scale in zip((q, k), scales, strict=True)]
    scales.append(torch.tensor([0.5]))
    scale = depth**-0.5
    scores = torch.einsum("bqhd,bkhd->bhqk", *values) * scale
    expected = torch.einsum("bhqk,bkhd->bqhd", scores.softmax(-1), v.float() * scales[2])
    by = [q.stride(1), q.stride(2), q.stride(0)]
    by_out = [out.stride(1) * 2, out.stride(2) * 2, out.stride(0) * 2]
    tile = int(row["ts_qo"])
    arguments: list[Value] = [out, q, k, v, 0, scale, length, by[0], tile * by[0], *by[1:], 1, *by, 5, 0, length, depth]
    arguments += [depth, heads, *by, *by_out, 0, 0, 0, 0, 0, *scales, 0, 0, 0, 0, 0, 0]
    grid = (-(-length // tile), heads, batch)
    return Launch(
        arguments, grid, (out.view(batch * length, -1),), expected.reshape(batch * length, -1), block=512, slack=1 << 16
    )
