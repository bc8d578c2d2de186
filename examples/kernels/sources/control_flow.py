"""Kernels with control flow: a conditional for each element, one for the whole launch, and a while loop.

A conditional of wave-lang 3.9.1 has no else and no result: it can only write.
"""

import wave_lang.kernel.lang as tkl
import wave_lang.kernel.wave as tkw
from wave_lang.kernel.lang.global_symbols import GLOBAL_ADDRESS_SPACE

from ._rows import WAVE, Builders, Built, M, N, any_size, by_row


def masked_copy() -> Built:
    """B = a where the mask is positive. An element for each lane: a condition is one value for a lane."""

    @tkw.wave(by_row(WAVE))
    def masked_copy(
        a: tkl.Memory[M, N, GLOBAL_ADDRESS_SPACE, tkl.f16],
        mask: tkl.Memory[M, N, GLOBAL_ADDRESS_SPACE, tkl.i32],
        b: tkl.Memory[M, N, GLOBAL_ADDRESS_SPACE, tkl.f16],
    ) -> None:
        x = tkw.read(a)
        chosen = tkw.apply_expr(tkw.read(mask), lambda value: value > 0)

        @tkw.conditional(chosen)
        def then() -> None:
            tkw.write(x, b)

    return any_size(masked_copy)


def scale_if() -> Built:
    """B = 2 * a if the threshold is above 10, else a."""

    @tkw.wave(by_row())
    def scale_if(
        a: tkl.Memory[M, N, GLOBAL_ADDRESS_SPACE, tkl.f32],
        b: tkl.Memory[M, N, GLOBAL_ADDRESS_SPACE, tkl.f32],
        threshold: tkl.i32,
    ) -> None:
        x = tkw.read(a)
        tkw.write(x, b)

        @tkw.conditional(threshold > tkw.scalar(10, tkl.i32))
        def then() -> None:
            tkw.write(x + x, b)

    return any_size(scale_if)


def while_rows() -> Built:
    """B[i] = a[i] + 1 for the rows from a first one on, by one workgroup that goes from row to row."""
    rows = tkl.sym.ROWS
    constraints = [
        tkw.HardwareConstraint(threads_per_wave=WAVE, vector_shapes={M: 0, N: WAVE}),
        tkw.WorkgroupConstraint(N, WAVE, 0),
        tkw.WaveConstraint(N, WAVE),
        tkw.TilingConstraint(M),
    ]

    @tkw.wave(constraints)
    def while_rows(
        a: tkl.Memory[M, N, GLOBAL_ADDRESS_SPACE, tkl.f32],
        b: tkl.Memory[M, N, GLOBAL_ADDRESS_SPACE, tkl.f32],
        first: tkl.i32,
    ) -> None:
        @tkw.iterate(M, start=first, condition=rows > M, init_args=[])
        def body() -> None:
            tkw.write(tkw.read(a) + tkl.Register[M, N, tkl.f32](1.0), b)
            following = tkw.apply_expr(tkw.self_index(M, tkl.i32), lambda row: row + 1)
            tkw.set_symbol(M, following)

    return while_rows, {"subs": {M: 16, rows: 16}, "dynamic_symbols": [N]}


KERNELS: Builders = {
    "masked_copy_f16": masked_copy,
    "scale_if_f32": scale_if,
    "while_rows_f32_16": while_rows,
}
