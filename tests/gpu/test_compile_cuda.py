"""CUDA C++ from source to a launch on the GPU at hand, by each compiler."""

from __future__ import annotations

from pathlib import Path

import pytest
import torch
from cuda_support import Compiler, program

import wave_runtime
from wave_runtime._compile import _cuda

pytestmark = [pytest.mark.gpu, pytest.mark.needs("cuda")]

SCALE = """
#include "factor.h"
extern "C" __global__ void scale(const float* a, float* b, float factor, int n) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) b[i] = FACTOR * MORE * factor * a[i];
}
"""
SIGNATURE = "a: *f32 const, b: *f32, factor: f32, n: i32"


@pytest.mark.parametrize("compiler", ["nvcc", "nvrtc"])
def test_compile(compiler: Compiler, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    chosen = program(compiler)
    monkeypatch.setattr(_cuda, "find", lambda: chosen)
    monkeypatch.setenv("WAVE_RUNTIME_CACHE_DIR", str(tmp_path / "cache"))
    source = tmp_path / "scale.cu"
    source.write_text(SCALE)
    (tmp_path / "factor.h").write_text("#define FACTOR 3\n")
    module = wave_runtime.compile(source, defines={"MORE": 5}, signature=SIGNATURE)
    major, minor = torch.cuda.get_device_capability()
    assert module.targets == (f"sm_{major}{minor}",)
    a = torch.arange(1000.0, device="cuda")
    b = torch.empty_like(a)
    module["scale"](a, b, 2.0, 1000, grid=4, block=256)
    assert torch.equal(b, 30 * a)
    source.write_text(SCALE + "int x = y;\n")
    with pytest.raises(wave_runtime.CompileError, match='identifier "y" is undefined'):
        wave_runtime.compile(source, defines={"MORE": 5})


@pytest.mark.needs("clang", "cuda-compiler")
def test_one_module_for_the_gpu_and_the_emulator() -> None:
    """What fits the tensors' device is taken."""
    source = SCALE.replace('#include "factor.h"', "#define FACTOR 3")
    targets = ["gfx942", "sm_{}{}".format(*torch.cuda.get_device_capability())]
    module = wave_runtime.compile(source, language="cuda", targets=targets, defines={"MORE": 1}, cache=False)
    for device in ("cpu", "cuda"):
        a = torch.arange(100.0, device=device)
        b = torch.empty_like(a)
        module["scale"](a, b, 2.0, 100, grid=1, block=128)
        assert torch.equal(b, 6 * a)


@pytest.mark.needs("clang")
def test_hip_is_compiled_for_the_emulator(tmp_path: Path) -> None:
    """The GPU's target is that of CUDA C++ alone."""
    source = tmp_path / "scale.hip"
    source.write_text(SCALE.replace('#include "factor.h"', "#define FACTOR 3\n#define MORE 1"))
    module = wave_runtime.compile(source, cache=False)
    assert module.targets == ("gfx942",)
    a, b = torch.arange(100.0), torch.empty(100)
    module["scale"](a, b, 2.0, 100, grid=1, block=128)
    assert torch.equal(b, 6 * a)
