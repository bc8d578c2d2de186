"""A mixture of experts in the Wave DSL: each token goes to some of E experts, and each expert is a matrix.

A pair is a token and one of its experts; token t's are pairs t * slots to t * slots + slots - 1. The pairs are sorted
by expert, with each expert's run padded to whole blocks, so that the product's workgroups have one expert each. vLLM
calls that moe_align_block_size. Three kernels do it: wave-lang 3.9.1 has no barrier between all workgroups of one.
"""

from collections.abc import Callable
from functools import partial
from typing import Any  # no annotations from __future__: the DSL reads them as objects

import sympy  # type: ignore[import-untyped]
import wave_lang.kernel.lang as tkl
import wave_lang.kernel.wave as tkw
from wave_lang.kernel.lang.global_symbols import GLOBAL_ADDRESS_SPACE, SHARED_ADDRESS_SPACE
from wave_lang.kernel.wave.constraints import MMAType

# Pairs, tokens, experts, sorted and padded pairs, and blocks of these; a product's columns and depth.
PAIRS, TOKENS, EXPERTS = tkl.sym.PAIRS, tkl.sym.TOKENS, tkl.sym.EXPERTS
SORTED, BLOCKS = tkl.sym.SORTED, tkl.sym.BLOCKS
N, K = tkl.sym.N, tkl.sym.K
EXPERT = tkl.sym.EXPERT
BLOCK_S, BLOCK_N, BLOCK_K = tkl.sym.BLOCK_S, tkl.sym.BLOCK_N, tkl.sym.BLOCK_K
ADDRESS_SPACE = tkl.sym.ADDRESS_SPACE

WAVE = 64
BLOCK = 16  # pairs


def lanes(dimension: Any) -> list[Any]:
    """An element per lane, and a wave per workgroup."""
    return [
        tkw.WorkgroupConstraint(dimension, WAVE, 0),
        tkw.WaveConstraint(dimension, WAVE),
        tkw.HardwareConstraint(threads_per_wave=WAVE, vector_shapes={dimension: WAVE}),
    ]


def gather(memory: dict[Any, Any], tile: Any) -> Any:
    """A mapping whose index in memory depends on a value of each element of ``tile``."""
    i = tkw.IndexMapping.iterator(0)
    return tkw.IndexMapping(num_iterators=1, inputs=memory, outputs={tile: i}, dynamic_val_mappings={tile: i})


def padded(count: Any) -> Any:
    """The counts in whole blocks."""
    return tkw.cast(tkw.apply_expr(count, lambda x: sympy.ceiling(x / BLOCK) * BLOCK), tkl.i32)


def moe_count() -> tuple[Any, dict[str, Any]]:
    """Pairs of each expert, added to ``counts``, and each pair's rank among those of its expert, in any order."""
    # An atomic's mapping goes by the dimensions of its value, not by those of its memory.
    by_expert = gather({PAIRS: tkw.IndexMapping.dynamic_val(0)}, PAIRS)

    @tkw.wave(lanes(PAIRS))
    def moe_count(
        experts: tkl.Memory[PAIRS, GLOBAL_ADDRESS_SPACE, tkl.i32],
        counts: tkl.Memory[EXPERTS, GLOBAL_ADDRESS_SPACE, tkl.i32],
        ranks: tkl.Memory[PAIRS, GLOBAL_ADDRESS_SPACE, tkl.i32],
    ) -> None:
        # An atomic is not masked past the end. Lanes there have read 0 as their expert, and add 0 to its count.
        exists = tkw.cast(tkw.apply_expr(tkw.self_index(PAIRS, tkl.i32), lambda x: x < PAIRS), tkw.i1)
        one = tkw.select(exists, tkl.Register[PAIRS, tkl.i32](1), tkl.Register[PAIRS, tkl.i32](0))
        expert = tkw.read(experts)
        rank = tkw.atomic_add(one, counts, mapping=by_expert, mapping_dynamic_vals=(expert,), elements_per_thread=1)
        tkw.write(rank, ranks)

    return moe_count, {"subs": {}, "dynamic_symbols": [PAIRS, EXPERTS], "minimize_shared_allocs": False}


def moe_ends() -> tuple[Any, dict[str, Any]]:
    """Where each expert's padded run ends, for at most 64 experts."""

    @tkw.wave(lanes(EXPERTS))
    def moe_ends(
        counts: tkl.Memory[EXPERTS, GLOBAL_ADDRESS_SPACE, tkl.i32],
        ends: tkl.Memory[EXPERTS, GLOBAL_ADDRESS_SPACE, tkl.i32],
    ) -> None:
        tkw.write(tkw.cumsum(padded(tkw.read(counts)), dim=EXPERTS), ends)

    return moe_ends, {"subs": {}, "dynamic_symbols": [EXPERTS]}


