"""Matrix products in the Wave DSL: C = A @ B.T for A of shape [M, K] and B of shape [N, K], as in nn.Linear.

Inputs are f16, the product is f32. A workgroup of four waves computes a tile of 64 by 64; each step of 32 along K goes
through LDS.
"""

from typing import Any  # no annotations from __future__: the DSL reads them as objects

import wave_lang.kernel.lang as tkl
import wave_lang.kernel.wave as tkw
from wave_lang.kernel.lang.global_symbols import GLOBAL_ADDRESS_SPACE, SHARED_ADDRESS_SPACE
from wave_lang.kernel.wave.constraints import MMAType
from wave_lang.kernel.wave.utils.general_utils import get_default_scheduling_params

M, N, K = tkl.sym.M, tkl.sym.N, tkl.sym.K
BLOCK_M, BLOCK_N, BLOCK_K = tkl.sym.BLOCK_M, tkl.sym.BLOCK_N, tkl.sym.BLOCK_K
ADDRESS_SPACE = tkl.sym.ADDRESS_SPACE

TILE = 64

MMA = {"16x16x16": MMAType.F32_16x16x16_F16, "32x32x8": MMAType.F32_32x32x8_F16}


def gemm(mma: str, shape: tuple[int, int, int] | None) -> tuple[Any, dict[str, Any]]:
    """The kernel and its compile options.

    Args:
        mma: "16x16x16" or "32x32x8", the matrix instruction.
        shape: (M, N, K) for a kernel of that size only, or None for one that takes them as arguments.
    """
    constraints = [
        tkw.WorkgroupConstraint(M, BLOCK_M, 0),
        tkw.WorkgroupConstraint(N, BLOCK_N, 1),
        tkw.TilingConstraint(K, BLOCK_K),
        tkw.WaveConstraint(M, BLOCK_M / 2),
        tkw.WaveConstraint(N, BLOCK_N / 2),
        tkw.HardwareConstraint(threads_per_wave=64, mma_type=MMA[mma]),
    ]

    @tkw.wave(constraints)
    def gemm(
        a: tkl.Memory[M, K, ADDRESS_SPACE, tkl.f16],
        b: tkl.Memory[N, K, ADDRESS_SPACE, tkl.f16],
        c: tkl.Memory[M, N, GLOBAL_ADDRESS_SPACE, tkl.f32],
    ) -> None:
        zero = tkl.Register[M, N, tkl.f32](0.0)

        @tkw.iterate(K, init_args=[zero])
        def product(total: tkl.Register[M, N, tkl.f32]) -> tkl.Register[M, N, tkl.f32]:
            return tkw.mma(tkw.read(a), tkw.read(b), total)

        tkw.write(product, c)

    subs: dict[Any, Any] = {ADDRESS_SPACE: SHARED_ADDRESS_SPACE, BLOCK_M: TILE, BLOCK_N: TILE, BLOCK_K: 32}
    subs.update(get_default_scheduling_params())
    if shape is None:
        return gemm, {"subs": subs, "dynamic_symbols": [M, N, K]}
    subs.update(zip((M, N, K), shape, strict=True))
    return gemm, {"subs": subs}
