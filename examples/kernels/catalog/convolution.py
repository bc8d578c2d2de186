"""2D convolution."""

from __future__ import annotations

from collections.abc import Callable

import torch

from .base import Example, Tensors, cdiv, load

TILE = 64


def conv2d(binary: str, *, stride: int) -> Callable[[torch.Tensor, torch.Tensor], torch.Tensor]:
    """The convolution of images [batch, height, width, channels] with filters, as f32 and without padding.

    The weight has shape [filters, size, size, channels], which the kernel knows.
    """
    kernel = load(binary, "*f16 const, *f16 const, *f32, i64, i64, i64, i64, i64")

    def run(images: torch.Tensor, weight: torch.Tensor) -> torch.Tensor:
        (batch, height, width, _), (filters, size, _, _) = images.shape, weight.shape
        rows, columns = ((length - size) // stride + 1 for length in (height, width))
        out = images.new_empty(batch, rows, columns, filters, dtype=torch.float32)
        grid = (cdiv(batch * rows * columns, TILE), cdiv(filters, TILE))
        kernel(images, weight, out, batch, height, width, rows, columns, grid=grid)
        return out

    return run


def conv2d_reference(*, stride: int) -> Callable[[torch.Tensor, torch.Tensor], torch.Tensor]:
    """The same by torch, whose channels come first."""

    def run(images: torch.Tensor, weight: torch.Tensor) -> torch.Tensor:
        images, weight = (x.float().permute(0, 3, 1, 2) for x in (images, weight))
        return torch.nn.functional.conv2d(images, weight, stride=stride).permute(0, 2, 3, 1).contiguous()

    return run


def images_and_filters(channels: int, filters: int, size: int) -> Callable[..., Tensors]:
    """Makes inputs."""

    def make(batch: int, height: int, width: int) -> Tensors:
        return torch.randn(batch, height, width, channels).half(), torch.randn(filters, size, size, channels).half()

    return make


EXAMPLES = tuple(
    Example(
        name,
        conv2d(name, stride=stride),
        conv2d_reference(stride=stride),
        images_and_filters(32, 64, 3),
        ((2, 16, 12), (1, 3, 3), (3, 7, 10)),
        tolerance=1e-3,
    )
    for name, stride in (("conv2d_3x3", 1), ("conv2d_3x3_stride2", 2))
)
