"""What tests need beyond what the README asks for, and what becomes of them where it is missing.

All skips are made here (test_layout.py). A test that needs something has the mark ``needs`` with its name, or calls
``need``; a test that would lack nothing does not apply.
"""

from __future__ import annotations

import functools
import importlib.metadata
import importlib.util
import os
import shutil
import socket
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any, NamedTuple, NoReturn

import pytest
import torch

import wave_runtime
from wave_emulator import _toolchain
from wave_runtime._compile import _clang, _cuda
from wave_runtime._emulate import TRITON
from wave_runtime.compat.vendors import _sycl

HIP_LIBRARY = "libamdhip64.so.5"  # Debian's; others are the driver's own to open


class Requirement(NamedTuple):
    """Something that a machine has or lacks.

    Attributes:
        find: what there is of it; something false where it is missing.
        what: it, and how to get it.
    """

    find: Callable[[], Any]
    what: str


def absent(name: str, reason: str = "") -> NoReturn:
    """Skip a test that needs what is not there; fail it where WAVE_RUNTIME_REQUIRE lists the requirement."""
    reason = reason or f"needs {REQUIREMENTS[name].what}"
    assert name in REQUIREMENTS
    if name in required():
        pytest.fail(f"{reason}, but WAVE_RUNTIME_REQUIRE lists {name}")
    does_not_apply(reason)


def does_not_apply(reason: str) -> NoReturn:
    """Skip a test that would lack nothing: what it tests is not a matter of this driver, processor or torch."""
    raise pytest.skip.Exception(reason, _use_item_location=True)  # the summary names the test, not this line


def need(name: str) -> Any:
    """What there is of a requirement; the test is skipped where that is nothing."""
    return REQUIREMENTS[name].find() or absent(name)


def hip_headers(header: str) -> list[Path]:
    """Those folders of HIP's headers that have this one, which not all do; the test is skipped where there are none."""
    return [folder for folder in need("hip-headers") if (folder / header).exists()] or absent("hip-headers")


def required() -> list[str]:
    """The requirements that this run must not lack. Raises UsageError for one that is none."""
    names = [name for name in os.environ.get("WAVE_RUNTIME_REQUIRE", "").split(",") if name]
    if unknown := sorted(set(names) - set(REQUIREMENTS)):
        raise pytest.UsageError(f"WAVE_RUNTIME_REQUIRE lists {unknown}, but there are {sorted(REQUIREMENTS)}")
    return names


def _program(*names: str) -> Callable[[], str | None]:
    return lambda: next(filter(None, map(shutil.which, names)), None)


def _packages(*names: str) -> Callable[[], bool]:
    """Whether these packages, or modules of packages, can be imported."""

    def find() -> bool:
        parents = [name.rpartition(".")[0] for name in names]
        return all(importlib.util.find_spec(name) for name in (*filter(None, parents), *names))

    return find


def _triton() -> bool:
    """Whether there is the release of Triton whose interface to drivers emulate() has."""
    return _packages("triton.runtime")() and importlib.metadata.version("triton").startswith(f"{TRITON}.")


def _compiler(find: Callable[[], Any]) -> Callable[[], Any]:
    """What wave_runtime.compile() finds."""

    def found() -> Any:
        try:
            return find()
        except wave_runtime.CompileError:
            return None

    return found


@functools.cache
def _linker(clang: str) -> str | None:
    """The lld that a clang calls."""
    asked = subprocess.run([clang, "-print-prog-name=ld.lld"], capture_output=True, text=True)
    return shutil.which(asked.stdout.strip())


def _clang_and_lld() -> str | None:
    """The path of the clang that compile() takes."""
    found = _compiler(_clang.find)()
    return found.path if found is not None and _linker(found.path) else None


def _llvm() -> str | None:
    from isa.llvm import find_library  # tests/isa/conftest.py makes it importable

    return find_library()


def _runs(code: str) -> Callable[[], bool]:
    """Whether code ends well in a process of its own: one process opens one HIP library."""

    @functools.cache
    def find() -> bool:
        environment = {**os.environ, "PYTHONPATH": os.pathsep.join(filter(None, sys.path))}
        return subprocess.run([sys.executable, "-c", code], env=environment, capture_output=True).returncode == 0

    return find


def _folders_with(header: str, variable: str, *folders: Path) -> list[Path]:
    """Those of the folders, and of those that the variable names, that have a header."""
    named = [Path(path) for path in os.environ.get(variable, "").split(os.pathsep) if path]
    return [folder for folder in (*named, *folders) if (folder / header).exists()]


def _hip_headers() -> list[Path]:
    """Folders: those of WAVE_RUNTIME_TEST_HIP_HEADERS, ROCM_PATH's, Debian's, the triton wheel's."""
    rocm = Path(os.environ.get("ROCM_PATH", "/opt/rocm")) / "include"
    wheels = [Path(path) / "triton/backends/amd/include" for path in sys.path]
    return _folders_with("hip/hip_runtime_api.h", "WAVE_RUNTIME_TEST_HIP_HEADERS", rocm, Path("/usr/include"), *wheels)


_BESIDE_CLANG = ("clang-offload-bundler", "llvm-objcopy")


def _hip_compiler() -> bool:
    """Whether there is what wave_emulator/_toolchain.py takes together."""
    programs = ("clang++-19", "ld.lld-19", *(f"/usr/lib/llvm-19/bin/{name}" for name in _BESIDE_CLANG))
    return all(map(shutil.which, programs)) and _toolchain.HEADERS.is_dir() and _toolchain.bitcode_folders() != []


