"""Operators that the tests share, over kernels of examples/."""

from __future__ import annotations

import torch
from support import EXAMPLES
from torch import Tensor

import wave_runtime
from wave_runtime import cdiv

BINARIES = EXAMPLES / "binaries"
SIGNATURE = "a: *f32 const, b: *f32 const, c: *f32, n: i32"

basics = wave_runtime.load(BINARIES / "basics.hsaco", signature={"vector_add": SIGNATURE, "matmul_naive": SIGNATURE})
vector_add, matmul_naive = basics["vector_add"], basics["matmul_naive"]


def launch_add(a: Tensor, b: Tensor, c: Tensor) -> None:
    vector_add(a, b, c, a.numel(), grid=cdiv(a.numel(), 256), block=256)


def declare_add(name: str) -> wave_runtime.Operator:
    """A + B, as an operator that is a declaration of the kernel's launch."""
    return wave_runtime.define_op(
        name,
        vector_add,
        outputs={"c": lambda a: a.new_empty(a.shape)},
        arguments={"n": lambda a: a.numel()},
        grid=lambda a: cdiv(a.numel(), 256),
        block=256,
    )


@wave_runtime.define_op("wave_test::add")
def add(a: Tensor, b: Tensor) -> Tensor:
    """A + B."""
    c = torch.empty_like(a)
    launch_add(a, b, c)
    return c


@wave_runtime.define_op("wave_test::inlined_add", inline=True)
def inlined_add(a: Tensor, b: Tensor) -> Tensor:
    c = torch.empty_like(a)
    launch_add(a, b, c)
    return c


@wave_runtime.define_op("wave_test::add_out", mutates=["out"])
def add_out(a: Tensor, b: Tensor, *, out: Tensor) -> None:
    launch_add(a, b, out)


@wave_runtime.define_op("wave_test::matmul")
def matmul(a: Tensor, b: Tensor) -> Tensor:
    """A @ B of square matrices."""
    c = torch.empty_like(a, memory_format=torch.contiguous_format)
    matmul_naive(a.contiguous(), b.contiguous(), c, len(a), grid=(cdiv(len(a), 16),) * 2, block=(16, 16))
    return c


@matmul.register_backward
def _(grad: Tensor, a: Tensor, b: Tensor) -> tuple[Tensor, Tensor]:
    return matmul(grad, b.T), matmul(a.T, grad)


@wave_runtime.define_op("wave_test::twice")
def twice(x: Tensor) -> Tensor:
    y = torch.empty_like(x)
    launch_add(x, x, y)
    return y


@wave_runtime.define_op("wave_test::twice_backward")
def twice_backward(grad: Tensor, x: Tensor) -> Tensor:
    """As though it needed x. It has no derivative of its own."""
    grad = grad.contiguous()
    result = torch.empty_like(x)
    launch_add(grad, grad, result)
    return result


twice.register_backward(twice_backward)