def moe_place() -> tuple[Any, dict[str, Any]]:
    """Puts each pair in its place, and its expert in that of its block: all pairs of a block write the same."""
    i, value = tkw.IndexMapping.iterator(0), tkw.IndexMapping.dynamic_val(0)
    by_expert = gather({EXPERTS: value}, PAIRS)
    to_place, to_block = (
        tkw.IndexMapping(num_iterators=1, inputs={PAIRS: i}, outputs=output, dynamic_val_mappings={PAIRS: i})
        for output in ({SORTED: value}, {BLOCKS: value // BLOCK})
    )

    @tkw.wave(lanes(PAIRS))
    def moe_place(
        experts: tkl.Memory[PAIRS, GLOBAL_ADDRESS_SPACE, tkl.i32],
        ranks: tkl.Memory[PAIRS, GLOBAL_ADDRESS_SPACE, tkl.i32],
        counts: tkl.Memory[EXPERTS, GLOBAL_ADDRESS_SPACE, tkl.i32],
        ends: tkl.Memory[EXPERTS, GLOBAL_ADDRESS_SPACE, tkl.i32],
        sorted_pairs: tkl.Memory[SORTED, GLOBAL_ADDRESS_SPACE, tkl.i32],
        block_experts: tkl.Memory[BLOCKS, GLOBAL_ADDRESS_SPACE, tkl.i32],
    ) -> None:
        expert = tkw.read(experts)
        count, end = (tkw.read(m, mapping=by_expert, mapping_dynamic_vals=(expert,)) for m in (counts, ends))
        place = end - padded(count) + tkw.read(ranks)
        tkw.write(tkw.self_index(PAIRS, tkl.i32), sorted_pairs, mapping=to_place, mapping_dynamic_vals=(place,))
        tkw.write(expert, block_experts, mapping=to_block, mapping_dynamic_vals=(place,))

    return moe_place, {"subs": {}, "dynamic_symbols": [PAIRS, EXPERTS, SORTED, BLOCKS]}


def moe_gemm(*, slots: int) -> tuple[Any, dict[str, Any]]:
    """Row p of the result is A's row p // slots times the transposed matrix of pair p's expert.

    A workgroup takes a block of sorted pairs. Where there is padding, the sorted pairs hold PAIRS: these rows are
    computed from the last token, and written to one row more than there are pairs.

    The product is computed transposed: wave-lang 3.9.1 scatters a result only along its lanes, not its registers.
    """
    constraints = [
        tkw.WorkgroupConstraint(SORTED, BLOCK_S, 0),
        tkw.WorkgroupConstraint(BLOCKS, 1, 0, primary=False),
        tkw.WorkgroupConstraint(N, BLOCK_N, 1),
        tkw.TilingConstraint(K, BLOCK_K),
        tkw.WaveConstraint(SORTED, BLOCK_S),
        tkw.WaveConstraint(N, BLOCK_N / 4),
        tkw.HardwareConstraint(
            threads_per_wave=WAVE,
            mma_type=MMAType.F32_16x16x16_F16,
            vector_shapes={SORTED: 16, N: 16, K: 16, BLOCKS: 0},
        ),
    ]
    i, j = tkw.IndexMapping.iterator(0), tkw.IndexMapping.iterator(1)
    pair = tkw.IndexMapping.dynamic_val(0)
    token = sympy.Min(pair, PAIRS - 1) // slots
    rows = tkw.IndexMapping(
        num_iterators=2,
        inputs={TOKENS: token, K: j},
        outputs={SORTED: i, K: j},
        dynamic_val_mappings={SORTED: i},
    )
    matrix = tkw.IndexMapping(num_iterators=2, inputs={EXPERTS: EXPERT, N: i, K: j}, outputs={N: i, K: j})
    results = tkw.IndexMapping(
        num_iterators=2,
        inputs={N: i, SORTED: j},
        outputs={PAIRS: pair, N: i},
        dynamic_val_mappings={SORTED: j},
    )

    @tkw.wave(constraints)
    def moe_gemm(
        a: tkl.Memory[TOKENS, K, GLOBAL_ADDRESS_SPACE, tkl.f16],
        b: tkl.Memory[EXPERTS, N, K, ADDRESS_SPACE, tkl.f16],
        sorted_pairs: tkl.Memory[SORTED, GLOBAL_ADDRESS_SPACE, tkl.i32],
        block_experts: tkl.Memory[BLOCKS, GLOBAL_ADDRESS_SPACE, tkl.i32],
        c: tkl.Memory[PAIRS, N, GLOBAL_ADDRESS_SPACE, tkl.f32],
    ) -> None:
        tkw.set_symbol(EXPERT, tkw.read(block_experts))

        @tkw.iterate(K, init_args=[tkl.Register[N, SORTED, tkl.f32](0.0)])
        def product(total: tkl.Register[N, SORTED, tkl.f32]) -> Any:
            row = tkw.read(a, mapping=rows, mapping_dynamic_vals=(tkw.read(sorted_pairs),))
            return tkw.mma(tkw.read(b, mapping=matrix), row, total)

        tkw.write(product, c, mapping=results, mapping_dynamic_vals=(tkw.read(sorted_pairs),))

    subs = {ADDRESS_SPACE: SHARED_ADDRESS_SPACE, BLOCK_S: BLOCK, BLOCK_N: 64, BLOCK_K: 32}
    return moe_gemm, {"subs": subs, "dynamic_symbols": [PAIRS, TOKENS, EXPERTS, SORTED, BLOCKS, N, K]}


KERNELS: dict[str, Callable[[], tuple[Any, dict[str, Any]]]] = {
    "moe_count": moe_count,
    "moe_ends": moe_ends,
    "moe_place": moe_place,
    "moe_gemm_top2": partial(moe_gemm, slots=2),
}
