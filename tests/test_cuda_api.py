"""What the project declares of the CUDA driver API, against CUDA's own header where there is one."""

from __future__ import annotations

import subprocess
from pathlib import Path

import pytest
from requirements import need
from support import ROOT


def compile_and_run(header: Path, folder: Path, sources: Path = ROOT / "csrc") -> subprocess.CompletedProcess[str]:
    program, test = folder / "test", ROOT / "tests" / "cpp" / "cuda_types_test.cpp"
    command = ["g++", "-std=c++20", "-Wall", f"-I{header}", f"-I{sources}", test, "-o", program]
    done = subprocess.run(command, capture_output=True, text=True)
    return subprocess.run([program], capture_output=True, text=True) if done.returncode == 0 else done


def test_types_and_signatures_agree_with_the_header(tmp_path: Path) -> None:
    for header in need("cuda-headers"):
        done = compile_and_run(header, tmp_path)
        assert done.returncode == 0, f"{header}:\n{done.stderr}"


@pytest.mark.needs("cuda-headers")
@pytest.mark.parametrize(
    ("file", "right", "wrong"),
    [
        ("cuda_symbols.inc", "cuInit, (unsigned flags)", "cuInit, (int flags)"),
        ("cuda_symbols.inc", "cuFuncLoad, (", "cuFunctionLoad, ("),
        ("cuda_types.h", "kMaxGridDimX = 5", "kMaxGridDimX = 6"),
        ("cuda_types.h", "char size[64]", "char size[56]"),
        ("cuda_types.h", "kParamBufferSize = reinterpret_cast<void*>(2)", "kParamBufferSize = nullptr"),
    ],
)
def test_disagreement_is_found(tmp_path: Path, file: str, right: str, wrong: str) -> None:
    copies = tmp_path / "driver" / "cuda"
    copies.mkdir(parents=True)
    for path in (ROOT / "csrc" / "driver" / "cuda").iterdir():
        text = path.read_text()
        assert path.name != file or right in text
        (copies / path.name).write_text(text.replace(right, wrong) if path.name == file else text)
    header = need("cuda-headers")[0]
    assert compile_and_run(header, tmp_path, tmp_path).returncode != 0
    (copies / file).write_text((ROOT / "csrc" / "driver" / "cuda" / file).read_text())
    done = compile_and_run(header, tmp_path, tmp_path)
    assert done.returncode == 0, done.stderr  # nothing else was wrong
