"""Elementwise kernels for matrices of any size."""

from __future__ import annotations

import torch
from torch.nn import functional

from ._rows import F16_EPS, by_row
from .base import Example, Tensors
from .gemm import Activation, gelu

SIZES = ((64, 300), (1, 1), (3, 256), (5, 257))


def _add_row(name: str, dtype: str, torch_dtype: torch.dtype) -> Example:
    def inputs(m: int, n: int) -> Tensors:
        return torch.randn(m, n).to(torch_dtype), torch.randn(n).to(torch_dtype)

    run = by_row(name, f"*{dtype} const, *{dtype} const, *{dtype}, i64, i64")
    return Example(name, run, torch.add, inputs, SIZES)


def _activation(name: str, reference: Activation, dtype: str = "f32", tolerance: float = 2e-6) -> Example:
    def inputs(m: int, n: int) -> Tensors:
        return ((3 * torch.randn(m, n)).to(torch.float16 if dtype == "f16" else torch.float32),)

    run = by_row(name, f"*{dtype} const, *{dtype}, i64, i64")
    return Example(name, run, reference, inputs, SIZES, tolerance)


EXAMPLES = (
    _add_row("add_row_f16", "f16", torch.float16),
    _add_row("add_row_f32", "f32", torch.float32),
    _activation("silu_f16", functional.silu, "f16", tolerance=8 * F16_EPS),
    _activation("gelu_f32", gelu),
    _activation("softplus_f32", functional.softplus),
)
