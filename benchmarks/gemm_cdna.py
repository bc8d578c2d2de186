"""The matrix products of gemm_cdna.hip as examples: compiled for gfx950, and the one of f16 for gfx942, too.

They need a clang that knows gfx950.
"""

from __future__ import annotations

import functools
import sys
from collections.abc import Callable
from pathlib import Path

import torch

import wave_runtime

sys.path.insert(0, str(Path(__file__).parent.parent / "examples" / "kernels"))
from catalog import Example, Tensors

SOURCE = Path(__file__).with_name("gemm_cdna.hip")
FP4 = torch.tensor([0, 0.5, 1, 1.5, 2, 3, 4, 6, -0.0, -0.5, -1, -1.5, -2, -3, -4, -6])  # E2M1, by its codes
MX_SIGNATURE = (
    "a: *{0} const, b: *{0} const, a_scales: *f8e8m0fnu const, b_scales: *f8e8m0fnu const, c: *f32, n: i32, k: i32"
)
SIGNATURES = {
    "gemm_f16": "a: *f16 const, b: *f16 const, c: *f32, n: i32, k: i32",
    "gemm_mxfp8": MX_SIGNATURE.format("f8e4m3fn"),
    "gemm_mxfp4": MX_SIGNATURE.format("f4e2m1fn_x2"),
}


@functools.cache
def kernel(name: str, target: str) -> wave_runtime.Kernel:
    """One of the kernels, compiled at its first use."""
    signatures = {known: text for known, text in SIGNATURES.items() if target == "gfx950" or known == "gemm_f16"}
    return wave_runtime.compile(SOURCE, target=target, signature=signatures)[name]


def product(name: str, target: str) -> Callable[..., torch.Tensor]:
    """What launches it: A [m, k] and B [n, k], and scales of 32 elements where there are some, to C [m, n] of f32."""

    def run(a: torch.Tensor, b: torch.Tensor, *scales: torch.Tensor) -> torch.Tensor:
        m, n, k = a.shape[0], b.shape[0], a.shape[1] * (2 if a.dtype == torch.float4_e2m1fn_x2 else 1)
        c = torch.empty(m, n)
        kernel(name, target)(a, b, *scales, c, n, k, grid=(n // 64, m // 64), block=64)
        return c

    return run


def inputs_f16(m: int, n: int, k: int) -> Tensors:
    """A [m, k] and B [n, k]."""
    return torch.randn(m, k).half(), torch.randn(n, k).half()


def with_scales(make: Callable[[int, int], torch.Tensor]) -> Callable[[int, int, int], Tensors]:
    """A and B as `make` gives them, and scales of 2^-4 to 2^3."""

    def scales(rows: int, k: int) -> torch.Tensor:
        return torch.randint(123, 131, (rows, k // 32), dtype=torch.uint8).view(torch.float8_e8m0fnu)

    return lambda m, n, k: (make(m, k), make(n, k), scales(m, k), scales(n, k))


def fp8(rows: int, k: int) -> torch.Tensor:
    """Random numbers of FP8, E4M3."""
    return torch.randn(rows, k).to(torch.float8_e4m3fn)


def fp4(rows: int, k: int) -> torch.Tensor:
    """Random numbers of FP4, two in an element."""
    return torch.randint(256, (rows, k // 2), dtype=torch.uint8).view(torch.float4_e2m1fn_x2)


def values(matrix: torch.Tensor, *scales: torch.Tensor) -> torch.Tensor:
    """A matrix of numbers and their scales as f64."""
    if matrix.dtype == torch.float4_e2m1fn_x2:
        codes = matrix.view(torch.uint8).int()
        matrix = FP4[torch.stack([codes & 15, codes >> 4], -1).flatten(1)]
    result = matrix.double()
    for scale in scales:
        result = result * torch.exp2(scale.view(torch.uint8).double() - 127).repeat_interleave(32, 1)
    return result


def reference(a: torch.Tensor, b: torch.Tensor, *scales: torch.Tensor) -> torch.Tensor:
    """A * B^T of the values."""
    return (values(a, *scales[:1]) @ values(b, *scales[1:]).T).float()


# The second size is measured: that of the other products there, and that of a peer's published FP8 product.
SIZES = ((128, 64, 256), (256, 256, 256))
LARGE = ((128, 64, 256), (1024, 1024, 1024))
EXAMPLES = (
    Example("gemm_f16 (gfx942)", product("gemm_f16", "gfx942"), reference, inputs_f16, SIZES, 1e-3),
    Example("gemm_f16 (gfx950)", product("gemm_f16", "gfx950"), reference, inputs_f16, SIZES, 1e-3),
    Example(
        "gemm_mxfp8 (gfx950)", product("gemm_mxfp8", "gfx950"), reference, with_scales(fp8), LARGE, 1e-1, share=1e-6
    ),
    Example(
        "gemm_mxfp4 (gfx950)", product("gemm_mxfp4", "gfx950"), reference, with_scales(fp4), LARGE, 1e-1, share=1e-6
    ),
)
