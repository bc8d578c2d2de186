"""Traces, dumps and progress of what HIP programs launch on the emulator."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest
import torch
from support import EXAMPLES, ROOT
from test_progress_bar import check_shown, shown

import wave_emulator
import wave_runtime
from wave_runtime.__main__ import main

TIMEOUT = 300
# "(0, 0, 0) wave 0  kernel+0x30  v_add_u32_e32 ...": with "(file:line)" where the code has lines.
LINE = re.compile(r"\((\d+), 0, 0\) wave (\d+)  (\S+)\+0x[0-9a-f]+  \S.*")

Run = Callable[..., subprocess.CompletedProcess[str]]


@pytest.fixture(scope="module")
def program(hip_toolchain: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    program = tmp_path_factory.mktemp("program") / "program"
    source = ROOT / "tests" / "hip" / "list_of_pointers.hip"
    command = [hip_toolchain / "bin" / "hipcc", "--offload-arch=gfx942,gfx1100", source, "-o", program]
    subprocess.run(command, check=True, timeout=TIMEOUT)
    return program


@pytest.fixture(params=["gfx942", "gfx1100"])
def run(request: pytest.FixtureRequest, program: Path) -> Run:
    def run(*arguments: str, **variables: str) -> subprocess.CompletedProcess[str]:
        environment = {**os.environ, "WAVE_RUNTIME_EMULATOR_PROCESSOR": request.param, **variables}
        done = subprocess.run(
            [program, *arguments], env=environment, capture_output=True, text=True, timeout=TIMEOUT, check=False
        )
        assert done.returncode == 0, done.stderr
        return done

    return run


def lines_of(text: str) -> list[tuple[str, str, str]]:
    """The workgroup, wave and kernel of each line."""
    matches = [LINE.fullmatch(line) for line in text.splitlines()]
    assert all(matches), text[:2000]
    return [(match[1], match[2], match[3]) for match in matches if match]


@pytest.mark.needs("hip-compiler")
def test_trace(run: Run, tmp_path: Path) -> None:
    """Of all launches, in their order, behind what the file has."""
    (tmp_path / "trace").write_text("before\n")
    assert run(WAVE_RUNTIME_TRACE=str(tmp_path / "trace")).stdout == "hipSuccess\n"
    before, _, text = (tmp_path / "trace").read_text().partition("\n")
    assert before == "before"
    lines = lines_of(text)
    fill, scale = "_Z4fillPf", "_Z5scalePK4Listf"
    assert [kernel for _, _, kernel in lines] == sorted(kernel for _, _, kernel in lines)
    assert {kernel for _, _, kernel in lines} == {fill, scale}
    assert {group for group, _, kernel in lines if kernel == scale} == {"0", "1", "2"}
    assert text.splitlines()[-1].endswith("s_endpgm")


@pytest.mark.needs("hip-compiler")
def test_trace_of_one_wave_of_one_kernel(run: Run) -> None:
    done = run(WAVE_RUNTIME_TRACE="-", WAVE_RUNTIME_TRACE_KERNEL="scale", WAVE_RUNTIME_TRACE_ONLY="2.0")
    assert set(lines_of(done.stderr)) == {("2", "0", "_Z5scalePK4Listf")}
    assert run(WAVE_RUNTIME_TRACE="-", WAVE_RUNTIME_TRACE_KERNEL="scale<").stderr == ""


@pytest.mark.needs("hip-compiler")
def test_a_trace_that_cannot_be_written(run: Run) -> None:
    done = run(WAVE_RUNTIME_TRACE="/dev/full")
    assert done.stdout == "hipErrorUnknown\n"
    assert "WAVE_RUNTIME_TRACE=/dev/full: cannot write it: No space left on device" in done.stderr


@pytest.mark.needs("hip-compiler")
def test_a_failed_launch_is_dumped_and_made_again(run: Run, tmp_path: Path, capfd: pytest.CaptureFixture[str]) -> None:
    """With the memory that pointers in memory lead to, at its addresses."""
    assert run(WAVE_RUNTIME_DUMP=str(tmp_path)).stdout == "hipSuccess\n"
    assert list(tmp_path.iterdir()) == []
    done = run("wrong", WAVE_RUNTIME_DUMP=str(tmp_path))
    assert done.stdout == "hipErrorIllegalAddress\n"
    (folder,) = tmp_path.iterdir()
    assert f"  written to {folder}, for `python -m wave_runtime run`\n" in done.stderr
    launch = json.loads((folder / "launch.json").read_text())
    assert sorted(end - begin for begin, end in launch["ranges"]) == [16, 1000]
    assert main(["run", str(folder), "--trace", "-", "--trace-only", "3.0"]) == 1
    again = capfd.readouterr().err
    place = done.stderr.splitlines()[1]
    assert re.match(r"  at _Z5scalePK4Listf\+0x[0-9a-f]+: (flat|global)_store_", place)
    assert place in again  # the same instruction,
    assert done.stderr.splitlines()[2] in again  # of the same lane, at the same address
    assert re.search(r"0 bytes past the end of memory\[\d\] \(uint8 \[1000\]\)", again)
    assert "(3, 0, 0) wave 0  _Z5scalePK4Listf+0x0  " in again


@pytest.mark.needs("hip-compiler")
def test_a_launch_at_a_limit_is_made_again_to_its_end(run: Run, tmp_path: Path) -> None:
    code = run(WAVE_RUNTIME_DUMP=str(tmp_path), WAVE_RUNTIME_MAX_INSTRUCTIONS="3").stdout
    assert code == "hipErrorLaunchFailure\n"
    (folder,) = tmp_path.iterdir()
    assert json.loads((folder / "launch.json").read_text())["kernel"] == "_Z4fillPf"
    assert main(["run", str(folder), f"--save=0={tmp_path}/values.pt"]) == 0
    assert torch.equal(torch.load(tmp_path / "values.pt").view(torch.float32), torch.arange(250.0))


# Kernels of two streams at once.
STREAMS = f"""
import ctypes, sys
hip = ctypes.CDLL({str(wave_emulator.library("wave_hip_emulator"))!r})
def check(code):
    assert code == 0, code
