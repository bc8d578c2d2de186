"""The kernels of this folder as functions on tensors, each beside what torch computes.

Every entry of CATALOG is a test, a row of the demo's table and a row of the emulator's benchmark.
"""

from . import (
    atomics,
    attention,
    basics,
    block,
    control_flow,
    convolution,
    elementwise,
    gemm,
    indexing,
    moe,
    normalization,
    paged_attention,
    reduction,
    tiny_transformer,
    training,
)
from .base import BINARIES, SOURCES, Example, Size, Tensors, as_tuple, cdiv, check_close, load

__all__ = ["BINARIES", "CATALOG", "SOURCES", "Example", "Size", "Tensors", "as_tuple", "cdiv", "check_close", "load"]

CATALOG: tuple[Example, ...] = (
    *gemm.EXAMPLES,
    *attention.EXAMPLES,
    *paged_attention.EXAMPLES,
    *convolution.EXAMPLES,
    *moe.EXAMPLES,
    *elementwise.EXAMPLES,
    *normalization.EXAMPLES,
    *reduction.EXAMPLES,
    *indexing.EXAMPLES,
    *control_flow.EXAMPLES,
    *atomics.EXAMPLES,
    *basics.EXAMPLES,
    *block.EXAMPLES,
    *training.EXAMPLES,
    *tiny_transformer.EXAMPLES,
)
