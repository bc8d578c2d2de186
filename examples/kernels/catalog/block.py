"""The kernels of block.cu: what a transformer block needs, from one source for AMD and NVIDIA GPUs."""

from __future__ import annotations

from collections.abc import Callable

import torch

import wave_runtime

from .attention import Attention, attention_reference, qkv
from .base import Example, Tensors, cdiv, load_source
from .gemm import Product, gelu, gemm_reference, operands
from .normalization import EPSILON
from .normalization import rmsnorm as rmsnorm_reference

TILE = 64  # of a workgroup, as in product.h and for the rows of attention
THREADS = (16, 16)
ROW_THREADS = 128

SIZES = "m: i32, n: i32, k: i32"
LINEAR = f"a: *f16 const, b: *f16 const, bias: *f32 const, c: *f16, {SIZES}"
SIGNATURES = {
    "rmsnorm": "a: *f16 const, weight: *f16 const, b: *f16, columns: i32, epsilon: f32",
    "gemm": f"a: *f16 const, b: *f16 const, c: *f32, {SIZES}",
    "linear": LINEAR,
    "linear_gelu": LINEAR,
    "attention_causal": "q: *f16 const, k: *f16 const, v: *f16 const, out: *f32, lse: *f32, m: i32, n: i32",
}

Linear = Callable[[torch.Tensor, torch.Tensor, torch.Tensor], torch.Tensor]


def rmsnorm(kernel: wave_runtime.Kernel) -> Product:
    """A / sqrt(mean(a^2) + eps) * weight, row by row."""

    def run(a: torch.Tensor, weight: torch.Tensor) -> torch.Tensor:
        b = torch.empty_like(a)
        kernel(a, weight, b, a.shape[1], EPSILON, grid=a.shape[0], block=ROW_THREADS)
        return b

    return run


def gemm(kernel: wave_runtime.Kernel) -> Product:
    """A @ B.T as f32."""

    def run(a: torch.Tensor, b: torch.Tensor) -> torch.Tensor:
        (m, k), n = a.shape, b.shape[0]
        c = a.new_empty(m, n, dtype=torch.float32)
        kernel(a, b, c, m, n, k, grid=(cdiv(m, TILE), cdiv(n, TILE)), block=THREADS)
        return c

    return run


def linear(kernel: wave_runtime.Kernel) -> Linear:
    """activation(A @ B.T + bias) as f16, for an f32 bias."""

    def run(a: torch.Tensor, b: torch.Tensor, bias: torch.Tensor) -> torch.Tensor:
        (m, k), n = a.shape, b.shape[0]
        c = a.new_empty(m, n)
        kernel(a, b, bias, c, m, n, k, grid=(cdiv(m, TILE), cdiv(n, TILE)), block=THREADS)
        return c

    return run


def linear_reference(activation: Callable[[torch.Tensor], torch.Tensor]) -> Linear:
    """The same by torch."""
    return lambda a, b, bias: activation(gemm_reference(a, b) + bias).half()


def attention(kernel: wave_runtime.Kernel) -> Attention:
    """Causal attention of [batch, heads, M, 64] as f32, and the log of the sum that softmax divides by."""

    def run(q: torch.Tensor, k: torch.Tensor, v: torch.Tensor) -> Tensors:
        batch, heads, m, _ = q.shape
        out, lse = torch.empty_like(q, dtype=torch.float32), q.new_empty(batch, heads, m, dtype=torch.float32)
        kernel(q, k, v, out, lse, m, k.shape[2], grid=(cdiv(m, TILE), batch * heads), block=TILE)
        return out, lse

    return run


def rows(m: int, n: int = 256) -> Tensors:
    """Makes inputs of rmsnorm."""
    return torch.randn(m, n).half(), torch.randn(n).half()


def linear_inputs(m: int, n: int, k: int) -> Tensors:
    """Makes inputs of linear, whose results are of the order of one."""
    a, b = operands("f16")(m, n, k)
    return a, b / k**0.5, torch.randn(n)


def examples(device: torch.device | str = "cpu", target: str | None = None) -> tuple[Example, ...]:
    """The kernels for a device or a processor, as load_source makes them."""
    module = load_source("block", SIGNATURES, device, target)
    norm, product = rmsnorm(module["rmsnorm"]), gemm(module["gemm"])
    plain, with_gelu = linear(module["linear"]), linear(module["linear_gelu"])
    causal = attention(module["attention_causal"])

    heads = ((2, 4, 128, 128), (1, 1, 1, 1), (1, 3, 65, 65), (2, 1, 70, 33))
    sizes = ((128, 192, 96), (1, 1, 1), (65, 64, 32), (7, 130, 100))
    last_bits = 4 * torch.finfo(torch.float16).eps  # two of results up to two: sums are in another order than torch's
    return (
        Example("rmsnorm", norm, rmsnorm_reference, rows, ((64, 256), (3, 1), (5, 1000)), last_bits),
        Example("gemm", product, gemm_reference, operands("f16"), sizes, 1e-3),
        Example("linear", plain, linear_reference(lambda x: x), linear_inputs, sizes, last_bits),
        Example("linear_gelu", with_gelu, linear_reference(gelu), linear_inputs, sizes, last_bits),
        Example("attention_causal", causal, attention_reference(causal=True), qkv(torch.float16), heads, 1e-4),
    )


EXAMPLES = examples()
