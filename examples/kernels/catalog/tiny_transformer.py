"""What a transformer is trained with: matrix products of any layout, and RMSNorm with its gradients.

Two sets of kernels do the same: those of the Wave DSL, and those of tiny_transformer.cu, which run on NVIDIA GPUs, too.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from functools import partial
from typing import Protocol

import torch
from torch.nn import functional

import wave_runtime

from ._rows import BF16_EPS
from .base import Example, Size, Tensors, cdiv, load, load_source
from .block import ROW_THREADS, THREADS
from .gemm import TILE
from .normalization import EPSILON

Pair = tuple[torch.Tensor, torch.Tensor]

LAYOUTS = ("nn", "nt", "tn")

LAST_BIT = 8 * BF16_EPS  # of results from eight to sixteen

NORM = "x: *f32 const, weight: *f32 const, y: *bf16"
NORM_BACKWARD = "y_grad: *bf16 const, x: *f32 const, weight: *f32 const, x_grad: *f32, weight_grads: *f32"
SIGNATURES = {
    "batched_matmul": (
        "a: *bf16 const, b: *bf16 const, c: *bf16, m: i32, n: i32, k: i32, "
        "a_row_stride: i64, a_column_stride: i64, b_row_stride: i64, b_column_stride: i64"
    ),
    "rmsnorm_forward": f"{NORM}, columns: i32, epsilon: f32",
    "rmsnorm_backward": f"{NORM_BACKWARD}, columns: i32, epsilon: f32",
}


class Kernels(Protocol):
    """What launches them, on tensors that the caller has made; all are contiguous."""

    def matmul(self, layout: str, a: torch.Tensor, b: torch.Tensor, c: torch.Tensor, sizes: Size) -> None:
        """C = A @ B for bf16, where sizes are batch, M, N and K."""

    def rmsnorm_forward(self, *tensors: torch.Tensor) -> None:
        """From x and the weight y; x is of shape [M, N]."""

    def rmsnorm_backward(self, *tensors: torch.Tensor) -> None:
        """From the gradient of y, x and the weight the gradient of x, and each row's part of that of the weight."""


class WaveKernels:
    """Those of the Wave DSL: a matrix product for each layout, a norm for rows of up to 256 and of up to 1024."""

    def __init__(self) -> None:
        self._matmul = {
            layout: load(f"matmul_bf16_{layout}", "*bf16 const, *bf16 const, *bf16, i64, i64, i64, i64")
            for layout in LAYOUTS
        }
        self._forward = self._by_columns("rmsnorm_forward", NORM)
        self._backward = self._by_columns("rmsnorm_backward", NORM_BACKWARD)

    @staticmethod
    def _by_columns(name: str, tensors: str) -> dict[int, wave_runtime.Kernel]:
        signature = f"{tensors}, share: f32, epsilon: f32, m: i64, n: i64"
        return {columns: load(f"{name}_up_to_{columns}", signature) for columns in (256, 1024)}

    def matmul(self, layout: str, a: torch.Tensor, b: torch.Tensor, c: torch.Tensor, sizes: Size) -> None:
        """See Kernels."""
        batch, m, n, _ = sizes
        self._matmul[layout](a, b, c, *sizes, grid=(cdiv(m, TILE), cdiv(n, TILE), batch))

    def _by_row(self, kernels: dict[int, wave_runtime.Kernel], tensors: Tensors) -> None:
        m, n = tensors[-1].shape
        columns = next((limit for limit in kernels if n <= limit), None)
        if columns is None:
            raise ValueError(f"rmsnorm: the Wave kernels take rows of up to {max(kernels)} numbers, and not {n}")
        kernels[columns](*tensors, 1 / n, EPSILON, m, n, grid=(1, m))

    def rmsnorm_forward(self, *tensors: torch.Tensor) -> None:
        """See Kernels."""
        self._by_row(self._forward, tensors)

    def rmsnorm_backward(self, *tensors: torch.Tensor) -> None:
        """See Kernels."""
        self._by_row(self._backward, tensors)


class SourceKernels:
    """Those of tiny_transformer.cu for a device."""

    def __init__(self, device: torch.device | str = "cpu") -> None:
        self._kernels = load_source("tiny_transformer", SIGNATURES, device)

    def matmul(self, layout: str, a: torch.Tensor, b: torch.Tensor, c: torch.Tensor, sizes: Size) -> None:
        """See Kernels."""
        batch, m, n, k = sizes
        strides = (*((k, 1) if layout[0] == "n" else (1, m)), *((n, 1) if layout[1] == "n" else (1, k)))
        grid = (cdiv(m, TILE), cdiv(n, TILE), batch)
        self._kernels["batched_matmul"](a, b, c, m, n, k, *strides, grid=grid, block=THREADS)

    def _by_row(self, name: str, tensors: Tensors) -> None:
        m, n = tensors[-1].shape
        self._kernels[name](*tensors, n, EPSILON, grid=m, block=ROW_THREADS)

    def rmsnorm_forward(self, *tensors: torch.Tensor) -> None:
        """See Kernels."""
        self._by_row("rmsnorm_forward", tensors)

    def rmsnorm_backward(self, *tensors: torch.Tensor) -> None:
        """See Kernels."""
        self._by_row("rmsnorm_backward", tensors)


