"""HIP programs as people write them, compiled by clang with their host code, on the HIP library over the emulator."""

from __future__ import annotations

import functools
import json
import os
import re
import subprocess
import sys
from collections.abc import Callable
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import warm_python
from requirements import HIP_LIBRARY
from support import ROOT, first_or_long

from wave_emulator import _toolchain
from wave_runtime import _C

PROGRAMS = ROOT / "tests" / "hip"
TESTS = re.findall(r'\{"(\w+)", ', (PROGRAMS / "program.hip").read_text())
TIMEOUT = 300
PROCESSORS = ("gfx942", "gfx90a", "gfx1030", "gfx1100")
GENERIC = ("gfx9-generic", "gfx9-4-generic", "gfx10-3-generic", "gfx11-generic", "gfx12-generic")

pytestmark = pytest.mark.needs("hip-compiler")
Compile = Callable[..., Path]


def run(program: Path, *arguments: object, **variables: str) -> subprocess.CompletedProcess[str]:
    environment = {**os.environ, **variables}
    command = [str(program), *map(str, arguments)]
    return subprocess.run(command, env=environment, capture_output=True, text=True, timeout=TIMEOUT)


@pytest.fixture(scope="module")
def precompiled(hip_toolchain: Path, tmp_path_factory: pytest.TempPathFactory) -> Callable[..., Path]:
    """A header that has HIP's, which the compiler has read for the host and for these processors, with these options
    of most programs. To read it takes half a second for each, and three quarters of what a small program takes."""
    header = tmp_path_factory.mktemp("headers") / "hip.h"
    header.write_text("#include <hip/hip_runtime.h>\n")
    folder = header.with_name("hip.h.pch")  # of the files in it clang takes the one that fits
    folder.mkdir()

    @functools.cache
    def read(command: tuple[str, ...], *side: str) -> None:
        make = ["-c", "-emit-llvm", "-Xclang", "-emit-pch", header, "-o", folder / side[0].replace("=", "-")]
        subprocess.run([*command, *side, *make], check=True)

    def precompiled(command: list[str], targets: tuple[str, ...]) -> Path:
        read(tuple(command), "--offload-host-only")
        for target in targets:
            read(tuple(command), f"--offload-arch={target}", "--offload-device-only", "--no-gpu-bundle-output")
        return header

    return precompiled


@pytest.fixture(scope="module")
def compile(hip_toolchain: Path, precompiled: Callable[..., Path], tmp_path_factory: pytest.TempPathFactory) -> Compile:
    """Makes a program of a source with code for processors. What is compiled already is only linked."""

    @functools.cache
    def compiled(source: str, targets: tuple[str, ...], options: tuple[str, ...], compiler: str) -> Path:
        file = tmp_path_factory.mktemp("object") / "program.o"
        command = [compiler, "-x", "hip", f"--rocm-path={hip_toolchain}", "-O1", "-std=c++17", *options]
        if not options and compiler == "clang++-19" and not any(":" in target for target in targets):
            command += ["-include", str(precompiled(command, targets))]
        command += [f"--offload-arch={target}" for target in targets]
        subprocess.run([*command, "-c", PROGRAMS / source, "-o", file], check=True)
        return file

    def compile(
        source: str,
        *targets: str,
        options: tuple[str, ...] = (),
        linked: tuple[str, ...] = (),
        compiler: str = "clang++-19",
    ) -> Path:
        program = tmp_path_factory.mktemp("program") / "program"
        file = compiled(source, targets or ("gfx942",), options, compiler)
        libraries = hip_toolchain / "lib"
        command = [compiler, file, f"-Wl,-rpath,{libraries}", *linked, f"-L{libraries}", "-lamdhip64"]
        subprocess.run([*command, "-o", program], check=True)
        return program

    return compile


@pytest.fixture(scope="module")
def program(compile: Compile) -> Path:
    """For each processor on which its barriers of the grid compile."""
    return compile("program.hip", *PROCESSORS)


@pytest.fixture(scope="module")
def program_without_barriers(compile: Compile) -> Path:
    return compile("program.hip", "gfx942", "gfx1100", "gfx1201", options=("-DWITHOUT_GRID_SYNC",))


def test_programs_ask_for_the_release_of_their_headers(program: Path, hip_toolchain: Path) -> None:
    """By which the library knows the numbers of hipMemoryType and hipGraphNodeType: whatever folder it is found in."""
    release = _toolchain.library_release(hip_toolchain)
    assert f"libamdhip64.so.{release}\0".encode() in program.read_bytes()


