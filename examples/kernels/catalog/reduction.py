"""Sums and maxima along rows and columns, and running sums."""

from __future__ import annotations

from collections.abc import Callable

import torch

from ._rows import by_row
from .base import Example, Tensors, load

REFERENCES: dict[str, Callable[..., torch.Tensor]] = {"sum": torch.sum, "max": torch.amax}


def _inputs(m: int, n: int, dtype: str) -> Tensors:
    return (torch.randn(m, n).to(torch.float16 if dtype == "f16" else torch.float32),)


def _rows(kind: str, dtype: str, columns: int) -> Example:
    name = f"row_{kind}_{dtype}_{columns}"
    run = by_row(
        name,
        f"*{dtype} const, *f32, i64",
        columns=columns,
        output=lambda a: a.new_empty(a.shape[0], dtype=torch.float32),
    )
    return Example(
        name,
        run,
        lambda a: REFERENCES[kind](a.float(), dim=1),
        lambda m: _inputs(m, columns, dtype),
        ((128,), (1,), (5,)),
        tolerance=0 if kind == "max" else 1e-4,
    )


def _columns(kind: str, dtype: str, rows: int) -> Example:
    name = f"column_{kind}_{dtype}_{rows}"
    kernel = load(name, f"*{dtype} const, *f32, i64")

    def run(a: torch.Tensor) -> torch.Tensor:
        n = a.shape[1]
        b = a.new_empty(n, dtype=torch.float32)
        kernel(a, b, n, grid=(1, n))
        return b

    return Example(
        name,
        run,
        lambda a: REFERENCES[kind](a.float(), dim=0),
        lambda n: _inputs(rows, n, dtype),
        ((100,), (1,), (65,)),
        tolerance=0 if kind == "max" else 1e-4,
    )


def _cumsum(columns: int) -> Example:
    name = f"cumsum_i32_{columns}"
    return Example(
        name,
        by_row(name, "*i32 const, *i32, i64", columns=columns),
        lambda a: torch.cumsum(a, dim=1, dtype=torch.int32),
        lambda m: (torch.randint(-1000, 1000, (m, columns), dtype=torch.int32),),
        ((64,), (1,)),
    )


_topk = load("topk_f16_64x2", "*f16 const, *f16, *i32, i64")


def topk(a: torch.Tensor) -> Tensors:
    """The two largest of each row of 64, in descending order, and their columns."""
    m = a.shape[0]
    values, indices = a.new_empty(m, 2), a.new_empty(m, 2, dtype=torch.int32)
    _topk(a, values, indices, m, grid=(1, m))
    return values, indices


def topk_reference(a: torch.Tensor) -> Tensors:
    """The same by torch."""
    values, indices = torch.topk(a, 2, dim=1)
    return values, indices.int()


def distinct(m: int) -> Tensors:
    """Rows without equal elements, of which topk may choose any."""
    return (torch.argsort(torch.rand(m, 64), dim=1).half(),)


EXAMPLES = (
    _rows("sum", "f32", 256),
    _rows("sum", "f16", 1024),
    _rows("max", "f32", 256),
    _columns("sum", "f32", 128),
    _columns("max", "f16", 128),
    Example("topk_f16_64x2", topk, topk_reference, distinct, ((32,), (1,))),
    _cumsum(64),
    _cumsum(256),
)
