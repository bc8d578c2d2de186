"""A model with CUDA kernels, exported: it runs in a process that knows the operator library only, and as a package of
AOTInductor in C++ without Python."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path

import pytest
import torch
from requirements import need
from support import ROOT
from torch.utils import cpp_extension

import wave_emulator
from wave_runtime import _abi

pytestmark = pytest.mark.gpu

SCRIPT = Path(__file__).with_name("export_model.py")
DEVICE = "cuda"
TIMEOUT = 300


def attempt(command: Sequence[str | Path]) -> str | None:
    """Run a process. Returns None where it succeeds, else how it ended: a negative status is a signal's."""
    environment = {**os.environ, "PYTHONPATH": str(ROOT)}
    try:
        done = subprocess.run(command, cwd=ROOT, env=environment, capture_output=True, text=True, timeout=TIMEOUT)
    except subprocess.TimeoutExpired:
        return f"{command}: took longer than {TIMEOUT} s"
    if done.returncode == 0:
        return None
    return f"{command}: exit status {done.returncode}\n{done.stdout[-2000:]}{done.stderr[-4000:]}"


def step(name: str, folder: Path) -> str | None:
    return attempt([sys.executable, SCRIPT, name, DEVICE, folder])


def expect_success(failure: str | None) -> None:
    assert failure is None, failure


def not_verified(what: str, ours: str, control: str | None) -> None:
    """Fail; but where torch's own model without our kernels fails as well, say that nothing can be said."""
    if control is None:
        pytest.fail(f"{what} fails with our kernels, and not for x.sin():\n{ours}")
    pytest.xfail(
        f"NOT VERIFIED: {what} fails in this torch ({torch.__version__}) even for x.sin():\n{control}\n---\n{ours}"
    )


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The exported program and its inputs."""
    if DEVICE == "cuda":
        need("cuda")
        need("cuda-compiler")
    folder = tmp_path_factory.mktemp("export")
    expect_success(step("export", folder))
    return folder


def test_program_in_another_process(folder: Path) -> None:
    expect_success(step("run_program", folder))


def build_program(folder: Path) -> Path:
    """examples/cpp/run_package.cpp; not by CMake, since Torch's files for it look for a CUDA toolkit."""
    program = folder / "run_package"
    includes = [f"-isystem{path}" for path in cpp_extension.include_paths()]
    folders = [*cpp_extension.library_paths(), _abi.folder(), wave_emulator.library("wave_launch").parent]
    gpu = ["-ltorch_cuda", "-lc10_cuda"] if DEVICE == "cuda" else []
    ours = ["-lwave_runtime", "-lwave_launch", "-lwave_emulator"]
    link = [f"{option}{path}" for path in folders for option in ("-L", "-Wl,-rpath,")]
    # The libraries register what they have when they are loaded. What they need themselves they find.
    link += [
        "-Wl,--no-as-needed,--unresolved-symbols=ignore-in-shared-libs",
        *gpu,
        "-ltorch",
        "-ltorch_cpu",
        "-lc10",
        *ours,
    ]
    source = ROOT / "examples/cpp/run_package.cpp"
    expect_success(attempt(["g++", "-std=c++20", "-O1", *includes, source, "-o", program, *link]))
    return program


def test_package_in_cpp(folder: Path) -> None:
    if (failure := step("package", folder)) is not None:
        not_verified("aoti_compile_and_package", failure, step("package_sine", folder))
    program = build_program(folder)
    for index in range(3):
        files = [folder / f"{name}{index}.pt" for name in ("inputs", "outputs")]
        if (failure := attempt([program, folder / "model.pt2", *files])) is not None:
            control = step("package_sine", folder) or attempt([program, folder / "sine.pt2", *files])
            not_verified("the C++ loader of packages", failure, control)
    expect_success(step("compare_outputs", folder))
