"""Matrix products."""

from __future__ import annotations

from collections.abc import Callable

import torch
from torch.nn import functional

from .base import Example, Size, Tensors, cdiv, load

TILE = 64

TYPES = {
    "f16": torch.float16,
    "bf16": torch.bfloat16,
    "i8": torch.int8,
    "f8e4m3fnuz": torch.float8_e4m3fnuz,
    "f8e5m2fnuz": torch.float8_e5m2fnuz,
}

Activation = Callable[[torch.Tensor], torch.Tensor]
Product = Callable[[torch.Tensor, torch.Tensor], torch.Tensor]


def gemm(binary: str, *, dynamic: bool, dtype: str = "f16", tile: int = TILE) -> Product:
    """A @ B.T for shapes [M, K] and [N, K], as f32, or i32 for i8.

    A kernel of one size knows it; a dynamic one takes M, N and K, each as 64 bits in two halves, which the signature
    joins.
    """
    total, total_dtype = ("i32", torch.int32) if dtype == "i8" else ("f32", torch.float32)
    kernel = load(binary, f"*{dtype} const, *{dtype} const, *{total}" + (", i64, i64, i64" if dynamic else ""))

    def run(a: torch.Tensor, b: torch.Tensor) -> torch.Tensor:
        (m, k), n = a.shape, b.shape[0]
        c = a.new_empty(m, n, dtype=total_dtype)
        kernel(a, b, c, *((m, n, k) if dynamic else ()), grid=(cdiv(m, tile), cdiv(n, tile)))
        return c

    return run


def gemm_nn(binary: str) -> Product:
    """A @ B for f16 of shapes [M, K] and [K, N], as f32."""
    kernel = load(binary, "*f16 const, *f16 const, *f32, i64, i64, i64")

    def run(a: torch.Tensor, b: torch.Tensor) -> torch.Tensor:
        (m, k), n = a.shape, b.shape[1]
        c = a.new_empty(m, n, dtype=torch.float32)
        kernel(a, b, c, m, n, k, grid=(cdiv(m, TILE), cdiv(n, TILE)))
        return c

    return run


def gemm_reference(a: torch.Tensor, b: torch.Tensor) -> torch.Tensor:
    """A @ B.T in f32, or in i32."""
    total = torch.int32 if a.dtype is torch.int8 else torch.float32
    return a.to(total) @ b.to(total).T


def operands(dtype: str) -> Callable[..., Tensors]:
    """Makes inputs of a GEMM of size (M, N, K)."""

    def make(m: int, n: int, k: int) -> Tensors:
        if dtype == "i8":
            return (
                torch.randint(-128, 128, (m, k), dtype=torch.int8),
                torch.randint(-128, 128, (n, k), dtype=torch.int8),
            )
        return torch.randn(m, k).to(TYPES[dtype]), torch.randn(n, k).to(TYPES[dtype])

    return make


def batched_gemm(binary: str) -> Product:
    """A @ B.mT for f16 of shapes [B, M, K] and [B, N, K], as f32."""
    kernel = load(binary, "*f16 const, *f16 const, *f32, i64, i64, i64, i64")

    def run(a: torch.Tensor, b: torch.Tensor) -> torch.Tensor:
        (batch, m, k), n = a.shape, b.shape[1]
        c = a.new_empty(batch, m, n, dtype=torch.float32)
        kernel(a, b, c, batch, m, n, k, grid=(cdiv(m, TILE), cdiv(n, TILE), batch))
        return c

    return run


def linear(
    binary: str, *, dtype: str = "f16", tile: int = TILE
) -> Callable[[torch.Tensor, torch.Tensor, torch.Tensor], torch.Tensor]:
    """activation(A @ B.T + bias) in the dtype of A and B, for shapes [M, K] and [N, K] and an f32 bias."""
    kernel = load(binary, f"*{dtype} const, *{dtype} const, *f32 const, *{dtype}, i64, i64, i64")

    def run(a: torch.Tensor, b: torch.Tensor, bias: torch.Tensor) -> torch.Tensor:
        (m, k), n = a.shape, b.shape[0]
        c = a.new_empty(m, n)
        kernel(a, b, bias, c, m, n, k, grid=(cdiv(m, tile), cdiv(n, tile)))
        return c

    return run


