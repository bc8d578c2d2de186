"""Triton kernels of the kinds that people write, and some with a mistake."""

from __future__ import annotations

import triton
import triton.language as tl


@triton.jit
def add(x, y, out, n, BLOCK: tl.constexpr):
    i = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    tl.store(out + i, tl.load(x + i, mask=i < n) + tl.load(y + i, mask=i < n), mask=i < n)


@triton.jit
def add_without_mask(x, out, BLOCK: tl.constexpr):
    i = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    value = tl.load(x + tl.program_id(0))
    tl.store(out + i, value)  # the store that goes too far


@triton.jit
def softmax(x, out, stride, n, BLOCK: tl.constexpr):
    row, column = tl.program_id(0), tl.arange(0, BLOCK)
    value = tl.load(x + row * stride + column, mask=column < n, other=-float("inf"))
    value = tl.exp(value - tl.max(value, 0))
    tl.store(out + row * stride + column, value / tl.sum(value, 0), mask=column < n)


@triton.jit
def layer_norm(x, weight, bias, out, n, eps, BLOCK: tl.constexpr):
    row, column = tl.program_id(0), tl.arange(0, BLOCK)
    mask = column < n
    value = tl.load(x + row * n + column, mask=mask, other=0.0).to(tl.float32)
    mean = tl.sum(value, 0) / n
    difference = tl.where(mask, value - mean, 0.0)
    scale = tl.rsqrt(tl.sum(difference * difference, 0) / n + eps)
    result = difference * scale * tl.load(weight + column, mask=mask) + tl.load(bias + column, mask=mask)
    tl.store(out + row * n + column, result, mask=mask)


@triton.jit
def matmul(a, b, c, M, N, K, BM: tl.constexpr, BN: tl.constexpr, BK: tl.constexpr):
    m = tl.program_id(0) * BM + tl.arange(0, BM)
    n = tl.program_id(1) * BN + tl.arange(0, BN)
    k = tl.arange(0, BK)
    total = tl.zeros((BM, BN), tl.float32)
    for at in range(0, K, BK):
        left = tl.load(
            a + m[:, None] * K + (at + k)[None, :], mask=(m[:, None] < M) & ((at + k)[None, :] < K), other=0.0
        )
        right = tl.load(
            b + (at + k)[:, None] * N + n[None, :], mask=((at + k)[:, None] < K) & (n[None, :] < N), other=0.0
        )
        total = tl.dot(left, right, total)
    tl.store(c + m[:, None] * N + n[None, :], total, mask=(m[:, None] < M) & (n[None, :] < N))


