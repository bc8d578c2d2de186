"""Attention in the Wave DSL, as FlashAttention computes it: scores are never stored, but made anew where needed.

Q has shape [H, M, D], K [H_KV, N, D], V [H_KV, N, D]; the H heads are those of all sequences of the batch, and each
group of H / H_KV of them shares a head of K and V. A workgroup of four waves takes 64 rows of one head and goes through
the other operand in steps of 32. Sizes need not be multiples of these.

Scores are computed transposed, K @ Q.T: the matrix instruction then leaves each row's scores in the lanes, and in the
order, in which the next one takes them as an operand, so they pass neither LDS nor memory.
"""

from collections.abc import Callable, Sequence
from functools import partial
from math import e, log2
from typing import Any  # no annotations from __future__: the DSL reads them as objects

import sympy  # type: ignore[import-untyped]
import wave_lang.kernel.lang as tkl
import wave_lang.kernel.wave as tkw
from wave_lang.kernel.lang.global_symbols import GLOBAL_ADDRESS_SPACE, SHARED_ADDRESS_SPACE, WORKGROUP_0
from wave_lang.kernel.wave.constraints import MMAType

# D_V is V's D: dimensions of one tile have names of their own where they play different parts.
H, H_KV, M, N, D, D_V = tkl.sym.H, tkl.sym.H_KV, tkl.sym.M, tkl.sym.N, tkl.sym.D, tkl.sym.D_V
BLOCK_H, BLOCK_M, BLOCK_N, BLOCK_D = tkl.sym.BLOCK_H, tkl.sym.BLOCK_M, tkl.sym.BLOCK_N, tkl.sym.BLOCK_D
ADDRESS_SPACE = tkl.sym.ADDRESS_SPACE

ROWS, STEP = 64, 32  # of a workgroup
WAVES = 4
HIDDEN = -1e6  # added to a score that takes no part; its exponential is 0
LOG2E = log2(e)  # the hardware's exponential is that of 2

# The matrix instructions of Q and K, and of the weights and V.
MMA = {
    tkl.f16: (MMAType.F32_16x16x16_F16, MMAType.F32_16x16x16_F16),
    tkl.bf16: (MMAType.F32_16x16x16_F16, MMAType.F32_16x16x16_F16),  # of the same shape; the operands decide
    # K4: takes its operands along K in the order in which the first one's result lies in the registers.
    tkl.f8e4m3fnuz: (MMAType.F32_16x16x32_F8, MMAType.F32_16x16x32_K4_F8),
}
FP8_MAX = 240.0


def register(shape: Sequence[Any], value: float) -> Any:
    """A register of f32 filled with a value."""
    return tkl.Register[(*shape, tkl.f32)](value)


def iterators(count: int) -> list[Any]:
    """Those of an IndexMapping."""
    return [tkw.IndexMapping.iterator(n) for n in range(count)]


def view(memory: dict[Any, Any], tile: dict[Any, Any]) -> Any:
    """A mapping between indices in memory and in a tile of registers, of three dimensions each."""
    return tkw.IndexMapping(num_iterators=3, inputs=memory, outputs=tile)


def mask(rows: Any, columns: Any, *, causal: bool) -> Any:
    """What to add to a tile of scores of dimensions ``rows`` and ``columns``, in registers of that order."""
    tile = [rows, columns]
    key = tkw.broadcast(tkw.self_index(N, tkl.i32), target_shape=tile)
    seen = tkw.apply_expr(key, lambda n: n < N)
    if causal:
        seen = (tkw.broadcast(tkw.self_index(M, tkl.i32), target_shape=tile) >= key) & seen
    return tkw.select(tkw.cast(seen, tkw.i1), register(tile, 0.0), register(tile, HIDDEN))


