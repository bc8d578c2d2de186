"""The command line."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest

import wave_runtime
from wave_runtime.__main__ import main

ROOT = Path(__file__).parent.parent
BASICS = str(ROOT / "examples/kernels/binaries/basics.hsaco")
GEMM = str(ROOT / "examples/kernels/binaries/gemm_f16_16x16x16_256x256x256.hsaco")
PROBES = str(ROOT / "tests/emulator/kernels/probes.hsaco")


def test_as_a_module() -> None:
    command = [sys.executable, "-m", "wave_runtime", "--version"]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=True)
    assert done.stdout.strip() == wave_runtime.__version__


def test_info(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["info", GEMM]) == 0
    text = capsys.readouterr().out
    for expected in (
        "gfx942, code object v5",
        "kernel gemm",
        "signature  *const, *const, *",
        "block      128 x 2 x 1 work-items, required",
        "wavefront  64 work-items",
        "VGPRs, 0 AGPRs; allocated:",
        "spills     none",
        "LDS        9216 bytes",
        "waves a SIMD, limited by",
        "kernarg    24 bytes, the first 6 dwords preloaded",
        "global_buffer  read_only",
    ):
        assert expected in text, expected


def test_info_json(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["info", "--json", BASICS]) == 0
    description = json.loads(capsys.readouterr().out)
    names = [kernel["name"] for kernel in description["kernels"]]
    assert names == ["vector_add", "matmul_naive", "matmul_tiled", "collatz", "histogram"]


def test_disasm(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["disasm", BASICS, "collatz"]) == 0
    text = capsys.readouterr().out
    assert text.startswith("collatz:\n")
    assert "s_cbranch_execz 43  # -> collatz+0xdc" in text
    assert "vector_add" not in text
    assert main(["disasm", BASICS]) == 0
    assert "vector_add:\n" in capsys.readouterr().out


def test_coverage(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["coverage", BASICS, GEMM]) == 0
    assert "gemm: 318 of 318 instructions run" in capsys.readouterr().out
    assert main(["coverage", PROBES]) == 1
    text = capsys.readouterr().out
    assert "unknown_instruction: 2 of 3 instructions run\n       1  not an instruction of gfx942" in text
    assert "not_implemented: 1 of 2 instructions run\n       1  ds_gws_sema_v is not implemented" in text


def test_errors(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    (tmp_path / "empty").write_bytes(b"")
    for arguments, message in (
        (["info", "nowhere"], "No such file"),
        (["info", str(tmp_path / "empty")], f"{tmp_path}/empty: "),
        (["info", "--target", "gfx90a", BASICS], "does not run on gfx90a"),
        (["disasm", BASICS, "nothing"], "no kernel 'nothing' in this code object; its kernels: vector_add"),
    ):
        assert main(arguments) == 2
        assert message in capsys.readouterr().err


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["emulate", "python", "-c", "1"], "unrecognized arguments: -c 1; a program with its arguments stands behind"),
        (["compile", "-O2", "x.hip"], "unrecognized arguments: -O2; options of the compiler are given as in --option="),
        (["env", "--jsn"], "unrecognized arguments: --jsn\n"),
    ],
)
def test_arguments_that_there_are_not(arguments: list[str], message: str, capsys: pytest.CaptureFixture[str]) -> None:
    """A command says where else they may belong."""
    with pytest.raises(SystemExit, match="2"):
        main(arguments)
    assert message in capsys.readouterr().err
