"""The C++ parts that are tested without Python, built with sanitizers."""

from __future__ import annotations

import struct
import subprocess
from collections.abc import Callable
from pathlib import Path

import pytest
from simd_levels import LACKS, LEVELS, at
from support import ROOT, build_cpp, elf

import wave_emulator

CORPORA = [ROOT / "tests" / "code_object" / name for name in ("corpus", "nvidia")]
CORPORA += sorted((ROOT / "tests" / "emulator" / "kernels").glob("lines_*.hsaco"))


@pytest.fixture(scope="module")
def replay(tmp_path_factory: pytest.TempPathFactory) -> Callable[..., None]:
    """Gives files to the fuzz target of code objects: each must end in five seconds, in a result or an error."""
    sources = ["tests/cpp/code_object_fuzz.cpp", "tests/cpp/fuzz_replay.cpp", "csrc/code_object/*.cpp"]
    used = ("decompress", "dynamic_library", "error", "fork_safe", "json", "lz4", "output_file", "sha256")
    sources += [f"csrc/base/{name}.cpp" for name in used]
    options = ["-fsanitize=address,undefined", "-fno-sanitize-recover=all", "-Og"]  # it runs long
    program = build_cpp(tmp_path_factory, "replay", sources, *options)

    def run(files: list[Path], *, prefixes: int, flips: int) -> None:
        options = ["--prefixes", str(prefixes), "--flips", str(flips)]
        done = subprocess.run([program, *options, *files], capture_output=True, text=True, timeout=600)
        assert done.returncode == 0, done.stdout + done.stderr

    return run


@pytest.mark.parametrize(("prefixes", "flips"), [(192, 20), pytest.param(8192, 200, marks=pytest.mark.long)])
def test_damaged_code_objects(prefixes: int, flips: int, replay: Callable[..., None]) -> None:
    """Files of the corpus, truncated and with flipped bits: an error or a result, nothing else."""
    replay(CORPORA, prefixes=prefixes, flips=flips)


def info_unit(entries: bytes) -> bytes:
    """A unit of .debug_info of version 5, whose abbreviations are the section's."""
    body = struct.pack("<HBBI", 5, 1, 8, 0) + entries
    return struct.pack("<I", len(body)) + body


def line_unit(files: int) -> bytes:
    """A unit of .debug_line of version 5, whose files have one name: the first in .debug_line_str."""
    format_of_path = bytes([1, 1, 0x1F])  # one field: DW_LNCT_path, DW_FORM_line_strp
    count = bytes([files & 0x7F | 0x80, files >> 7 & 0x7F | 0x80, files >> 14])
    header = bytes([4, 1, 1, 0xFB, 14, 1]) + format_of_path + b"\0" + format_of_path + count + bytes(4 * files)
    body = struct.pack("<HBBI", 5, 8, 0, len(header)) + header
    return struct.pack("<I", len(body)) + body


# Files whose entries share what is long: reading each on its own would take minutes or hours.
SHARED = {
    "abbreviations": elf(
        debug_abbrev=bytes([1, 0x11, 0]) + bytes([0x10, 0x19]) * 50_000 + bytes(3), debug_info=info_unit(b"") * 20_000
    ),
    "attributes without bytes": elf(
        debug_abbrev=bytes([1, 0x11, 0]) + bytes([0x10, 0x19]) * 50_000 + bytes(3),
        debug_info=info_unit(b"\1" * 200_000),
    ),
    "ranges": elf(
        debug_abbrev=bytes([1, 0x2E, 0, 0x55, 0x17, 0, 0, 0]),
        debug_rnglists=(b"\5" + bytes(8)) * 20_000 + b"\0",  # a base again and again
        debug_info=info_unit((b"\1" + bytes(4)) * 40_000),
    ),
    "names of functions": elf(
        debug_abbrev=bytes([1, 0x2E, 0, 0x03, 0x0E, 0, 0, 0]),
        debug_str=b"f" * 2_000_000 + b"\0",
        debug_info=info_unit((b"\1" + bytes(4)) * 100_000),
    ),
    "names of files": elf(debug_line=line_unit(100_000), debug_line_str=b"f" * 2_000_000 + b"\0"),
}


@pytest.mark.parametrize("what", SHARED)
def test_debugging_information_that_is_shared(what: str, replay: Callable[..., None], tmp_path: Path) -> None:
    file = tmp_path / "file"
    file.write_bytes(SHARED[what])
    replay([file], prefixes=0, flips=0)


def test_lz4(tmp_path_factory: pytest.TempPathFactory) -> None:
    sources = ["tests/cpp/test_lz4.cpp", "csrc/base/lz4.cpp", "csrc/base/error.cpp"]
    program = build_cpp(tmp_path_factory, "lz4", sources, "-fsanitize=address,undefined", "-fno-sanitize-recover=all")
    done = subprocess.run([program], capture_output=True, text=True, timeout=60)
    assert done.returncode == 0, done.stdout + done.stderr


def test_sha256(tmp_path_factory: pytest.TempPathFactory) -> None:
    program = build_cpp(tmp_path_factory, "sha256", ["tests/cpp/test_sha256.cpp"], "-fsanitize=address,undefined")
    done = subprocess.run([program], capture_output=True, text=True, timeout=60)
    assert done.returncode == 0, done.stdout + done.stderr


