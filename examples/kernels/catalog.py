"""The kernels of this folder as functions on tensors, each beside what torch computes.

Every entry of CATALOG is a test, a row of the demo's table and a row of the emulator's benchmark.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import torch

import wave_runtime

FOLDER = Path(__file__).parent

Tensors = tuple[torch.Tensor, ...]
Size = tuple[int, ...]


def cdiv(a: int, b: int) -> int:
    """Ceiling division."""
    return (a + b - 1) // b


def load(file: str, kernel: str, signature: str) -> wave_runtime.Kernel:
    """Load one kernel of a file of this folder. Metadata does not tell an int from a float, so signatures are given."""
    return wave_runtime.load(FOLDER / file, signature={kernel: signature})[kernel]


def wave_gemm(file: str, *, dynamic: bool) -> Callable[[torch.Tensor, torch.Tensor], torch.Tensor]:
    """A @ B.T for f16 tensors of shapes [M, K] and [N, K], as f32 of shape [M, N].

    A kernel of one size knows it; a dynamic one takes M, N and K, each as 64 bits in two halves, which the signature
    joins.
    """
    kernel = load(file, "gemm", "*f16 const, *f16 const, *f32" + (", i64, i64, i64" if dynamic else ""))
    tile = 64

    def gemm(a: torch.Tensor, b: torch.Tensor) -> torch.Tensor:
        (m, k), n = a.shape, b.shape[0]
        c = a.new_empty(m, n, dtype=torch.float32)
        kernel(a, b, c, *((m, n, k) if dynamic else ()), grid=(cdiv(m, tile), cdiv(n, tile)))
        return c

    return gemm


def vector_add(a: torch.Tensor, b: torch.Tensor) -> torch.Tensor:
    """A + B for f32."""
    kernel = load("basics.hsaco", "vector_add", "*f32 const, *f32 const, *f32, i32")
    c = torch.empty_like(a)
    kernel(a, b, c, a.numel(), grid=cdiv(a.numel(), 256), block=256)
    return c


def matmul(name: str) -> Callable[[torch.Tensor, torch.Tensor], torch.Tensor]:
    """A @ B for square f32 matrices, by a kernel with blocks of 16 by 16."""
    kernel = load("basics.hsaco", name, "*f32 const, *f32 const, *f32, i32")

    def run(a: torch.Tensor, b: torch.Tensor) -> torch.Tensor:
        c = torch.empty_like(a)
        blocks = cdiv(a.shape[0], 16)
        kernel(a, b, c, a.shape[0], grid=(blocks, blocks), block=(16, 16))
        return c

    return run


def collatz(start: torch.Tensor) -> torch.Tensor:
    """Steps to 1 of the Collatz sequence from each int32."""
    kernel = load("basics.hsaco", "collatz", "*i32 const, *i32, i32")
    steps = torch.empty_like(start)
    kernel(start, steps, start.numel(), grid=cdiv(start.numel(), 256), block=256)
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
    kernel = load("basics.hsaco", "histogram", "*u8 const, *i32, i32")
    counts = torch.zeros(256, dtype=torch.int32, device=values.device)
    kernel(values, counts, values.numel(), grid=cdiv(values.numel(), 256), block=256)
    return counts


def histogram_reference(values: torch.Tensor) -> torch.Tensor:
    """The same by torch."""
    return torch.bincount(values.int(), minlength=256).int()


def halves(m: int, n: int, k: int) -> Tensors:
    """Inputs of a GEMM."""
    return torch.randn(m, k).half(), torch.randn(n, k).half()


def squares(n: int) -> Tensors:
    """Inputs of a product of square matrices."""
    return torch.randn(n, n), torch.randn(n, n)


def gemm_reference(a: torch.Tensor, b: torch.Tensor) -> torch.Tensor:
    """A @ B.T in f32."""
    return a.float() @ b.float().T


@dataclass(frozen=True)
class Example:
    """A kernel as a function.

    Attributes:
        name: for tables.
        run: launches the kernel.
        reference: computes the same with torch.
        inputs: makes inputs of a size.
        sizes: what the tests run; the first is the one of tables.
        tolerance: largest absolute error; sums of products in another order differ in their last bits.
    """

    name: str
    run: Callable[..., torch.Tensor]
    reference: Callable[..., torch.Tensor]
    inputs: Callable[..., Tensors]
    sizes: tuple[Size, ...]
    tolerance: float = 0.0


def _gemm(name: str, sizes: tuple[Size, ...], *, dynamic: bool) -> Example:
    run = wave_gemm(f"{name}.hsaco", dynamic=dynamic)
    return Example(name, run, gemm_reference, halves, sizes, tolerance=1e-3)


_DYNAMIC = ((128, 192, 96), (1, 1, 1), (65, 64, 32), (7, 130, 100))

CATALOG = (
    _gemm("wave_gemm_f16_16x16x16_128x512x256", ((128, 512, 256),), dynamic=False),
    _gemm("wave_gemm_f16_32x32x8_128x256x512", ((128, 256, 512),), dynamic=False),
    _gemm("wave_gemm_f16_16x16x16_256x256x256", ((256, 256, 256),), dynamic=False),
    _gemm("wave_gemm_f16_16x16x16", _DYNAMIC, dynamic=True),
    _gemm("wave_gemm_f16_32x32x8", _DYNAMIC, dynamic=True),
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
