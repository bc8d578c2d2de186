"""The example kernels that have sources in HIP, compiled for other processors than their binaries, against torch."""

from __future__ import annotations

import itertools
import os
import shutil
import subprocess
from pathlib import Path

import pytest
import warm_python
from support import ROOT

KERNELS = ROOT / "examples" / "kernels"
SOURCES = {"basics": "basics.hip", "block": "block.cu", "training": "training.cu"}

# Every example of a module, by the catalog of a copy of the folder, whose binaries are for another processor. Where
# WAVE_RUNTIME_SANITIZE asks for tools, a finding is a failure. The first size is the largest.
CHECK = """
import contextlib, importlib, os, sys, wave_runtime
tools = os.environ.get("WAVE_RUNTIME_SANITIZE")
for name in sys.argv[1:]:
    for example in importlib.import_module(f"catalog.{name}").EXAMPLES:
        for size in example.sizes["SMALL" in os.environ :]:
            with wave_runtime.sanitize(tools, fail=True) if tools else contextlib.nullcontext():
                example.check(*size)
            print(example.name, *size)
"""


def check(
    target: str,
    names: list[str],
    folder: Path,
    lanes: int | None = None,
    level: str = "-O2",
    tools: str = "",
    small: bool = False,
) -> list[str]:
    """Compile, in waves of `lanes` lanes, and run in a process of its own, looked at by tools of the sanitizer. Returns
    what was checked."""
    kernels = folder / "kernels"
    shutil.copytree(KERNELS, kernels)
    for name in names:
        command = ["clang-22", "-x", "hip", f"--offload-arch={target}", "--offload-device-only"]
        command += ["-mwavefrontsize64"] if lanes == 64 else []
        command += ["--no-gpu-bundle-output", "-nogpulib", "-nogpuinc", level, str(kernels / "sources" / SOURCES[name])]
        subprocess.run([*command, "-o", str(kernels / "binaries" / f"{name}.hsaco")], check=True)
    environment = {**os.environ, "PYTHONPATH": f"{ROOT}:{kernels}", "WAVE_RUNTIME_EMULATOR_PROCESSOR": target}
    if tools:
        environment["WAVE_RUNTIME_SANITIZE"] = tools
    if small:
        environment["SMALL"] = "1"
    done = warm_python.run("-c", CHECK, *names, env=environment, timeout=600)
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout.splitlines()


@pytest.mark.needs("clang-22")
@pytest.mark.parametrize("target", ["gfx90a"])
def test_basics(target: str, tmp_path: Path) -> None:
    assert any(line.startswith("vector_add") for line in check(target, ["basics"], tmp_path))


@pytest.mark.needs("clang-22")
@pytest.mark.parametrize(
    ("target", "lanes"), [("gfx1030", 32), ("gfx1030", 64), ("gfx1100", 32), ("gfx1151", 64), ("gfx1201", 32)]
)
def test_basics_on_rdna(target: str, lanes: int, tmp_path: Path) -> None:
    assert any(line.startswith("vector_add") for line in check(target, ["basics"], tmp_path, lanes))


@pytest.mark.needs("clang-22")
@pytest.mark.parametrize(("target", "level"), [("gfx942", "-O0"), ("gfx1201", "-O1")])
def test_code_of_any_level_has_no_mistake(target: str, level: str, tmp_path: Path) -> None:
    assert check(target, ["basics"], tmp_path, level=level, tools="all", small=True)


@pytest.mark.long
@pytest.mark.needs("clang-22")
@pytest.mark.parametrize("target", ["gfx90a", "gfx942", "gfx950", "gfx1030", "gfx1100", "gfx1201"])
@pytest.mark.parametrize("level", ["-O0", "-O1", "-O2", "-O3"])
def test_all_code_of_any_level_has_no_mistake(target: str, level: str, tmp_path: Path) -> None:
    assert len(check(target, list(SOURCES), tmp_path, level=level, tools="all")) >= 10


RDNA = ("gfx1030", "gfx1036", "gfx1100", "gfx1101", "gfx1102", "gfx1103", "gfx1150", "gfx1151", "gfx1152", "gfx1153")
RDNA += ("gfx1200", "gfx1201")


@pytest.mark.long
@pytest.mark.needs("clang-22")
@pytest.mark.parametrize(("target", "lanes"), list(itertools.product(RDNA, (32, 64))))
def test_all_on_rdna(target: str, lanes: int, tmp_path: Path) -> None:
    assert len(check(target, list(SOURCES), tmp_path, lanes)) >= 10


@pytest.mark.long
@pytest.mark.needs("clang-22")
@pytest.mark.parametrize("target", ["gfx90a", "gfx950"])
@pytest.mark.parametrize("name", ["block", "training"])
def test_models(target: str, name: str, tmp_path: Path) -> None:
    assert len(check(target, [name], tmp_path)) >= 3
