"""Extensions of torch with kernels and host code, which torch.utils.cpp_extension builds under emulate()."""

from __future__ import annotations

import importlib
import os
import re
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from support import ROOT

import wave_runtime
from wave_emulator import _toolchain
from wave_runtime._emulate import _extensions, _torch_headers

SOURCES = ROOT / "tests" / "torch_extension"
BOTH = ("gfx942", "gfx1100")
SIDES = (-3.0, -0.5, -1e-3, 1e-3, 0.5, 3.0)


def python(*words: object, cwd: Path, **variables: str) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, *map(str, words)]
    path = f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}"  # there is ninja
    environment = {**os.environ, "PYTHONPATH": str(ROOT), "PATH": path} | variables
    return subprocess.run(command, cwd=cwd, env=environment, capture_output=True, text=True, timeout=600)


@pytest.fixture(scope="module")
def variables(tmp_path_factory: pytest.TempPathFactory) -> dict[str, str]:
    return {"WAVE_RUNTIME_CACHE_DIR": str(tmp_path_factory.mktemp("cache"))}


@pytest.fixture(scope="module")
def built(variables: dict[str, str], tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The folder of an extension that its setup.py has built, for two processors."""
    folder = tmp_path_factory.mktemp("extension") / "sources"
    shutil.copytree(SOURCES, folder)
    build = ("-m", "wave_runtime", "emulate", "--", sys.executable, "setup.py", "build_ext", "--inplace")
    done = python(*build, cwd=folder, PYTORCH_ROCM_ARCH=";".join(BOTH), **variables)
    assert done.returncode == 0, done.stdout + done.stderr
    return folder


def check(built: Path, what: str, *options: str, command: str = "emulate") -> subprocess.CompletedProcess[str]:
    return python("-m", "wave_runtime", command, *options, "--", sys.executable, "check.py", what, cwd=built)


@pytest.mark.needs("hip-compiler")
@pytest.mark.parametrize("target", BOTH)
def test_a_setup_py_builds_what_runs(built: Path, target: str) -> None:
    done = check(built, "results", "--target", target)
    assert done.returncode == 0, done.stderr


@pytest.mark.needs("hip-compiler")
@pytest.mark.parametrize("what", ["products", "random_numbers", "devices", "forked_children"])
def test_what_torch_has_besides(built: Path, what: str) -> None:
    done = check(built, what)
    assert done.returncode == 0, done.stderr


@pytest.mark.needs("hip-compiler")
def test_kernels_do_not_leave_their_tensors(built: Path) -> None:
    done = check(built, "behind_the_end")
    assert done.returncode == 1
    assert "HIP error: an illegal memory access was encountered" in done.stderr
    assert re.search(r"count_values.* 4 bytes past the end of the hipMalloc at .*, which has 20 bytes", done.stderr)


@pytest.mark.needs("hip-compiler")
def test_linkers_do_not_leave_the_library_out(built: Path, variables: dict[str, str], tmp_path: Path) -> None:
    """By which tensors have bounds, of an extension that calls nothing of it: Ubuntu's link what is needed alone."""
    (home,) = Path(variables["WAVE_RUNTIME_CACHE_DIR"]).glob("torch_hip/*/")
    (tmp_path / "source.cpp").write_text("#include <torch/headeronly/core/DeviceType.h>\n")
    options = [f"-I{home / 'include'}", f"-I{_torch_headers.FOLDER}", f"-L{home / 'lib'}", "-Wl,--as-needed", "-o"]
    command = ["c++", "-std=c++20", "-shared", "-fPIC", "source.cpp", *options, "linked.so", "-lc10_hip"]
    subprocess.run(command, cwd=tmp_path, check=True)
    load = "import ctypes, torch; ctypes.CDLL('./linked.so'); print(open('/proc/self/maps').read())"
    done = python("-c", load, cwd=tmp_path)
    assert f"{home}/lib/libwave_torch_hip.so" in done.stdout, done.stderr


@pytest.mark.needs("hip-compiler")
def test_the_sanitizer_names_the_line(built: Path) -> None:
    done = check(built, "behind_the_end", "--tools", "memory", command="sanitize")
    lines = (built / "kernels.hip").read_text().splitlines()
    (line,) = (number for number, text in enumerate(lines, 1) if "gpuAtomicAdd(" in text)
    assert done.returncode == 1
    assert "returned [0.0, 0.0" in done.stdout
    assert "[memory:out-of-bounds]" in done.stderr
    assert re.search(rf"inlined into count_values<c10::Half> \(.*kernels.hip:{line}\)", done.stderr)


@pytest.mark.needs("hip-compiler")
def test_load_builds_what_uses_the_stable_abi(variables: dict[str, str], tmp_path: Path) -> None:
    shutil.copy(SOURCES / "stable.cu", tmp_path)
    code = """
import torch, wave_runtime
with wave_runtime.emulate("gfx1201"):
    from torch.utils.cpp_extension import load
    load("loaded_extension", ["stable.cu"], is_python_module=False, extra_cflags=["-DUSE_CUDA"])
    assert torch.ops.loaded_extension.filled(torch.zeros(100, device="cuda"), 2.5).tolist() == [2.5] * 100
"""
    done = python("-c", code, cwd=tmp_path, TORCH_EXTENSIONS_DIR=str(tmp_path / "built"), **variables)
    assert done.returncode == 0, done.stderr


@pytest.mark.needs("hip-compiler")
@pytest.mark.needs("cmake")
def test_cmake_builds_what_runs(variables: dict[str, str], tmp_path: Path) -> None:
    shutil.copytree(SOURCES / "cmake", tmp_path, dirs_exist_ok=True)
    prefix = "import torch; print(torch.utils.cmake_prefix_path)"
    # A project finds the torch of the emulation, whichever it is pointed to.
    configure = f'cmake -B build -G Ninja -DCMAKE_PREFIX_PATH="{_torch_headers.FOLDER.parent / "share" / "cmake"}"'
    install = "cmake --build build; cmake --install build --prefix installed"  # which takes paths of libraries out
    script = f'set -e; {configure}; {install}; "{sys.executable}" -c "{prefix}"'
    emulated = ("-m", "wave_runtime", "emulate", "--target", "gfx1151", "--")
    done = python(*emulated, "sh", "-c", script, cwd=tmp_path, **variables)
    assert done.returncode == 0, done.stdout + done.stderr
    (home,) = Path(variables["WAVE_RUNTIME_CACHE_DIR"]).glob("torch_hip/*/")
    assert done.stdout.splitlines()[-1] == f"{home}/share/cmake"
    code = """
import torch
torch.ops.load_library("installed/libbuilt_by_cmake.so")
assert torch.ops.built_by_cmake.doubled(torch.arange(1000.0, device="cuda")).tolist() == list(range(0, 2000, 2))
"""
    done = python(*emulated, sys.executable, "-c", code, cwd=tmp_path, **variables)
    assert done.returncode == 0, done.stderr
    libraries = str(_torch_headers.FOLDER.parent / "lib")
    done = python(*emulated, "installed/program", cwd=tmp_path, LD_LIBRARY_PATH=libraries, **variables)
    assert done.stdout == "999000 on 1 GPU\n", done.stderr


@pytest.mark.needs("hip-compiler")
@pytest.mark.parametrize(("target", "waves"), [("gfx942", 64), ("gfx1100", 32)])
def test_packages_ask_rocm_before_they_build(
    target: str, waves: int, hip_toolchain: Path, empty_cache: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Which release it is, in ROCM_HOME, and what GPU there is: before a first build has made the rest."""
    monkeypatch.setenv("ROCM_PATH", str(hip_toolchain))
    monkeypatch.delenv("ROCM_HOME", raising=False)
    with wave_runtime.emulate(target):
        home = Path(state()["ROCM_HOME"])
        release = (home / ".info" / "version").read_text().strip()
        hipcc = subprocess.run([home / "bin" / "hipcc", "--version"], capture_output=True, text=True, check=True)
        rocminfo = subprocess.run(["rocminfo"], capture_output=True, text=True, check=True)
    assert re.fullmatch(r"\d+\.\d+\.\d+", release)
    assert hipcc.stdout.startswith(f"HIP version: {release}\n")
    assert re.findall(r"gfx\S+", rocminfo.stdout) == [target]
    assert re.findall(r"Wavefront Size:\s+(\d+)", rocminfo.stdout) == [str(waves)]
    assert not (home / "include").exists()


def state() -> dict[str, Any]:
    module = importlib.import_module(_extensions.MODULE)
    return {
        name: getattr(module, name) for name in ("IS_HIP_EXTENSION", "ROCM_HOME", "COMMON_HIP_FLAGS", "include_paths")
    }


@pytest.mark.parametrize("is_imported", [False, True])
def test_all_is_as_it_was_behind_it(is_imported: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    before, variables, packages = state(), dict(os.environ), torch.utils.cmake_prefix_path
    finders = list(sys.meta_path)
    with monkeypatch.context() as patch:
        if not is_imported:
            patch.delitem(sys.modules, _extensions.MODULE)
        with wave_runtime.emulate("gfx942"):
            within = state()
            assert within["IS_HIP_EXTENSION"] is True
            assert within["ROCM_HOME"] is not None
            assert torch.utils.cmake_prefix_path != packages
            assert os.environ[_extensions.TORCH_ROOT] == within["ROCM_HOME"]
        assert not state()["IS_HIP_EXTENSION"]
    assert state() == before
    assert dict(os.environ) == variables
    assert torch.utils.cmake_prefix_path == packages
    assert sys.meta_path == finders


@pytest.fixture
def include_paths(monkeypatch: pytest.MonkeyPatch, tmp_path: Path, empty_cache: Path) -> Any:
    """What asks for the folder, in an emulation, with headers of HIP that are none."""
    monkeypatch.setenv("ROCM_HOME", str(tmp_path / "rocm"))
    headers = tmp_path / "rocm" / "include" / "hip"
    headers.mkdir(parents=True)
    (headers / "hip_runtime.h").write_text("")
    release = {"MAJOR": 6, "MINOR": 3, "PATCH": 0}
    (headers / "hip_version.h").write_text("".join(f"#define HIP_VERSION_{part} {n}\n" for part, n in release.items()))
    (tmp_path / "rocm" / "bin").mkdir()
    (tmp_path / "rocm" / "bin" / "hipcc").touch()
    with wave_runtime.emulate("gfx942"):
        yield lambda: importlib.import_module(_extensions.MODULE).include_paths("cuda")


@pytest.mark.parametrize("part", ["include/hip/hip_runtime.h", "include/hip/hip_version.h", "bin/hipcc"])
def test_a_folder_that_is_not_rocms(part: str, include_paths: Any, tmp_path: Path) -> None:
    (tmp_path / "rocm" / part).unlink()
    with pytest.raises(RuntimeError, match=rf"/rocm has no {part}, .* folder in ROCM_PATH, or none"):
        include_paths()


def test_a_folder_without_a_release(include_paths: Any, tmp_path: Path) -> None:
    """As a header is that includes another. What is emulated besides goes on."""
    (tmp_path / "rocm" / "include" / "hip" / "hip_version.h").write_text('#include "../../../hip_version.h"\n')
    with pytest.raises(RuntimeError, match=r"hip_version.h does not say which release it is of: name ROCm's folder"):
        include_paths()


@pytest.mark.needs("clang")
@pytest.mark.parametrize("has_hipcc", [False, True])
def test_without_any_folder_of_hip(
    has_hipcc: bool, monkeypatch: pytest.MonkeyPatch, tmp_path: Path, empty_cache: Path
) -> None:
    """What stands in for ROCm's folder is made, of packages that are not there: also where there is but a compiler."""
    if has_hipcc:
        (tmp_path / "rocm" / "bin").mkdir(parents=True)
        (tmp_path / "rocm" / "bin" / "hipcc").touch()
    for name in ("ROCM_HOME", "ROCM_PATH"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setattr(_extensions, "_ROCM", tmp_path / "rocm")
    monkeypatch.setattr(_toolchain, "HEADERS", tmp_path / "hip")
    monkeypatch.setattr(_toolchain, "BITCODE", (str(tmp_path / "bitcode"),))
    (tmp_path / "bitcode").mkdir()
    with wave_runtime.emulate("gfx942"):
        paths = importlib.import_module(_extensions.MODULE).include_paths
        with pytest.raises(RuntimeError, match=r"Debian or Ubuntu, .*/hip is missing: apt-get install libamdhip64-dev"):
            paths("cuda")


def test_headers_that_do_not_compile(include_paths: Any, tmp_path: Path) -> None:
    (tmp_path / "rocm" / "include" / "hip" / "hip_runtime.h").write_text("#error no header of HIP's\n")
    expected = r"library.cpp does not compile for torch 2(?s:.*)no header of HIP's(?s:.*)The command was: "
    with pytest.raises(wave_runtime.CompileError, match=expected):
        include_paths()


@pytest.mark.needs("cmake")
def test_cmake_is_told_why_there_is_no_torch(include_paths: Any, tmp_path: Path) -> None:
    importlib.import_module(_extensions.MODULE)
    (tmp_path / "rocm" / "include" / "hip" / "hip_runtime.h").write_text("#error no header of HIP's\n")
    (tmp_path / "find.cmake").write_text("cmake_policy(VERSION 3.18)\nfind_package(Torch REQUIRED)\n")
    done = subprocess.run(["cmake", "-P", tmp_path / "find.cmake"], capture_output=True, text=True)
    assert done.returncode != 0
    assert re.search(r"prepared for the emulated GPU:\s+.*does not compile(?s:.*)no header of HIP's", done.stderr)


def test_another_torchs_headers(include_paths: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(_torch_headers.CHANGES, "c10/core/Device.h", [("no such line", "", 1)])
    with pytest.raises(RuntimeError, match=r"Device.h there is 'no such line' 0 times, where 1 were expected"):
        include_paths()


def test_a_torch_that_is_too_old(include_paths: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(_extensions.hipify, "__version__", "1.0.0")
    with pytest.raises(RuntimeError, match=r"extensions with kernels need torch 2\.11 or later"):
        include_paths()


def test_a_header_that_was_not_converted(tmp_path: Path) -> None:
    """As one is whose name hipify does not know: it says what to do."""
    (tmp_path / "types.inl").write_text("#include <ATen/cuda/CUDAContext.h>\n")
    (tmp_path / "source.cpp").write_text('#include "types.inl"\n')
    ours = Path(_extensions.__file__).with_name("torch_hip") / "include"
    options = ("-std=c++20", "-fsyntax-only", "-fmax-errors=1", f"-I{ours}", f"-I{_torch_headers.FOLDER}")
    done = subprocess.run(["c++", *options, tmp_path / "source.cpp"], capture_output=True, text=True)
    assert done.returncode != 0
    assert "types.inl:1" in done.stderr
    assert "files whose names end in .h, .hpp or .cuh" in done.stderr


def test_complex_numbers_are_those_of_numpy(tmp_path: Path) -> None:
    """Where rocThrust's are not installed: on all four sides of each cut."""
    program = tmp_path / "complex_numbers"
    stand_ins = Path(_extensions.__file__).with_name("torch_hip") / "stand_ins"
    source = SOURCES / "complex_numbers.cpp"
    subprocess.run(["c++", "-std=c++17", "-O1", f"-I{stand_ins}", source, "-o", program], check=True)
    random = np.random.default_rng(0)
    parts = np.concatenate([random.normal(0, 2, (300, 2)), [(a, b) for a in SIDES for b in SIDES]])
    text = "".join(f"{re!r} {im!r}\n" for re, im in parts.tolist())
    done = subprocess.run([program], input=text, capture_output=True, text=True, check=True)
    results = np.array([line.split() for line in done.stdout.splitlines()], float).view(complex)
    z, w = parts[:, 0] + 1j * parts[:, 1], parts[:, 1] + 2 + 1j * parts[:, 0]
    first = (np.exp, np.log, np.log10, np.sqrt, lambda z: z**w, np.sin, np.cos, np.tan, np.arcsin, np.arccos, np.arctan)
    others = (np.sinh, np.cosh, np.tanh, np.arcsinh, np.arccosh, np.arctanh)
    expected = [z * w, z / w, *(function(z) for function in (*first, *others)), np.abs(z) + 1j * np.angle(z)]
    np.testing.assert_allclose(results, np.array(expected).T, rtol=1e-12, atol=1e-12)
