"""Compilers besides clang: hipRTC, NVRTC, nvcc and IREE's. None needs a GPU; those that are absent are skipped."""

from __future__ import annotations

import subprocess
import sys
import textwrap
from pathlib import Path

import pytest
import torch
from cuda_support import Compiler, compile_by, program
from support import ROOT

import wave_runtime
from wave_runtime._compile import _cuda, _mlir
from wave_runtime.compat import pyhip

SCALE = """
#include "factor.h"
__global__ void scale(const float* a, float* b, float factor, int n) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) b[i] = FACTOR * factor * a[i];
}
"""

# A machine with a GPU of an age that Debian's hipRTC knows, and no clang.
HIPRTC = """
import sys, torch, wave_runtime
from wave_runtime._compile import _hiprtc
torch.version.hip = "5.2"
torch.cuda.is_available = lambda: True
torch.cuda.current_device = lambda: 0
_hiprtc.target_of = lambda device: "gfx90a"
module = wave_runtime.compile("scale.cpp", target="gfx90a")
print(module.targets, module["scale"].signature)
for source, target in (("broken.cpp", "gfx90a"), ("scale.cpp", "gfx942")):
    try:
        wave_runtime.compile(source, target=target)
    except wave_runtime.CompileError as error:
        print(error)
"""

DOUBLE = """
#wave = #iree_codegen.translation_info<pipeline = None workgroup_size = [64, 1, 1] subgroup_size = 64>
module {
  stream.executable private @double {
    stream.executable.export public @double workgroups() -> (index, index, index) {
      %c1 = arith.constant 1 : index
      stream.return %c1, %c1, %c1 : index, index, index
    }
    builtin.module {
      func.func @double(%arg0: !stream.binding, %arg1: !stream.binding) attributes
          {translation_info = #wave} {
        %c0 = arith.constant 0 : index
        %a = stream.binding.subspan %arg0[%c0] : !stream.binding -> memref<64xf32>
        %b = stream.binding.subspan %arg1[%c0] : !stream.binding -> memref<64xf32>
        %i = gpu.thread_id x upper_bound 64
        %value = memref.load %a[%i] : memref<64xf32>
        %sum = arith.addf %value, %value : f32
        memref.store %sum, %b[%i] : memref<64xf32>
        return
      }
    }
  }
  func.func @main(%a: tensor<64xf32>, %b: tensor<64xf32>) -> tensor<64xf32> {
    %c = flow.dispatch @double::@double(%a, %b) : (tensor<64xf32>, tensor<64xf32>) -> %b
    return %c : tensor<64xf32>
  }
}
"""


@pytest.fixture
def scale(tmp_path: Path) -> Path:
    (tmp_path / "factor.h").write_text("#define FACTOR 2\n")
    path = tmp_path / "scale.cu"
    path.write_text(SCALE)
    return path


@pytest.mark.parametrize("compiler", ["nvcc", "nvrtc"])
def test_names_and_types_of_cuda(compiler: Compiler, scale: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Of kernels that are not extern "C" the symbol tells them; a file that is included is found."""
    chosen = program(compiler)
    monkeypatch.setattr(_cuda, "find", lambda: chosen)
    assert compile_by(compiler, scale, "sm_90")
    module = wave_runtime.compile(scale, target="sm_90")
    assert module["scale"].signature == "*f32 const, *f32, f32, i32"
    assert module["scale"].writes == (1,)
    scale.write_text("broken")
    with pytest.raises(wave_runtime.CompileError, match=r"(?s)scale\.cu does not compile for sm_90.*broken"):
        wave_runtime.compile(scale, target="sm_90")


@pytest.mark.needs("hiprtc")
def test_hiprtc(scale: Path, tmp_path: Path, cache: Path) -> None:
    """In a process of its own: the library is that of HIP, of which a process has one."""
    (tmp_path / "scale.cpp").write_text("#include <hip/hip_runtime.h>\n#include <hip/hip_fp16.h>\n" + SCALE)
    (tmp_path / "broken.cpp").write_text(SCALE + "int x = y;\n")
    environment = {"PYTHONPATH": str(ROOT), "CLANG": "/none", "WAVE_RUNTIME_CACHE_DIR": str(cache), "PATH": "/usr/bin"}
    command = [sys.executable, "-c", textwrap.dedent(HIPRTC)]
    done = subprocess.run(command, cwd=tmp_path, env=environment, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    first, rest = done.stdout.split("\n", 1)
    assert first == "('gfx90a',) *f32 const, *f32, f32, i32"
    assert "broken.cpp does not compile for gfx90a: hiprtcCompileProgram: error 6" in rest
    assert "error: use of undeclared identifier 'y'" in rest
    assert "no compiler for AMD GPUs; looked for\n  /none" in rest  # another GPU's code


@pytest.mark.needs("iree")
def test_mlir(tmp_path: Path) -> None:
    """What is written is known, and so is the block."""
    source = tmp_path / "double.mlir"
    source.write_text(DOUBLE)
    kernel = wave_runtime.compile(source)["double"]
    assert (kernel.writes, kernel.block) == ((1,), (64, 1, 1))
    a, b = torch.randn(64), torch.zeros(64)
    kernel(a, b, grid=1)
    assert torch.equal(b, 2 * a)
    c = torch.zeros(64)
    pyhip.module(source).double([1], [64], a.data_ptr(), c.data_ptr())
    assert torch.equal(c, b)


@pytest.mark.needs("iree")
def test_errors_of_mlir() -> None:
    with pytest.raises(wave_runtime.CompileError, match=r"(?s)the mlir source does not compile for gfx942.*error:"):
        wave_runtime.compile("module { broken }", language="mlir")
    with pytest.raises(wave_runtime.CompileError, match=r"expected an MLIR program with one executable, .* 0: none"):
        wave_runtime.compile("module { func.func @main() { return } }", language="mlir")
    with pytest.raises(wave_runtime.CompileError, match="MLIR has neither macros nor includes"):
        wave_runtime.compile(DOUBLE, language="mlir", defines={"A": 1})


def test_no_iree(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setattr(_mlir, "_of_package", lambda: None)
    monkeypatch.delenv("IREE_COMPILE", raising=False)
    monkeypatch.setenv("PATH", str(tmp_path))
    with pytest.raises(wave_runtime.CompileError, match=r"no compiler for MLIR; .*pip install iree-base-compiler"):
        wave_runtime.compile(DOUBLE, language="mlir")


def test_a_variable_names_a_program(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """By its path, or as PATH has it."""
    for variable, find in (("NVCC", _cuda.find_nvcc), ("IREE_COMPILE", _mlir.find)):
        program = tmp_path / variable.lower()
        program.touch(mode=0o755)
        monkeypatch.setenv("PATH", str(tmp_path))
        for name in (str(program), program.name):
            monkeypatch.setenv(variable, name)
            found = find()
            assert found is not None
            assert found.path == str(program)
        monkeypatch.setenv(variable, "nowhere")
        with pytest.raises(wave_runtime.CompileError, match=f"{variable}=nowhere: there is no such program; name the"):
            find()
