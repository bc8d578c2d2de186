"""What looks into launches, on gfx1030 and gfx1201 in waves of 32 and of 64 lanes: code as text, dumps, traces, counts.

Profiles, compare and the sanitizer, too. kernels/waves.hip of the emulator's tests is the program; of all other
processors, which take longer, basics.hip of the examples.
"""

from __future__ import annotations

import functools
import itertools
import os
import re
import subprocess
import tempfile
from pathlib import Path

import pytest
import torch
import warm_python
from support import PROBES, ROOT

import wave_emulator
import wave_runtime
from wave_runtime import _C
from wave_runtime.__main__ import main as command
from wave_runtime._disasm import disassemble

COMMITTED = list(itertools.product(("gfx1030", "gfx1201"), (32, 64)))
OTHERS = [(target, 64) for target in ("gfx90a", "gfx942", "gfx950")]
OTHERS += itertools.product(("gfx1036", "gfx1100", "gfx1101", "gfx1102", "gfx1103"), (32, 64))
OTHERS += itertools.product(("gfx1150", "gfx1151", "gfx1152", "gfx1153", "gfx1200"), (32, 64))
NEEDS = [pytest.mark.long, pytest.mark.needs("clang-22")]
WAVES = pytest.mark.parametrize(
    ("target", "lanes"), [*COMMITTED, *(pytest.param(target, lanes, marks=NEEDS) for target, lanes in OTHERS)]
)
SIGNATURE = {"vector_add": "a: *f32 const, b: *f32 const, c: *f32, n: i32"}


@functools.cache
def compiled(target: str, lanes: int) -> Path:
    output = Path(tempfile.mkdtemp()) / f"{target}_{lanes}.hsaco"
    command = ["clang-22", "-x", "hip", f"--offload-arch={target}", "--offload-device-only", "--no-gpu-bundle-output"]
    command += ["-mwavefrontsize64"] if lanes == 64 and target.startswith("gfx1") else []
    command += ["-nogpulib", "-nogpuinc", "-O2", "-gline-tables-only"]
    subprocess.run([*command, str(ROOT / "examples/kernels/sources/basics.hip"), "-o", str(output)], check=True)
    return output


def binary(target: str, lanes: int) -> Path:
    return PROBES / f"wave{lanes}_{target}.hsaco" if (target, lanes) in COMMITTED else compiled(target, lanes)


def vector_add(target: str, lanes: int) -> wave_runtime.Kernel:
    return wave_runtime.load(binary(target, lanes), signature=SIGNATURE)["vector_add"]


def launch(target: str, lanes: int) -> torch.Tensor:
    a, b, c = torch.rand(100), torch.rand(100), torch.zeros(100)
    vector_add(target, lanes)(a, b, c, 100, grid=1, block=256)
    assert torch.equal(c, a + b)
    return c


@WAVES
def test_code_is_that_of_the_kernels_waves(target: str, lanes: int) -> None:
    """Masks are as wide as the wave, which only the descriptor tells."""
    text = disassemble(binary(target, lanes))
    compared = re.findall(r"v_cmp_\w+_e32 (\w+),", text)
    assert compared
    assert set(compared) == {"vcc_lo" if lanes == 32 else "vcc"}
    selected = re.findall(r"v_cndmask_b32_e64 v\d+, [^,]+, [^,]+, (\S+)", text)
    assert selected or (target, lanes) not in COMMITTED
    assert all(re.fullmatch(r"s\d+|vcc_lo" if lanes == 32 else r"s\[\d+:\d+\]|vcc", mask) for mask in selected)


@WAVES
def test_functions_have_the_waves_of_the_kernels(target: str, lanes: int) -> None:
    kernel = vector_add(target, lanes)
    assert kernel.asm[target] in disassemble(binary(target, lanes))
    assert ("vcc_lo" in kernel.asm[target]) == (lanes == 32)


@WAVES
def test_traces_and_statistics(target: str, lanes: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("WAVE_RUNTIME_STATS", "1")
    monkeypatch.setenv("WAVE_RUNTIME_TRACE", str(tmp_path / "trace"))
    launch(target, lanes)
    found = _C.emulator_statistics()
    assert found["wave_lanes"] == lanes
    assert found["bytes"]["global stored"] == 400
    assert len((tmp_path / "trace").read_text().splitlines()) == found["instructions"]


@WAVES
def test_a_failed_launch_is_dumped_and_made_again(
    target: str, lanes: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("WAVE_RUNTIME_DUMP", str(tmp_path))
    a = torch.rand(4096)
    with pytest.raises(wave_runtime.KernelFault) as caught:
        vector_add(target, lanes)(a[:1000], a[1024:2024], torch.zeros(50), 1000, grid=4, block=256)
    (folder,) = tmp_path.iterdir()
    monkeypatch.delenv("WAVE_RUNTIME_DUMP")
    assert command(["run", str(folder)]) == 1
    assert str(caught.value).splitlines()[0] in capsys.readouterr().err


@WAVES
def test_profiles(target: str, lanes: int) -> None:
    with wave_runtime.profile() as found:
        launch(target, lanes)
    text = str(found)
    assert "vector_add" in text
    assert not re.search(r"\bnan\b", text)


@WAVES
def test_the_sanitizer(target: str, lanes: int) -> None:
    """With the line of the source, where the binary tells it."""
    with wave_runtime.sanitize("all") as found:
        launch(target, lanes)
    assert found.findings == []
    a = torch.rand(100)
    with wave_runtime.sanitize("memory") as found:
        vector_add(target, lanes)(a, a, torch.zeros(50), 100, grid=1, block=256)
    (finding,) = found.findings
    assert finding.kernel == "vector_add"
    assert finding.count == 50
    if (target, lanes) not in COMMITTED:
        assert "basics.hip:" in str(found)


COMPARE = """
import sys, torch, wave_runtime
signature = {"vector_add": "a: *f32 const, b: *f32 const, c: *f32, n: i32"}
kernel = wave_runtime.load(sys.argv[1], signature=signature)["vector_add"]
a, b, c = torch.rand(100), torch.rand(100), torch.zeros(100)
print(wave_runtime.compare(kernel, a, b, c, 100, device="hip", grid=1, block=256))
"""


@WAVES
def test_compare(target: str, lanes: int) -> None:
    """The HIP library over the emulator is the GPU."""
    environment = {**os.environ, "WAVE_RUNTIME_LIBHIP": str(wave_emulator.library("wave_hip_emulator"))}
    environment |= {"WAVE_RUNTIME_EMULATOR_PROCESSOR": target}
    done = warm_python.run("-c", COMPARE, binary(target, lanes), env=environment)
    assert done.returncode == 0, done.stderr
    assert done.stdout == "kernel 'vector_add' on hip and on the emulator: equal\n"
