"""The backward pass of flash attention: csrc/cpp_itfs/mha_bwd.cu, which launches three kernels.

The first multiplies o and its gradient; the second makes the gradients of q, k and v, the first of them in an
accumulator, of which the third makes 16 bits (`dq_convert`, `dq_shuffle`).
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass
from functools import partial
from pathlib import Path

import torch
from launches import Case, Launch, Row, Value, launch, listed

BATCH, HEADS = 2, 2
# Their bounds are those of the whole sequence, counted from where a workgroup's rows begin.
OVERRUNS = [f"bwd_hd128_{dtype}_causal_br_a32_psskddv" for dtype in ("bf16", "fp16")]
WINDOW = (40, 24)  # keys before and behind, of kernels with a window


@dataclass(frozen=True)
class Problem:
    """Sequences of a batch, or in group mode one behind the other; their begins in arrays."""

    dtype: torch.dtype
    depth_qk: int
    depth_v: int
    length: int
    is_group: bool

    def random(self, heads: int, depth: int) -> torch.Tensor:
        return torch.randn(BATCH, self.length, heads, depth).to(self.dtype)

    def strides(self, tensor: torch.Tensor) -> list[int]:
        """In bytes, of heads, batches, and rows."""
        size = tensor.element_size()
        return [tensor.stride(2) * size, 0 if self.is_group else tensor.stride(0) * size, tensor.stride(1) * size]

    @property
    def rows(self) -> int:
        """Of all sequences that a kernel is told."""
        return BATCH * self.length if self.is_group else self.length

    def begins(self) -> Value:
        return torch.arange(BATCH + 1, dtype=torch.int32) * self.length if self.is_group else 0

    def by_head(self, values: torch.Tensor) -> torch.Tensor:
        """[batch, head, row, ...] as kernels have it: in group mode the batches' rows stand one behind the other."""
        return values.transpose(0, 1).flatten(1, 2).contiguous() if self.is_group else values.contiguous()

    def strides_by_head(self, values: torch.Tensor) -> list[int]:
        """In bytes, of heads and batches, of what by_head() gives."""
        size = values.element_size()
        return [values.stride(0) * size, 0] if self.is_group else [values.stride(1) * size, values.stride(0) * size]


def problem(row: Row) -> Problem:
    """One that the kernel takes: of whole tiles unless `pssk`, and as wide as its head unless `pddv`."""
    dtype = torch.bfloat16 if row["dtype"] == "bf16" else torch.float16
    depth_qk, depth_v = int(row["hdim_q"]), int(row["hdim_v"])
    if row["pddv"] == "1" and depth_qk == depth_v:
        depth_qk = depth_v = depth_qk - 24
    whole = 2 * int(row["ts"])
    return Problem(dtype, depth_qk, depth_v, whole - 56 if row["pssk"] == "1" else whole, row["mode"] == "1")


