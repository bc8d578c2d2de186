"""Elementwise kernels for matrices of any size: broadcasting additions and activations."""

from collections.abc import Callable
from functools import partial
from typing import Any  # no annotations from __future__: the DSL reads them as objects

import wave_lang.kernel.lang as tkl
import wave_lang.kernel.wave as tkw
from wave_lang.kernel.lang.global_symbols import GLOBAL_ADDRESS_SPACE

from ._rows import Builders, Built, M, N, any_size, by_row


def add_row(dtype: Any) -> Built:
    """C = a + b[None, :]."""

    @tkw.wave(by_row())
    def add_row(
        a: tkl.Memory[M, N, GLOBAL_ADDRESS_SPACE, dtype],
        b: tkl.Memory[N, GLOBAL_ADDRESS_SPACE, dtype],
        c: tkl.Memory[M, N, GLOBAL_ADDRESS_SPACE, dtype],
    ) -> None:
        tkw.write(tkw.read(a) + tkw.broadcast(tkw.read(b), [M, N]), c)

    return any_size(add_row)


def constant(value: float) -> Any:
    """A register full of a number."""
    return tkl.Register[M, N, tkl.f32](value)


def silu(x: Any) -> Any:
    """X * sigmoid(x)."""
    return x / (constant(1) + tkw.exp(-x))


def gelu(x: Any) -> Any:
    """GELU in its approximation by tanh."""
    return constant(0.5) * x * (constant(1) + tkw.tanh(constant(0.7978845608) * (x + constant(0.044715) * x * x * x)))


def relu(x: Any) -> Any:
    """max(x, 0)."""
    return tkw.maximum(x, constant(0))


def softplus(x: Any) -> Any:
    """log(1 + e^x); the DSL has the logarithm to base 2."""
    return constant(0.6931471806) * tkw.log2(constant(1) + tkw.exp(x))


def activation(function: Callable[[Any], Any], dtype: Any) -> Built:
    """B = function(a), computed in f32."""

    @tkw.wave(by_row())
    def activation(
        a: tkl.Memory[M, N, GLOBAL_ADDRESS_SPACE, dtype], b: tkl.Memory[M, N, GLOBAL_ADDRESS_SPACE, dtype]
    ) -> None:
        tkw.write(tkw.cast(function(tkw.cast(tkw.read(a), tkl.f32)), dtype), b)

    return any_size(activation)


KERNELS: Builders = {
    "add_row_f16": partial(add_row, tkl.f16),
    "add_row_f32": partial(add_row, tkl.f32),
    "silu_f16": partial(activation, silu, tkl.f16),
    "gelu_f32": partial(activation, gelu, tkl.f32),
    "softplus_f32": partial(activation, softplus, tkl.f32),
}
