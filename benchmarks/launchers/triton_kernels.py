"""The cases as Triton kernels, called like them."""

import triton
import triton.language as tl


@triton.jit
def vector_add(a, b, c, n, BLOCK: tl.constexpr):  # noqa: D103
    i = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    mask = i < n
    tl.store(c + i, tl.load(a + i, mask=mask) + tl.load(b + i, mask=mask), mask=mask)


@triton.jit
def blend(x0, x1, x2, x3, x4, x5, x6, y, n, step, shift, scale, BLOCK: tl.constexpr):  # noqa: D103
    i = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    mask = i < n
    total = tl.load(x0 + i, mask=mask) + tl.load(x1 + i, mask=mask) + tl.load(x2 + i, mask=mask)
    total += tl.load(x3 + i, mask=mask) + tl.load(x4 + i, mask=mask) + tl.load(x5 + i, mask=mask)
    tl.store(y + i, scale * total + tl.load(x6 + (i * step + shift) % n, mask=mask), mask=mask)