def _cuda_headers() -> list[Path]:
    """Folders: those of WAVE_RUNTIME_TEST_CUDA_HEADERS, CUDA_HOME's, the toolkit's, those of wheels."""
    home = Path(os.environ.get("CUDA_HOME", "/usr/local/cuda")) / "include"
    packages = ("triton/backends/nvidia/include", "nvidia/cu13/include", "nvidia/cuda_runtime/include")
    wheels = [Path(path) / package for path in sys.path for package in packages]
    return _folders_with("cuda.h", "WAVE_RUNTIME_TEST_CUDA_HEADERS", home, *wheels)


def _gpus(vendor: str | None) -> int:
    return torch.cuda.device_count() if vendor is not None and torch.cuda.is_available() else 0


def _two_of_a_kind() -> bool:
    return torch.cuda.device_count() > 1 and len({torch.cuda.get_device_capability(i) for i in (0, 1)}) == 1


def _can_meet() -> bool:
    """Whether there is a loopback interface, where processes can meet."""
    try:
        with socket.create_server(("127.0.0.1", 0)) as server:
            socket.create_connection(server.getsockname(), timeout=10).close()
    except OSError:
        return False
    return True


REQUIREMENTS = {
    "chromium": Requirement(_program("chromium"), "Chromium: apt-get install chromium"),
    "clang": Requirement(_clang_and_lld, "a clang that compile() takes, and its lld: apt-get install clang-22 lld-22"),
    "clang-19": Requirement(_program("clang-19"), "clang-19, and its lld: apt-get install clang-19 lld-19"),
    "clang-22": Requirement(_program("clang-22"), "clang-22, and its lld: apt-get install clang-22 lld-22"),
    "clang-offload-bundler": Requirement(
        _program("clang-offload-bundler", *(f"clang-offload-bundler-{n}" for n in range(25, 16, -1))),
        "clang-offload-bundler: apt-get install clang-tools-22",
    ),
    "cmake": Requirement(_program("cmake"), "CMake: apt-get install cmake"),
    "csmith": Requirement(_program("csmith"), "Csmith: apt-get install csmith libcsmith-dev"),
    "cuda": Requirement(lambda: _gpus(torch.version.cuda), "an NVIDIA GPU and a torch built for CUDA"),
    "cuda-compiler": Requirement(_compiler(_cuda.find), "nvcc (the CUDA toolkit) or NVRTC (nvidia-cuda-nvrtc)"),
    "cuda-headers": Requirement(_cuda_headers, "cuda.h: the CUDA toolkit, or nvidia-cuda-runtime from PyPI"),
    "flydsl": Requirement(_packages("flydsl"), "FlyDSL: make flydsl"),
    "hip": Requirement(lambda: _gpus(torch.version.hip), "an AMD GPU and a torch built for ROCm"),
    "hip-headers": Requirement(_hip_headers, "HIP's headers: apt-get install libamdhip64-dev"),
    "hip-compiler": Requirement(
        _hip_compiler,
        "a compiler of HIP programs: apt-get install clang-19 clang-tools-19 lld-19 llvm-19 libamdhip64-dev "
        "rocm-device-libs",
    ),
    "hip-library": Requirement(
        _runs(f"import ctypes; ctypes.CDLL({HIP_LIBRARY!r})"), f"{HIP_LIBRARY}: apt-get install libamdhip64-5"
    ),
    "hiprtc": Requirement(
        _runs("from wave_runtime._compile import _hiprtc; assert _hiprtc._library()"),
        "hipRTC: apt-get install libamdhip64-5",
    ),
    "iree": Requirement(_packages("iree.compiler", "iree.runtime"), "IREE's compiler and runtime: make wave"),
    "jupyter": Requirement(_packages("nbconvert", "ipykernel"), "Jupyter: pip install nbconvert ipykernel"),
    "llc": Requirement(_program("llc-22"), "llc-22: apt-get install llvm-22"),
    "lld": Requirement(_program("ld.lld-22", "ld.lld"), "lld: apt-get install lld-22"),
    "llvm": Requirement(_llvm, "libLLVM 22: apt-get install libllvm22"),
    "loopback": Requirement(_can_meet, "a loopback interface, where processes can meet"),
    "mkdocs": Requirement(_packages("mkdocs", "material"), "MkDocs and its theme: make docs"),
    "nvcc": Requirement(_cuda.find_nvcc, "nvcc: the CUDA toolkit"),
    "nvrtc": Requirement(_cuda.find_nvrtc, "NVRTC: pip install nvidia-cuda-nvrtc"),
    "pyhip": Requirement(_packages("pyhip"), "PyHIP: see CONTRIBUTING.md"),
    "rocm-libraries": Requirement(
        _runs("import ctypes; ctypes.CDLL('librocsparse.so.0'); ctypes.CDLL('librocrand.so.1')"),
        "rocSPARSE and rocRAND of ROCm 5: apt-get install librocsparse0 librocrand1",
    ),
    "sycl": Requirement(_sycl.find_cpu, "Intel's SYCL runtime and its device for CPUs: make sycl"),
    "triton": Requirement(_triton, f"Triton {TRITON}: make triton"),
    "two-gpus": Requirement(_two_of_a_kind, "two GPUs of one kind"),
    "wave-lang": Requirement(_packages("wave_lang", "iree.compiler", "iree.runtime"), "wave-lang: make wave"),
}
