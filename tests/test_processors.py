"""The processor that the emulator is: chosen by a variable, and added by one file."""

from __future__ import annotations

import os
import subprocess
from pathlib import Path

import pytest
import warm_python
from support import EXAMPLES, PROBES, ROOT, bundle

import wave_emulator

BASICS = EXAMPLES / "binaries/basics.hsaco"
WAVE32 = PROBES / "wave32_gfx1100.hsaco"
LIBRARIES = wave_emulator.library("wave_emulator").parent

# A launch of gfx942's code, by the way that the environment says.
LAUNCH = f"""
import torch, wave_runtime
kernel = wave_runtime.load({str(BASICS)!r},
                           signature={{"vector_add": "*f32 const, *f32 const, *f32, i32"}})["vector_add"]
a, c = torch.ones(256), torch.zeros(256)
def launch(**options):
    kernel(a, a, c, 256, grid=1, block=256, **options)
"""


def run(code: str, **variables: str) -> str:
    environment = {**os.environ, "PYTHONPATH": str(ROOT), **variables}
    done = warm_python.run("-c", code, env=environment)
    assert done.returncode == 0, done.stderr
    return done.stdout


def test_the_device_is_the_processor_that_is_chosen() -> None:
    code = "import wave_runtime; print(wave_runtime._C.describe_driver('emulator')['devices'][0])"
    for name, multiprocessors, lds in (
        ("gfx942", 304, 65536),
        ("gfx950", 256, 163840),
        ("gfx1030", 40, 65536),
        ("gfx1100", 48, 65536),
    ):
        shown = run(code, WAVE_RUNTIME_EMULATOR_PROCESSOR=name)
        assert f"'target': '{name}'" in shown
        assert f"'multiprocessors': {multiprocessors}" in shown
        assert f"'shared_memory': {lds}" in shown


def test_of_several_builds_its_own_runs(tmp_path: Path) -> None:
    """Else the first of the other processors'."""
    builds = [(name, PROBES / f"wave32_{name}.hsaco") for name in ("gfx1100", "gfx1201")]
    file = tmp_path / "both.hsaco"
    file.write_bytes(bundle(*((name, path.read_bytes()) for name, path in builds)))
    code = f"""
import torch, wave_runtime
kernel = wave_runtime.load({str(file)!r}, signature={{"vector_add": "*f32 const, *f32 const, *f32, i32"}})["vector_add"]
a, c = torch.ones(64), torch.zeros(64)
kernel(a, a, c, 64, grid=1, block=64)
print(*[module["target"] for module in wave_runtime._C.loaded()], c.sum().item())
"""
    assert run(code, WAVE_RUNTIME_EMULATOR_PROCESSOR="gfx942") == "gfx1100 128.0\n"
    assert run(code, WAVE_RUNTIME_EMULATOR_PROCESSOR="gfx1201") == "gfx1201 128.0\n"


def test_the_hip_library_is_the_processor_that_is_chosen() -> None:
    """Its device says so, and runs code for no other processor."""
    code = f"""
import ctypes
hip = ctypes.CDLL({str(LIBRARIES / "libwave_hip_emulator.so")!r})
name, module = ctypes.create_string_buffer(64), ctypes.c_void_p()
hip.hipDeviceGetName(name, 64, 0)
values = []
# major, multiprocessors, LDS, lanes, work-items of a multiprocessor, integrated
for attribute in (23, 63, 74, 87, 57, 16):
    value = ctypes.c_int()
    assert hip.hipDeviceGetAttribute(ctypes.byref(value), attribute, 0) == 0
    values.append(value.value)
codes = [hip.hipModuleLoad(ctypes.byref(module), str(path).encode()) for path in {[str(BASICS), str(WAVE32)]}]
print(name.value.decode(), *values, *codes)
"""
    no_binary = 209  # hipErrorNoBinaryForGpu
    assert run(code, WAVE_RUNTIME_EMULATOR_PROCESSOR="gfx942") == (
        f"Wave Runtime emulator (gfx942) 9 304 65536 64 2048 0 0 {no_binary}\n"
    )
    assert run(code, WAVE_RUNTIME_EMULATOR_PROCESSOR="gfx1030") == (
        f"Wave Runtime emulator (gfx1030) 10 40 65536 32 2048 0 {no_binary} {no_binary}\n"
    )
    assert run(code, WAVE_RUNTIME_EMULATOR_PROCESSOR="gfx1100") == (
        f"Wave Runtime emulator (gfx1100) 11 48 65536 32 2048 0 {no_binary} 0\n"
    )
    assert run(code, WAVE_RUNTIME_EMULATOR_PROCESSOR="gfx1151") == (
        f"Wave Runtime emulator (gfx1151) 11 20 65536 32 2048 1 {no_binary} {no_binary}\n"
    )