def constraints(rows: Any, step: Any, tiles: Sequence[Any], dtype: Any, iterations: Any = None) -> list[Any]:
    """A workgroup has ``rows``, of one head, and iterates over ``step``; all of ``tiles`` lie in a wave."""
    block = {M: BLOCK_M, N: BLOCK_N}
    return [
        tkw.WorkgroupConstraint(rows, block[rows], 0),
        *(tkw.WorkgroupConstraint(tile, BLOCK_D, 1, primary=tile is tiles[0]) for tile in tiles),
        tkw.WorkgroupConstraint(H, BLOCK_H, 2),
        tkw.WorkgroupConstraint(H_KV, BLOCK_H, 2, primary=False),
        tkw.TilingConstraint(step, block[step], iters=iterations),
        tkw.WaveConstraint(rows, block[rows] / WAVES),
        *(tkw.WaveConstraint(tile, BLOCK_D) for tile in tiles),
        tkw.HardwareConstraint(
            threads_per_wave=64,
            mma_type=MMA[dtype][1],
            vector_shapes={H: 0, H_KV: 0, rows: 16} | dict.fromkeys(tiles, 16),
        ),
    ]


def options(head_dim: int, blocks: dict[Any, int], dynamic: list[Any]) -> dict[str, Any]:
    """Compile options."""
    subs = {ADDRESS_SPACE: SHARED_ADDRESS_SPACE, BLOCK_H: 1, BLOCK_D: head_dim, D: head_dim, D_V: head_dim}
    return {"subs": subs | blocks, "dynamic_symbols": dynamic}


