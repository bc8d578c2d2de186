"""The package without torch: where its libraries are, and programs on them."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
from requirements import need
from support import ROOT

import wave_emulator
import wave_runtime

PACKAGE = Path(wave_emulator.__file__).parent
COMMAND = [sys.executable, "-S", "-m", "wave_emulator"]  # -S: without the packages of this environment

DEVICES = """
import ctypes, sys
hip = ctypes.CDLL("libamdhip64.so")
count, name = ctypes.c_int(), ctypes.create_string_buffer(4096)
assert hip.hipGetDeviceCount(ctypes.byref(count)) == 0
assert hip.hipDeviceGetName(name, 4096, 0) == 0
print(count.value, "torch" in sys.modules, *sys.argv[1:])
"""

LINKED = """
extern "C" int hipGetDeviceCount(int*);
int main() {
  int count = 0;
  return hipGetDeviceCount(&count) == 0 && count == 1 ? 0 : 1;
}
"""


def run(*arguments: str | Path, **variables: str) -> subprocess.CompletedProcess[str]:
    environment = {**os.environ, "PYTHONPATH": str(PACKAGE.parent), **variables}
    folder = environment["PYTHONPATH"]  # where Python looks first
    return subprocess.run([*COMMAND, *arguments], env=environment, cwd=folder, capture_output=True, text=True)


def test_a_program_runs_without_torch() -> None:
    done = run("run", "--devices", "2", "--", sys.executable, "-S", "-c", DEVICES, "word", "--devices")
    assert done.stdout.split() == ["2", "False", "word", "--devices"], done.stderr


def test_the_target_is_the_programs() -> None:
    done = run("run", "--target", "gfx1100", "--time-limit", "2.5", "--", "sh", "-c", "env")
    variables = dict(re.findall("^(WAVE_RUNTIME_.*?)=(.*)$", done.stdout, re.MULTILINE))
    assert variables["WAVE_RUNTIME_EMULATOR_PROCESSOR"] == "gfx1100"
    assert variables["WAVE_RUNTIME_TIME_LIMIT"] == "2.5"


def test_options_that_are_not_given_leave_the_environment_as_it_is() -> None:
    given = {"WAVE_RUNTIME_EMULATOR_PROCESSOR": "gfx1201", "WAVE_RUNTIME_EMULATOR_DEVICES": "3"}
    assert run("run", "--", sys.executable, "-S", "-c", DEVICES, **given).stdout.split()[0] == "3"
    program = ["sh", "-c", "echo $WAVE_RUNTIME_EMULATOR_PROCESSOR $WAVE_RUNTIME_EMULATOR_DEVICES"]
    assert run("run", "--", *program, **given).stdout == "gfx1201 3\n"
    assert run("run", "--target", "gfx950", "--devices", "2", "--", *program, **given).stdout == "gfx950 2\n"


@pytest.mark.parametrize(
    ("options", "variables", "message"),
    [
        (["--target", "gfx900"], {}, "--target gfx900: expected gfx1030 or"),
        ([], {"WAVE_RUNTIME_EMULATOR_PROCESSOR": "gfx900"}, "WAVE_RUNTIME_EMULATOR_PROCESSOR=gfx900: expected gfx1030"),
        (["--devices", "65"], {}, "--devices 65: expected a whole number from 1 to 64"),
        ([], {"WAVE_RUNTIME_EMULATOR_DEVICES": "0"}, "WAVE_RUNTIME_EMULATOR_DEVICES=0: expected a whole number"),
    ],
)
def test_gpus_that_there_are_not(options: list[str], variables: dict[str, str], message: str) -> None:
    done = run("run", *options, "--", "echo", "started", **variables)
    assert (done.returncode, done.stdout) == (2, "")
    assert done.stderr.startswith(f"python -m wave_emulator: {message}")


def test_the_status_is_the_programs() -> None:
    assert run("run", "--", "sh", "-c", "exit 7").returncode == 7


def test_a_program_that_is_not_there() -> None:
    done = run("run", "--", "./no_such_program")
    assert (done.returncode, done.stdout) == (2, "")
    assert done.stderr == "python -m wave_emulator: ./no_such_program: No such file or directory\n"


def test_a_relative_folder_is_found_from_another(tmp_path: Path) -> None:
    folder = os.path.relpath(tmp_path, PACKAGE.parent)
    elsewhere = tmp_path / "elsewhere"
    elsewhere.mkdir()
    program = ["sh", "-c", 'cd "$0" && exec "$@"', elsewhere, sys.executable, "-S", "-c", DEVICES]
    done = run("run", "--devices", "2", "--", *program, WAVE_RUNTIME_CACHE_DIR=folder)
    assert done.stdout.split() == ["2", "False"], done.stderr


def test_a_folder_for_the_links_that_cannot_be_made() -> None:
    done = run("run", "--", "echo", "started", WAVE_RUNTIME_CACHE_DIR="/proc/none")
    assert (done.returncode, done.stdout) == (2, "")
    assert "name another folder for the links to the library in WAVE_RUNTIME_CACHE_DIR" in done.stderr


def test_commands_print_paths() -> None:
    for name in wave_emulator.LIBRARIES:
        assert Path(run("library", name).stdout.strip()).samefile(wave_emulator.library(name))
    assert Path(run("library").stdout.strip()).name == "libwave_hip_emulator.so"
    assert (Path(run("include").stdout.strip()) / "wave_runtime.h").is_file()
    assert (Path(run("cmake").stdout.strip()) / "wave_emulator" / "wave_emulator-config.cmake").is_file()


def test_a_library_that_there_is_not() -> None:
    with pytest.raises(ValueError, match="there is no library 'amdhip64': there are wave_emulator, wave_hip_emulator"):
        wave_emulator.library("amdhip64")


def test_a_tree_that_nobody_built(tmp_path: Path) -> None:
    shutil.copytree(PACKAGE, tmp_path / "wave_emulator", ignore=shutil.ignore_patterns("*.so", "__pycache__"))
    done = run("library", PYTHONPATH=str(tmp_path))
    assert done.returncode == 2
    assert "libwave_hip_emulator.so is not in" in done.stderr
    assert "pip install ./emulator" in done.stderr


def test_the_import_says_that_the_versions_differ() -> None:
    code = "import wave_emulator; wave_emulator.__version__ = '9.9'; import wave_runtime"
    done = subprocess.run([sys.executable, "-c", code], cwd=ROOT, capture_output=True, text=True)
    version = wave_runtime.__version__
    assert f"ImportError: wave-runtime {version} needs wave-emulator {version}, and 9.9 is installed" in done.stderr


def test_one_version() -> None:
    assert wave_emulator.__version__ == wave_runtime.__version__


@pytest.mark.needs("cmake")
def test_cmake_links_a_hip_program(tmp_path: Path) -> None:
    need("cmake")
    (tmp_path / "program.cpp").write_text(LINKED)
    (tmp_path / "CMakeLists.txt").write_text(
        "cmake_minimum_required(VERSION 3.18)\nproject(test CXX)\nfind_package(wave_emulator REQUIRED)\n"
        "add_executable(program program.cpp)\ntarget_link_libraries(program PRIVATE wave_emulator::hip)\n"
    )
    options = ["-S", tmp_path, "-B", tmp_path / "build", f"-DCMAKE_PREFIX_PATH={wave_emulator.cmake_dir()}"]
    subprocess.run(["cmake", *options], check=True, capture_output=True)
    subprocess.run(["cmake", "--build", tmp_path / "build"], check=True, capture_output=True)
    assert subprocess.run([tmp_path / "build" / "program"]).returncode == 0
