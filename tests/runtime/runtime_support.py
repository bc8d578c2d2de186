"""Kernels and programs that the tests of Launchable and CustomOp share."""

from __future__ import annotations

import importlib.util
import shutil

import pytest

from wave_runtime import cdiv

SCALE = """
extern "C" __global__ void scale(const float* a, float* b, float factor, int n) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) b[i] = factor * a[i];
}
"""

ADD_SIGNATURE = "a: *f32 const, b: *f32 const, c: *f32, n: i32"


def blocks(a, *rest):  # type: ignore[no-untyped-def]
    """A grid of blocks of 256 over the first argument."""
    return cdiv(a.numel(), 256)


needs_clang = pytest.mark.skipif(not shutil.which("clang-19"), reason="needs clang-19")
needs_iree = pytest.mark.skipif(
    not all(
        importlib.util.find_spec("iree") and importlib.util.find_spec(f"iree.{name}")
        for name in ("compiler", "runtime")
    ),
    reason="needs iree-base-compiler and iree-base-runtime",
)