def forward(dtype: Any, *, head_dim: int, causal: bool = False, group: int = 1) -> tuple[Any, dict[str, Any]]:
    """The kernel and its compile options.

    The f16 and bf16 kernels also give the log of each row's sum of exponentials, which the backward pass wants. The FP8
    kernel multiplies each head's scores and result by factors of its own, which undo the scales of quantised inputs.

    Args:
        dtype: of Q, K and V. The result is f32.
        head_dim: D.
        causal: whether row m sees columns 0 to m only.
        group: H / H_KV.
    """
    first_mma, second_mma = MMA[dtype]
    peak = FP8_MAX if dtype is tkl.f8e4m3fnuz else 1.0  # Weights are at most 1, and use FP8's whole range.
    i, j, k = iterators(3)
    keys = view({H_KV: i // group, N: j, D: k}, {H_KV: i, N: j, D: k})
    values = view({H_KV: i // group, D_V: j, N: k}, {H_KV: i, D_V: j, N: k})
    transposed = view({H: i, D_V: j, M: k}, {H: i, M: k, D_V: j})

    def core(q: Any, k: Any, v: Any, scale: Any) -> tuple[Any, Any, Any]:
        start = [register([H, M], HIDDEN), register([H, M], 0.0), register([H, D_V, M], 0.0)]

        @tkw.iterate(N, init_args=start)
        def loop(
            old_max: tkl.Register[H, M, tkl.f32],
            old_sum: tkl.Register[H, M, tkl.f32],
            old_total: tkl.Register[H, D_V, M, tkl.f32],
        ) -> Any:
            product = tkw.mma(tkw.read(k, mapping=keys), tkw.read(q), register([H, N, M], 0.0), first_mma)
            scores = tkw.permute(product, target_shape=[H, M, N]) * scale + mask(M, N, causal=causal)
            new_max = tkw.max(scores, old_max, dim=N)
            shrink = tkw.exp2(old_max - new_max)
            weights = tkw.exp2(scores - new_max)
            new_sum = tkw.sum(weights, old_sum * shrink, dim=N)
            weights = tkw.cast(weights * register([H, M, N], peak), dtype)
            new_total = tkw.mma(tkw.read(v, mapping=values), weights, old_total * shrink, second_mma)
            return new_max, new_sum, new_total

        row_max, row_sum, total = loop
        return row_max, row_sum, total

    # In the causal case, stop at the last column that the workgroup's last row sees.
    end = sympy.ceiling(sympy.Min((WORKGROUP_0 + 1) * BLOCK_M, N) / BLOCK_N) if causal else None
    limits = constraints(M, N, [D_V], dtype, end)

    @tkw.wave(limits)
    def attention(
        q: tkl.Memory[H, M, D, GLOBAL_ADDRESS_SPACE, dtype],
        k: tkl.Memory[H_KV, N, D, ADDRESS_SPACE, dtype],
        v: tkl.Memory[H_KV, N, D_V, ADDRESS_SPACE, dtype],
        out: tkl.Memory[H, M, D_V, GLOBAL_ADDRESS_SPACE, tkl.f32],
        lse: tkl.Memory[H, M, GLOBAL_ADDRESS_SPACE, tkl.f32],
    ) -> None:
        row_max, row_sum, total = core(q, k, v, register([H, M, N], head_dim**-0.5 * LOG2E))
        tkw.write(total * tkw.reciprocal(row_sum), out, mapping=transposed)
        tkw.write((row_max + tkw.log2(row_sum)) * register([H, M], 1 / LOG2E), lse)

    @tkw.wave(limits)
    def attention_fp8(
        q: tkl.Memory[H, M, D, GLOBAL_ADDRESS_SPACE, dtype],
        k: tkl.Memory[H_KV, N, D, ADDRESS_SPACE, dtype],
        v: tkl.Memory[H_KV, N, D_V, ADDRESS_SPACE, dtype],
        score_scale: tkl.Memory[H, GLOBAL_ADDRESS_SPACE, tkl.f32],
        result_scale: tkl.Memory[H, GLOBAL_ADDRESS_SPACE, tkl.f32],
        out: tkl.Memory[H, M, D_V, GLOBAL_ADDRESS_SPACE, tkl.f32],
    ) -> None:
        scale = tkw.broadcast(tkw.read(score_scale), target_shape=[H, M, N]) * register([H, M, N], LOG2E)
        _, row_sum, total = core(q, k, v, scale)
        factor = tkw.broadcast(tkw.read(result_scale), target_shape=[H, D_V, M]) * register([H, D_V, M], 1 / peak)
        tkw.write(total * tkw.reciprocal(row_sum) * factor, out, mapping=transposed)

    kernel = attention_fp8 if dtype is tkl.f8e4m3fnuz else attention
    return kernel, options(head_dim, {BLOCK_M: ROWS, BLOCK_N: STEP}, [H, H_KV, M, N])


def backward_q(*, head_dim: int, causal: bool = False) -> tuple[Any, dict[str, Any]]:
    """The gradient of Q: for each row, all columns, as in the forward pass.

    ``lse`` is the forward kernel's, ``delta`` each row's sum of the result times its gradient.
    """
    i, j, k = iterators(3)
    keys = view({H: i, D: j, N: k}, {H: i, D: j, N: k})
    transposed = view({H: i, D: j, M: k}, {H: i, M: k, D: j})

    @tkw.wave(constraints(M, N, [D], tkl.f16))
    def attention_backward_q(
        q: tkl.Memory[H, M, D, GLOBAL_ADDRESS_SPACE, tkl.f16],
        k: tkl.Memory[H, N, D, ADDRESS_SPACE, tkl.f16],
        v: tkl.Memory[H, N, D_V, ADDRESS_SPACE, tkl.f16],
        grad: tkl.Memory[H, M, D_V, GLOBAL_ADDRESS_SPACE, tkl.f16],
        lse: tkl.Memory[H, M, GLOBAL_ADDRESS_SPACE, tkl.f32],
        delta: tkl.Memory[H, M, GLOBAL_ADDRESS_SPACE, tkl.f32],
        grad_q: tkl.Memory[H, M, D, GLOBAL_ADDRESS_SPACE, tkl.f32],
    ) -> None:
        scale = register([H, M, N], head_dim**-0.5)

        @tkw.iterate(N, init_args=[register([H, D, M], 0.0)])
        def loop(total: tkl.Register[H, D, M, tkl.f32]) -> Any:
            product = tkw.mma(tkw.read(k), tkw.read(q), register([H, N, M], 0.0))
            scores = tkw.permute(product, target_shape=[H, M, N]) * scale + mask(M, N, causal=causal)
            weights = tkw.exp2((scores - tkw.read(lse)) * register([H, M, N], LOG2E))
            product = tkw.mma(tkw.read(v), tkw.read(grad), register([H, N, M], 0.0))
            grad_weights = tkw.permute(product, target_shape=[H, M, N])
            grad_scores = weights * (grad_weights - tkw.read(delta)) * scale
            return tkw.mma(tkw.read(k, mapping=keys), tkw.cast(grad_scores, tkl.f16), total)

        tkw.write(loop, grad_q, mapping=transposed)

    return attention_backward_q, options(head_dim, {BLOCK_M: ROWS, BLOCK_N: STEP}, [H, M, N])


def backward_kv(*, head_dim: int, causal: bool = False) -> tuple[Any, dict[str, Any]]:
    """The gradients of K and V: the same with rows and columns exchanged."""
    i, j, k = iterators(3)
    queries = view({H: i, D: j, M: k}, {H: i, D: j, M: k})
    grads = view({H: i, D_V: j, M: k}, {H: i, D_V: j, M: k})
    transposed_k = view({H: i, D: j, N: k}, {H: i, N: k, D: j})
    transposed_v = view({H: i, D_V: j, N: k}, {H: i, N: k, D_V: j})

    @tkw.wave(constraints(N, M, [D, D_V], tkl.f16))
    def attention_backward_kv(
        q: tkl.Memory[H, M, D, ADDRESS_SPACE, tkl.f16],
        k: tkl.Memory[H, N, D, GLOBAL_ADDRESS_SPACE, tkl.f16],
        v: tkl.Memory[H, N, D_V, GLOBAL_ADDRESS_SPACE, tkl.f16],
        grad: tkl.Memory[H, M, D_V, ADDRESS_SPACE, tkl.f16],
        lse: tkl.Memory[H, M, GLOBAL_ADDRESS_SPACE, tkl.f32],
        delta: tkl.Memory[H, M, GLOBAL_ADDRESS_SPACE, tkl.f32],
        grad_k: tkl.Memory[H, N, D, GLOBAL_ADDRESS_SPACE, tkl.f32],
        grad_v: tkl.Memory[H, N, D_V, GLOBAL_ADDRESS_SPACE, tkl.f32],
    ) -> None:
        scale = register([H, N, M], head_dim**-0.5)

        @tkw.iterate(M, init_args=[register([H, D, N], 0.0), register([H, D_V, N], 0.0)])
        def loop(total_k: tkl.Register[H, D, N, tkl.f32], total_v: tkl.Register[H, D_V, N, tkl.f32]) -> Any:
            product = tkw.mma(tkw.read(q), tkw.read(k), register([H, M, N], 0.0))
            scores = tkw.permute(product, target_shape=[H, N, M]) * scale + mask(N, M, causal=causal)
            weights = tkw.exp2((scores - tkw.read(lse)) * register([H, N, M], LOG2E))
            total_v = tkw.mma(tkw.read(grad, mapping=grads), tkw.cast(weights, tkl.f16), total_v)
            product = tkw.mma(tkw.read(grad), tkw.read(v), register([H, M, N], 0.0))
            grad_weights = tkw.permute(product, target_shape=[H, N, M])
            grad_scores = weights * (grad_weights - tkw.read(delta)) * scale
            total_k = tkw.mma(tkw.read(q, mapping=queries), tkw.cast(grad_scores, tkl.f16), total_k)
            return total_k, total_v

        total_k, total_v = loop
        tkw.write(total_k, grad_k, mapping=transposed_k)
        tkw.write(total_v, grad_v, mapping=transposed_v)

    return attention_backward_kv, options(head_dim, {BLOCK_M: STEP, BLOCK_N: ROWS}, [H, M, N])


KERNELS: dict[str, Callable[[], tuple[Any, dict[str, Any]]]] = {
    "attention_f16": partial(forward, tkl.f16, head_dim=64),
    "attention_f16_causal": partial(forward, tkl.f16, head_dim=64, causal=True),
    "attention_f16_gqa4": partial(forward, tkl.f16, head_dim=64, group=4),
    "attention_f16_gqa4_causal": partial(forward, tkl.f16, head_dim=64, causal=True, group=4),
    "attention_bf16_128_causal": partial(forward, tkl.bf16, head_dim=128, causal=True),
    "attention_fp8": partial(forward, tkl.f8e4m3fnuz, head_dim=64),
    "attention_fp8_causal": partial(forward, tkl.f8e4m3fnuz, head_dim=64, causal=True),
    "attention_backward_q": partial(backward_q, head_dim=64),
    "attention_backward_q_causal": partial(backward_q, head_dim=64, causal=True),
    "attention_backward_kv": partial(backward_kv, head_dim=64),
    "attention_backward_kv_causal": partial(backward_kv, head_dim=64, causal=True),
}
