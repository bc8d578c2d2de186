"""The operators that the training examples define: matrix products and RMSNorm, each with its gradients.

On CPU tensors, and on an AMD GPU, they launch Wave kernels; on an NVIDIA GPU, once `load_kernels` has compiled them,
those of kernels/sources/tiny_transformer.cu.
"""

from __future__ import annotations

import sys
from pathlib import Path

import torch
from torch import Tensor

import wave_runtime

sys.path.insert(0, str(Path(__file__).parent / "kernels"))
from catalog import tiny_transformer as launch

__all__ = ["launch", "load_kernels", "matmul", "rmsnorm", "rmsnorm_backward"]

KERNELS: dict[str, launch.Kernels] = {"cpu": launch.WAVE}  # by the type of the tensors' device


def load_kernels(device: torch.device | str) -> None:
    """Load the kernels for a device, before an operator meets it."""
    device = torch.device(device)
    if device.type == "cuda" and "cuda" not in KERNELS:
        KERNELS["cuda"] = launch.WAVE if torch.version.hip else launch.SourceKernels(device)


@wave_runtime.define_op("tiny::matmul")
def matmul(a: Tensor, b: Tensor, layout: str) -> Tensor:
    """A @ B for bf16, as bf16: of matrices, or of batches of them.

    Layout "nt" has B transposed in memory, of shape [..., N, K], and "tn" A; "nn" none.
    """
    return launch.matmul(KERNELS[a.device.type], a, b, layout)


@matmul.register_backward
def matmul_gradients(grad: Tensor, a: Tensor, b: Tensor, layout: str) -> tuple[Tensor, Tensor]:
    """The gradients of A and B are products again."""
    grad = grad.contiguous()
    if layout == "nn":
        return matmul(grad, b, "nt"), matmul(a, grad, "tn")
    if layout == "nt":
        return matmul(grad, b, "nn"), matmul(grad, a, "tn")
    return matmul(b, grad, "nt"), matmul(a, grad, "nn")


@wave_runtime.define_op("tiny::rmsnorm")
def rmsnorm(x: Tensor, weight: Tensor) -> Tensor:
    """RMSNorm of the rows of f32 [M, N] with f32 weights [N], as bf16."""
    return launch.rmsnorm(KERNELS[x.device.type], x, weight)


@wave_runtime.define_op("tiny::rmsnorm_backward")
def rmsnorm_backward(y_grad: Tensor, x: Tensor, weight: Tensor) -> tuple[Tensor, Tensor]:
    """The gradient of x, and each row's part of that of the weight, both f32 [M, N]."""
    return launch.rmsnorm_backward(KERNELS[x.device.type], y_grad, x, weight)


@rmsnorm.register_backward
def rmsnorm_gradients(y_grad: Tensor, x: Tensor, weight: Tensor) -> tuple[Tensor, Tensor]:
    """The rows' parts are added by torch, which a compiler fuses with what follows."""
    x_grad, weight_grads = rmsnorm_backward(y_grad.contiguous(), x, weight)
    return x_grad, weight_grads.sum(0)
