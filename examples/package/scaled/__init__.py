"""Scaled tensors, by kernels that were compiled with this package."""

import torch

from scaled import kernels  # type: ignore[attr-defined]  # the build makes it
from wave_runtime import cdiv

BLOCK = 256


def scaled(x: torch.Tensor, factor: float) -> torch.Tensor:
    """The product of a contiguous float32 tensor and a number, on the tensor's device: a GPU or the CPU."""
    out = torch.empty_like(x)
    kernels.scale(x, out, factor, x.numel(), grid=cdiv(x.numel(), BLOCK), block=BLOCK)
    return out


def filled(x: torch.Tensor, value: int) -> torch.Tensor:
    """The tensor, of int32, with one value everywhere."""
    kernels.module["fill<int>"](x, value, x.numel(), grid=cdiv(x.numel(), BLOCK), block=BLOCK)
    return x
