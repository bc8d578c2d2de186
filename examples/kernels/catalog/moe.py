"""A mixture of experts. A pair is a token and one of its experts."""

from __future__ import annotations

from collections.abc import Callable

import torch

from .base import Example, Tensors, cdiv, load

WAVE, BLOCK, TILE = 64, 16, 64
EXPERTS = 8

# The compiler's metadata has COUNT only read what it changes by atomics; the signature says what is true.
COUNT = load("moe_count", "*i32 const, *i32, *i32, i64, i64")
ENDS = load("moe_ends", "*i32 const, *i32, i64")
PLACE = load("moe_place", "*i32 const, *i32 const, *i32 const, *i32 const, *i32, *i32, i64, i64, i64, i64")


def moe_align_block_size(experts: torch.Tensor, count: int) -> Tensors:
    """Sort pairs by expert, each expert's padded to whole blocks.

    Args:
        experts: of each pair, i32 of shape [tokens, slots].
        count: how many experts there are, at most 64.

    Returns:
        The sorted pairs, with the number of pairs where there is padding; each block's expert; and where each expert's
        run ends. The first two have room for the worst case.
    """
    pairs = experts.numel()
    blocks = min(pairs, cdiv(pairs + count * (BLOCK - 1), BLOCK))
    counts, ranks, ends = experts.new_zeros(count), experts.new_empty(pairs), experts.new_empty(count)
    sorted_pairs, block_experts = experts.new_full((blocks * BLOCK,), pairs), experts.new_zeros(blocks)

    grid = cdiv(pairs, WAVE)
    COUNT(experts, counts, ranks, pairs, count, grid=grid)
    ENDS(counts, ends, count, grid=1)
    sizes = (pairs, count, blocks * BLOCK, blocks)
    PLACE(experts, ranks, counts, ends, sorted_pairs, block_experts, *sizes, grid=grid)
    return sorted_pairs, block_experts, ends


def moe_align_in_order(experts: torch.Tensor) -> Tensors:
    """The above, with the pairs of each expert in ascending order: theirs is that in which atomics arrive."""
    sorted_pairs, block_experts, ends = moe_align_block_size(experts, EXPERTS)
    used = int(ends[-1])
    runs = sorted_pairs[:used].tensor_split(ends[:-1].long())
    ordered = torch.cat([*(run.sort().values for run in runs), sorted_pairs[used:]])
    return ordered, block_experts, ends


def moe_align_reference(experts: torch.Tensor) -> Tensors:
    """The same by torch."""
    pairs, flat = experts.numel(), experts.flatten()
    blocks = min(pairs, cdiv(pairs + EXPERTS * (BLOCK - 1), BLOCK))
    runs = [(flat == expert).nonzero().flatten() for expert in range(EXPERTS)]
    lengths = torch.tensor([cdiv(run.numel(), BLOCK) for run in runs])
    ends = lengths.cumsum(0) * BLOCK
    sorted_pairs, block_experts = torch.full((blocks * BLOCK,), pairs), torch.zeros(blocks)
    for run, end, length in zip(runs, ends, lengths * BLOCK, strict=True):
        sorted_pairs[end - length : end - length + run.numel()] = run
    block_experts[: lengths.sum()] = torch.arange(EXPERTS).repeat_interleave(lengths).float()
    return sorted_pairs.int(), block_experts.int(), ends.int()


def moe_gemm(binary: str) -> Callable[[torch.Tensor, torch.Tensor, torch.Tensor], torch.Tensor]:
    """Each token's row of A times the transposed matrices of its experts, as f32 of shape [tokens, slots, N].

    A has shape [tokens, K], B [experts, N, K]; both are f16. The kernel knows how many slots a token has.
    """
    kernel = load(binary, "*f16 const, *f16 const, *i32 const, *i32 const, *f32" + ", i64" * 7)

    def run(a: torch.Tensor, b: torch.Tensor, experts: torch.Tensor) -> torch.Tensor:
        (tokens, depth), (count, columns, _), pairs = a.shape, b.shape, experts.numel()
        sorted_pairs, block_experts, _ = moe_align_block_size(experts, count)
        out = a.new_empty(pairs + 1, columns, dtype=torch.float32)  # The last row is where padding goes.
        sizes = (pairs, tokens, count, sorted_pairs.numel(), block_experts.numel(), columns, depth)
        grid = (block_experts.numel(), cdiv(columns, TILE))
        kernel(a, b, sorted_pairs, block_experts, out, *sizes, grid=grid)
        return out[:-1].view(*experts.shape, columns)

    return run


def moe_gemm_reference(a: torch.Tensor, b: torch.Tensor, experts: torch.Tensor) -> torch.Tensor:
    """The same by torch."""
    return torch.einsum("tk,tsnk->tsn", a.float(), b.float()[experts])


def routing(tokens: int, slots: int = 2) -> Tensors:
    """Experts of each token."""
    return (torch.rand(tokens, EXPERTS).topk(slots).indices.int(),)


def routed_tokens(tokens: int, columns: int, depth: int, slots: int = 2) -> Tensors:
    """Inputs of the product."""
    a, b = torch.randn(tokens, depth).half(), torch.randn(EXPERTS, columns, depth).half()
    return a, b, *routing(tokens, slots)


EXAMPLES = (
    Example(
        "moe_align_block_size",
        moe_align_in_order,
        moe_align_reference,
        routing,
        ((200,), (1,), (33,)),
        binaries=("moe_count", "moe_ends", "moe_place"),
    ),
    Example(
        "moe_gemm_top2",
        moe_gemm("moe_gemm_top2"),
        moe_gemm_reference,
        routed_tokens,
        ((100, 128, 64), (1, 64, 32), (37, 70, 40)),
        tolerance=1e-3,
    ),
)
