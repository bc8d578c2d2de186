"""The C++ parts that are tested without Python, built with sanitizers."""

from __future__ import annotations

import subprocess
from pathlib import Path

import pytest

ROOT = Path(__file__).parent.parent
CORPORA = [ROOT / "tests" / "code_object" / name for name in ("corpus", "nvidia")]
CORPORA += sorted((ROOT / "tests" / "emulator" / "kernels").glob("lines_*.hsaco"))


def build(tmp_path_factory: pytest.TempPathFactory, name: str, sources: list[str], *options: str) -> Path:
    """Compile C++ sources, given as patterns from the root, into a program."""
    program = tmp_path_factory.mktemp(name) / name
    files = [str(path) for pattern in sources for path in sorted(ROOT.glob(pattern))]
    command = ["g++", "-std=c++20", "-g", "-O0", "-Wall", "-Wextra", "-Werror", "-Icsrc", *options, *files, "-ldl"]
    subprocess.run([*command, "-o", program], cwd=ROOT, check=True)
    return program


@pytest.mark.parametrize(("prefixes", "flips"), [(512, 50), pytest.param(8192, 200, marks=pytest.mark.long)])
def test_damaged_code_objects(prefixes: int, flips: int, tmp_path_factory: pytest.TempPathFactory) -> None:
    """Files of the corpus, truncated and with flipped bits: an error or a result, nothing else."""
    sources = [
        "tests/cpp/code_object_fuzz.cpp",
        "tests/cpp/fuzz_replay.cpp",
        "csrc/base/*.cpp",
        "csrc/code_object/*.cpp",
    ]
    sanitizers = ["-fsanitize=address,undefined", "-fno-sanitize-recover=all"]
    program = build(tmp_path_factory, "replay", sources, *sanitizers)
    options = ["--prefixes", str(prefixes), "--flips", str(flips)]
    done = subprocess.run([program, *options, *CORPORA], capture_output=True, text=True, timeout=600)
    assert done.returncode == 0, done.stdout + done.stderr


def test_lz4(tmp_path_factory: pytest.TempPathFactory) -> None:
    sources = ["tests/cpp/test_lz4.cpp", "csrc/base/lz4.cpp", "csrc/base/error.cpp"]
    program = build(tmp_path_factory, "lz4", sources, "-fsanitize=address,undefined", "-fno-sanitize-recover=all")
    done = subprocess.run([program], capture_output=True, text=True, timeout=60)
    assert done.returncode == 0, done.stdout + done.stderr


def test_dynamic_library(tmp_path_factory: pytest.TempPathFactory) -> None:
    sources = ["tests/cpp/test_dynamic_library.cpp", "csrc/base/dynamic_library.cpp", "csrc/base/error.cpp"]
    program = build(tmp_path_factory, "dynamic_library", sources, "-fsanitize=address,undefined")
    done = subprocess.run([program], capture_output=True, text=True, timeout=60)
    assert done.returncode == 0, done.stdout + done.stderr


def test_the_emulators_fuzzer_compiles() -> None:
    """It needs libFuzzer to link and clang to be of use: make fuzz."""
    command = ["g++", "-std=c++20", "-fsyntax-only", "-Wall", "-Wextra", "-Werror", "-Icsrc"]
    done = subprocess.run([*command, "tests/cpp/emulator_fuzz.cpp"], cwd=ROOT, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
