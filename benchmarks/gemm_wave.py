"""The matrix products of gemm_wave.hip as examples: WMMA, compiled for gfx1100 and gfx1201. They need clang 19."""

from __future__ import annotations

import functools
import sys
from collections.abc import Callable
from pathlib import Path

import gemm_cdna
import torch

import wave_runtime

sys.path.insert(0, str(Path(__file__).parent.parent / "examples" / "kernels"))
from catalog import Example, Tensors

SOURCE = Path(__file__).with_name("gemm_wave.hip")
SIGNATURES = {
    "gemm_f16": "a: *f16 const, b: *f16 const, c: *f32, n: i32, k: i32",
    "gemm_fp8": "a: *f8e4m3fn const, b: *f8e4m3fn const, c: *f32, n: i32, k: i32",
}


@functools.cache
def kernel(name: str, target: str) -> wave_runtime.Kernel:
    """One of the kernels, compiled at its first use."""
    signatures = {known: text for known, text in SIGNATURES.items() if target == "gfx1201" or known == "gemm_f16"}
    return wave_runtime.compile(SOURCE, target=target, signature=signatures)[name]


def product(name: str, target: str) -> Callable[..., torch.Tensor]:
    """What launches it: A [m, k] and B [n, k] to C [m, n] of f32."""

    def run(a: torch.Tensor, b: torch.Tensor) -> torch.Tensor:
        (m, k), n = a.shape, b.shape[0]
        c = torch.empty(m, n)
        kernel(name, target)(a, b, c, n, k, grid=(n // 64, m // 64), block=32)
        return c

    return run


def inputs_fp8(m: int, n: int, k: int) -> Tensors:
    """A [m, k] and B [n, k]."""
    return gemm_cdna.fp8(m, k), gemm_cdna.fp8(n, k)


# The second size is measured: that of gfx942's product in gemm_cdna.py.
EXAMPLES = tuple(
    Example(
        f"wmma_{name} ({target})", product(f"gemm_{name}", target), gemm_cdna.reference, inputs, gemm_cdna.SIZES, error
    )
    for name, target, inputs, error in (
        ("f16", "gfx1100", gemm_cdna.inputs_f16, 1e-3),
        ("f16", "gfx1201", gemm_cdna.inputs_f16, 1e-3),
        ("fp8", "gfx1201", inputs_fp8, 1e-3),
    )
)