def test_programs_with_hiprtc_have_the_numbers_of_their_headers(compile: Compile) -> None:
    """The loader takes hipRTC and HIP for one library, under the name that comes first."""
    linked = ("-Xlinker", "--no-as-needed", "-lhiprtc")
    done = run(compile("program.hip", *PROCESSORS, linked=linked), "numbers")
    assert done.returncode == 0, done.stderr


@pytest.mark.parametrize("test", TESTS)
def test_program(program: Path, test: str) -> None:
    done = run(program, test)
    assert done.returncode == 0, done.stderr


def test_memory_that_hip_did_not_allocate_is_forbidden_on_request(program: Path) -> None:
    """But what is registered."""
    done = run(program, "memory_of_the_process", WAVE_RUNTIME_EMULATOR_BOUNDS="exact")
    assert done.returncode == 1
    assert "a load of 4 bytes from memory that HIP did not allocate" in done.stderr
    assert re.search(r"program.hip:\d+: hipDeviceSynchronize\(\) is hipError", done.stderr)
    for test in ("launches", "symbols", "graphs", "managed_variables", "device_malloc", "printing", "cooperative"):
        done = run(program, test, WAVE_RUNTIME_EMULATOR_BOUNDS="exact")
        assert done.returncode == 0, done.stderr


def test_processes_that_are_forked(compile: Compile) -> None:
    done = run(compile("forks.hip"))
    assert done.returncode == 0, done.stderr


PLUGIN = """
#include <hip/hip_runtime.h>
__global__ void set(int* out) { *out = 42; }
struct Prepared {
  int* memory = nullptr;
  hipStream_t stream = nullptr;
  Prepared() {
    (void)hipStreamCreate(&stream);
    (void)hipMalloc(&memory, 4096);
    (void)hipMemsetAsync(memory, 7, 4096, stream);
    (void)hipStreamSynchronize(stream);
  }
} prepared;
extern "C" void launch() {
  hipStream_t stream = nullptr;
  (void)hipStreamCreate(&stream);
  for (int i = 0; i < 50; ++i) set<<<1, 1, 0, stream>>>(prepared.memory);
}
"""


def test_libraries_use_streams_while_they_are_loaded_and_unloaded(compile: Compile, tmp_path: Path) -> None:
    """The loader's lock is held then, for which a stream's thread must not wait."""
    source = tmp_path / "plugin.hip"
    source.write_text(PLUGIN)
    library = compile(str(source), options=("-fPIC",), linked=("-shared",))
    use = (
        "import ctypes, sys; import _ctypes; lib = ctypes.CDLL(sys.argv[1]); lib.launch(); _ctypes.dlclose(lib._handle)"
    )
    for _ in range(3):
        subprocess.run([sys.executable, "-S", "-c", use, library], check=True, timeout=60)


BEHIND_A_VARIABLE = """
#include <hip/hip_runtime.h>
#include <cstdlib>
__device__ int table[100];
__global__ void look_up(int* out, int i) { *out = table[i + threadIdx.x]; }
int main(int, char** arguments) {
  int* out;
  hipMalloc(&out, 4);
  look_up<<<1, 1>>>(out, atoi(arguments[1]));
  return hipDeviceSynchronize() != hipSuccess;
}
"""


def test_exact_bounds_name_the_variable_before(compile: Compile, tmp_path: Path) -> None:
    """Its memory may be the last that is mapped."""
    source = tmp_path / "behind.hip"
    source.write_text(BEHIND_A_VARIABLE)
    program = compile(str(source))
    assert run(program, 99, WAVE_RUNTIME_EMULATOR_BOUNDS="exact").returncode == 0
    for index in (300, 900):
        done = run(program, index, WAVE_RUNTIME_EMULATOR_BOUNDS="exact")
        assert done.returncode == 1
        assert "a load of 4 bytes from memory behind the variable 'table' of 400 bytes that HIP did" in done.stderr


@pytest.mark.parametrize("processor", ["gfx942", "gfx1100"])
def test_the_barrier_of_the_grid_orders_what_it_stands_between(
    program: Path, program_without_barriers: Path, processor: str
) -> None:
    """Without it there is a race. The device libraries' own invalidates caches before it alone."""
    variables = {"WAVE_RUNTIME_SANITIZE": "races", "WAVE_RUNTIME_EMULATOR_PROCESSOR": processor}
    assert run(program, "cooperative", **variables).stderr == ""
    without = run(program_without_barriers, "cooperative", **variables)
    assert "kernel 'pass_on(unsigned long long*, int)': memory is " in without.stderr


