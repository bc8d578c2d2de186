"""The kernels of training.cu: a layer and its gradients, from one source for AMD and NVIDIA GPUs."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import torch

from .attention import gradients
from .base import Example, Tensors, cdiv, load_source
from .block import THREADS, TILE
from .gemm import Product, gelu

SIGNATURES = {
    "matmul": (
        "a: *f32 const, b: *f32 const, c: *f32, m: i32, n: i32, k: i32, "
        "a_row_stride: i64, a_column_stride: i64, b_row_stride: i64, b_column_stride: i64"
    ),
    "gelu": "x: *f32 const, y: *f32, n: i32",
    "gelu_backward": "x: *f32 const, y_grad: *f32 const, x_grad: *f32, n: i32",
}
WIDTH = 256  # of an elementwise kernel's workgroup


class Functions:
    """The kernels as functions of f32 tensors on a device."""

    def __init__(self, device: torch.device | str = "cpu") -> None:
        # Matrices may be transposes: the kernel takes their strides.
        self._kernels = load_source("training", SIGNATURES, device, strides="any")

    def matmul(self, a: torch.Tensor, b: torch.Tensor) -> torch.Tensor:
        """A @ B."""
        (m, k), n = a.shape, b.shape[1]
        c = a.new_empty(m, n)
        grid = (cdiv(m, TILE), cdiv(n, TILE))
        self._kernels["matmul"](a, b, c, m, n, k, *a.stride(), *b.stride(), grid=grid, block=THREADS)
        return c

    def gelu(self, x: torch.Tensor) -> torch.Tensor:
        """GELU in its approximation by tanh."""
        x = x.contiguous()
        y = torch.empty_like(x)
        self._kernels["gelu"](x, y, x.numel(), grid=cdiv(x.numel(), WIDTH), block=WIDTH)
        return y

    def gelu_backward(self, x: torch.Tensor, y_grad: torch.Tensor) -> torch.Tensor:
        """The gradient of x, given that of y."""
        x, y_grad = x.contiguous(), y_grad.contiguous()
        x_grad = torch.empty_like(x)
        self._kernels["gelu_backward"](x, y_grad, x_grad, x.numel(), grid=cdiv(x.numel(), WIDTH), block=WIDTH)
        return x_grad


def trainable_layer(functions: Functions) -> Product:
    """gelu(x @ w.T), forward and backward by kernels."""

    class Layer(torch.autograd.Function):
        @staticmethod
        def forward(ctx: Any, x: torch.Tensor, w: torch.Tensor) -> torch.Tensor:
            product = functions.matmul(x, w.T)
            ctx.save_for_backward(x, w, product)
            return functions.gelu(product)

        @staticmethod
        def backward(ctx: Any, y_grad: torch.Tensor) -> Tensors:
            x, w, product = ctx.saved_tensors
            grad = functions.gelu_backward(product, y_grad)
            return functions.matmul(grad, w), functions.matmul(grad.T, x)

    def run(x: torch.Tensor, w: torch.Tensor) -> torch.Tensor:
        result: torch.Tensor = Layer.apply(x, w)  # type: ignore[no-untyped-call]
        return result

    return run


def layer_by_torch(x: torch.Tensor, w: torch.Tensor) -> torch.Tensor:
    """gelu(x @ w.T)."""
    return gelu(x @ w.T)


def layer_and_gradients(layer: Product) -> Callable[..., Tensors]:
    """The layer's result, and the gradients of x and w."""
    return lambda x, w, y_grad: (layer(x, w), *gradients(layer)(x, w, y_grad))


def examples(device: torch.device | str = "cpu") -> tuple[Example, ...]:
    """The kernels for a device."""
    functions = Functions(device)
    sizes = ((64, 96, 128), (1, 1, 1), (65, 7, 33))

    def inputs(m: int, n: int, k: int) -> Tensors:
        return torch.randn(m, k), torch.randn(n, k) / k**0.5, torch.randn(m, n)

    run, reference = (layer_and_gradients(layer) for layer in (trainable_layer(functions), layer_by_torch))
    return (Example("trainable_layer", run, reference, inputs, sizes, 1e-4, tuple(SIGNATURES)),)


EXAMPLES = examples()
