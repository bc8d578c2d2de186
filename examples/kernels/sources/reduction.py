"""Sums and maxima along rows and columns, and running sums."""

from collections.abc import Callable
from functools import partial
from typing import Any  # no annotations from __future__: the DSL reads them as objects

import wave_lang.kernel.lang as tkl
import wave_lang.kernel.wave as tkw
from wave_lang.kernel.lang.global_symbols import GLOBAL_ADDRESS_SPACE

from ._rows import WAVE, Builders, Built, M, N, any_height, by_row


def reduce_rows(function: Callable[..., Any], columns: int, waves: int, dtype: Any) -> Built:
    """B = function(a, dim=1), computed in f32."""
    block = waves > 1

    @tkw.wave(by_row(columns, waves))
    def reduce_rows(
        a: tkl.Memory[M, N, GLOBAL_ADDRESS_SPACE, dtype], b: tkl.Memory[M, GLOBAL_ADDRESS_SPACE, tkl.f32]
    ) -> None:
        tkw.write(function(tkw.cast(tkw.read(a), tkl.f32), dim=N, block=block), b)

    return any_height(reduce_rows, columns)


def reduce_columns(function: Callable[..., Any], rows: int, dtype: Any) -> Built:
    """B = function(a, dim=0): a wave reads a column, a row of the transpose."""
    constraints = [
        tkw.HardwareConstraint(threads_per_wave=WAVE, vector_shapes={N: 1, M: rows}),
        tkw.WorkgroupConstraint(N, 1, 1),
        tkw.WorkgroupConstraint(M, rows, 0),
        tkw.WaveConstraint(N, 1),
        tkw.WaveConstraint(M, rows),
    ]
    i, j = tkw.IndexMapping.iterator(0), tkw.IndexMapping.iterator(1)
    transpose = tkw.IndexMapping(num_iterators=2, inputs={N: i, M: j}, outputs={N: i, M: j})

    @tkw.wave(constraints)
    def reduce_columns(
        a: tkl.Memory[M, N, GLOBAL_ADDRESS_SPACE, dtype], b: tkl.Memory[N, GLOBAL_ADDRESS_SPACE, tkl.f32]
    ) -> None:
        tkw.write(function(tkw.cast(tkw.read(a, mapping=transpose), tkl.f32), dim=M), b)

    return reduce_columns, {"subs": {M: rows}, "dynamic_symbols": [N]}


def cumsum(columns: int, dtype: Any) -> Built:
    """B = cumsum(a, dim=1)."""

    @tkw.wave(by_row(columns))
    def cumsum(
        a: tkl.Memory[M, N, GLOBAL_ADDRESS_SPACE, dtype], b: tkl.Memory[M, N, GLOBAL_ADDRESS_SPACE, dtype]
    ) -> None:
        tkw.write(tkw.cumsum(tkw.read(a), dim=N), b)

    return any_height(cumsum, columns)


def topk(columns: int, count: int) -> Built:
    """The ``count`` largest of each row, in descending order, and their columns."""
    k = tkl.sym.K
    constraints = by_row(columns)
    constraints[0] = tkw.HardwareConstraint(threads_per_wave=WAVE, vector_shapes={M: 1, N: columns, k: k})

    @tkw.wave(constraints)
    def topk(
        a: tkl.Memory[M, N, GLOBAL_ADDRESS_SPACE, tkl.f16],
        values: tkl.Memory[M, k, GLOBAL_ADDRESS_SPACE, tkl.f16],
        indices: tkl.Memory[M, k, GLOBAL_ADDRESS_SPACE, tkl.i32],
    ) -> None:
        largest, columns_of = tkw.topk(tkw.read(a), k, N)
        tkw.write(largest, values, elements_per_thread=k)
        tkw.write(columns_of, indices, elements_per_thread=k)

    return topk, {"subs": {N: columns, k: count}, "dynamic_symbols": [M]}


KERNELS: Builders = {
    "row_sum_f32_256": partial(reduce_rows, tkw.sum, 256, 1, tkl.f32),
    "row_sum_f16_1024": partial(reduce_rows, tkw.sum, 1024, 4, tkl.f16),
    "row_max_f32_256": partial(reduce_rows, tkw.max, 256, 1, tkl.f32),
    "column_sum_f32_128": partial(reduce_columns, tkw.sum, 128, tkl.f32),
    "column_max_f16_128": partial(reduce_columns, tkw.max, 128, tkl.f16),
    "topk_f16_64x2": partial(topk, 64, 2),
    "cumsum_i32_64": partial(cumsum, 64, tkl.i32),
    "cumsum_i32_256": partial(cumsum, 256, tkl.i32),
}
