"""RMSNorm and its gradients for rows of any number and length, up to what a workgroup holds in registers.

A row of up to 256 numbers is that of a wave, a longer one that of four, which reduce through LDS. The residual stream
and its gradients are f32; what goes into matrix products, and comes back from them, is bf16.
"""

from functools import partial
from typing import Any  # no annotations from __future__: the DSL reads them as objects

import wave_lang.kernel.lang as tkl
import wave_lang.kernel.wave as tkw
from wave_lang.kernel.lang.global_symbols import GLOBAL_ADDRESS_SPACE

from ._rows import Builders, Built, M, N, any_size, by_row


def _root(x: Any, share: Any, epsilon: Any, block: bool) -> Any:
    """1 / sqrt(mean(x^2) + epsilon) of each row, where share is one over the row's length."""
    squares = tkw.sum(x * x, dim=N, block=block)
    mean = squares * tkw.broadcast(share, [M])
    return tkw.broadcast(tkw.rsqrt(mean + tkw.broadcast(epsilon, [M])), [M, N])


def rmsnorm_forward(columns: int, waves: int) -> Built:
    """Y = x / sqrt(mean(x^2) + epsilon) * weight, row by row, for up to ``columns`` columns."""
    block = waves > 1

    @tkw.wave(by_row(columns, waves))
    def rmsnorm_forward(
        x: tkl.Memory[M, N, GLOBAL_ADDRESS_SPACE, tkl.f32],
        weight: tkl.Memory[N, GLOBAL_ADDRESS_SPACE, tkl.f32],
        y: tkl.Memory[M, N, GLOBAL_ADDRESS_SPACE, tkl.bf16],
        share: tkl.f32,
        epsilon: tkl.f32,
    ) -> None:
        row = tkw.read(x)
        scaled = row * _root(row, share, epsilon, block) * tkw.broadcast(tkw.read(weight), [M, N])
        tkw.write(tkw.cast(scaled, tkl.bf16), y)

    return any_size(rmsnorm_forward)


def rmsnorm_backward(columns: int, waves: int) -> Built:
    """The gradient of x, and each row's part of that of the weight."""
    block = waves > 1

    @tkw.wave(by_row(columns, waves))
    def rmsnorm_backward(
        y_grad: tkl.Memory[M, N, GLOBAL_ADDRESS_SPACE, tkl.bf16],
        x: tkl.Memory[M, N, GLOBAL_ADDRESS_SPACE, tkl.f32],
        weight: tkl.Memory[N, GLOBAL_ADDRESS_SPACE, tkl.f32],
        x_grad: tkl.Memory[M, N, GLOBAL_ADDRESS_SPACE, tkl.f32],
        weight_grads: tkl.Memory[M, N, GLOBAL_ADDRESS_SPACE, tkl.f32],
        share: tkl.f32,
        epsilon: tkl.f32,
    ) -> None:
        row = tkw.read(x)
        root = _root(row, share, epsilon, block)
        normed = row * root
        grad = tkw.cast(tkw.read(y_grad), tkl.f32)
        tkw.write(grad * normed, weight_grads)
        scaled = grad * tkw.broadcast(tkw.read(weight), [M, N])
        mean = tkw.sum(scaled * normed, dim=N, block=block) * tkw.broadcast(share, [M])
        tkw.write(root * (scaled - normed * tkw.broadcast(mean, [M, N])), x_grad)

    return any_size(rmsnorm_backward)


KERNELS: Builders = {
    "rmsnorm_forward_up_to_256": partial(rmsnorm_forward, 256, 1),
    "rmsnorm_forward_up_to_1024": partial(rmsnorm_forward, 1024, 4),
    "rmsnorm_backward_up_to_256": partial(rmsnorm_backward, 256, 1),
    "rmsnorm_backward_up_to_1024": partial(rmsnorm_backward, 1024, 4),
}