@triton.jit
def scaled_matmul(
    a,
    a_scales,
    b,
    b_scales,
    c,
    M: tl.constexpr,
    N: tl.constexpr,
    K: tl.constexpr,
    A_TYPE: tl.constexpr,
    B_TYPE: tl.constexpr,
):
    """Of types of MX, a of [M, K] and b of [N, K], in one program; elements of e2m1 are packed in pairs."""
    m, n = tl.arange(0, M), tl.arange(0, N)
    A_BYTES: tl.constexpr = K // 2 if A_TYPE == "e2m1" else K
    B_BYTES: tl.constexpr = K // 2 if B_TYPE == "e2m1" else K
    left = tl.load(a + m[:, None] * A_BYTES + tl.arange(0, A_BYTES)[None, :])
    right = tl.load(b + n[None, :] * B_BYTES + tl.arange(0, B_BYTES)[:, None])
    group = tl.arange(0, K // 32)
    left_scales = tl.load(a_scales + m[:, None] * (K // 32) + group[None, :])
    right_scales = tl.load(b_scales + n[:, None] * (K // 32) + group[None, :])
    product = tl.dot_scaled(left, left_scales, A_TYPE, right, right_scales, B_TYPE)
    tl.store(c + m[:, None] * N + n[None, :], product)


@triton.jit
def attention(q, k, v, out, scale, L: tl.constexpr, D: tl.constexpr, BLOCK: tl.constexpr):
    """One head of causal flash attention: a program has BLOCK rows, and goes over keys in blocks."""
    rows = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    columns = tl.arange(0, D)
    base = tl.program_id(1) * L * D
    query = tl.load(q + base + rows[:, None] * D + columns[None, :])
    most = tl.full((BLOCK,), -float("inf"), tl.float32)
    weight = tl.zeros((BLOCK,), tl.float32)
    total = tl.zeros((BLOCK, D), tl.float32)
    for start in range(0, (tl.program_id(0) + 1) * BLOCK, BLOCK):
        keys = start + tl.arange(0, BLOCK)
        key = tl.load(k + base + keys[None, :] * D + columns[:, None])
        score = tl.where(rows[:, None] >= keys[None, :], tl.dot(query, key) * scale, -float("inf"))
        higher = tl.maximum(most, tl.max(score, 1))
        probability = tl.exp(score - higher[:, None])
        shrink = tl.exp(most - higher)
        value = tl.load(v + base + keys[:, None] * D + columns[None, :])
        total = tl.dot(probability.to(value.dtype), value, total * shrink[:, None])
        weight = weight * shrink + tl.sum(probability, 1)
        most = higher
    tl.store(out + base + rows[:, None] * D + columns[None, :], (total / weight[:, None]).to(out.dtype.element_ty))


@triton.jit
def histogram(x, counts, n, BLOCK: tl.constexpr):
    i = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    tl.atomic_add(counts + tl.load(x + i, mask=i < n, other=0), 1, mask=i < n)


@triton.autotune([triton.Config({"BLOCK": block}, num_warps=warps) for block, warps in ((64, 8), (512, 1))], key=["n"])
@triton.jit
def tuned_add(x, y, out, n, BLOCK: tl.constexpr):
    i = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    tl.store(out + i, tl.load(x + i, mask=i < n) + tl.load(y + i, mask=i < n), mask=i < n)


@triton.jit
def show(x, limit):
    i = tl.arange(0, 4)
    value = tl.load(x + i)
    tl.device_print("value", value)
    tl.device_assert(value < limit, "too large")
    tl.store(x + i, value + 1)


@triton.jit
def scalars(out, a, b, c, d, e, f):
    """Numbers of many types, as they come."""
    tl.store(out, a.to(tl.float64))
    tl.store(out + 1, b.to(tl.float64))
    tl.store(out + 2, c.to(tl.float64))
    tl.store(out + 3, d.to(tl.float64))
    tl.store(out + 4, e.to(tl.float64))
    tl.store(out + 5, f.to(tl.float64))


@triton.jit
def by_table(table, out, n, BLOCK: tl.constexpr):
    """Copies from the array whose address the table has."""
    source = tl.load(table + tl.program_id(0)).to(tl.pointer_type(tl.float32))
    i = tl.arange(0, BLOCK)
    tl.store(out + tl.program_id(0) * n + i, tl.load(source + i, mask=i < n), mask=i < n)


@triton.jit
def of_tuple(pair, factor, out, BLOCK: tl.constexpr):
    i = tl.arange(0, BLOCK)
    tl.store(out + i, tl.load(pair[0] + i) * factor + pair[1])


@triton.jit
def by_descriptor(source, out, BLOCK: tl.constexpr):
    block = source.load([tl.program_id(0) * BLOCK, 0])
    i, j = tl.arange(0, BLOCK), tl.arange(0, 32)
    tl.store(out + (tl.program_id(0) * BLOCK + i)[:, None] * 32 + j[None, :], block * 2)


@triton.jit
def scale(x, out, factor=2, BLOCK: tl.constexpr = 64):
    i = tl.arange(0, BLOCK)
    tl.store(out + i, tl.load(x + i) * factor)


@triton.jit
def maybe(x, mask, out, BLOCK: tl.constexpr):
    i = tl.arange(0, BLOCK)
    value = tl.load(x + i)
    if mask is not None:
        value = tl.where(tl.load(mask + i) != 0, value, 0.0)
    tl.store(out + i, value)


@triton.jit
def spin():
    while tl.program_id(0) == 0:
        tl.debug_barrier()


@triton.jit
def double_in_place(x, n, BLOCK: tl.constexpr):
    i = tl.arange(0, BLOCK)
    tl.store(x + i, 2 * tl.load(x + i, mask=i < n), mask=i < n)
