"""Kernels and programs that the tests of Launchable and CustomOp share."""

from __future__ import annotations

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
