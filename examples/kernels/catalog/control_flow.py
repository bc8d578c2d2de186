"""Kernels with control flow."""

from __future__ import annotations

import torch

from ._rows import by_row
from .base import Example, Tensors, cdiv, load

SIZES = ((64, 300), (1, 1), (5, 257))
ROWS = 16

_scale_if = by_row("scale_if_f32", "*f32 const, *f32, i32, i64, i64")
_while_rows = load("while_rows_f32_16", "*f32 const, *f32, i32, i64")


def scale_if(a: torch.Tensor) -> Tensors:
    """A and 2 A, by a threshold that is not passed and one that is."""
    return _scale_if(a, 10), _scale_if(a, 11)


def while_rows(a: torch.Tensor) -> torch.Tensor:
    """A + 1 from row 3 on."""
    b = torch.zeros_like(a)
    _while_rows(a, b, 3, a.shape[1], grid=cdiv(a.shape[1], 64))
    return b


EXAMPLES = (
    Example(
        "masked_copy_f16",
        by_row("masked_copy_f16", "*f16 const, *i32 const, *f16, i64, i64", columns=64, output=torch.zeros_like),
        lambda a, mask: torch.where(mask > 0, a, 0),
        lambda m, n: (torch.randn(m, n).half(), torch.randint(-1, 2, (m, n), dtype=torch.int32)),
        SIZES,
    ),
    Example("scale_if_f32", scale_if, lambda a: (a, a + a), lambda m, n: (torch.randn(m, n),), SIZES),
    Example(
        "while_rows_f32_16",
        while_rows,
        lambda a: torch.where(torch.arange(ROWS)[:, None] < 3, 0, a + 1),
        lambda n: (torch.randn(ROWS, n),),
        ((300,), (1,), (64,)),
    ),
)
