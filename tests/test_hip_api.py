"""What the project declares of HIP's interface, against HIP's own headers and library where there are any."""

from __future__ import annotations

import importlib.util
import os
import re
import subprocess
import sys
from pathlib import Path

import pytest
from support import ROOT

SYMBOLS = (ROOT / "csrc" / "driver" / "hip" / "hip_symbols.inc").read_text()
LIBRARY = "libamdhip64.so.5"  # Debian's; others are the driver's own to open


def header_folders() -> list[Path]:
    """Those with hip/hip_runtime_api.h: WAVE_RUNTIME_TEST_HIP_HEADERS, ROCM_PATH, Debian's, the triton wheel's."""
    folders = [Path(p) for p in os.environ.get("WAVE_RUNTIME_TEST_HIP_HEADERS", "").split(os.pathsep) if p]
    folders += [Path(os.environ.get("ROCM_PATH", "/opt/rocm")) / "include", Path("/usr/include")]
    triton = importlib.util.find_spec("triton")
    if triton is not None and triton.submodule_search_locations:
        folders.append(Path(triton.submodule_search_locations[0]) / "backends" / "amd" / "include")
    return [folder for folder in folders if (folder / "hip" / "hip_runtime_api.h").exists()]


FOLDERS = header_folders()


def compile_against(folder: Path, sources: Path = ROOT / "csrc") -> subprocess.CompletedProcess[str]:
    command = ["g++", "-std=c++20", "-fsyntax-only", "-w", "-D__HIP_PLATFORM_AMD__", "-D__HIP_PLATFORM_HCC__"]
    if "hipDrvLaunchKernelEx" in (folder / "hip" / "hip_runtime_api.h").read_text():
        command.append("-DHIP_HAS_LAUNCH_EX")
    command += [f"-I{folder}", f"-I{sources}", str(ROOT / "tests" / "cpp" / "hip_types_test.cpp")]
    return subprocess.run(command, capture_output=True, text=True)


@pytest.mark.skipif(not FOLDERS, reason="no HIP headers (apt-get install libamdhip64-dev)")
@pytest.mark.parametrize("folder", FOLDERS, ids=str)
def test_types_and_signatures_agree_with_the_headers(folder: Path) -> None:
    done = compile_against(folder)
    assert done.returncode == 0, done.stderr


@pytest.mark.skipif(not FOLDERS, reason="no HIP headers (apt-get install libamdhip64-dev)")
@pytest.mark.parametrize(
    ("file", "right", "wrong"),
    [
        ("driver/hip/hip_symbols.inc", "hipInit, (unsigned flags)", "hipInit, (int flags)"),
        ("driver/hip/hip_types.h", "kMaxGridDimX = 29", "kMaxGridDimX = 30"),
        ("hip_emulator/functions.inc", "hipGraphLaunch, (GraphExec exec", "hipGraphLaunch, (Graph exec"),
    ],
)
def test_disagreement_is_found(tmp_path: Path, file: str, right: str, wrong: str) -> None:
    for path in (ROOT / "csrc").rglob("*"):
        if path.parent.name in {"hip", "hip_emulator"} and path.is_file():
            text = path.read_text()
            copy = tmp_path / path.relative_to(ROOT / "csrc")
            copy.parent.mkdir(parents=True, exist_ok=True)
            copy.write_text(text.replace(right, wrong) if copy == tmp_path / file else text)
    assert wrong in (tmp_path / file).read_text()
    assert compile_against(FOLDERS[0], tmp_path).returncode != 0


def in_child(code: str) -> str:
    """Runs code with `hip`, the real library, in a process of its own."""
    prologue = f"import ctypes; hip = ctypes.CDLL({LIBRARY!r})\n"
    done = subprocess.run([sys.executable, "-c", prologue + code], capture_output=True, text=True, timeout=120)
    assert done.returncode == 0, done.stderr
    return done.stdout


def is_installed() -> bool:
    try:
        in_child("")
    except AssertionError:
        return False
    return True


needs_library = pytest.mark.skipif(not is_installed(), reason=f"no {LIBRARY} (apt-get install libamdhip64-5)")


def names(kind: str) -> list[str]:
    return re.findall(rf"^{kind}\((\w+)", SYMBOLS, re.MULTILINE)


@needs_library
def test_symbols() -> None:
    """All that are required are there; of the others this release lacks those that are newer than it."""
    everything = names("REQUIRED") + names("OPTIONAL") + names("TEXT")
    assert len(everything) > 20
    missing = in_child(f"print(*(n for n in {everything} if not hasattr(hip, n)))").split()
    assert missing == ["hipGetDevicePropertiesR0600", "hipModuleLaunchCooperativeKernel", "hipDrvLaunchKernelEx"]


@needs_library
@pytest.mark.skipif(Path("/dev/kfd").exists(), reason="there may be an AMD GPU")
def test_no_device_is_a_clean_error() -> None:
    code = """
count = ctypes.c_int(-1)
error = hip.hipGetDeviceCount(ctypes.byref(count))
hip.hipGetErrorName.restype = ctypes.c_char_p
print(hip.hipInit(0) != 0, error, hip.hipGetErrorName(error).decode())
"""
    assert in_child(code).split() == ["True", "100", "hipErrorNoDevice"]  # hipInit: 101 in 5.2
