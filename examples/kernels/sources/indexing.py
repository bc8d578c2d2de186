"""Kernels that move elements: transpose, gather and scatter of rows, for matrices of any size."""

from functools import partial
from typing import Any  # no annotations from __future__: the DSL reads them as objects

import wave_lang.kernel.lang as tkl
import wave_lang.kernel.wave as tkw
from wave_lang.kernel.lang.global_symbols import GLOBAL_ADDRESS_SPACE

from ._rows import Builders, Built, M, N, any_size, by_row

I, J = tkw.IndexMapping.iterator(0), tkw.IndexMapping.iterator(1)  # noqa: E741
ELEMENT = tkw.IndexMapping.dynamic_val(0)


def transpose(dtype: Any) -> Built:
    """B = a.T."""
    swap = tkw.IndexMapping(num_iterators=2, inputs={M: I, N: J}, outputs={M: I, N: J})

    @tkw.wave(by_row())
    def transpose(
        a: tkl.Memory[M, N, GLOBAL_ADDRESS_SPACE, dtype], b: tkl.Memory[N, M, GLOBAL_ADDRESS_SPACE, dtype]
    ) -> None:
        tkw.write(tkw.read(a), b, mapping=swap)

    return any_size(transpose)


def gather(dtype: Any) -> Built:
    """B[i, j] = a[index[i, j], j], as torch.gather."""
    pick = tkw.IndexMapping(
        num_iterators=2,
        inputs={M: ELEMENT, N: J},
        outputs={M: I, N: J},
        dynamic_val_mappings={M: I, N: J},
    )

    @tkw.wave(by_row())
    def gather(
        a: tkl.Memory[M, N, GLOBAL_ADDRESS_SPACE, dtype],
        index: tkl.Memory[M, N, GLOBAL_ADDRESS_SPACE, tkl.i32],
        b: tkl.Memory[M, N, GLOBAL_ADDRESS_SPACE, dtype],
    ) -> None:
        tkw.write(tkw.read(a, mapping=pick, mapping_dynamic_vals=(tkw.read(index),)), b)

    return any_size(gather)


def scatter(dtype: Any) -> Built:
    """B[i, index[i, j]] = a[i, j], as Tensor.scatter."""
    place = tkw.IndexMapping(
        num_iterators=2,
        inputs={M: I, N: J},
        outputs={M: I, N: ELEMENT},
        dynamic_val_mappings={M: I, N: J},
    )

    @tkw.wave(by_row())
    def scatter(
        a: tkl.Memory[M, N, GLOBAL_ADDRESS_SPACE, dtype],
        index: tkl.Memory[M, N, GLOBAL_ADDRESS_SPACE, tkl.i32],
        b: tkl.Memory[M, N, GLOBAL_ADDRESS_SPACE, dtype],
    ) -> None:
        tkw.write(tkw.read(a), b, mapping=place, mapping_dynamic_vals=(tkw.read(index),))

    return any_size(scatter)


KERNELS: Builders = {
    "transpose_f16": partial(transpose, tkl.f16),
    "gather_f16": partial(gather, tkl.f16),
    "scatter_f32": partial(scatter, tkl.f32),
}