def gelu(x: torch.Tensor) -> torch.Tensor:
    """GELU in its approximation by tanh, as the kernels have it."""
    return functional.gelu(x, approximate="tanh")


def _gemm(name: str, sizes: tuple[Size, ...], *, dtype: str = "f16", dynamic: bool = False) -> Example:
    run = gemm(name, dynamic=dynamic, dtype=dtype)
    return Example(name, run, gemm_reference, operands(dtype), sizes, tolerance=0 if dtype == "i8" else 1e-3)


def _linear(name: str, activation: Activation, *, dtype: str = "f16", tile: int = TILE) -> Example:
    """Results are of the order of one, so the tolerance is two units in the last place there."""

    def reference(a: torch.Tensor, b: torch.Tensor, bias: torch.Tensor) -> torch.Tensor:
        return activation(gemm_reference(a, b) + bias).to(a.dtype)

    def inputs(m: int, n: int, k: int) -> Tensors:
        a, b = operands(dtype)(m, n, k)
        return a, b / k**0.5, torch.randn(n)

    tolerance = 4 * torch.finfo(TYPES[dtype]).eps
    run = linear(name, dtype=dtype, tile=tile)
    return Example(name, run, reference, inputs, ((128, 256, 96), *_DYNAMIC[1:]), tolerance)


_DYNAMIC = ((128, 192, 96), (1, 1, 1), (65, 64, 32), (7, 130, 100))

EXAMPLES = (
    _gemm("gemm_f16_16x16x16_128x512x256", ((128, 512, 256),)),
    _gemm("gemm_f16_32x32x8_128x256x512", ((128, 256, 512),)),
    _gemm("gemm_f16_16x16x16_256x256x256", ((256, 256, 256),)),
    _gemm("gemm_f16_prefetch_128x128x128", ((128, 128, 128),)),
    _gemm("gemm_f16_modulo_128x128x128", ((128, 128, 128),)),
    _gemm("gemm_f16_buffer", _DYNAMIC, dynamic=True),
    _gemm("gemm_f16_16x16x16", _DYNAMIC, dynamic=True),
    _gemm("gemm_f16_32x32x8", _DYNAMIC, dynamic=True),
    _gemm("gemm_bf16_16x16x16", _DYNAMIC, dtype="bf16", dynamic=True),
    _gemm("gemm_bf16_32x32x8", _DYNAMIC, dtype="bf16", dynamic=True),
    _gemm("gemm_i8_16x16x32", _DYNAMIC, dtype="i8", dynamic=True),
    _gemm("gemm_i8_32x32x16", _DYNAMIC, dtype="i8", dynamic=True),
    _gemm("gemm_f8_16x16x32", _DYNAMIC, dtype="f8e4m3fnuz", dynamic=True),
    _gemm("gemm_f8_32x32x16", _DYNAMIC, dtype="f8e4m3fnuz", dynamic=True),
    Example(
        "gemm_nn_f16",
        gemm_nn("gemm_nn_f16"),
        lambda a, b: a.float() @ b.float(),
        lambda m, n, k: (torch.randn(m, k).half(), torch.randn(k, n).half()),
        _DYNAMIC,
        tolerance=1e-3,
    ),
    Example(
        "batched_gemm_f16",
        batched_gemm("batched_gemm_f16"),
        lambda a, b: a.float() @ b.float().mT,
        lambda b, m, n, k: (torch.randn(b, m, k).half(), torch.randn(b, n, k).half()),
        ((4, 64, 64, 96), (1, 1, 1, 1), (3, 70, 33, 50)),
        tolerance=1e-3,
    ),
    _linear("linear_f16", lambda x: x),
    _linear("linear_relu_f16", torch.relu),
    _linear("linear_gelu_f16", gelu, tile=32),
    _linear("linear_silu_bf16", functional.silu, dtype="bf16", tile=32),
)