def library_of(processor: str, folder: Path) -> Path:
    """A library with a processor of tests/cpp."""
    library = folder / f"{processor}.so"
    source = ROOT / "tests/cpp" / f"{processor}.cpp"
    options = [f"-I{ROOT / 'csrc'}", f"-L{LIBRARIES}", "-lwave_emulator", f"-Wl,-rpath,{LIBRARIES}"]
    subprocess.run(["g++", "-std=c++20", "-shared", "-fPIC", source, *options, "-o", library], check=True)
    return library


@pytest.fixture(scope="module")
def little_lds(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """One that is gfx942 but for 32 KiB of LDS."""
    return library_of("processor_with_little_lds", tmp_path_factory.mktemp("processor"))


@pytest.mark.parametrize("name", ["gfx942", "gfx942-32k"])
def test_a_processor_of_one_file(little_lds: Path, name: str) -> None:
    """It runs gfx942's binaries as itself, where it is chosen."""
    code = (
        f"import ctypes; ctypes.CDLL({str(little_lds)!r})\n{LAUNCH}"
        + """
launch(shared_memory=32 * 1024)
print(c.sum().item())
try:
    launch(shared_memory=32 * 1024 + 4)
    print("more than 32 KiB")
except ValueError as error:
    print(error)
print(kernel.occupancy(block=256, shared_memory=16 * 1024))
"""
    )
    lines = run(code, WAVE_RUNTIME_EMULATOR_PROCESSOR=name).splitlines()
    if name == "gfx942":
        assert lines == ["512.0", "more than 32 KiB", "4"]
    else:
        assert lines[0] == "512.0"
        assert "are more than the 32768 bytes that" in lines[1]
        assert lines[2:] == ["2"]


@pytest.mark.needs("clang")
def test_a_processor_of_one_file_may_share_the_instructions_of_another(tmp_path: Path) -> None:
    """It runs its own code, which no other processor does, and is profiled and read as they are."""
    code = f"""
import ctypes; ctypes.CDLL({str(library_of("processor_gfx90c", tmp_path))!r})
import torch, wave_runtime
source = 'extern "C" __global__ void twice(float* a) {{ a[threadIdx.x] = 2 * expf(a[threadIdx.x]); }}'
kernel = wave_runtime.compile(source, target="gfx90c", language="hip")["twice"]
a = torch.zeros(64)
with wave_runtime.sanitize() as report, wave_runtime.profile() as profile:
    kernel(a, grid=1, block=64)
print(a.sum().item(), len(report.findings))
print("s_endpgm" in kernel.asm["gfx90c"], kernel.coverage()["gfx90c"]["unsupported"])
print(wave_runtime._C.emulator_processors()["gfx90c"]["multiprocessors"], profile.kernels[0].target)
"""
    assert run(code, WAVE_RUNTIME_EMULATOR_PROCESSOR="gfx90c") == "128.0 0\nTrue {}\n8 gfx90c\n"
    assert "128.0" in run(code, WAVE_RUNTIME_EMULATOR_PROCESSOR="gfx942"), "its code runs beside that of the device"


def test_an_unknown_processor_is_an_error() -> None:
    code = LAUNCH + "try:\n    launch()\nexcept ValueError as error:\n    print(error)"
    assert run(code, WAVE_RUNTIME_EMULATOR_PROCESSOR="gfx908") == (
        "WAVE_RUNTIME_EMULATOR_PROCESSOR=gfx908: expected gfx1030 or gfx1031 or gfx1032 or gfx1033 or gfx1034 or "
        "gfx1035 or gfx1036 or gfx1100 or gfx1101 or gfx1102 or gfx1103 or gfx1150 or gfx1151 or gfx1152 or gfx1153 or "
        "gfx1200 or gfx1201 or gfx90a or gfx942 or gfx950, for instance "
        "WAVE_RUNTIME_EMULATOR_PROCESSOR=gfx942\n"
    )