def test_unknown_tests_are_errors(program: Path) -> None:
    assert run(program, "no_such_test").returncode == 2


@pytest.mark.parametrize("processor", ["gfx1030", "gfx1100", "gfx1201"])
def test_program_for_an_rdna_processor(program: Path, program_without_barriers: Path, processor: str) -> None:
    """Whose device libraries read EXEC as 64 bits, in waves of 32 lanes too."""
    gfx12 = processor == "gfx1201"
    lines = []
    for test in set(TESTS) - ({"cooperative"} if gfx12 else set()):
        its = program_without_barriers if gfx12 else program
        done = run(its, test, WAVE_RUNTIME_EMULATOR_PROCESSOR=processor)
        assert done.returncode == 0, done.stderr
        lines += done.stdout.splitlines()
    assert lines == [f"work-item {i} of a kernel" for i in range(3)]


@pytest.mark.parametrize("processor", ["gfx942", "gfx1100"])
def test_functions_that_the_device_libraries_lack(compile: Compile, processor: str) -> None:
    """Printing by a buffer, and conversions that round as their names say: the toolchain has them."""
    program = compile("newer_libraries.hip", "gfx942", "gfx1100", options=("-mprintf-kind=buffered",))
    done = run(program, WAVE_RUNTIME_EMULATOR_PROCESSOR=processor)
    assert done.returncode == 0, done.stderr
    lines = done.stdout.splitlines()
    assert sorted(lines[:100]) == sorted(f"work-item {i} of a kernel: {i / 2:.2f}" for i in range(100))
    values = [0.1, -0.1, 1.0, 65519.0, 65520.0, 1e-9, -1e-9, 1e6, -1e6, 0.0, 6.1e-5, -3.0001]
    assert [tuple(map(float, line.split())) for line in lines[100:112]] == [rounded(value) for value in values]
    conversions = [line.split() for line in lines[112:]]
    assert len(conversions) == 41
    for kind, text, *found in conversions:
        value = Fraction(float.fromhex(text)) if "x" in text else Fraction(text)
        assert list(map(float.fromhex, found)) == directed(value, {"f32": np.float32, "f64": np.float64}[kind]), text


def test_toolchain_is_for_every_processor(hip_toolchain: Path) -> None:
    """And every generic target: clang compiles for none whose file is missing."""
    names = sorted([*_C.emulator_processors(), *GENERIC])
    files = [f"oclc_isa_version_{name.removeprefix('gfx')}.bc" for name in names]
    libraries = hip_toolchain / "amdgcn" / "bitcode"
    assert [name for name in files if not (libraries / name).exists()] == []


def test_program_for_a_generic_target(compile: Compile) -> None:
    program = compile("wrapping_atomics.hip", "gfx11-generic", options=("-mcode-object-version=6",))
    wrapping_atomics(program, "gfx1151")


@pytest.mark.parametrize("processor", [*PROCESSORS, "gfx1201"])
def test_functions_that_the_compiler_lacks(compile: Compile, processor: str) -> None:
    """Which the headers of ROCm 5.2 call as intrinsics."""
    wrapping_atomics(compile("wrapping_atomics.hip", *PROCESSORS, "gfx1201"), processor)


@pytest.mark.needs("clang-22")
@pytest.mark.parametrize("processor", first_or_long(["gfx942", "gfx950", "gfx1100"], 1))
def test_another_compiler(compile: Compile, processor: str) -> None:
    """Whose code objects have a newer version by default, and which leaves out some of the device libraries."""
    lanes = 32 if processor == "gfx1100" else 64
    how = {"compiler": "clang++-22", "options": (f"-D__AMDGCN_WAVEFRONT_SIZE={lanes}",)}
    wrapping_atomics(compile("wrapping_atomics.hip", processor, **how), processor)
    done = run(compile("program.hip", processor, **how), WAVE_RUNTIME_EMULATOR_PROCESSOR=processor)
    assert done.returncode == 0, done.stderr


def wrapping_atomics(program: Path, processor: str) -> None:
    done = run(program, WAVE_RUNTIME_EMULATOR_PROCESSOR=processor)
    assert done.returncode == 0, done.stderr
    counts = [12 if i < 128 % 11 else 11 for i in range(11)]
    assert [int(word) for word in done.stdout.split()] == [128 % 11, -128 % 7, 64 % 5, -64 % 5, *counts, 0]


