"""wave_runtime.module on an NVIDIA GPU: one source for the GPU and the emulator, addresses, compiled code."""

from __future__ import annotations

from pathlib import Path

import pytest
import torch

from wave_runtime.compat import pyhip

pytestmark = [pytest.mark.gpu, pytest.mark.needs("cuda", "cuda-compiler")]

SCALE = """
#include "factor.h"
extern "C" __global__ void scale(const float* a, float* b, float factor, int n) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) b[i] = FACTOR * factor * a[i];
}
"""
SIGNATURE = "a: *f32 const, b: *f32, factor: f32, n: i32"


@pytest.fixture
def scale(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> pyhip.SourceKernel:
    monkeypatch.setenv("WAVE_RUNTIME_CACHE_DIR", str(tmp_path / "cache"))
    (tmp_path / "scale.cu").write_text(SCALE)
    (tmp_path / "factor.h").write_text("#define FACTOR 3\n")
    return pyhip.module(tmp_path / "scale.cu", signature=SIGNATURE).scale


def test_tensors_and_addresses(scale: pyhip.SourceKernel) -> None:
    a = torch.randn(1000, device="cuda")
    for pointer in (lambda tensor: tensor, lambda tensor: tensor.data_ptr()):
        b = torch.zeros_like(a)
        scale([4], [256], pointer(a), pointer(b), 2.0, 1000)
        assert torch.equal(b, 6 * a)


def test_rebuilt(scale: pyhip.SourceKernel, tmp_path: Path) -> None:
    a = torch.randn(1000, device="cuda")
    b = torch.zeros_like(a)
    scale([4], [256], a, b, 2.0, 1000)
    (tmp_path / "scale.cu").write_text(SCALE.replace("* factor", "* 10 * factor"))
    scale([4], [256], a.data_ptr(), b.data_ptr(), 2.0, 1000)
    torch.testing.assert_close(b, 60 * a)


def test_compiled(scale: pyhip.SourceKernel) -> None:
    def model(a: torch.Tensor) -> torch.Tensor:
        b = torch.empty_like(a)
        scale([4], [256], a + 1, b, 2.0, a.numel())
        return b * 2

    a = torch.randn(1000, device="cuda")
    torch.testing.assert_close(torch.compile(model, fullgraph=True)(a), 12 * (a + 1))


@pytest.mark.needs("clang")
def test_the_cpu_beside_it(scale: pyhip.SourceKernel) -> None:
    """The same object, with CPU tensors and their addresses: the emulator runs what clang makes of it."""
    a, b = torch.randn(1000), torch.zeros(1000)
    scale([4], [256], a, b, 2.0, 1000)
    torch.testing.assert_close(b, 6 * a)
    scale([4], [256], a.data_ptr(), b.data_ptr(), 3.0, 1000)
    torch.testing.assert_close(b, 9 * a)


def test_hip_sources_are_for_amd(tmp_path: Path) -> None:
    (tmp_path / "scale.cpp").write_text(SCALE)
    a = torch.zeros(4, device="cuda")
    with pytest.raises(ValueError, match=r"hip is compiled for AMD's targets \(gfx942\), not sm_"):
        pyhip.module(tmp_path / "scale.cpp").scale([1], [64], a, a, 1.0, 4)
