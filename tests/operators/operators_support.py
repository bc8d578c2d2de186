"""Operators that the tests share, over kernels of examples/."""

from __future__ import annotations

import torch
from catalog.training import SIGNATURES, THREADS, TILE
from support import EXAMPLES
from torch import Tensor

import wave_runtime
from wave_runtime import cdiv

BINARIES = EXAMPLES / "binaries"
VECTOR_ADD = "a: *f32 const, b: *f32 const, c: *f32, n: i32"

kernels = wave_runtime.load(BINARIES / "training.hsaco", signature=SIGNATURES, strides="any")
vector_add = wave_runtime.load(BINARIES / "basics.hsaco", signature={"vector_add": VECTOR_ADD})["vector_add"]


def launch_add(a: Tensor, b: Tensor, c: Tensor) -> None:
    vector_add(a, b, c, a.numel(), grid=cdiv(a.numel(), 256), block=256)


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


matmul_kernel, gelu_kernel, gelu_backward_kernel = (kernels[name] for name in SIGNATURES)


@wave_runtime.define_op("wave_test::matmul")
def matmul(a: Tensor, b: Tensor) -> Tensor:
    (m, k), n = a.shape, b.shape[1]
    c = a.new_empty(m, n)
    grid = (cdiv(m, TILE), cdiv(n, TILE))
    matmul_kernel(a, b, c, m, n, k, *a.stride(), *b.stride(), grid=grid, block=THREADS)
    return c


@matmul.register_backward
def _(grad: Tensor, a: Tensor, b: Tensor) -> tuple[Tensor, Tensor]:
    return matmul(grad, b.T), matmul(a.T, grad)


@wave_runtime.define_op("wave_test::gelu")
def gelu(x: Tensor) -> Tensor:
    y = torch.empty_like(x)
    gelu_kernel(x, y, x.numel(), grid=cdiv(x.numel(), 256), block=256)
    return y


@wave_runtime.define_op("wave_test::gelu_backward")
def gelu_backward(grad: Tensor, x: Tensor) -> Tensor:
    grad = grad.contiguous()
    result = torch.empty_like(x)
    gelu_backward_kernel(x, grad, result, x.numel(), grid=cdiv(x.numel(), 256), block=256)
    return result


gelu.register_backward(gelu_backward)
