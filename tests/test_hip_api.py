"""What the project declares of HIP's interface, against HIP's own headers and library where there are any."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

import pytest
from requirements import HIP_LIBRARY, does_not_apply, need
from support import ROOT

SYMBOLS = (ROOT / "csrc" / "driver" / "hip" / "hip_symbols.inc").read_text()


def compile_against(folder: Path, sources: Path = ROOT / "csrc") -> subprocess.CompletedProcess[str]:
    command = ["g++", "-std=c++20", "-fsyntax-only", "-w", "-D__HIP_PLATFORM_AMD__", "-D__HIP_PLATFORM_HCC__"]
    if "hipDrvLaunchKernelEx" in (folder / "hip" / "hip_runtime_api.h").read_text():
        command.append("-DHIP_HAS_LAUNCH_EX")
    command += [f"-I{folder}", f"-I{sources}", str(ROOT / "tests" / "cpp" / "hip_types_test.cpp")]
    return subprocess.run(command, capture_output=True, text=True)


def test_types_and_signatures_agree_with_the_headers() -> None:
    for folder in need("hip-headers"):
        done = compile_against(folder)
        assert done.returncode == 0, f"{folder}:\n{done.stderr}"


@pytest.mark.needs("hip-headers")
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
    header = need("hip-headers")[0]
    assert compile_against(header, tmp_path).returncode != 0
    (tmp_path / file).write_text((ROOT / "csrc" / file).read_text())
    done = compile_against(header, tmp_path)
    assert done.returncode == 0, done.stderr  # nothing else was wrong


def in_child(code: str) -> str:
    """Runs code with `hip`, the real library, in a process of its own."""
    prologue = f"import ctypes; hip = ctypes.CDLL({HIP_LIBRARY!r})\n"
    done = subprocess.run([sys.executable, "-c", prologue + code], capture_output=True, text=True, timeout=120)
    assert done.returncode == 0, done.stderr
    return done.stdout


def names(kind: str) -> list[str]:
    return re.findall(rf"^{kind}\((\w+)", SYMBOLS, re.MULTILINE)


@pytest.mark.needs("hip-library")
def test_symbols() -> None:
    """All that are required are there; of the others 5.2 and 5.7 lack those that are newer than they are."""
    everything = names("REQUIRED") + names("OPTIONAL") + names("TEXT")
    assert len(everything) > 20
    missing = in_child(f"print(*(n for n in {everything} if not hasattr(hip, n)))").split()
    assert missing in (
        ["hipGetDevicePropertiesR0600", "hipModuleLaunchCooperativeKernel", "hipDrvLaunchKernelEx"],
        ["hipGetDevicePropertiesR0600", "hipDrvLaunchKernelEx"],
    )


@pytest.mark.needs("hip-library")
def test_no_device_is_a_clean_error() -> None:
    if Path("/dev/kfd").exists():
        does_not_apply("there may be an AMD GPU")
    code = """
count = ctypes.c_int(-1)
error = hip.hipGetDeviceCount(ctypes.byref(count))
hip.hipGetErrorName.restype = ctypes.c_char_p
print(hip.hipInit(0) != 0, error, hip.hipGetErrorName(error).decode())
"""
    assert in_child(code).split() == ["True", "100", "hipErrorNoDevice"]  # hipInit: 101 in 5.2
