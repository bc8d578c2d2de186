"""Attention of one new token per sequence over a paged cache, from the template that wave-lang ships.

The cache holds K and V of all sequences, [tokens, kv heads, D] each; the tokens of sequence s are those that
indices[start[s]] to indices[start[s + 1] - 1] name. Each sequence is cut into SPLITS parts, which workgroups of
their own take. The first kernel writes each part's result and log2 of its sum of exponentials, the second joins them.
"""

from collections.abc import Callable
from functools import partial
from typing import Any

import torch
from wave_lang.kernel.wave.constraints import MMAType
from wave_lang.kernel.wave.templates.paged_decode_attention import (
    get_paged_decode_attention_kernels,
    paged_decode_attention_shape,
)

HEADS, KV_HEADS, HEAD_DIM, SPLITS = 8, 2, 64, 4


def paged_decode(phase: int) -> tuple[Any, dict[str, Any]]:
    """The kernel of phase 0 or 1, and its compile options."""
    shape = paged_decode_attention_shape(
        num_query_heads=HEADS,
        num_kv_heads=KV_HEADS,
        head_size=HEAD_DIM,
        head_size_kv=HEAD_DIM,
        block_size=1,  # this and the next are not read: both are sizes at run time
        num_seqs=1,
    )
    mma = (MMAType.F32_16x16x16_F16, MMAType.F32_16x16x16_F16)
    parts = get_paged_decode_attention_kernels(shape, mma, SPLITS, torch.float16, torch.float32)
    kernels, subs, dynamic = parts[:2], parts[2:4], parts[4:]
    return kernels[phase], {"subs": subs[phase], "dynamic_symbols": dynamic[phase]}


KERNELS: dict[str, Callable[[], tuple[Any, dict[str, Any]]]] = {
    "paged_decode_split": partial(paged_decode, 0),
    "paged_decode_join": partial(paged_decode, 1),
}