def products_of_rows(row: Row) -> Launch:
    """The sums of o times its gradient, of each row."""
    of = problem(row)
    o, gradient = of.random(HEADS, of.depth_v), of.random(HEADS, of.depth_v)
    expected = of.by_head((o.float() * gradient.float()).sum(-1).transpose(1, 2))
    sums = torch.zeros_like(expected)
    arguments: list[Value] = [o, gradient, sums, *of.strides(o), *of.strides(gradient), *of.strides_by_head(sums), 4]
    arguments += [of.rows, of.depth_v, of.begins(), of.begins()]
    grid = (-(-of.length // int(row["ts"])), HEADS, BATCH)
    return Launch(arguments, grid, (sums,), expected)


def conversion_arguments(of: Problem, accumulated: torch.Tensor, dq: torch.Tensor) -> list[Value]:
    """Of dq_convert and dq_shuffle."""
    heads = of.strides_by_head(accumulated) if accumulated.dtype == torch.float32 else None
    strides = heads or [accumulated.stride(1) * 2, accumulated.stride(0) * 2]
    strides.append(accumulated.stride(-2) * accumulated.element_size())
    return [accumulated, dq, *strides, *of.strides(dq), of.rows, of.depth_qk, of.begins(), of.begins()]


def conversion(row: Row) -> Launch:
    """Sums of 32 bits as 16."""
    of = problem(row)
    sums = torch.randn(BATCH, HEADS, of.length, of.depth_qk)
    dq = torch.zeros(BATCH, of.length, HEADS, of.depth_qk).to(of.dtype)
    grid = (-(-of.length // int(row["ts"])), HEADS, BATCH)
    expected = sums.transpose(1, 2).flatten(0, 2)
    return Launch(conversion_arguments(of, of.by_head(sums), dq), grid, (dq.view(-1, of.depth_qk),), expected)


def gradients(row: Row, order: Row | None, folder: Path) -> Launch:
    """Of q, k and v: heads of q share one of k and v, and each has its own gradients of these.

    Args:
        order: the kernel that brings the rows of dq, which the other adds in 16 bits, into order, if there is one.
    """
    of = problem(row)
    scale, length = of.depth_qk**-0.5, of.length
    q, k, v = of.random(HEADS, of.depth_qk), of.random(1, of.depth_qk), of.random(1, of.depth_v)
    gradient = of.random(HEADS, of.depth_v)
    x, y, z = (tensor.float().requires_grad_() for tensor in (q, k.expand(q.shape), v.expand(gradient.shape)))
    scores = torch.einsum("bqhd,bkhd->bhqk", x, y) * scale
    if row["mask"] != "0":
        ones = torch.ones(length, length)
        hidden = ones.triu(1) if row["mask"] != "3" else ones.triu(WINDOW[1] + 1) + ones.tril(-WINDOW[0] - 1)
        scores = scores.masked_fill(hidden.bool(), float("-inf"))
    o = torch.einsum("bhqk,bkhd->bqhd", scores.softmax(-1), z)
    o.backward(gradient.float())
    lse = of.by_head(scores.logsumexp(-1).detach())
    sums = of.by_head((o.detach() * gradient.float()).sum(-1).transpose(1, 2))

    dk = torch.zeros(BATCH, length, HEADS, of.depth_qk).to(of.dtype)
    dv = torch.zeros(BATCH, length, HEADS, of.depth_v).to(of.dtype)
    rows = length if row["atomic32"] == "1" else -(-length // 16) * 16
    dq = torch.zeros_like(q)
    if row["atomic32"] == "1":
        added = of.by_head(torch.zeros(BATCH, HEADS, length, of.depth_qk))
    else:
        width = 192 if of.depth_qk == 192 else 128
        added = torch.zeros(BATCH, HEADS, rows, width).to(of.dtype) if order else dq
    arguments: list[Value] = [added, dk, dv, q, k, v, gradient, lse, sums, scale, math.log2(math.e), of.rows]
    arguments += [int(row["ts"]) * of.strides(k)[2], *of.strides(q), HEADS, *of.strides(k), of.strides(dk)[2], of.rows]
    arguments += [of.depth_qk, of.depth_v, HEADS, *of.strides(v), *of.strides(gradient), *of.strides(dk)[:2]]
    arguments += [*of.strides(dv)[:2], of.strides(dv)[2], of.strides_by_head(lse)[0]]
    arguments += [of.begins(), of.begins(), of.begins(), of.begins(), rows]
    arguments += [1 + WINDOW[1], 1 + WINDOW[0]] if row["mask"] == "3" else [0, 0]

    def found() -> torch.Tensor:
        result = added
        if row["atomic32"] == "1":
            result = added.view(HEADS, BATCH, length, -1).transpose(0, 1) if of.is_group else added
            result = result.transpose(1, 2)
        elif order:
            grid = (-(-length // int(order["ts"])), HEADS, BATCH)
            after = Launch(conversion_arguments(of, added, dq), grid, (dq,), dq)
            launch(folder / order["co_name"], order["knl_name"], after)
            result = dq
        return torch.cat([one.float().flatten() for one in (result, dk, dv)])

    expected = torch.cat([one.grad.flatten() for one in (x, y, z) if one.grad is not None])
    tiles = -(-length // int(row["ts"]))
    grid = (-(-tiles // 2) if row["mask"] in "12" else tiles, HEADS, BATCH)
    return Launch(arguments, grid, (dk, dv), expected, (added,), found=found)


def takes_order(row: Row, order: Row) -> bool:
    """Whether a kernel adds in 16 bits in an order from which another one brings it."""
    return row["atomic32"] == "0" and all(row[key] == order[key] for key in ("hdim_q", "mode"))


def ordering(row: Row, order: Row, folder: Path) -> Launch:
    """The rows of dq, as another kernel has added them in 16 bits."""
    of, first = problem(row), gradients(row, order, folder)
    launch(folder / row["co_name"], row["knl_name"], first)
    dq = torch.zeros(BATCH, of.length, HEADS, of.depth_qk).to(of.dtype)
    grid = (-(-of.length // int(order["ts"])), HEADS, BATCH)
    expected = first.expected[: dq.numel()].view(-1, of.depth_qk)
    return Launch(conversion_arguments(of, first.scratch[0], dq), grid, (dq.view(expected.shape),), expected)


def backward(folder: Path) -> Iterator[Case]:
    """All that the folder lists."""
    rows = list(listed(folder))
    orders = [row for row in rows if row["list"] == "fmha_bwd_dq_shuffle"]
    for order in orders:
        added = [row for row in rows if row["list"] == "fmha_bwd_dqdkdv" and takes_order(row, order)]
        if not added:  # no kernel makes what it takes
            continue
        row = added[0]
        yield Case(folder / order["co_name"], order["knl_name"], partial(ordering, row, order, folder), 2**-6)
    for row in rows:
        file = folder / row["co_name"]
        if row["list"] == "fmha_bwd_odo":
            yield Case(file, row["knl_name"], partial(products_of_rows, row), 2**-16)
        elif row["list"] == "fmha_bwd_dq_convert":
            yield Case(file, row["knl_name"], partial(conversion, row), 2**-7)
        elif row["list"] == "fmha_bwd_dqdkdv":
            order = next((order for order in orders if takes_order(row, order)), None)
            mistake = ""
            if file.stem in OVERRUNS and folder.parent.name == "gfx950":
                row["pssk"], mistake = "0", "writes behind dk and dv where the last tile is not full"
            yield Case(file, row["knl_name"], partial(gradients, row, order, folder), 2**-6, mistake)
    for file in sorted(folder.glob("*_swa_*.co")):
        if all(file.name != row["co_name"] for row in rows):  # with a window, and in no list
            row = dict.fromkeys(("pssk", "pddv", "mode"), "0") | {"mask": "3", "atomic32": "1", "ts": "192"}
            row |= {"dtype": file.stem.split("_")[2], "hdim_q": "128", "hdim_v": "128"}
            yield Case(file, "", partial(gradients, row, None, folder), 2**-6)