def rounded(value: float) -> tuple[float, float, float]:
    """The FP16 towards zero, below and above of an FP32 number."""
    single = np.float32(value)
    with np.errstate(all="ignore"):
        nearest = single.astype(np.float16)
        down = np.nextafter(nearest, np.float16(-np.inf)) if nearest > single else nearest
        up = np.nextafter(nearest, np.float16(np.inf)) if nearest < single else nearest
    return float(down if single > 0 else up), float(down), float(up)


def directed(value: Fraction, kind: type[np.floating[Any]]) -> list[float]:
    """The numbers of a kind towards zero, below and above."""
    with np.errstate(all="ignore"):
        nearest = kind(float(value)) if abs(value) < Fraction(2) ** 1023 else kind(np.inf)
        # Rounded twice, it is one of the two that are nearest all the same, or infinite.
        exact = Fraction(float(nearest)) if np.isfinite(nearest) else int(np.sign(nearest)) * Fraction(2) ** 2000
        down = np.nextafter(nearest, kind(-np.inf)) if exact > value else nearest
        up = np.nextafter(nearest, kind(np.inf)) if exact < value else nearest
    return [float(down if value > 0 else up), float(down), float(up)]


@pytest.mark.parametrize("processor", ["gfx942", "gfx1100"])
def test_variables_are_memory_of_the_device(compile: Compile, processor: str) -> None:
    """Whose address can be asked about, and whose copies wait for the kernels before them in the stream."""
    done = run(compile("variables.hip", "gfx942", "gfx1100"), WAVE_RUNTIME_EMULATOR_PROCESSOR=processor)
    assert done.returncode == 0, done.stderr


@pytest.fixture(scope="module")
def taking_memory_away(compile: Compile) -> Path:
    return compile("lost_memory.hip")


@pytest.mark.parametrize("what", ["kernel", "from", "to", "fill"])
def test_memory_that_the_program_takes_away(taking_memory_away: Path, what: str) -> None:
    done = run(taking_memory_away, what)
    assert done.returncode == 0, done.stderr
    assert ("unmapped, protected or truncated" if what == "kernel" else "unmapped or protected") in done.stderr


def test_streams_are_destroyed_while_their_work_asks_about_them(compile: Compile) -> None:
    done = run(compile("destroyed_streams.hip"))
    assert done.returncode == 0, done.stderr


def test_code_for_devices_that_retry_accesses(compile: Compile) -> None:
    """A device is one where HSA_XNACK asks for it, as ROCm's runtime has it."""
    program = compile("variables.hip", "gfx942:xnack+")
    done = run(program)
    assert done.returncode == 1
    assert "hipErrorNoBinaryForGpu" in done.stderr
    assert "runs on gfx942:sramecc+:xnack-; the entries are" in done.stderr
    done = run(program, HSA_XNACK="1")
    assert done.returncode == 0, done.stderr


def test_functions_of_the_host_that_would_wait_for_their_stream(compile: Compile) -> None:
    """They get an error instead, and may end the program, for which the streams' threads end."""
    program = compile("host_functions.hip")
    done = run(program)
    assert done.returncode == 0, done.stderr
    assert "hipMemcpy: a function of the host in a stream must not wait for the device" in done.stderr
    done = run(program, "exit")
    assert done.returncode == 7, done.stderr


@pytest.mark.parametrize(("processor", "waves"), [("gfx942", 37), ("gfx1030", 72), ("gfx1100", 72)])
def test_grids_that_end_within_a_workgroup(compile: Compile, processor: str, waves: int, tmp_path: Path) -> None:
    """As MIOpen launches them, of kernels that are compiled for them. Smaller workgroups have fewer waves."""
    options = ("-fno-offload-uniform-block",)
    program = compile("partial_blocks.hip", "gfx942", "gfx1030", "gfx1100", options=options)
    variables = {"WAVE_RUNTIME_EMULATOR_PROCESSOR": processor, "WAVE_RUNTIME_PROFILE_LOG": str(tmp_path)}
    done = run(program, "partial", **variables)
    assert done.returncode == 0, done.stderr
    (log,) = tmp_path.glob("*.jsonl")
    (launch,) = json.loads(log.read_text())["launches"]
    assert launch["waves"] == waves


