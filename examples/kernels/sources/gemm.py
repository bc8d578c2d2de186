"""Matrix products in the Wave DSL: C = A @ B.T for A of shape [M, K] and B of shape [N, K], as in nn.Linear.

A workgroup of four waves computes a tile of 64 by 64; each step along K goes through LDS. What it computes can be
batched, or end in a bias and an activation. `matmul` takes A and B as they are or transposed, as a backward pass needs.
"""

from collections.abc import Callable
from functools import partial
from typing import Any  # no annotations from __future__: the DSL reads them as objects

import wave_lang.kernel.lang as tkl
import wave_lang.kernel.wave as tkw
from wave_lang.kernel.lang.global_symbols import GLOBAL_ADDRESS_SPACE, SHARED_ADDRESS_SPACE
from wave_lang.kernel.wave.constraints import MMAType
from wave_lang.kernel.wave.scheduling.schedule_enums import SchedulingType
from wave_lang.kernel.wave.utils.general_utils import get_default_scheduling_params

from ._rows import Builders, Built
from .elementwise import gelu, relu, silu

B, M, N, K = tkl.sym.B, tkl.sym.M, tkl.sym.N, tkl.sym.K
BLOCK_M, BLOCK_N, BLOCK_K = tkl.sym.BLOCK_M, tkl.sym.BLOCK_N, tkl.sym.BLOCK_K
ADDRESS_SPACE = tkl.sym.ADDRESS_SPACE

Shape = tuple[int, ...]


def _constraints(mma: MMAType, *more: Any, **hardware: Any) -> list[Any]:
    return [
        tkw.WorkgroupConstraint(M, BLOCK_M, 0),
        tkw.WorkgroupConstraint(N, BLOCK_N, 1),
        tkw.TilingConstraint(K, BLOCK_K),
        tkw.WaveConstraint(M, BLOCK_M / 2),
        tkw.WaveConstraint(N, BLOCK_N / 2),
        *more,
        tkw.HardwareConstraint(threads_per_wave=64, mma_type=mma, **hardware),
    ]


def _with_options(
    kernel: Any,
    dimensions: tuple[Any, ...],
    shape: Shape | None = None,
    *,
    tile: int = 64,
    block_k: int = 32,
    **options: Any,
) -> Built:
    """The kernel for one shape, or for any that it takes as arguments."""
    subs: dict[Any, Any] = {ADDRESS_SPACE: SHARED_ADDRESS_SPACE, BLOCK_M: tile, BLOCK_N: tile, BLOCK_K: block_k}
    subs.update(get_default_scheduling_params())
    if shape is None:
        return kernel, {"subs": subs, "dynamic_symbols": list(dimensions), **options}
    subs.update(zip(dimensions, shape, strict=True))
    return kernel, {"subs": subs, **options}


def gemm(
    mma: MMAType,
    shape: Shape | None = None,
    *,
    dtype: Any = tkl.f16,
    total: Any = tkl.f32,
    **options: Any,
) -> Built:
    """C = A @ B.T.

    Args:
        mma: the matrix instruction. Those named F16 serve bf16 as well.
        shape: (M, N, K) for a kernel of that size only, or None for one that takes them as arguments.
        dtype: of A and B.
        total: dtype of C.
        options: the tile's rows and columns ``tile``, its steps ``block_k`` along K, and options of the compiler. Among
            them is ``schedule``, how the steps are interleaved; all but NONE need several, and so a shape.
    """

    @tkw.wave(_constraints(mma))
    def gemm(
        a: tkl.Memory[M, K, ADDRESS_SPACE, dtype],
        b: tkl.Memory[N, K, ADDRESS_SPACE, dtype],
        c: tkl.Memory[M, N, GLOBAL_ADDRESS_SPACE, total],
    ) -> None:
        zero = tkl.Register[M, N, total](0)

        @tkw.iterate(K, init_args=[zero])
        def product(acc: tkl.Register[M, N, total]) -> tkl.Register[M, N, total]:
            return tkw.mma(tkw.read(a), tkw.read(b), acc)

        tkw.write(product, c)

    return _with_options(gemm, (M, N, K), shape, **options)


