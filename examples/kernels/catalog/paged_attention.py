"""Attention of one new token per sequence over a paged cache."""

from __future__ import annotations

import torch

from .base import Example, Tensors, load

HEADS, KV_HEADS, HEAD_DIM, SPLITS = 8, 2, 64, 4

SPLIT = load(
    "paged_decode_split",
    "*f16 const, *f16 const, *f16 const, *i32 const, *i32 const, *f32, *f32, i64, i64, i64",
)
JOIN = load("paged_decode_join", "*f32 const, *f32 const, *i32 const, *f32, i64")


def paged_decode(
    q: torch.Tensor, k_cache: torch.Tensor, v_cache: torch.Tensor, start: torch.Tensor, indices: torch.Tensor
) -> torch.Tensor:
    """Attention as f32, [sequences, heads, D], of Q of that shape.

    The caches have shape [tokens, kv heads, D]. Sequence s has the tokens that indices[start[s] : start[s + 1]] name,
    one at least.
    """
    sequences = q.shape[0]
    parts = q.new_empty(SPLITS, sequences, HEADS, HEAD_DIM, dtype=torch.float32)
    sums = q.new_empty(SPLITS, sequences, HEADS, dtype=torch.float32)
    sizes = (indices.numel(), k_cache.shape[0], sequences)
    SPLIT(q, k_cache, v_cache, start, indices, parts, sums, *sizes, grid=(sequences, KV_HEADS, SPLITS))
    out = torch.empty_like(q, dtype=torch.float32)
    JOIN(parts, sums, start, out, sequences, grid=(1, HEADS, sequences))
    return out


def paged_decode_reference(
    q: torch.Tensor, k_cache: torch.Tensor, v_cache: torch.Tensor, start: torch.Tensor, indices: torch.Tensor
) -> torch.Tensor:
    """The same by torch, a sequence at a time."""
    results = []
    for sequence, (first, last) in enumerate(zip(start[:-1].tolist(), start[1:].tolist(), strict=True)):
        k, v = (cache[indices[first:last]].float().transpose(0, 1) for cache in (k_cache, v_cache))
        group = q[sequence].float().view(KV_HEADS, -1, HEAD_DIM)
        results.append(torch.nn.functional.scaled_dot_product_attention(group, k, v).reshape(HEADS, HEAD_DIM))
    return torch.stack(results)


def sequences_in_a_cache(sequences: int, longest: int) -> Tensors:
    """Sequences of 1 to ``longest`` tokens, scattered over a cache."""
    lengths = torch.randint(1, longest + 1, (sequences,))
    lengths[0] = longest
    start = torch.cat([torch.zeros(1, dtype=torch.int64), lengths.cumsum(0)]).int()
    tokens = int(lengths.sum())
    q = torch.randn(sequences, HEADS, HEAD_DIM).half()
    k_cache, v_cache = (torch.randn(tokens + 5, KV_HEADS, HEAD_DIM).half() for _ in range(2))
    return q, k_cache, v_cache, start, torch.randperm(tokens + 5)[:tokens].int()


EXAMPLES = (
    Example(
        "paged_decode",
        paged_decode,
        paged_decode_reference,
        sequences_in_a_cache,
        ((4, 100), (1, 1), (2, 9), (3, 257)),
        tolerance=2e-3,
        binaries=("paged_decode_split", "paged_decode_join"),
    ),
)
