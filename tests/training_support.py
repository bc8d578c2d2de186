"""What the tests of the training example share, on the CPU and on GPUs."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import torch
from catalog.tiny_transformer import operands, rows_and_gradient
from sharded_gemm import gemm
from training_operators import matmul, rmsnorm, rmsnorm_backward

import wave_runtime

Call = tuple[wave_runtime.Operator, tuple[Any, ...]]


def calls(device: str) -> Iterator[Call]:
    """One or more of each operator that the training examples define, with the gradients that they have."""
    a, a_t, b, b_t = (x.to(device) for x in operands(2, 20, 12, 33))
    y_grad, x, weight = (x.to(device) for x in rows_and_gradient(5, 100))
    for layout, left, right in (("nn", a, b), ("nt", a, b_t), ("tn", a_t, b)):
        yield matmul, (left.clone().requires_grad_(), right.clone().requires_grad_(), layout)
    yield matmul, (a[0], b_t[0], "nt")
    yield rmsnorm, (x.clone().requires_grad_(), weight.clone().requires_grad_())
    yield rmsnorm_backward, (y_grad, x, weight)
    if device == "cpu":  # on GPUs its example has processes of its own
        yield gemm, (torch.randn(20, 33).half(), torch.randn(12, 33).half())


def opcheck(call: Call) -> None:
    """Torch's checks of an operator: schema, fake kernel, autograd, compilation with dynamic sizes."""
    operator, arguments = call
    torch.library.opcheck(operator.overload, arguments)
