"""Softmax, RMSNorm and LayerNorm over the rows of a matrix with any number of rows.

A row stays in registers: of one wave up to a few hundred columns, of four above, which then reduce through LDS.
Reductions are in f32.
"""

from functools import partial
from typing import Any  # no annotations from __future__: the DSL reads them as objects

import wave_lang.kernel.lang as tkl
import wave_lang.kernel.wave as tkw
from wave_lang.kernel.lang.global_symbols import GLOBAL_ADDRESS_SPACE

from ._rows import Builders, Built, M, N, any_height, by_row

EPSILON = 1e-5


def softmax(columns: int, waves: int, dtype: Any) -> Built:
    """B = softmax(a), row by row."""
    block = waves > 1

    @tkw.wave(by_row(columns, waves))
    def softmax(
        a: tkl.Memory[M, N, GLOBAL_ADDRESS_SPACE, dtype], b: tkl.Memory[M, N, GLOBAL_ADDRESS_SPACE, dtype]
    ) -> None:
        x = tkw.cast(tkw.read(a), tkl.f32)
        e = tkw.exp(x - tkw.broadcast(tkw.max(x, dim=N, block=block), [M, N]))
        total = tkw.sum(e, dim=N, block=block)
        tkw.write(tkw.cast(e / tkw.broadcast(total, [M, N]), dtype), b)

    return any_height(softmax, columns)


def _mean(x: Any, columns: int, block: bool) -> Any:
    return tkw.sum(x, dim=N, block=block) * tkl.Register[M, tkl.f32](1 / columns)


def _scaled(x: Any, squares: Any) -> Any:
    """X over the root of the mean of squares."""
    return x * tkw.broadcast(tkw.rsqrt(squares + tkl.Register[M, tkl.f32](EPSILON)), [M, N])


def rmsnorm(columns: int, waves: int, dtype: Any) -> Built:
    """B = a / sqrt(mean(a^2) + eps) * weight, row by row."""
    block = waves > 1

    @tkw.wave(by_row(columns, waves))
    def rmsnorm(
        a: tkl.Memory[M, N, GLOBAL_ADDRESS_SPACE, dtype],
        weight: tkl.Memory[N, GLOBAL_ADDRESS_SPACE, dtype],
        b: tkl.Memory[M, N, GLOBAL_ADDRESS_SPACE, dtype],
    ) -> None:
        x = tkw.cast(tkw.read(a), tkl.f32)
        scale = tkw.broadcast(tkw.cast(tkw.read(weight), tkl.f32), [M, N])
        tkw.write(tkw.cast(_scaled(x, _mean(x * x, columns, block)) * scale, dtype), b)

    return any_height(rmsnorm, columns)


def layernorm(columns: int, waves: int, dtype: Any) -> Built:
    """B = (a - mean(a)) / sqrt(var(a) + eps) * weight + bias, row by row."""
    block = waves > 1

    @tkw.wave(by_row(columns, waves))
    def layernorm(
        a: tkl.Memory[M, N, GLOBAL_ADDRESS_SPACE, dtype],
        weight: tkl.Memory[N, GLOBAL_ADDRESS_SPACE, dtype],
        bias: tkl.Memory[N, GLOBAL_ADDRESS_SPACE, dtype],
        b: tkl.Memory[M, N, GLOBAL_ADDRESS_SPACE, dtype],
    ) -> None:
        x = tkw.cast(tkw.read(a), tkl.f32)
        x = x - tkw.broadcast(_mean(x, columns, block), [M, N])
        scale = tkw.broadcast(tkw.cast(tkw.read(weight), tkl.f32), [M, N])
        shift = tkw.broadcast(tkw.cast(tkw.read(bias), tkl.f32), [M, N])
        tkw.write(tkw.cast(_scaled(x, _mean(x * x, columns, block)) * scale + shift, dtype), b)

    return any_height(layernorm, columns)


KERNELS: Builders = {
    "softmax_f32_256": partial(softmax, 256, 1, tkl.f32),
    "softmax_f16_1024": partial(softmax, 1024, 4, tkl.f16),
    "rmsnorm_f16_256": partial(rmsnorm, 256, 1, tkl.f16),
    "rmsnorm_bf16_1024": partial(rmsnorm, 1024, 4, tkl.bf16),
    "layernorm_f16_256": partial(layernorm, 256, 1, tkl.f16),
    "layernorm_f32_1024": partial(layernorm, 1024, 4, tkl.f32),
}