def test_dynamic_library(tmp_path_factory: pytest.TempPathFactory) -> None:
    sources = ["tests/cpp/test_dynamic_library.cpp", "csrc/base/dynamic_library.cpp", "csrc/base/error.cpp"]
    program = build_cpp(tmp_path_factory, "dynamic_library", sources, "-fsanitize=address,undefined")
    done = subprocess.run([program], capture_output=True, text=True, timeout=60)
    assert done.returncode == 0, done.stdout + done.stderr


def linked() -> list[str]:
    """Options for a program of the emulator's library as it is."""
    libraries = wave_emulator.library("wave_emulator").parent
    return [f"-L{libraries}", "-Wl,--no-as-needed", "-lwave_emulator", f"-Wl,-rpath,{libraries}"]


def test_memory(tmp_path_factory: pytest.TempPathFactory) -> None:
    """Of the library as it is: what says why an access failed asks the launch, its code and the heap."""
    program = build_cpp(tmp_path_factory, "memory", ["tests/cpp/test_memory.cpp"], *linked())
    done = subprocess.run([program], capture_output=True, text=True, timeout=60)
    assert done.returncode == 0, done.stdout + done.stderr


def test_waiting_workgroups(tmp_path_factory: pytest.TempPathFactory) -> None:
    program = build_cpp(tmp_path_factory, "waiting_workgroups", ["tests/cpp/test_waiting_workgroups.cpp"], *linked())
    done = subprocess.run([program], capture_output=True, text=True, timeout=60)
    assert done.returncode == 0, done.stdout + done.stderr


def test_workgroup_ranges(tmp_path_factory: pytest.TempPathFactory) -> None:
    sources = ["tests/cpp/test_workgroup_ranges.cpp", "csrc/emulator/workgroup_ranges.cpp"]
    program = build_cpp(tmp_path_factory, "workgroup_ranges", sources, "-fsanitize=thread")
    done = subprocess.run([program], capture_output=True, text=True, timeout=60)
    assert done.returncode == 0, done.stdout + done.stderr


def test_lds_log(tmp_path_factory: pytest.TempPathFactory) -> None:
    program = build_cpp(tmp_path_factory, "lds_log", ["tests/cpp/test_lds_log.cpp"], *linked())
    done = subprocess.run([program], capture_output=True, text=True, timeout=60)
    assert done.returncode == 0, done.stdout + done.stderr


def test_process_memory(tmp_path_factory: pytest.TempPathFactory) -> None:
    sources = ["tests/cpp/test_process_memory.cpp", "csrc/base/process_memory.cpp", "csrc/base/error.cpp"]
    program = build_cpp(tmp_path_factory, "process_memory", sources, "-fsanitize=address,undefined")
    done = subprocess.run([program], capture_output=True, text=True, timeout=60)
    assert done.returncode == 0, done.stdout + done.stderr


def test_json(tmp_path_factory: pytest.TempPathFactory) -> None:
    sources = ["tests/cpp/test_json.cpp", "csrc/base/json.cpp"]
    program = build_cpp(tmp_path_factory, "json", sources, "-fsanitize=address,undefined")
    done = subprocess.run([program], capture_output=True, text=True, errors="replace", timeout=60)
    assert done.returncode == 0, done.stdout + done.stderr


@pytest.mark.parametrize("name", ["forms", "permuted_bytes", "rdna_dots"])
def test_vector_routines(tmp_path_factory: pytest.TempPathFactory, name: str) -> None:
    """At each SIMD level that this host has."""
    program = build_cpp(tmp_path_factory, name, [f"tests/cpp/test_{name}.cpp"], *linked())
    for level in LEVELS:
        done = subprocess.run([program], env=at(level), capture_output=True, text=True, timeout=300)
        assert done.returncode == 0 or LACKS in done.stderr, f"{level}: {done.stdout}{done.stderr}"


def test_print_format(tmp_path_factory: pytest.TempPathFactory) -> None:
    sources = ["tests/cpp/test_print_format.cpp", "csrc/emulator/print_format.cpp"]
    program = build_cpp(tmp_path_factory, "print_format", sources, "-fsanitize=address,undefined")
    done = subprocess.run([program], capture_output=True, text=True, timeout=60)
    assert done.returncode == 0, done.stdout + done.stderr


def test_unwritten_memory(tmp_path_factory: pytest.TempPathFactory) -> None:
    sources = ["tests/cpp/test_unwritten_memory.cpp"]
    sources += [f"csrc/base/{name}.cpp" for name in ("error", "fork_safe", "process_memory", "unwritten_memory")]
    program = build_cpp(tmp_path_factory, "unwritten_memory", sources, "-fsanitize=address,undefined", "-Og")
    done = subprocess.run([program], capture_output=True, text=True, timeout=60)
    assert done.returncode == 0, done.stdout + done.stderr


def test_stream_history(tmp_path_factory: pytest.TempPathFactory) -> None:
    sources = ["tests/cpp/test_stream_history.cpp"]
    program = build_cpp(tmp_path_factory, "stream_history", sources, "-fsanitize=address,undefined", "-Og")
    done = subprocess.run([program], capture_output=True, text=True, timeout=60)
    assert done.returncode == 0, done.stdout + done.stderr


def test_the_emulators_fuzzer_compiles() -> None:
    """It needs libFuzzer to link and clang to be of use: make fuzz."""
    command = ["g++", "-std=c++20", "-fsyntax-only", "-Wall", "-Wextra", "-Werror", "-Icsrc"]
    done = subprocess.run([*command, "tests/cpp/emulator_fuzz.cpp"], cwd=ROOT, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
