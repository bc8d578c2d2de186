"""AOTInductor's packages run in processes that know the operator library only: in Python, and in C++ without Python."""

from __future__ import annotations

import os
import re
import subprocess
import zipfile
from pathlib import Path

import pytest
import torch
from export_support import ONLY_LIBRARY, PACKAGE, run_elsewhere

import wave_runtime


def code_of(package: Path) -> str:
    """What AOTInductor generated to run the model."""
    with zipfile.ZipFile(package) as archive:
        (name,) = (name for name in archive.namelist() if name.endswith("wrapper.cpp"))
        return archive.read(name).decode().split("::run_impl(")[1].split("// AOTInductorModel::run_impl")[0]


def test_in_another_process(package: Path, cases_file: Path) -> None:
    run_elsewhere(PACKAGE, ONLY_LIBRARY, package, cases_file)


def test_nothing_is_copied(package: Path) -> None:
    code = code_of(package)
    assert code.count("aoti_torch_proxy_executor_call_function(") == 6, "a call for each launch, and no other"
    assert not re.search("clone|copy_", code.replace("_to_copy", "")), code


def test_in_cpp(programs: Path, package: Path, cases_file: Path, tmp_path: Path) -> None:
    program = programs / "run_package"
    for index, (inputs, expected) in enumerate(torch.load(cases_file)):
        files = [tmp_path / f"{name}{index}" for name in ("inputs", "outputs")]
        torch.save(list(inputs), files[0])
        environment = {**os.environ, "LD_DEBUG": "files", "LD_DEBUG_OUTPUT": str(tmp_path / "libraries")}
        done = subprocess.run([program, package, *files], env=environment, capture_output=True, text=True)
        assert done.returncode == 0, done.stderr
        torch.testing.assert_close(torch.load(files[1]), expected, rtol=0, atol=0)
    libraries = "".join(file.read_text() for file in tmp_path.glob("libraries*"))
    assert "libwave_runtime.so" in libraries
    assert "python" not in re.sub(r"/\S*/", "", libraries), "but for the folders where torch may lie"

    done = subprocess.run([program, package, package, files[1]], capture_output=True, text=True)
    assert (done.returncode, done.stderr[:13]) == (1, "run_package: ")
    done = subprocess.run([program, package, "nosuch.pt", files[1]], capture_output=True, text=True)
    assert (done.returncode, done.stderr) == (1, "run_package: cannot open nosuch.pt\n")


def test_operators_called_as_such(vector_add: wave_runtime.Kernel, tmp_path: Path) -> None:
    """torch.ops.wave.launch and a kernel's own operator find their kernels in the process, but not in packages."""
    add = vector_add.as_operator("export_test::add", block=256)

    class Twice(torch.nn.Module):
        def forward(self, a: torch.Tensor, b: torch.Tensor) -> torch.Tensor:
            n = a.shape[0]
            sums = torch.empty_like(a), torch.empty_like(a)
            torch.ops.wave.launch(vector_add.handle, [a, b], [sums[0]], [n], [], [(n + 255) // 256], [256])
            add(sums[0], b, sums[1], n, grid_x=(n + 255) // 256)
            return sums[1]

    size = torch.export.Dim("size", min=2, max=4096)
    example = (torch.randn(500), torch.randn(500))
    program = torch.export.export(Twice(), example, dynamic_shapes={"a": {0: size}, "b": {0: size}})
    torch._inductor.aoti_compile_and_package(program, package_path=str(tmp_path / "model.pt2"))
    a, b = torch.randn(777), torch.randn(777)
    torch.save([((a, b), a + b + b)], tmp_path / "cases")
    run_elsewhere(PACKAGE, ONLY_LIBRARY, tmp_path / "model.pt2", tmp_path / "cases")


def test_parameters_that_require_grad(vector_add: wave_runtime.Kernel, tmp_path: Path) -> None:
    """A package computes no gradients, so that nobody need say torch.no_grad() while it is compiled."""

    class Bias(torch.nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.bias = torch.nn.Parameter(torch.randn(100))

        def forward(self, a: torch.Tensor) -> torch.Tensor:
            with torch.no_grad():
                c = torch.empty_like(a)
                vector_add(a, self.bias, c, 100, grid=1, block=256)
            return c

    model, a = Bias(), torch.randn(100)
    program = torch.export.export(model, (a,))
    path = torch._inductor.aoti_compile_and_package(program, package_path=str(tmp_path / "model.pt2"))
    assert torch.equal(torch._inductor.aoti_load_package(path)(a), a + model.bias)


@pytest.mark.needs("clang")
def test_kernels_without_ints(tmp_path: Path) -> None:
    """Packages lose lists of ints that have no items."""
    source = """
    extern "C" __global__ void fill(float* out) { out[threadIdx.x] = 7; }
    extern "C" __global__ void fill_with(float* out, float value) { out[threadIdx.x] = value; }
    extern "C" __global__ void copy(float* out, const float* in) { out[threadIdx.x] = in[threadIdx.x]; }
    """
    module = wave_runtime.compile(source, language="hip")
    fill, fill_with, copy = module["fill"], module["fill_with"], module["copy"]

    class Fill(torch.nn.Module):
        def forward(self, x: torch.Tensor) -> torch.Tensor:
            out = torch.empty(3, 64)
            fill(out[0], grid=1, block=64)
            fill_with(out[1], 2.5, grid=1, block=64)
            copy(out[2], x, grid=1, block=64)
            return out

    x = torch.randn(64)
    expected = torch.stack([torch.full((64,), 7.0), torch.full((64,), 2.5), x])
    program = torch.export.export(Fill(), (x,))
    assert torch.equal(program.module()(x), expected)
    path = torch._inductor.aoti_compile_and_package(program, package_path=str(tmp_path / "model.pt2"))
    assert torch.equal(torch._inductor.aoti_load_package(path)(x), expected)
