"""Paged attention: csrc/py_itfs_cu/asm_pa.cu."""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass
from functools import partial
from pathlib import Path

import torch
from experts import random_factor
from launches import Case, Launch, Row, Value, listed

DEPTH = 128
# Kernels make q and the probabilities of 8 bits, too, where K and V are.
TOLERANCES = {"bf16": 2**-7, "fp16": 2**-7, "fp8": 2**-4, "int8": 2**-3}


@dataclass(frozen=True)
class Pages:
    """K and V in pages, [page, head, ...], and where the tokens of each sequence are.

    Attributes:
        k: [page, head, DEPTH / x, token, x], where x elements are 16 bytes.
        v: [page, head, token / x, DEPTH, x].
        scales: of K and V, [page, head, token]; empty unless they are of 8 bits.
        table: the pages of each sequence.
        lengths: of each sequence, in tokens.
        values: what K and V are, [sequence][token, head, DEPTH].
    """

    k: torch.Tensor
    v: torch.Tensor
    scales: list[torch.Tensor]
    table: torch.Tensor
    lengths: torch.Tensor
    values: list[list[torch.Tensor]]


def pages(kind: str, processor: str, size: int, heads: int, lengths: list[int], is_by_page: bool = False) -> Pages:
    """Random pages of `size` tokens, in a random order; scales are of tokens unless `is_by_page`."""
    each = -(-max(lengths) // size)
    count = each * len(lengths)
    names = {"fp8": "Fp8", "int8": "Int8", "bf16": "Bf16", "fp16": "Fp16"}
    k, v = (random_factor(names[kind], processor, count, heads, size, DEPTH) for _ in "kv")
    scales = []
    values = [k.float(), v.float()]
    if kind in ("fp8", "int8"):
        unit = 1.0 if kind == "fp8" else 1 / 64
        scales = [unit * (0.5 + torch.rand(count, heads, 1 if is_by_page else size)) for _ in "kv"]
        values = [value * scale[..., None] for value, scale in zip(values, scales, strict=True)]
    table = torch.randperm(count).to(torch.int32).view(len(lengths), each)
    by_sequence = [
        [value[table[i].long()].transpose(1, 2).flatten(0, 1)[:length] for value in values]
        for i, length in enumerate(lengths)
    ]
    x = 16 // k.element_size()
    k = k.view(count, heads, size, DEPTH // x, x).transpose(2, 3).contiguous()
    v = v.view(count, heads, size // x, x, DEPTH).transpose(3, 4).contiguous()
    return Pages(k, v, scales, table, torch.tensor(lengths, dtype=torch.int32), by_sequence)


def attended(q: torch.Tensor, k: torch.Tensor, v: torch.Tensor, is_causal: bool) -> torch.Tensor:
    """Of q [row, head, DEPTH], whose heads share those of K and V; the last row sees all tokens."""
    shared = q.shape[1] // k.shape[1]
    k, v = (one.repeat_interleave(shared, 1) for one in (k, v))
    scores = torch.einsum("qhd,khd->hqk", q.float(), k) * DEPTH**-0.5
    if is_causal:
        rows, tokens = scores.shape[1:]
        scores = scores.masked_fill(torch.ones(rows, tokens).triu(tokens - rows + 1).bool(), float("-inf"))
    return torch.einsum("hqk,khd->qhd", scores.softmax(-1), v)


def decode(row: Row) -> Launch:
    """pa_fwd: the last tokens of two sequences, one of each unless the kernel takes more (`Mtp`)."""
    dtype = {"bf16": torch.bfloat16, "fp16": torch.float16}[row["qType"]]
    heads, shared, mtp = 2, int(row["Gqa"]), int(row["Mtp"])
    rows = mtp - 10 if mtp > 10 else max(1, 16 // shared) if mtp else 1
    of = pages(row["kvType"], row["processor"], int(row["blkSz"]), heads, [70, 345])
    q = torch.randn(2 * rows, heads * shared, DEPTH).to(dtype)
    out = torch.zeros_like(q)
    expected = torch.cat(
        [attended(q[i * rows : (i + 1) * rows], *of.values[i], rows > 1 and row["Msk"] == "1") for i in range(2)]
    )
    arguments: list[Value] = [out, q, of.k, of.v, of.table, of.lengths, *(of.scales or [0, 0])]
    arguments += [math.log2(math.e) * DEPTH**-0.5, of.table.shape[1], heads, q.stride(0) * 2]
    arguments += [of.k.stride(0) * of.k.element_size(), of.k.stride(1) * of.k.element_size(), rows - 1, shared]
    arguments += [torch.arange(3, dtype=torch.int32) * rows if mtp else 0]
    return Launch(arguments, (heads, 2, 1), (out.view(2 * rows, -1),), expected.view(2 * rows, -1))


def works(parts: list[tuple[int, int, int, int, int, int]], groups: int) -> tuple[torch.Tensor, torch.Tensor]:
    """What get_pa_metadata_v1 makes for persistent workgroups: where each one's parts begin, and the parts.

    Args:
        parts: sequence, first row of q, its end, first of the pages' indices, its end, and heads of q
            (`end << 16 | begin`); none is split.
    """
    begins = [len(parts) * group // groups for group in range(groups + 1)]
    info = [[batch, -1, *rows, 0, heads] for batch, *rows, heads in parts]
    return torch.tensor(begins, dtype=torch.int32), torch.tensor(info, dtype=torch.int32)


def persistent_decode(row: Row) -> Launch:
    """pa_ps_fwd: the same by as many workgroups as the GPU has compute units, to which the parts are handed out.

    The scales are of tokens (`quant_type` 2), or of pages.
    """
    heads, tile, lengths = 2, int(row["qTile"]), [70, 345]
    shared = {16: 8, 32: 8, 40: 10, 48: 16, 64: 16}[tile]
    rows, size, is_by_page = tile // shared, int(row["blkSz"]), row["quant_type"] != "2"
    of = pages(row["kvType"], row["processor"], size, heads, lengths, is_by_page)
    q = torch.randn(2 * rows, heads * shared, DEPTH).bfloat16()
    out = torch.zeros_like(q)
    expected = torch.cat([attended(q[i * rows : (i + 1) * rows], *of.values[i], rows > 1) for i in range(2)])
    used = [-(-length // size) for length in lengths]
    indices = torch.cat([of.table[i, :count] for i, count in enumerate(used)])
    begins = torch.tensor([0, used[0], sum(used)], dtype=torch.int32)
    parts = [
        (i, i * rows, (i + 1) * rows, int(begins[i]), int(begins[i + 1]), (head + 1) * shared << 16 | head * shared)
        for head in range(heads)
        for i in range(2)
    ]
    begin, info = works(parts, 3)
    sums, logarithms = torch.zeros(8, *q.shape[1:]), torch.zeros(8, q.shape[1])
    arguments: list[Value] = [out, q, of.k, of.v, indices, of.lengths, *of.scales]
    arguments += [math.log2(math.e) * DEPTH**-0.5, heads, q.stride(0) * 2]
    arguments += [of.k.stride(0) * of.k.element_size(), of.k.stride(1) * of.k.element_size(), rows - 1, shared]
    arguments += [torch.arange(3, dtype=torch.int32) * rows, begins, begin, info, sums, logarithms]
    arguments += [of.scales[0].stride(1) * 4, of.scales[0].stride(0) * 4]
    result, wanted = out.view(2 * rows, -1), expected.view(2 * rows, -1)
    return Launch(arguments, (3, 1, 1), (result,), wanted, (sums, logarithms))


def paged(folder: Path) -> Iterator[Case]:
    """All that the folder lists, and one for which the list has others of its kind."""
    rows = list(listed(folder))
    extra = "pa_bf16_pertokenFp8_gqa16_1tg_4w_qlen1_msk1_ps.co"
    if (folder / extra).exists():
        row = next(row for row in rows if row["qTile"] == "16" and row["quant_type"] == "2")
        rows.append(row | {"co_name": extra, "knl_name": ""})
    for row in rows:
        make = partial(persistent_decode if row["ps"] == "1" else decode, row)
        yield Case(folder / row["co_name"], row["knl_name"], make, TOLERANCES[row["kvType"]])
