"""Kernels that move elements, for matrices of any size."""

from __future__ import annotations

import torch

from ._rows import by_row
from .base import Example, Tensors

SIZES = ((64, 300), (1, 1), (5, 257))


def gather_inputs(m: int, n: int) -> Tensors:
    """A matrix, and for each element the row that it comes from."""
    return torch.randn(m, n).half(), torch.randint(0, m, (m, n), dtype=torch.int32)


def scatter_inputs(m: int, n: int) -> Tensors:
    """A matrix, and for each element the column that it goes to, a permutation in each row."""
    return torch.randn(m, n), torch.argsort(torch.rand(m, n), dim=1).int()


EXAMPLES = (
    Example(
        "transpose_f16",
        by_row("transpose_f16", "*f16 const, *f16, i64, i64", output=lambda a: a.new_empty(a.shape[::-1])),
        lambda a: a.T.contiguous(),
        lambda m, n: (torch.randn(m, n).half(),),
        SIZES,
    ),
    Example(
        "gather_f16",
        by_row("gather_f16", "*f16 const, *i32 const, *f16, i64, i64"),
        lambda a, index: torch.gather(a, 0, index.long()),
        gather_inputs,
        SIZES,
    ),
    Example(
        "scatter_f32",
        by_row("scatter_f32", "*f32 const, *i32 const, *f32, i64, i64"),
        lambda a, index: torch.zeros_like(a).scatter(1, index.long(), a),
        scatter_inputs,
        SIZES,
    ),
)
