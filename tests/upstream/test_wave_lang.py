"""wave-lang, unmodified, over our wave_runtime, on kernels of our own. `make test-wave-lang` runs its own tests."""

from __future__ import annotations

import importlib.util
import os
import subprocess
import sys
from pathlib import Path

import pytest
from support import ROOT

pytestmark = pytest.mark.skipif(
    importlib.util.find_spec("wave_lang") is None, reason="wave-lang is not installed: make wave"
)
FOLDER = Path(__file__).parent


def run(*arguments: str | Path) -> str:
    """Run pytest on tests that import the compiler, without this project's settings of it."""
    command = [
        sys.executable,
        "-m",
        "pytest",
        "-q",
        "-o",
        "addopts=",
        "-o",
        "filterwarnings=",
        "-p",
        "no:cacheprovider",
    ]
    environment = {**os.environ, "PYTHONPATH": f"{ROOT}:{FOLDER}:{ROOT / 'examples'}", "WAVE_CACHE_ON": "0"}
    done = subprocess.run(
        [*command, *arguments], env=environment, cwd=FOLDER, capture_output=True, text=True, timeout=600
    )
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


def test_plugin(tmp_path: Path) -> None:
    known = tmp_path / "known"
    known.write_text("# a comment\n*::test_known_failure: it shows that failures can be expected\n")
    plugin = ("-p", "wave_runtime.wave_lang.pytest", "--known-failures", known)
    output = run(*plugin, "wave_lang_kernels.py")
    assert "4 tests launched kernels (4 passed): 5 launches" in output
    assert "5 passed, 1 xfailed" in output


def test_from_wave() -> None:
    assert "8 passed" in run("from_wave_cases.py")


def test_example() -> None:
    assert "6 passed" in run("train_on_wave_cases.py")
