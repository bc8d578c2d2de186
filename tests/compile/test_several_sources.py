"""Several sources as one module, and compilers that say what they do."""

from __future__ import annotations

from pathlib import Path

import pytest
import torch

import wave_runtime
from wave_runtime.__main__ import main

pytestmark = pytest.mark.usefixtures("few_headers")

USES = """
extern __device__ int counter;
__device__ float scaled(float x);
extern "C" __global__ void scale(const float* a, float* b, int n) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) b[i] = scaled(a[i]);
  if (i == 0) counter = n;
}
"""
HAS = """
__device__ int counter = 3;
__device__ __attribute__((noinline)) float scaled(float x) { return 2 * x; }
template <class T>
__global__ void count(T* out) { out[threadIdx.x] = T(counter); }
template __global__ void count<float>(float*);
"""
IR = """
target triple = "amdgcn-amd-amdhsa"
define float @_Z6scaledf(float %x) {
  %y = fmul float %x, 4.0
  ret float %y
}
@counter = addrspace(1) externally_initialized global i32 0
"""


@pytest.fixture(params=[pytest.param(name, marks=pytest.mark.needs(name)) for name in ("clang-19", "clang-22")])
def clang(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("CLANG", request.param)
    monkeypatch.setenv("WAVE_RUNTIME_CACHE_DIR", str(tmp_path / "cache"))


def scale_of(module: wave_runtime.Module, factor: float) -> None:
    a, b = torch.randn(100), torch.empty(100)
    module["scale"](a, b, 100, grid=2, block=64)
    assert torch.equal(b, factor * a)


@pytest.mark.usefixtures("clang")
def test_functions_and_variables_of_another(tmp_path: Path) -> None:
    """Both as files and as texts; kernels of both are found by their names, with the types of the source."""
    (tmp_path / "uses.hip").write_text(USES)
    for has in (HAS, tmp_path / "has.hip"):
        if isinstance(has, Path):
            has.write_text(HAS)
        module = wave_runtime.compile([tmp_path / "uses.hip", has])
        assert module["scale"].signature == "a: *f32 const, b: *f32, n: i32"
        assert module["count<float>"].signature == "out: *f32"
        scale_of(module, 2)
        out = torch.empty(2)
        module["count<float>"](out, grid=1, block=2)
        assert out.tolist() == [100, 100]
        assert module.symbol("counter", dtype=torch.int32).tolist() == [100]
    assert module.files[:2] == (str(tmp_path / "uses.hip"), str(tmp_path / "has.hip"))


@pytest.mark.usefixtures("clang")
def test_kept_until_one_of_them_changes(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "factor.h").write_text("#define FACTOR 2")
    (tmp_path / "has.hip").write_text(HAS.replace("2 * x", "FACTOR * x").replace("\n", '\n#include "factor.h"\n', 1))
    sources = [USES, tmp_path / "has.hip"]
    first = wave_runtime.compile(sources)
    scale_of(first, 2)
    assert wave_runtime.compile(sources).images == first.images
    (tmp_path / "factor.h").write_text("#define FACTOR 3")
    scale_of(wave_runtime.compile(sources), 3)
    (tmp_path / "has.hip").write_text(HAS.replace("2 * x", "5 * x"))
    scale_of(wave_runtime.compile(sources), 5)


@pytest.mark.usefixtures("clang")
def test_the_same_code_wherever_it_is_compiled() -> None:
    images = [wave_runtime.compile([USES, HAS], cache=False).images["gfx942"] for _ in range(2)]
    assert images[0] == images[1]


@pytest.mark.usefixtures("clang")
def test_llvm_ir(tmp_path: Path) -> None:
    (tmp_path / "scaled.ll").write_text(IR)
    scale_of(wave_runtime.compile([USES, tmp_path / "scaled.ll"], target="gfx942"), 4)


@pytest.mark.needs("clang")
def test_what_is_missing_is_said() -> None:
    message = r"with 1 more does not compile(.|\n)*undefined .*symbol: scaled"
    with pytest.raises(wave_runtime.CompileError, match=message):
        wave_runtime.compile([USES, "__device__ int counter;\n"])


@pytest.mark.needs("clang")
def test_what_cannot_be_linked(tmp_path: Path) -> None:
    (tmp_path / "kernel.s").write_text("")
    with pytest.raises(wave_runtime.CompileError, match=r"with 1 more: these sources cannot be linked .*: one is asm"):
        wave_runtime.compile([USES, tmp_path / "kernel.s"])
    with pytest.raises(ValueError, match="no source is given"):
        wave_runtime.compile([])


@pytest.mark.needs("clang")
def test_the_command(tmp_path: Path, capfd: pytest.CaptureFixture[str]) -> None:
    files = tmp_path / "uses.hip", tmp_path / "has.hip"
    for file, text in zip(files, (USES, HAS), strict=True):
        file.write_text(text)
    assert main(["compile", *map(str, files), "--verbose", "--no-cache"]) == 0
    told = capfd.readouterr()
    assert told.out.splitlines()[0] == str(tmp_path / "uses.hsaco")
    assert "-fgpu-rdc" in told.err
    assert set(wave_runtime.load(tmp_path / "uses.hsaco").kernels) == {"scale", "_Z5countIfEvPT_"}
    assert main(["compile", *map(str, files), "-o", str(tmp_path / "uses.s")]) == 2
    assert "assembly of one source" in capfd.readouterr().err


@pytest.mark.needs("nvcc")
def test_cuda(tmp_path: Path) -> None:
    module = wave_runtime.compile([USES, HAS], language="cuda", target="sm_90")
    assert set(module.kernels) == {"scale", "_Z5countIfEvPT_"}
    with pytest.raises(wave_runtime.CompileError, match=r"scaled"):
        wave_runtime.compile([USES, "__device__ int counter;\n"], language="cuda", target="sm_90")


@pytest.mark.needs("clang")
def test_verbose(capfd: pytest.CaptureFixture[str]) -> None:
    source = "#warning look here\n" + HAS
    wave_runtime.compile(source, cache=False)
    assert capfd.readouterr().err == ""
    wave_runtime.compile(source, cache=False, verbose=True)
    told = capfd.readouterr().err
    assert "look here" in told
    assert "--offload-arch=gfx942" in told