module, kernel, data = ctypes.c_void_p(), ctypes.c_void_p(), ctypes.c_void_p()
check(hip.hipModuleLoad(ctypes.byref(module), {os.fsencode(EXAMPLES / "binaries" / "basics.hsaco")!r}))
check(hip.hipModuleGetFunction(ctypes.byref(kernel), module, b"collatz"))
count = int(sys.argv[1])
check(hip.hipMalloc(ctypes.byref(data), ctypes.c_size_t(4 * count)))
check(hip.hipMemsetD32(data, 2**31 - 1, ctypes.c_size_t(count)))
check(hip.hipDeviceSynchronize())  # the streams do not wait for the null stream
streams = [ctypes.c_void_p() for _ in range(int(sys.argv[2]))]
for stream in streams:
    check(hip.hipStreamCreateWithFlags(ctypes.byref(stream), 1))
    out = ctypes.c_void_p()
    check(hip.hipMalloc(ctypes.byref(out), ctypes.c_size_t(4 * count)))
    arguments = [data, out, ctypes.c_int(count)]
    pointers = (ctypes.c_void_p * 3)(*(ctypes.addressof(argument) for argument in arguments))
    check(hip.hipModuleLaunchKernel(kernel, count // 256, 1, 1, 256, 1, 1, 0, stream, pointers, None))
check(hip.hipDeviceSynchronize())
"""


def test_traces_of_streams_do_not_mix_within_lines(tmp_path: Path) -> None:
    variables = {**os.environ, "WAVE_RUNTIME_TRACE": str(tmp_path / "trace")}
    subprocess.run([sys.executable, "-c", STREAMS, "256", "3"], env=variables, check=True, timeout=TIMEOUT)
    text = (tmp_path / "trace").read_text()
    assert len(text) > 3 * 64 * 1024  # more than is written at once
    lines = lines_of(text)
    of_each_wave = [lines.count(("0", str(wave), "collatz")) for wave in range(4)]
    assert all(count % 3 == 0 for count in of_each_wave)
    assert sum(of_each_wave) == len(lines)


def test_progress() -> None:
    """On a terminal."""
    variables = {"WAVE_RUNTIME_PROGRESS": "0.1", "WAVE_RUNTIME_EMULATOR_THREADS": "1"}
    check_shown(shown([sys.executable, "-c", STREAMS, str(1 << 22), "1"], **variables))


@pytest.mark.parametrize("of_kernel", ["vector", "vector_add", "add_vector"])
def test_trace_of_kernels_by_name(of_kernel: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Of launches on tensors, too."""
    monkeypatch.setenv("WAVE_RUNTIME_TRACE", str(tmp_path / "trace"))
    monkeypatch.setenv("WAVE_RUNTIME_TRACE_KERNEL", of_kernel)
    signature = {"vector_add": "*f32 const, *f32 const, *f32, i32"}
    kernel = wave_runtime.load(EXAMPLES / "binaries" / "basics.hsaco", signature=signature)["vector_add"]
    a, c = torch.ones(64), torch.zeros(64)
    kernel(a, a, c, 64, grid=1, block=64)
    assert c.sum() == 128
    assert (tmp_path / "trace").exists() == (of_kernel in "vector_add")
