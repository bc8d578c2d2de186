"""Softmax, RMSNorm and LayerNorm over the rows of a matrix; each kernel is for rows of one length, in any number."""

from __future__ import annotations

from collections.abc import Callable

import torch
from torch.nn import functional

from ._rows import BF16_EPS, F16_EPS, by_row
from .base import Example, Tensors

EPSILON = 1e-5
TYPES = {"f16": torch.float16, "bf16": torch.bfloat16, "f32": torch.float32}

# Of one rounding of results up to 4, or of softmax up to 1/16, and of sums in another order.
TOLERANCES = {"f16": 4 * F16_EPS, "bf16": 4 * BF16_EPS, "f32": 2e-6}
SOFTMAX_TOLERANCES = {"f16": F16_EPS / 16, "f32": 1e-7}


def softmax(a: torch.Tensor) -> torch.Tensor:
    """Softmax of rows, computed in f32."""
    return torch.softmax(a.float(), dim=1).to(a.dtype)


def rmsnorm(a: torch.Tensor, weight: torch.Tensor) -> torch.Tensor:
    """RMSNorm of rows, computed in f32."""
    return functional.rms_norm(a.float(), (a.shape[1],), weight.float(), EPSILON).to(a.dtype)


def layernorm(a: torch.Tensor, weight: torch.Tensor, bias: torch.Tensor) -> torch.Tensor:
    """LayerNorm of rows, computed in f32."""
    return functional.layer_norm(a.float(), (a.shape[1],), weight.float(), bias.float(), EPSILON).to(a.dtype)


KINDS: dict[str, tuple[Callable[..., torch.Tensor], int]] = {
    "softmax": (softmax, 0),
    "rmsnorm": (rmsnorm, 1),
    "layernorm": (layernorm, 2),
}


def _example(kind: str, dtype: str, columns: int) -> Example:
    """One of the three; after the matrix come its weights, if any, as long as a row."""
    reference, weights = KINDS[kind]
    name = f"{kind}_{dtype}_{columns}"

    def inputs(m: int) -> Tensors:
        rows = [torch.randn(columns) for _ in range(weights)]
        return tuple(tensor.to(TYPES[dtype]) for tensor in (torch.randn(m, columns), *rows))

    signature = ", ".join([f"*{dtype} const"] * (1 + weights) + [f"*{dtype}", "i64"])
    run = by_row(name, signature, columns=columns)
    tolerances = SOFTMAX_TOLERANCES if kind == "softmax" else TOLERANCES
    return Example(name, run, reference, inputs, ((128,), (1,), (5,)), tolerances[dtype])


EXAMPLES = (
    _example("softmax", "f32", 256),
    _example("softmax", "f16", 1024),
    _example("rmsnorm", "f16", 256),
    _example("rmsnorm", "bf16", 1024),
    _example("layernorm", "f16", 256),
    _example("layernorm", "f32", 1024),
)