def gemm_nn(mma: MMAType, *, dtype: Any = tkl.f16, **options: Any) -> Built:
    """C = A @ B for B of shape [K, N], which is read transposed."""
    i, j = tkw.IndexMapping.iterator(0), tkw.IndexMapping.iterator(1)
    transpose = tkw.IndexMapping(num_iterators=2, inputs={N: i, K: j}, outputs={N: i, K: j})

    @tkw.wave(_constraints(mma))
    def gemm_nn(
        a: tkl.Memory[M, K, ADDRESS_SPACE, dtype],
        b: tkl.Memory[K, N, ADDRESS_SPACE, dtype],
        c: tkl.Memory[M, N, GLOBAL_ADDRESS_SPACE, tkl.f32],
    ) -> None:
        zero = tkl.Register[M, N, tkl.f32](0)

        @tkw.iterate(K, init_args=[zero])
        def product(acc: tkl.Register[M, N, tkl.f32]) -> tkl.Register[M, N, tkl.f32]:
            return tkw.mma(tkw.read(a), tkw.read(b, mapping=transpose), acc)

        tkw.write(product, c)

    return _with_options(gemm_nn, (M, N, K), **options)


def batched_gemm(mma: MMAType, *, dtype: Any = tkl.f16) -> Built:
    """C[i] = A[i] @ B[i].T for any sizes; the third dimension of the grid is the batch."""

    @tkw.wave(_constraints(mma, tkw.WorkgroupConstraint(B, 1, 2), vector_shapes={B: 0}))
    def batched_gemm(
        a: tkl.Memory[B, M, K, ADDRESS_SPACE, dtype],
        b: tkl.Memory[B, N, K, ADDRESS_SPACE, dtype],
        c: tkl.Memory[B, M, N, GLOBAL_ADDRESS_SPACE, tkl.f32],
    ) -> None:
        zero = tkl.Register[B, M, N, tkl.f32](0)

        @tkw.iterate(K, init_args=[zero])
        def product(acc: tkl.Register[B, M, N, tkl.f32]) -> tkl.Register[B, M, N, tkl.f32]:
            return tkw.mma(tkw.read(a), tkw.read(b), acc)

        tkw.write(product, c)

    return _with_options(batched_gemm, (B, M, N, K))


def matmul(layout: str, *, dtype: Any = tkl.bf16) -> Built:
    """C[i] = A[i] @ B[i] for any sizes, rounded to the inputs' dtype.

    Args:
        layout: of A and of B, as BLAS calls it: n as it is, t transposed in memory. That is A of shape [B, K, M] and B
            of shape [B, N, K].
        dtype: of A, B and C.
    """
    batch, i, k = (tkw.IndexMapping.iterator(n) for n in range(3))

    def operand(rows: Any, transposed: bool) -> tuple[tuple[Any, ...], dict[str, Any]]:
        """The shape in memory, and how to read it with K innermost."""
        if not transposed:
            return (B, rows, K), {}
        places = {B: batch, rows: i, K: k}
        return (B, K, rows), {"mapping": tkw.IndexMapping(num_iterators=3, inputs=places, outputs=places)}

    a_shape, read_a = operand(M, layout[0] == "t")
    b_shape, read_b = operand(N, layout[1] == "n")

    @tkw.wave(_constraints(MMAType.F32_16x16x16_F16, tkw.WorkgroupConstraint(B, 1, 2), vector_shapes={B: 0}))
    def matmul(
        a: tkl.Memory[(*a_shape, ADDRESS_SPACE, dtype)],
        b: tkl.Memory[(*b_shape, ADDRESS_SPACE, dtype)],
        c: tkl.Memory[B, M, N, GLOBAL_ADDRESS_SPACE, dtype],
    ) -> None:
        zero = tkl.Register[B, M, N, tkl.f32](0)

        @tkw.iterate(K, init_args=[zero])
        def product(acc: tkl.Register[B, M, N, tkl.f32]) -> tkl.Register[B, M, N, tkl.f32]:
            return tkw.mma(tkw.read(a, **read_a), tkw.read(b, **read_b), acc)

        tkw.write(tkw.cast(product, dtype), c)

    return _with_options(matmul, (B, M, N, K))


