"""The HIP kernels of basics.hip."""

from __future__ import annotations

from collections.abc import Callable

import torch

from .base import Example, Tensors, cdiv, load

VECTOR_ADD = load("basics", "*f32 const, *f32 const, *f32, i32", "vector_add")
COLLATZ = load("basics", "*i32 const, *i32, i32", "collatz")
HISTOGRAM = load("basics", "*u8 const, *i32, i32", "histogram")


def vector_add(a: torch.Tensor, b: torch.Tensor) -> torch.Tensor:
    """A + B for f32."""
    c = torch.empty_like(a)
    VECTOR_ADD(a, b, c, a.numel(), grid=cdiv(a.numel(), 256), block=256)
    return c


def matmul(name: str) -> Callable[[torch.Tensor, torch.Tensor], torch.Tensor]:
    """A @ B for square f32 matrices, by a kernel with blocks of 16 by 16."""
    kernel = load("basics", "*f32 const, *f32 const, *f32, i32", name)

    def run(a: torch.Tensor, b: torch.Tensor) -> torch.Tensor:
        c = torch.empty_like(a)
        blocks = cdiv(a.shape[0], 16)
        kernel(a, b, c, a.shape[0], grid=(blocks, blocks), block=(16, 16))
        return c

    return run


def collatz(start: torch.Tensor) -> torch.Tensor:
    """Steps to 1 of the Collatz sequence from each int32."""
    steps = torch.empty_like(start)
    COLLATZ(start, steps, start.numel(), grid=cdiv(start.numel(), 256), block=256)
    return steps


def collatz_reference(start: torch.Tensor) -> torch.Tensor:
    """The same, all elements in step."""
    value, steps = start.long(), torch.zeros_like(start)
    while (running := value != 1).any():
        steps += running
        value = torch.where(running, torch.where(value % 2 == 1, 3 * value + 1, value // 2), value)
    return steps


def histogram(values: torch.Tensor) -> torch.Tensor:
    """How often each byte occurs, as 256 int32."""
    counts = torch.zeros(256, dtype=torch.int32, device=values.device)
    HISTOGRAM(values, counts, values.numel(), grid=cdiv(values.numel(), 256), block=256)
    return counts


def histogram_reference(values: torch.Tensor) -> torch.Tensor:
    """The same by torch."""
    return torch.bincount(values.int(), minlength=256).int()


def squares(n: int) -> Tensors:
    """Inputs of a product of square matrices."""
    return torch.randn(n, n), torch.randn(n, n)


EXAMPLES = (
    Example(
        "vector_add",
        vector_add,
        torch.add,
        lambda n: (torch.randn(n), torch.randn(n)),
        ((100_000,), (1,), (255,), (257,)),
    ),
    Example("matmul_naive", matmul("matmul_naive"), torch.mm, squares, ((128,), (1,), (37,)), tolerance=1e-3),
    Example("matmul_tiled", matmul("matmul_tiled"), torch.mm, squares, ((128,), (16,), (48,)), tolerance=1e-3),
    Example(
        "collatz",
        collatz,
        collatz_reference,
        lambda n: (torch.arange(1, n + 1, dtype=torch.int32),),
        ((1000,), (1,), (64,)),
    ),
    Example(
        "histogram",
        histogram,
        histogram_reference,
        lambda n: (torch.randint(0, 256, (n,), dtype=torch.uint8),),
        ((100_000,), (1,), (1000,)),
    ),
)
