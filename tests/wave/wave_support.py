"""Compiles Wave kernels in a process of its own: the compiler changes torch's settings."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterable
from pathlib import Path

import pytest
from support import EXAMPLES

Compile = Callable[[str], str]


def compile_kernel(expression: str, path: Path) -> None:
    """Write the code object of a kernel, given by a call of a function of examples/kernels/sources."""
    if str(EXAMPLES) not in sys.path:
        sys.path.insert(0, str(EXAMPLES))
    import build

    # Imports the sources, with settings of the compiler that it reads when it is imported.
    build.wave_builders()
    import wave_lang.kernel.lang as tkl
    import wave_lang.kernel.wave as tkw
    from sources import attention, convolution, elementwise, gemm, moe, normalization, reduction
    from wave_lang.kernel.wave.constraints import MMAType
    from wave_lang.kernel.wave.scheduling.schedule_enums import SchedulingType

    names = {"tkl": tkl, "tkw": tkw, "MMAType": MMAType, "SchedulingType": SchedulingType}
    modules = (attention, convolution, elementwise, gemm, moe, normalization, reduction)
    names |= {module.__name__.split(".")[-1]: module for module in modules}
    build.build_wave(lambda: eval(expression, names), path)


def grid(cases: Iterable[tuple[object, ...]]) -> list[object]:
    """Parameters of a test. `make test` runs the first, `make test-wave` all."""
    return [
        pytest.param(*case, id="-".join(map(str, case)), marks=[pytest.mark.long] if i else [])
        for i, case in enumerate(cases)
    ]
