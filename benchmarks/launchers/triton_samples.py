"""What bench_triton.py launches: for each case a function that launches, and one that compares with torch."""

from __future__ import annotations

from collections.abc import Callable

import torch
import triton
import triton.language as tl

Case = tuple[Callable[[], object], Callable[[], None]]
NO_SCRATCH = (torch.empty(0), torch.empty(0))


@triton.jit
def add(x, y, out, n, BLOCK: tl.constexpr):
    """Add two vectors."""
    i = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    tl.store(out + i, tl.load(x + i, mask=i < n) + tl.load(y + i, mask=i < n), mask=i < n)


@triton.jit
def softmax(x, out, n, BLOCK: tl.constexpr):
    """Normalize the rows of a matrix."""
    row, column = tl.program_id(0), tl.arange(0, BLOCK)
    value = tl.load(x + row * n + column, mask=column < n, other=-float("inf"))
    value = tl.exp(value - tl.max(value, 0))
    tl.store(out + row * n + column, value / tl.sum(value, 0), mask=column < n)


@triton.jit
def matmul(a, b, c, M, N, K, BM: tl.constexpr, BN: tl.constexpr, BK: tl.constexpr):
    """Multiply two matrices whose sizes are multiples of the blocks."""
    m = tl.program_id(0) * BM + tl.arange(0, BM)
    n = tl.program_id(1) * BN + tl.arange(0, BN)
    k = tl.arange(0, BK)
    total = tl.zeros((BM, BN), tl.float32)
    for at in range(0, K, BK):
        left = tl.load(a + m[:, None] * K + (at + k)[None, :])
        total = tl.dot(left, tl.load(b + (at + k)[:, None] * N + n[None, :]), total)
    tl.store(c + m[:, None] * N + n[None, :], total)


def vector_add_of_1M() -> Case:
    """A million elements in 1024 programs."""
    n = 1 << 20
    x, y, out = torch.randn(n), torch.randn(n), torch.empty(n)
    return lambda: add[(n // 1024,)](x, y, out, n, BLOCK=1024), lambda: torch.testing.assert_close(out, x + y)


def softmax_of_512x1000() -> Case:
    """A row a program."""
    x, out = torch.randn(512, 1000), torch.empty(512, 1000)
    return (
        lambda: softmax[(512,)](x, out, 1000, BLOCK=1024),
        lambda: torch.testing.assert_close(out, torch.softmax(x, 1)),
    )


def matmul_of_256() -> Case:
    """In f16, sixteen programs."""
    a, b, c = torch.randn(256, 256).half(), torch.randn(256, 256).half(), torch.empty(256, 256)
    return (
        lambda: matmul[(4, 4)](a, b, c, 256, 256, 256, BM=64, BN=64, BK=32),
        lambda: torch.testing.assert_close(c, a.float() @ b.float(), rtol=1e-2, atol=1e-2),
    )


def one_program() -> Case:
    """The least that can be launched."""
    x, y, out = torch.randn(64), torch.randn(64), torch.empty(64)
    return lambda: add[(1,)](x, y, out, 64, BLOCK=64), lambda: torch.testing.assert_close(out, x + y)


CASES = (vector_add_of_1M, softmax_of_512x1000, matmul_of_256, one_program)