def test_older_code_finds_where_a_grid_ends_in_the_dispatch_packet(compile: Compile) -> None:
    options = ("-fno-offload-uniform-block", "-mcode-object-version=4")
    done = run(compile("partial_blocks.hip", options=options), "partial")
    assert done.returncode == 0, done.stderr


def test_kernels_for_whole_workgroups_are_not_launched_in_part(compile: Compile) -> None:
    done = run(compile("partial_blocks.hip"), "whole")
    assert done.returncode == 0, done.stderr
    assert "a grid that ends within a workgroup, of a kernel that is compiled for whole ones" in done.stderr


@pytest.mark.parametrize("processor", ["gfx1030", "gfx1100", "gfx1201"])
def test_objects_that_kernels_allocate(compile: Compile, processor: str) -> None:
    """The device libraries' malloc waits for a clock, by an instruction that gfx11 and later have not."""
    program = compile("objects.hip", "gfx1030", "gfx1100", "gfx1201", options=("-O3",))
    done = run(program, WAVE_RUNTIME_EMULATOR_PROCESSOR=processor, WAVE_RUNTIME_TIME_LIMIT="30")
    assert done.returncode == 0, done.stderr


@pytest.mark.parametrize("processor", ["gfx942", "gfx1100"])
def test_objects_that_workgroups_allocate_have_no_finding(compile: Compile, processor: str, tmp_path: Path) -> None:
    """The device libraries' malloc reads what other workgroups have written in a way of its own."""
    program = compile("objects.hip", "gfx942", "gfx1100")
    environment = {**os.environ, "WAVE_RUNTIME_CACHE_DIR": str(tmp_path)}
    command = ["-m", "wave_runtime", "sanitize", "--target", processor, "--", program]
    done = warm_python.run(*command, env=environment)
    assert (done.returncode, "0 findings" in done.stderr) == (0, True), done.stderr


@pytest.mark.parametrize("processor", ["gfx942", "gfx1100"])
def test_products_of_halves_are_clamped_on_request(compile: Compile, processor: str) -> None:
    """The device libraries' function for them clamps always."""
    done = run(compile("mixed_dot.hip", "gfx942", "gfx1100"), WAVE_RUNTIME_EMULATOR_PROCESSOR=processor)
    assert done.returncode == 0, done.stderr


def test_program_for_gfx90a(program: Path) -> None:
    """Whose kernels set up their scratch, and synchronise grids by GWS."""
    done = run(program, WAVE_RUNTIME_EMULATOR_PROCESSOR="gfx90a")
    assert done.returncode == 0, done.stderr


def test_kernels_print_before_the_program_ends(program: Path) -> None:
    assert run(program, "printing").stdout.splitlines() == [f"work-item {i} of a kernel" for i in range(3)]


def test_streams_of_each_thread(compile: Compile) -> None:
    """HIP's functions have second entry points, with _spt behind their names, which such programs call."""
    program = compile("program.hip", options=("-fgpu-default-stream=per-thread",))
    symbols = subprocess.run(["nm", "-D", program], capture_output=True, text=True, check=True).stdout
    assert "hipLaunchKernel_spt" in symbols
    done = run(program)
    assert done.returncode == 0, done.stderr


def test_code_for_another_processor_is_refused_at_its_first_use(program: Path) -> None:
    done = run(program, "launches", WAVE_RUNTIME_EMULATOR_PROCESSOR="gfx1201")
    assert done.returncode == 1
    assert "hipGetLastError() is hipErrorNoBinaryForGpu" in done.stderr
    assert re.search(r"hipLaunchKernel: .*gfx1201.*gfx942", done.stderr)


def test_of_several_processors_the_emulated_one_is_taken(compile: Compile) -> None:
    """Other tests have a program with four, which is not compressed."""
    program = compile("variables.hip", "gfx942", "gfx1100", options=("--offload-compress",))
    for processor in ("gfx942", "gfx1100"):
        done = run(program, WAVE_RUNTIME_EMULATOR_PROCESSOR=processor)
        assert done.returncode == 0, done.stderr