def linear(mma: MMAType, activation: Callable[[Any], Any], *, dtype: Any = tkl.f16, **options: Any) -> Built:
    """C = activation(A @ B.T + bias) for any sizes, rounded to the inputs' dtype.

    An activation that uses its argument more than once needs a tile that leaves each wave the output of one matrix
    instruction: where there are several, wave-lang 3.9.1 computes inner expressions for the first only, and uses them
    for all.
    """

    @tkw.wave(_constraints(mma))
    def linear(
        a: tkl.Memory[M, K, ADDRESS_SPACE, dtype],
        b: tkl.Memory[N, K, ADDRESS_SPACE, dtype],
        bias: tkl.Memory[N, GLOBAL_ADDRESS_SPACE, tkl.f32],
        c: tkl.Memory[M, N, GLOBAL_ADDRESS_SPACE, dtype],
    ) -> None:
        start = tkw.broadcast(tkw.read(bias), [M, N])

        @tkw.iterate(K, init_args=[start])
        def product(acc: tkl.Register[M, N, tkl.f32]) -> tkl.Register[M, N, tkl.f32]:
            return tkw.mma(tkw.read(a), tkw.read(b), acc)

        # The inner cast changes nothing, but wave-lang 3.9.1 finds no layout for a binary operation on a loop's result.
        tkw.write(tkw.cast(activation(tkw.cast(product, tkl.f32)), dtype), c)

    return _with_options(linear, (M, N, K), **options)


def _identity(x: Any) -> Any:
    return x


_F16_16, _F16_32 = MMAType.F32_16x16x16_F16, MMAType.F32_32x32x8_F16

KERNELS: Builders = {
    "gemm_f16_16x16x16_128x512x256": partial(gemm, _F16_16, (128, 512, 256)),
    "gemm_f16_32x32x8_128x256x512": partial(gemm, _F16_32, (128, 256, 512)),
    "gemm_f16_16x16x16_256x256x256": partial(gemm, _F16_16, (256, 256, 256)),
    "gemm_f16_16x16x16": partial(gemm, _F16_16),
    "gemm_f16_32x32x8": partial(gemm, _F16_32),
    "gemm_bf16_16x16x16": partial(gemm, _F16_16, dtype=tkl.bf16),
    "gemm_bf16_32x32x8": partial(gemm, _F16_32, dtype=tkl.bf16),
    "gemm_i8_16x16x32": partial(gemm, MMAType.I32_16x16x32_I8, dtype=tkl.i8, total=tkl.i32, block_k=64),
    "gemm_i8_32x32x16": partial(gemm, MMAType.I32_32x32x16_I8, dtype=tkl.i8, total=tkl.i32, block_k=64),
    "gemm_f8_16x16x32": partial(gemm, MMAType.F32_16x16x32_F8, dtype=tkl.f8e4m3fnuz, block_k=64),
    "gemm_f8_32x32x16": partial(gemm, MMAType.F32_32x32x16_F8, dtype=tkl.f8e4m3fnuz, block_k=64),
    "gemm_f16_prefetch_128x128x128": partial(gemm, _F16_16, (128, 128, 128), schedule=SchedulingType.PREFETCH),
    "gemm_f16_modulo_128x128x128": partial(gemm, _F16_16, (128, 128, 128), schedule=SchedulingType.MODULO),
    "gemm_f16_buffer": partial(gemm, _F16_16, use_buffer_ops=True),
    "gemm_nn_f16": partial(gemm_nn, _F16_16),
    "batched_gemm_f16": partial(batched_gemm, _F16_16),
    "matmul_bf16_nn": partial(matmul, "nn"),
    "matmul_bf16_nt": partial(matmul, "nt"),
    "matmul_bf16_tn": partial(matmul, "tn"),
    "linear_f16": partial(linear, _F16_16, _identity),
    "linear_relu_f16": partial(linear, _F16_32, relu),
    "linear_gelu_f16": partial(linear, _F16_16, gelu, tile=32),
    "linear_silu_bf16": partial(linear, _F16_16, silu, dtype=tkl.bf16, tile=32),
}