def matmul(kernels: Kernels, a: torch.Tensor, b: torch.Tensor, layout: str) -> torch.Tensor:
    """A @ B for bf16, as bf16: of matrices, or of batches of them.

    Layout n is as it is, t is transposed in memory: for "nt", B has shape [..., N, K].
    """
    (m, k), (b_k, n) = (
        x.shape[-2:] if order == "n" else x.shape[:-3:-1] for x, order in zip((a, b), layout, strict=True)
    )
    if layout not in LAYOUTS or k != b_k or a.shape[:-2] != b.shape[:-2]:
        raise ValueError(
            f"matmul of layout {layout!r}: shapes {list(a.shape)} and {list(b.shape)} do not fit; layouts are "
            f"{', '.join(LAYOUTS)}, of equal batches and K"
        )
    c = a.new_empty(*a.shape[:-2], m, n)
    kernels.matmul(layout, a, b, c, (math.prod(a.shape[:-2]), m, n, k))
    return c


def rmsnorm(kernels: Kernels, x: torch.Tensor, weight: torch.Tensor) -> torch.Tensor:
    """RMSNorm of the rows of f32 [M, N] with f32 weights, as bf16."""
    y = torch.empty_like(x, dtype=torch.bfloat16)
    kernels.rmsnorm_forward(x, weight, y)
    return y


def rmsnorm_backward(kernels: Kernels, y_grad: torch.Tensor, x: torch.Tensor, weight: torch.Tensor) -> Pair:
    """The gradient of x, and each row's part of that of the weight, both f32 of shape [M, N]."""
    x_grad, weight_grads = torch.empty_like(x), torch.empty_like(x)
    kernels.rmsnorm_backward(y_grad, x, weight, x_grad, weight_grads)
    return x_grad, weight_grads


def matmul_by_torch(a: torch.Tensor, b: torch.Tensor, layout: str) -> torch.Tensor:
    """A @ B; the sums of bf16 are f32 here, too."""
    return (a if layout[0] == "n" else a.mT) @ (b if layout[1] == "n" else b.mT)


def rmsnorm_by_torch(x: torch.Tensor, weight: torch.Tensor) -> torch.Tensor:
    """RMSNorm of rows of f32, as bf16."""
    return functional.rms_norm(x, weight.shape, weight, EPSILON).bfloat16()


def rmsnorm_backward_by_torch(y_grad: torch.Tensor, x: torch.Tensor, weight: torch.Tensor) -> Tensors:
    """The gradients; a weight for each row tells the rows' parts apart."""
    x = x.detach().requires_grad_()
    weights = weight.expand_as(x).clone().requires_grad_()
    y = functional.rms_norm(x, weight.shape, None, EPSILON) * weights
    return torch.autograd.grad(y, (x, weights), y_grad.float())


def every_layout(product: Callable[..., torch.Tensor]) -> Callable[..., Tensors]:
    """The same product by each layout, of A and B as they are and transposed in memory."""
    return lambda a, a_t, b, b_t: (product(a, b, "nn"), product(a, b_t, "nt"), product(a_t, b, "tn"))


def operands(batch: int, m: int, n: int, k: int) -> Tensors:
    """Makes A, B, and their transposes, with products of the order of one."""
    a, b = torch.randn(batch, m, k).bfloat16(), (torch.randn(batch, k, n) / k**0.5).bfloat16()
    return a, a.mT.contiguous(), b, b.mT.contiguous()


def rows(m: int, n: int) -> Tensors:
    """Makes inputs of rmsnorm."""
    return torch.randn(m, n), torch.randn(n)


def rows_and_gradient(m: int, n: int) -> Tensors:
    """Makes inputs of rmsnorm_backward."""
    return torch.randn(m, n).bfloat16(), *rows(m, n)


def _matmul_example(name: str, kernels: Kernels, *binaries: str) -> Example:
    run, reference = every_layout(partial(matmul, kernels)), every_layout(matmul_by_torch)
    sizes = ((1, 128, 192, 96), (1, 1, 1, 1), (3, 65, 64, 32), (2, 7, 130, 100))
    return Example(name, run, reference, operands, sizes, LAST_BIT, binaries)


def _norm_examples(suffix: str, kernels: Kernels, *sizes: Size) -> tuple[Example, ...]:
    forward, backward = partial(rmsnorm, kernels), partial(rmsnorm_backward, kernels)
    return (
        Example(f"rmsnorm_forward{suffix}", forward, rmsnorm_by_torch, rows, sizes, LAST_BIT),
        Example(f"rmsnorm_backward{suffix}", backward, rmsnorm_backward_by_torch, rows_and_gradient, sizes, 1e-5),
    )


def examples(device: torch.device | str = "cpu") -> tuple[Example, ...]:
    """The kernels of tiny_transformer.cu for a device."""
    kernels = SourceKernels(device)
    return _matmul_example("batched_matmul", kernels), *_norm_examples("", kernels, (64, 256), (3, 1), (5, 1000))


WAVE = WaveKernels()
EXAMPLES = (
    _matmul_example("matmul_bf16", WAVE, *(f"matmul_bf16_{layout}" for layout in LAYOUTS)),
    *_norm_examples("_up_to_256", WAVE, (64, 256), (3, 1), (5, 100)),
    *_norm_examples("_up_to_1024", WAVE, (64, 1024), (5, 300)),
    *examples(),
)