@pytest.mark.needs("hip-library")
def test_program_linked_with_amds_library(compile: Compile, hip_toolchain: Path) -> None:
    """It asks for versions of symbols, which the library has, too: the loader would complain."""
    folder = Path("/usr/lib/x86_64-linux-gnu")
    program = compile("program.hip", *PROCESSORS, linked=("-Xlinker", str(folder / HIP_LIBRARY)))
    needed = subprocess.run(["objdump", "-p", program], capture_output=True, text=True, check=True).stdout
    assert f"required from {HIP_LIBRARY}" in needed
    done = run(program, "launches", LD_LIBRARY_PATH=str(hip_toolchain / "lib"))
    assert (done.returncode, "version" in done.stderr) == (0, False), done.stderr


def test_the_command_runs_a_program(program: Path, tmp_path: Path) -> None:
    environment = {**os.environ, "WAVE_RUNTIME_CACHE_DIR": str(tmp_path)}
    command = ["-m", "wave_runtime", "emulate", "--devices", "2", "--", program, "launches"]
    done = warm_python.run(*command, env=environment)
    assert done.returncode == 0, done.stderr


@pytest.mark.needs("hip-library")
def test_structures_are_those_of_the_release(compile: Compile, hip_toolchain: Path) -> None:
    """Of 5.2, whose headers Debian has: HIP_MEMCPY3D has other numbers since 6."""
    library = str(Path("/usr/lib/x86_64-linux-gnu") / HIP_LIBRARY)
    program = compile("boxes.hip", linked=("-Xlinker", library))
    assert run(program, LD_LIBRARY_PATH=str(hip_toolchain / "lib")).returncode == 0


MAKEFILE = """
main: main.o
\t$(CC) main.o -o $@
main.o: main.cu
\t$(CC) -O1 -c main.cu -o main.o
run: main
\t./main 4096 \\
\t\t100
"""

CHECKS_ITSELF = """
#include <hip/hip_runtime.h>
#include <cstdio>
#include <cstdlib>
__global__ void add(int* data) { data[threadIdx.x] += OFFSET; }
int main(int, char** arguments) {
  const int count = std::atoi(arguments[1]) / 64, repetitions = std::atoi(arguments[2]);
  int *data = nullptr, result = 0;
  if (hipMalloc(&data, 64 * sizeof(int)) != hipSuccess || hipMemset(data, 0, 64 * sizeof(int)) != hipSuccess) return 1;
  for (int i = 0; i < repetitions; ++i) add<<<1, count>>>(data);
  if (hipMemcpy(&result, data, sizeof(int), hipMemcpyDeviceToHost) != hipSuccess) return 1;
  std::printf("%s %d\\n", result == repetitions ? "PASS" : "FAIL", repetitions);
  std::printf("Number of failures: 0, incorrect matches: 0\\n");
}
"""


def test_programs_that_check_themselves_are_counted(hip_toolchain: Path, tmp_path: Path) -> None:
    """benchmarks/run_hecbench.py: one repetition, and a verdict or a cause for each program."""
    sources = {
        "right": CHECKS_ITSELF.replace("OFFSET", "1"),
        "wrong": CHECKS_ITSELF.replace("OFFSET", "2"),
        "wild": CHECKS_ITSELF.replace("threadIdx.x] +=", "threadIdx.x + 64] +=").replace("OFFSET", "1"),
        "unbuilt": '#include "hipcub/no_such_file.hpp"',
    }
    for name, source in sources.items():
        folder = tmp_path / "src" / f"{name}-hip"
        folder.mkdir(parents=True)
        (folder / "Makefile").write_text(MAKEFILE)
        (folder / "main.cu").write_text(source)
    (tmp_path / "src" / "wrong-hip" / "Makefile").write_text(MAKEFILE.replace("$(CC)", "hipcc"))
    (tmp_path / "src" / "right-hip" / "data.txt").symlink_to("../data-that-are-not-there.txt")
    results = tmp_path / "results.json"
    command = [sys.executable, ROOT / "benchmarks" / "run_hecbench.py", tmp_path / "src", "--toolchain", hip_toolchain]
    done = subprocess.run([*command, "--json", results, *sources], capture_output=True, text=True, check=True)
    found = json.loads(results.read_text())
    assert found["right"]["verdict"] == "PASS", done
    assert found["right"]["command"] == "./main 4096 1"
    assert found["wrong"]["verdict"] == "FAIL"
    assert found["wild"]["verdict"].startswith("fault: kernel 'add(int*)' on the gfx942 emulator: a store of 4 bytes")
    assert found["unbuilt"]["verdict"] == "not built: needs hipcub/no_such_file.hpp"
    assert {path.name for path in (tmp_path / "src" / "right-hip").iterdir()} == {"Makefile", "main.cu", "data.txt"}
