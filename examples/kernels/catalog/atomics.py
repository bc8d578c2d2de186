"""Kernels with atomic operations on LDS, each by one workgroup and so of one size."""

from __future__ import annotations

import torch

from .base import Example, load

_lds_histogram = load("lds_histogram_64x4", "*i32 const, *i32")
_column_min = load("column_min_i32_4x64", "*i32 const, *i32")
_scatter_add = load("scatter_add_f32_64x4", "*f32 const, *i32 const, *f32")


def lds_histogram(values: torch.Tensor) -> torch.Tensor:
    """How often each of 0 to 3 occurs among 64 int32."""
    counts = values.new_empty(4)
    _lds_histogram(values, counts, grid=1)
    return counts


def column_min(a: torch.Tensor) -> torch.Tensor:
    """The least of each column of four int32, in each row."""
    b = torch.empty_like(a)
    _column_min(a, b, grid=1)
    return b


def scatter_add(a: torch.Tensor, index: torch.Tensor) -> torch.Tensor:
    """Zeros with a[i, j] added at [index[i, j], j]."""
    b = torch.empty_like(a)
    _scatter_add(a, index, b, grid=1)
    return b


EXAMPLES = (
    Example(
        "lds_histogram_64x4",
        lds_histogram,
        lambda values: torch.bincount(values, minlength=4).int(),
        lambda n: (torch.randint(0, 4, (n,), dtype=torch.int32),),
        ((64,),),
    ),
    Example(
        "column_min_i32_4x64",
        column_min,
        lambda a: a.amin(dim=0).expand_as(a),
        lambda m, n: (torch.randint(-(2**31), 2**31 - 1, (m, n), dtype=torch.int32),),
        ((4, 64),),
    ),
    Example(
        "scatter_add_f32_64x4",
        scatter_add,
        lambda a, index: torch.zeros_like(a).scatter_add(0, index.long(), a),
        lambda m, n: (torch.randn(m, n), torch.randint(0, m, (m, n), dtype=torch.int32)),
        ((64, 4),),
        tolerance=1e-5,
    ),
)
