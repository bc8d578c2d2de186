"""PyHIP's jit over this package: with PyHIP itself where it is installed, and with a generator of its form."""

from __future__ import annotations

import importlib.util
import os
import subprocess
from pathlib import Path

import pytest
import warm_python
from requirements import does_not_apply
from support import ROOT

pytestmark = pytest.mark.usefixtures("clang")

# PyHIP's README, but for the import.
README = """
import torch
from wave_runtime import pyhip

@pyhip.jit()
def kernel(J, N, s_pout:"int*"):
    s_i = J.gpr('si32')
    s_cnt = J.gpr('si32')
    s_i[0] = 0
    s_cnt[0] = 0
    with J.While(s_i[0] < N) as loop:
        with J.If((s_i[0] & 1)==0):
            s_cnt[0] = s_cnt + s_i
        s_i[0] = s_i[0] + 1

    J.s_store_dword(s_cnt, s_pout, 0, mod="glc")
    J.s_waitcnt(mod=f"lgkmcnt({0})")

OUT = torch.arange(0,32, dtype=torch.int)
kernel([1],[64], 32, OUT.data_ptr())
assert OUT[0] == sum([i if (i & 1) == 0 else 0 for i in range(32)]), f"{OUT=}"
"""

# A generator that asks its hiptools for what PyHIP's does. Its package cannot be imported, as PyHIP's without ROCm.
GENERATOR = """
from {tools} import module, amdgpu_arch
from .helper import SOURCE

class JIT:
    arch = amdgpu_arch()

class jit:
    def __call__(self, function):
        path = {path!r}
        with open(path, "w") as file:
            file.write(SOURCE)
        kernel = getattr(module(path, "-DANSWER=42"), function.__name__)
        kernel.build()
        return kernel
"""
PROGRAM = """
import torch
from wave_runtime import pyhip

assert pyhip.JIT.arch == "gfx942"

@pyhip.jit()
def answer(J): ...

out = torch.zeros(1, dtype=torch.int)
answer([1], [1], out.data_ptr())
assert out.item() == 42
"""


def run(program: str, folder: Path, *paths: Path) -> subprocess.CompletedProcess[str]:
    (folder / "program.py").write_text(program)
    path = os.pathsep.join([str(ROOT), *map(str, paths), os.environ.get("PYTHONPATH", "")])
    environment = {**os.environ, "PYTHONPATH": path, "PYHIP_CACHE_DIR": str(folder)}
    return warm_python.run("program.py", cwd=folder, env=environment)


@pytest.mark.needs("pyhip")
def test_readme(tmp_path: Path) -> None:
    done = run(README, tmp_path)
    assert done.returncode == 0, done.stderr


@pytest.mark.parametrize(
    ("tools", "generator", "relative"),
    [("core.hiptools", "core.asmjit", ".hiptools"), ("runtime.hiptools", "codegen.asm.asmjit", "...runtime.hiptools")],
)
def test_generators_of_its_versions(tools: str, generator: str, relative: str, tmp_path: Path) -> None:
    package = tmp_path / "packages" / "pyhip"
    for name, text in (
        ("__init__", "raise ImportError('no ROCm')"),
        (tools, "raise ImportError('no ROCm')"),
        (generator, GENERATOR.format(tools=relative, path=str(tmp_path / "answer.cpp"))),
        (
            f"{generator.rpartition('.')[0]}.helper",
            "SOURCE = '#include <hip/hip_runtime.h>\\n__global__ void answer(int* out) { *out = ANSWER; }'",
        ),
    ):
        file = package.joinpath(*name.split(".")).with_suffix(".py")
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(text)
    done = run(PROGRAM, tmp_path, package.parent)
    assert done.returncode == 0, done.stderr


def test_without_pyhip(tmp_path: Path) -> None:
    if importlib.util.find_spec("pyhip") is not None:
        does_not_apply("PyHIP is installed")
    done = run(README, tmp_path)
    assert (
        "ImportError: jit needs PyHIP's generator of assembly, and PyHIP is not installed: pip install" in done.stderr
    )
