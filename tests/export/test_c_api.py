"""Programs in C and C++ over wave_runtime.h and wave_runtime.hpp, and what their libraries need."""

from __future__ import annotations

import os
import re
import subprocess
from pathlib import Path

import pytest
from export_support import LIBRARY
from support import ROOT

import wave_emulator
import wave_runtime

LAUNCH = wave_emulator.library("wave_launch")
FOLDER = LAUNCH.parent
KERNELS = ROOT / "tests" / "conformance" / "kernels.hsaco"
EMULATOR, HIP = "0", "1"  # wave_driver

COMPILERS = {
    "c_api_test.c": ["gcc", "-std=c99", "-pedantic"],
    "cpp_api_test.cpp": ["g++", "-std=c++17", "-pedantic"],
}


@pytest.mark.parametrize("source", COMPILERS)
def test_program(source: str, tmp_path: Path) -> None:
    program = tmp_path / "program"
    options = ["-Wall", "-Wextra", "-Werror", f"-I{wave_emulator.include_dir()}", "-pthread", f"-Wl,-rpath,{FOLDER}"]
    subprocess.run([*COMPILERS[source], *options, ROOT / "tests/cpp" / source, LAUNCH, "-o", program], check=True)
    hip = {
        **os.environ,
        "WAVE_RUNTIME_LIBHIP": str(FOLDER / "libwave_hip_emulator.so"),
        "WAVE_RUNTIME_SYNC": "1",  # the program has no streams to wait for
    }
    for driver, environment in ((EMULATOR, None), (HIP, hip)):
        done = subprocess.run([program, KERNELS, driver], env=environment, capture_output=True, text=True, timeout=120)
        assert (done.returncode, done.stdout) == (0, "passed\n"), done.stderr


def test_example(programs: Path) -> None:
    command = [programs / "host_kernel", ROOT / "examples/kernels/binaries/basics.hsaco"]
    done = subprocess.run(command, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    assert "vector_add on emulator: c[999] = 999.5\n" in done.stdout
    assert re.search(r"half of c: .*past the end of argument 2 'c', which has 2000 bytes", done.stdout)


def needed(library: Path) -> set[str]:
    text = subprocess.run(["readelf", "-d", library], capture_output=True, text=True, check=True).stdout
    return set(re.findall(r"\(NEEDED\).*\[(\S+?)\.so", text))


def test_libraries_need_no_python() -> None:
    system = {"libc", "libm", "libstdc++", "libgcc_s", "ld-linux-x86-64"}
    assert needed(FOLDER / "libwave_emulator.so") <= system
    assert needed(LAUNCH) - system == {"libwave_emulator"}
    assert needed(LIBRARY) - system == {"libwave_launch", "libwave_emulator", "libtorch_cpu", "libc10"}


def test_every_declared_function_is_there() -> None:
    names = set(
        re.findall(r"^\w.*?\b(wave_\w+)\(", (wave_emulator.include_dir() / "wave_runtime.h").read_text(), re.MULTILINE)
    )
    symbols = subprocess.run(["nm", "-D", "--defined-only", LAUNCH], capture_output=True, text=True, check=True).stdout
    inline = {"wave_memory", "wave_integer", "wave_unsigned", "wave_float", "wave_bytes"}
    assert names - inline == set(re.findall(r" T (wave_\w+)$", symbols, re.MULTILINE))


@pytest.mark.needs("cmake")
@pytest.mark.parametrize(
    ("request_", "error"),
    [
        ("wave_emulator 0.1 REQUIRED", None),
        ("wave_emulator 99 REQUIRED", 'compatible with requested version "99"'),
        ("wave_runtime 99 REQUIRED", 'compatible with requested version "99"'),
        ("wave_runtime REQUIRED COMPONENTS gone", "there is no component gone: there is operators"),
    ],
)
def test_find_package(request_: str, error: str | None, tmp_path: Path) -> None:
    (tmp_path / "CMakeLists.txt").write_text(
        f"cmake_minimum_required(VERSION 3.18)\nproject(test NONE)\nfind_package({request_})\n"
        "get_target_property(library wave_emulator::launch IMPORTED_LOCATION)\nmessage(STATUS ${library})\n"
    )
    folders = f"{wave_emulator.cmake_dir()};{Path(wave_runtime.__file__).parent / 'share/cmake'}"
    command = ["cmake", "-S", tmp_path, "-B", tmp_path / "build", f"-DCMAKE_PREFIX_PATH={folders}"]
    done = subprocess.run(command, capture_output=True, text=True)
    if error is None:
        assert str(LAUNCH) in done.stdout, done.stderr
    else:
        assert done.returncode != 0
        assert error in " ".join(done.stderr.split())
