"""What `make build` says while it builds."""

from __future__ import annotations

import io
import subprocess
import sys
from pathlib import Path
from types import ModuleType

import pytest
from support import ROOT, load_tool

OUTPUT = """-- Generating done
[0/2] Re-checking globbed directories...
[1/2] Re-running CMake...
[1/2] Building CXX object a.cpp.o
a.cpp:3: warning: [-Wunused]
[2/2] Linking CXX shared library libwave_emulator.so
running build_ext
building 'wave_runtime._C' extension
ninja: no work to do.
building 'wave_runtime.torch_2_13.libwave_runtime' extension
[1/1] c++ -c c.cpp
""".splitlines(keepends=True)


@pytest.fixture(scope="module")
def build() -> ModuleType:
    return load_tool("build_package")


class Terminal(io.StringIO):
    def isatty(self) -> bool:
        return True


def test_each_file_is_a_step_of_its_library(build: ModuleType) -> None:
    assert list(build.steps(OUTPUT)) == [
        ("wave_emulator", 1, 2),
        ("wave_emulator", 2, 2),
        ("libwave_runtime", 1, 1),
    ]


def test_a_terminal_counts_and_a_file_has_a_line_for_each_library(build: ModuleType) -> None:
    terminal, file = Terminal(), io.StringIO()
    build.show(build.steps(OUTPUT), terminal)
    build.show(build.steps(OUTPUT), file)
    assert terminal.getvalue().splitlines()[-1] == "  libwave_runtime: 1 of 1 files "
    assert "\r  wave_emulator: 1 of 2 files \r" in terminal.getvalue().replace("\n", "\\n")
    assert file.getvalue() == "  wave_emulator: 2 files\n  libwave_runtime: 1 files\n"


def test_what_the_compiler_says_is_told_where_it_fails(tmp_path: Path) -> None:
    (tmp_path / "emulator").mkdir()
    (tmp_path / "emulator" / "CMakeLists.txt").write_text('message(FATAL_ERROR "no such header")')
    command = [sys.executable, ROOT / "tools" / "build_package.py", tmp_path / "build" / "log"]
    result = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, check=False)
    assert result.returncode != 0
    assert "no such header" in result.stderr
    assert "no such header" in (tmp_path / "build" / "log").read_text()
