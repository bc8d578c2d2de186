"""Generic targets, as clang compiles for them: each runs on the processor of its family that the emulator has."""

from __future__ import annotations

import pytest
import torch

import wave_runtime
from wave_runtime._coverage import coverage
from wave_runtime._disasm import disassemble

pytestmark = pytest.mark.needs("clang-22")

# LDS, a barrier, a branch of some lanes, floats of several widths, and a loop.
SOURCE = """
#include <hip/hip_fp16.h>
extern "C" __global__ void mix(const float* a, const __half* b, float* c, int n) {
  __shared__ float tile[256];
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  tile[threadIdx.x] = i < n ? a[i] + __half2float(b[i]) : 0;
  __syncthreads();
  float sum = 0;
  for (int k = 0; k < 4; ++k) sum += tile[threadIdx.x ^ k] * (k + 1);
  if (i < n) c[i] = i % 3 == 0 ? sum : -sum;
}
"""
EMULATED = {
    "gfx9-4-generic": "gfx942",
    "gfx10-3-generic": "gfx1030",
    "gfx11-generic": "gfx1100",
    "gfx12-generic": "gfx1201",
}


@pytest.fixture(autouse=True)
def _clang_22(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("CLANG", "clang-22")


def check(module: wave_runtime.Module) -> None:
    a, b, c = torch.randn(512), torch.randn(512).half(), torch.zeros(512)
    module["mix"](a, b, c, 512, grid=2, block=256)
    tile, i = a + b.float(), torch.arange(512)
    expected = sum(tile[i ^ k] * (k + 1) for k in range(4))
    torch.testing.assert_close(c, torch.where(i % 3 == 0, expected, -expected))


@pytest.mark.parametrize("target", EMULATED)
def test_launch(target: str) -> None:
    module = wave_runtime.compile(SOURCE, target=target)
    assert module.targets == (target,)
    check(module)
    code = module.images[target]
    check(wave_runtime.load(code, signature=module["mix"].signature))
    assert coverage(code)["mix"]["unsupported"] == {}
    assert "s_endpgm" in disassemble(code)


@pytest.mark.parametrize("target", EMULATED)
def test_a_build_for_the_processor_itself_goes_first(target: str) -> None:
    module = wave_runtime.compile(SOURCE, targets=[target, EMULATED[target]])
    check(module)
    loaded = [item for item in wave_runtime.loaded() if "mix" in item.kernels]
    assert loaded[-1].target == EMULATED[target]


def test_families_that_are_not_emulated_are_refused_before_the_launch() -> None:
    kernel = wave_runtime.compile(SOURCE, target="gfx10-1-generic")["mix"]
    a = torch.zeros(256)
    with pytest.raises(
        ValueError, match=r"'mix' was built for gfx10-1-generic, and the emulator.* runs code for gfx942"
    ):
        kernel(a, a.half(), a.clone(), 256, grid=1, block=256)
    check(wave_runtime.compile(SOURCE, targets=["gfx10-1-generic", "gfx9-generic", "gfx12-generic"]))
