"""2D convolution in the Wave DSL, as a matrix product whose operand is never built (implicit GEMM).

Rows are filters, columns are output pixels, and K runs over a filter's pixels and channels; the kernel reads from the
image where the operand's element would have come from. That way round, a lane has neighbouring filters of one pixel,
and stores them together. Images and filters have their channels last, there is no padding.
"""

from collections.abc import Callable
from functools import partial
from typing import Any  # no annotations from __future__: the DSL reads them as objects

import wave_lang.kernel.lang as tkl
import wave_lang.kernel.wave as tkw
from wave_lang.kernel.lang.global_symbols import GLOBAL_ADDRESS_SPACE, SHARED_ADDRESS_SPACE
from wave_lang.kernel.wave.constraints import MMAType

# Images, their channels, height and width; filters, their height and width; the output's height and width.
B, C, H, W = tkl.sym.B, tkl.sym.C, tkl.sym.H, tkl.sym.W
F, R, S = tkl.sym.F, tkl.sym.R, tkl.sym.S
P, Q = tkl.sym.P, tkl.sym.Q
BLOCK_M, BLOCK_F, BLOCK_K = tkl.sym.BLOCK_M, tkl.sym.BLOCK_F, tkl.sym.BLOCK_K
ADDRESS_SPACE = tkl.sym.ADDRESS_SPACE

TILE = 64


def conv2d(*, channels: int, filters: int, size: int, stride: int) -> tuple[Any, dict[str, Any]]:
    """The kernel and its compile options; ``size`` is a filter's height and width."""
    rows, depth = B * P * Q, R * S * C
    m, f, k = tkl.sym.m, tkl.sym.f, tkl.sym.k
    pixel = (m // (P * Q), m % (P * Q) // Q, m % Q)
    tap = (k // (S * C), k // C % S, k % C)
    source = (pixel[0], pixel[1] * stride + tap[0], pixel[2] * stride + tap[1], tap[2])
    constraints = [
        tkw.WorkgroupConstraint(rows, BLOCK_M, 0),
        tkw.WorkgroupConstraint(F, BLOCK_F, 1),
        tkw.TilingConstraint(depth, BLOCK_K),
        tkw.WaveConstraint(rows, BLOCK_M / 2),
        tkw.WaveConstraint(F, BLOCK_F / 2),
        tkw.HardwareConstraint(threads_per_wave=64, mma_type=MMAType.F32_16x16x16_F16),
        tkw.IteratorBindings({m: rows, f: F, k: depth}),
    ]

    @tkw.wave(constraints)
    def conv2d(
        image: tkl.Memory[B, H, W, C, ADDRESS_SPACE, tkl.f16],
        weight: tkl.Memory[F, R, S, C, ADDRESS_SPACE, tkl.f16],
        out: tkl.Memory[B, P, Q, F, GLOBAL_ADDRESS_SPACE, tkl.f32],
    ) -> None:
        @tkw.iterate(depth, init_args=[tkl.Register[F, rows, tkl.f32](0.0)])
        def product(total: tkl.Register[F, rows, tkl.f32]) -> Any:
            patches = tkw.read(image, source=source, target=(m, k), elements_per_thread=4)
            taps = tkw.read(weight, source=(f, *tap), target=(f, k), elements_per_thread=4)
            return tkw.mma(taps, patches, total)

        tkw.write(product, out, source=(f, m), target=(*pixel, f), elements_per_thread=4)

    subs = {ADDRESS_SPACE: SHARED_ADDRESS_SPACE, BLOCK_M: TILE, BLOCK_F: TILE, BLOCK_K: 32}
    subs |= {C: channels, F: filters, R: size, S: size}
    return conv2d, {"subs": subs, "dynamic_symbols": [B, H, W, P, Q]}


KERNELS: dict[str, Callable[[], tuple[Any, dict[str, Any]]]] = {
    "conv2d_3x3": partial(conv2d, channels=32, filters=64, size=3, stride=1),
    "conv2d_3x3_stride2": partial(conv2d, channels=32, filters=64, size=3, stride=2),
}
