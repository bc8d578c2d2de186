"""What kernels share that take a matrix row by row."""

from collections.abc import Callable
from typing import Any

import wave_lang.kernel.lang as tkl
import wave_lang.kernel.wave as tkw

M, N = tkl.sym.M, tkl.sym.N
WAVE = 64
BLOCK = 256  # columns of a workgroup

Built = tuple[Any, dict[str, Any]]
Builders = dict[str, Callable[[], Built]]


def by_row(columns: int = BLOCK, waves: int = 1) -> list[Any]:
    """Constraints by which a workgroup takes ``columns`` of one row, and each of its waves an equal part of them.

    The grid is (N / columns, M).
    """
    return [
        tkw.HardwareConstraint(threads_per_wave=WAVE, vector_shapes={M: 1, N: columns // waves}),
        tkw.WorkgroupConstraint(M, 1, 1),
        tkw.WorkgroupConstraint(N, columns, 0),
        tkw.WaveConstraint(M, 1),
        tkw.WaveConstraint(N, columns // waves),
    ]


def any_size(kernel: Any) -> Built:
    """A kernel that takes M and N as arguments."""
    return kernel, {"subs": {}, "dynamic_symbols": [M, N]}


def any_height(kernel: Any, columns: int) -> Built:
    """A kernel for one N that takes M as an argument."""
    return kernel, {"subs": {N: columns}, "dynamic_symbols": [M]}
