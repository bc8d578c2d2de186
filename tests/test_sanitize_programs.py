"""``python -m wave_runtime sanitize``, ``pytest --wave-sanitize`` and WAVE_RUNTIME_SANITIZE: programs as they are."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest
import torch
import warm_python
from support import EXAMPLES, PROBES, ROOT

import wave_emulator
import wave_runtime
from wave_runtime.__main__ import main

HIP_EMULATOR = str(wave_emulator.library("wave_hip_emulator"))
BASICS = EXAMPLES / "binaries" / "basics.hsaco"

PYTHON = f"""
import sys
import torch, wave_runtime
signature = {{"store_past_end": "out: *i32, n: i32, is_wrong: i32"}}
kernel = wave_runtime.load({str(PROBES / "mistakes_gfx942.hsaco")!r}, signature=signature)["store_past_end"]
result = torch.zeros(100, dtype=torch.int32)
kernel(result, 100, int(sys.argv[1]), grid=2, block=64)
print("done", flush=True)
sys.exit(int(sys.argv[2]))
"""

# Without torch: as C programs call the library.
HIP = f"""
import ctypes, sys
hip = ctypes.CDLL(sys.argv[1])
def check(code):
    assert code == 0, code
module, kernel, data = ctypes.c_void_p(), ctypes.c_void_p(), ctypes.c_void_p()
check(hip.hipModuleLoad(ctypes.byref(module), {os.fsencode(PROBES / "mistakes_gfx942.hsaco")!r}))
check(hip.hipModuleGetFunction(ctypes.byref(kernel), module, b"store_past_end"))
check(hip.hipMalloc(ctypes.byref(data), ctypes.c_size_t(400)))
if "free" in sys.argv:
    check(hip.hipFree(data))
if "null" in sys.argv:
    data = ctypes.c_void_p()
if "host" in sys.argv:
    room = ctypes.create_string_buffer(512)
    data = ctypes.c_void_p(ctypes.addressof(room))
arguments = [data, ctypes.c_int(100), ctypes.c_int(1)]
pointers = (ctypes.c_void_p * 3)(*(ctypes.addressof(argument) for argument in arguments))
for _ in range(int(sys.argv[2]) if sys.argv[2:] and sys.argv[2].isdigit() else 1):
    check(hip.hipModuleLaunchKernel(kernel, 2, 1, 1, 64, 1, 1, 0, None, pointers, None))
check(hip.hipDeviceSynchronize())
print("done")
"""

# Two kernels, the first of which writes some of the memory that the second reads.
UNWRITTEN = f"""
import ctypes, sys
hip = ctypes.CDLL(sys.argv[1])
def check(code):
    assert code == 0, code
def launch(name, *arguments):
    kernel = ctypes.c_void_p()
    check(hip.hipModuleGetFunction(ctypes.byref(kernel), module, name))
    pointers = (ctypes.c_void_p * len(arguments))(*(ctypes.addressof(argument) for argument in arguments))
    check(hip.hipModuleLaunchKernel(kernel, 1, 1, 1, 64, 1, 1, 0, None, pointers, None))
module, data, out = ctypes.c_void_p(), ctypes.c_void_p(), ctypes.c_void_p()
check(hip.hipModuleLoad(ctypes.byref(module), {os.fsencode(PROBES / "unwritten_gfx942.hsaco")!r}))
size = ctypes.c_size_t(256)
if "async" in sys.argv:
    check(hip.hipMallocAsync(ctypes.byref(data), size, None))
else:
    check(hip.hipMalloc(ctypes.byref(data), size))
check(hip.hipMalloc(ctypes.byref(out), size))
if "set" in sys.argv:
    check(hip.hipMemset(data, 0, size))
if "copy" in sys.argv:
    check(hip.hipMemcpy(data, bytes(256), size, 1))
launch(b"fill_below", data, ctypes.c_int(61))
launch(b"add", data, out)
check(hip.hipDeviceSynchronize())
"""


def run(*command: object, cwd: Path = ROOT, **variables: str) -> subprocess.CompletedProcess[str]:
    environment = {**os.environ, "PYTHONPATH": str(ROOT), **variables}
    return subprocess.run(
        [*map(str, command)], env=environment, capture_output=True, text=True, timeout=300, check=False, cwd=cwd
    )


def python(*arguments: object, cwd: Path = ROOT, **variables: str) -> subprocess.CompletedProcess[str]:
    return warm_python.run(*arguments, env={**os.environ, "PYTHONPATH": str(ROOT), **variables}, cwd=cwd)


def sanitized(*arguments: object) -> subprocess.CompletedProcess[str]:
    return python("-m", "wave_runtime", "sanitize", *arguments)


def test_a_program_in_python(tmp_path: Path) -> None:
    """Its findings, with the names of its variables, and its exit status."""
    path = tmp_path / "findings.json"
    done = sanitized("--tools", "memory,races", "--json", path, "--", sys.executable, "-c", PYTHON, 1, 0)
    assert done.returncode == 1, done.stderr
    assert done.stdout == "done\n"
    assert "the tensor is 'result' where the kernel is launched" in done.stderr
    assert done.stderr.splitlines()[-1] == "wave_runtime.sanitize (memory, races): 1 finding, seen 28 times"
    (finding,) = json.loads(path.read_text())["findings"]
    assert (finding["kind"], finding["tensor"]["index"]) == ("out-of-bounds", [100])


def test_exit_statuses(tmp_path: Path) -> None:
    wrong = (sys.executable, "-S", "-c", HIP, HIP_EMULATOR)
    right = (
        *wrong[:3],
        HIP.replace("ctypes.c_int(100), ctypes.c_int(1)", "ctypes.c_int(100), ctypes.c_int(0)"),
        wrong[4],
    )
    failing = (*wrong[:3], f"{HIP}\nsys.exit(3)", wrong[4])
    assert sanitized("--tools", "memory", "--", *right).returncode == 0
    assert sanitized("--tools", "memory", "--exit-code", 9, "--", *wrong).returncode == 9
    assert sanitized("--tools", "memory", "--", *failing).returncode == 3
    known = tmp_path / "known"
    known.write_text("memory:* store_past_end\n")
    done = sanitized("--suppressions", known, "--", *wrong)
    assert (done.returncode, "0 findings; 28 suppressed" in done.stderr) == (0, True)


def test_wrong_options() -> None:
    done = sanitized("--tools", "leaks", "--", "true")
    assert (done.returncode, "there is no tool 'leaks'" in done.stderr) == (2, True)
    done = sanitized("--", "/no/such/program")
    assert (done.returncode, "/no/such/program" in done.stderr) == (2, True)
    done = sanitized("--json", "/no/such/folder/findings.json", "--", "echo", "started")
    assert (done.returncode, done.stdout) == (2, "")
    assert "cannot write /no/such/folder/findings.json: No such file or directory" in done.stderr


def test_findings_that_cannot_be_saved_are_printed() -> None:
    program = (sys.executable, "-S", "-c", HIP, HIP_EMULATOR)
    done = sanitized("--tools", "memory", "--json", "/dev/full", "--", *program)
    assert done.returncode == 2
    assert "1 finding, seen 28 times" in done.stderr
    assert "cannot write /dev/full: No space left on device" in done.stderr


def test_children_are_looked_at(tmp_path: Path) -> None:
    """Of a program that is no Python itself."""
    (tmp_path / "program.py").write_text(PYTHON)
    shell = f"'{sys.executable}' '{tmp_path / 'program.py'}' 1 0; true"
    done = sanitized("--tools", "memory", "--", "sh", "-c", shell)
    assert done.returncode == 1, done.stderr
    assert "1 finding, seen 28 times" in done.stderr


def test_a_program_on_the_hip_library() -> None:
    done = sanitized("--tools", "memory", "--", sys.executable, "-S", "-c", HIP, HIP_EMULATOR)
    assert done.returncode == 1, done.stderr
    assert done.stdout == "done\n"  # the device has not failed
    assert "0 bytes past the end of the hipMalloc at 0x" in done.stderr
    assert "mistakes.hip:" in done.stderr


def test_a_null_pointer_on_the_hip_library() -> None:
    done = sanitized("--tools", "memory", "--", sys.executable, "-S", "-c", HIP, HIP_EMULATOR, "null")
    assert done.returncode == 1, done.stderr
    assert "a store of 4 bytes at a null pointer: argument 0 is null, or" in done.stderr
    assert "[memory:unmapped]" in done.stderr


def test_use_of_freed_memory() -> None:
    done = sanitized("--tools", "memory", "--", sys.executable, "-S", "-c", HIP, HIP_EMULATOR, "free")
    assert done.returncode == 1, done.stderr
    assert "of 400 bytes, which was freed [memory:use-after-free]" in done.stderr


def test_memory_of_the_hip_library_that_nobody_wrote() -> None:
    for how in ("malloc", "async"):
        done = sanitized("--tools", "uninitialized", "--", sys.executable, "-S", "-c", UNWRITTEN, HIP_EMULATOR, how)
        assert done.returncode == 1, done.stderr
        assert "depends on memory, 244 bytes from the beginning of the hipMalloc at 0x" in done.stderr
        assert "[uninitialized:global]" in done.stderr
        assert "1 finding, seen 3 times" in done.stderr
    for how in ("set", "copy"):
        done = sanitized("--tools", "uninitialized", "--", sys.executable, "-S", "-c", UNWRITTEN, HIP_EMULATOR, how)
        assert done.returncode == 0, done.stderr


def test_exact_bounds() -> None:
    """Memory of the process is a kernel's without them."""
    for options, count in (((), 0), (("--exact-bounds",), 128)):
        program = (sys.executable, "-S", "-c", HIP, HIP_EMULATOR, "host")
        done = sanitized("--tools", "memory", *options, "--", *program)
        assert done.returncode == min(count, 1), done.stderr
        assert ("a store of 4 bytes into memory that HIP did not allocate" in done.stderr) == (count > 0), done.stderr


def test_the_variables_alone() -> None:
    """Without a log findings go to stderr: of the library at once, of Python at the end."""
    for launches in (1, 3):
        done = run(sys.executable, "-S", "-c", HIP, HIP_EMULATOR, launches, WAVE_RUNTIME_SANITIZE="memory")
        assert done.returncode == 0
        assert done.stderr.count("[memory:out-of-bounds]") == 1  # of the first launch
        assert done.stderr.splitlines()[-1] == f"wave_runtime.sanitize (memory): 1 finding, seen {28 * launches} times"
    done = python("-c", PYTHON, 1, 0, WAVE_RUNTIME_SANITIZE="memory,waits")
    assert done.returncode == 0
    assert "[memory:out-of-bounds]" in done.stderr
    assert done.stderr.splitlines()[-1] == "wave_runtime.sanitize (memory, waits): 1 finding, seen 28 times"
    done = python("-c", PYTHON, 0, 0, WAVE_RUNTIME_SANITIZE="all")
    assert (done.returncode, done.stderr) == (0, "")


@pytest.mark.needs("clang")
def test_a_file_whose_name_is_no_utf8(tmp_path: Path) -> None:
    """Such as one of Latin 1, or half of a pair: in the process, and in the log of a program, of the profiler, too."""
    source, binary = tmp_path / "kernel.hip", tmp_path / "kernel.hsaco"
    text = 'extern "C" __global__ void store_past_end(int* a) { a[threadIdx.x + 64] = 1; }\n'
    source.write_bytes(b'#line 1 "caf\xe9\xc3\xa9\xed\xa0\x80\xe2\x82.hip"\n' + text.encode())
    name = r"caf\xe9é\xed\xa0\x80\xe2\x82.hip"
    with wave_runtime.sanitize("memory") as report:
        kernel = wave_runtime.compile(source, target="gfx942", options=["-g"])["store_past_end"]
        kernel(torch.zeros(4, dtype=torch.int32), grid=1, block=64)
    assert report.findings[0].at.frames[0].file.endswith(name)
    assert main(["compile", str(source), "--target", "gfx942", "--option=-g", "-o", str(binary)]) == 0
    program = HIP.replace(repr(os.fsencode(PROBES / "mistakes_gfx942.hsaco")), repr(os.fsencode(binary)))
    enough = program.replace("c_size_t(400)", "c_size_t(4000)")
    for text, *command in ((program, "sanitize", "--tools", "memory", "--json"), (enough, "profile", "-o")):
        log = tmp_path / f"{command[0]}.json"
        done = python("-m", "wave_runtime", *command, log, "--", sys.executable, "-c", text, HIP_EMULATOR)
        assert done.stdout == "done\n", done.stderr
        assert json.dumps(name)[1:-1] in log.read_text()


def test_a_log_in_a_folder_that_there_is_not(tmp_path: Path) -> None:
    programs = [(python, "-c", PYTHON, 1, 0), (run, sys.executable, "-S", "-c", HIP, HIP_EMULATOR)]
    for number, (start, *words) in enumerate(programs):
        log = tmp_path / f"not{number}" / "yet"
        done = start(*words, WAVE_RUNTIME_SANITIZE="memory", WAVE_RUNTIME_SANITIZE_LOG=str(log))
        assert (done.returncode, done.stdout, done.stderr) == (0, "done\n", "")
        (file,) = log.iterdir()
        assert [json.loads(line)["kind"] for line in file.read_text().splitlines()] == ["out-of-bounds"]


def test_a_log_where_there_can_be_no_folder(tmp_path: Path) -> None:
    """What is found is told on stderr, and launches do not fail of it."""
    (tmp_path / "file").touch()
    variables = {"WAVE_RUNTIME_SANITIZE": "memory", "WAVE_RUNTIME_SANITIZE_LOG": str(tmp_path / "file" / "log")}
    for start, *words in [(python, "-c", PYTHON, 1, 0), (run, sys.executable, "-S", "-c", HIP, HIP_EMULATOR)]:
        done = start(*words, **variables)
        assert (done.returncode, done.stdout) == (0, "done\n"), done.stderr
        assert "WAVE_RUNTIME_SANITIZE_LOG=" in done.stderr
        assert "Not a directory" in done.stderr
        assert "[memory:out-of-bounds]" in done.stderr


def test_over_reads_by_a_variable() -> None:
    program = PYTHON.replace("store_past_end", "load_past_end").replace("out: *i32, n: i32", "a: *i32 const, b: *i32")
    program = program.replace("kernel(result, 100", "kernel(torch.zeros(64, dtype=torch.int32), result").replace(
        "grid=2", "grid=1"
    )
    for value, expected in (("0", False), ("1", True)):
        variables = {"WAVE_RUNTIME_SANITIZE": "memory", "WAVE_RUNTIME_SANITIZE_OVER_READS": value}
        done = python("-c", program, 1, 0, **variables)
        assert ("[memory:over-read]" in done.stderr) == expected, done.stderr


TESTS = f"""
import torch, wave_runtime
import pytest

def launch(is_wrong):
    signature = {{"store_past_end": "out: *i32, n: i32, is_wrong: i32"}}
    kernel = wave_runtime.load({str(PROBES / "mistakes_gfx942.hsaco")!r}, signature=signature)["store_past_end"]
    kernel(torch.zeros(100, dtype=torch.int32), 100, is_wrong, grid=2, block=64)

@pytest.fixture
def wrong_setup():
    launch(1)

def test_right(): launch(0)
def test_wrong(): launch(1)
def test_with_a_wrong_setup(wrong_setup): pass
def test_that_fails_by_itself(): launch(1); assert 1 == 2
"""


def test_pytest(tmp_path: Path) -> None:
    (tmp_path / "test_launches.py").write_text(TESTS)
    command = ["-m", "pytest", "-q", "-rA", "-p", "wave_runtime.pytest", "-p", "no:cacheprovider"]
    plain = python(*command, cwd=tmp_path)
    assert "1 passed, 2 failed, 1 error" in plain.stdout or "2 failed, 1 passed, 1 error" in plain.stdout
    done = python(*command, "--wave-sanitize=memory", cwd=tmp_path)
    assert done.returncode == 1, done.stdout
    assert "FAILED test_launches.py::test_wrong" in done.stdout
    assert "PASSED test_launches.py::test_right" in done.stdout
    assert "ERROR test_launches.py::test_with_a_wrong_setup" in done.stdout
    assert "test_that_fails_by_itself - assert 1 == 2" in done.stdout
    assert done.stdout.count("[memory:out-of-bounds]") >= 2
    known = tmp_path / "known"
    known.write_text("memory\n")
    done = python(*command, "--wave-sanitize", f"--wave-suppressions={known}", "-k", "not itself", cwd=tmp_path)
    assert done.returncode == 0, done.stdout
    done = python(*command, "--wave-sanitize=leaks", cwd=tmp_path)
    assert (done.returncode, "--wave-sanitize: there is no tool 'leaks'" in done.stderr) == (4, True)


def test_pytest_gives_paths_back(tmp_path: Path) -> None:
    """An option whose value may be left out takes the next word for it, which most often is a test's file."""
    (tmp_path / "some").mkdir()
    (tmp_path / "some" / "conftest.py").write_text("def pytest_report_header(): return 'the conftest of some'\n")
    for folder in (".", "some"):
        (tmp_path / folder / f"test_{folder == 'some'}.py").write_text(TESTS)
    command = ["-m", "pytest", "-v", "-p", "no:cacheprovider"]
    for plugin in ("wave_runtime_pytest", "wave_runtime.pytest"):
        done = python(*command, "-p", plugin, "--wave-sanitize", "some/test_True.py", "-k", "right", cwd=tmp_path)
        assert done.returncode == 0, done.stdout + done.stderr
        assert "the conftest of some" in done.stdout
        assert ("1 passed, 3 deselected" in done.stdout, "test_False" in done.stdout) == (True, False)
    command += ["-p", "wave_runtime_pytest"]
    done = python(*command, "--wave-sanitize", "some/test_True.py::test_wrong", "--wave-emulate", ".", cwd=tmp_path)
    assert "[memory:out-of-bounds]" in done.stdout, done.stdout + done.stderr
    assert "a GPU with gfx942 is emulated" in done.stdout
    assert "test_False.py::test_right PASSED" in done.stdout
    done = python(*command, "--wave-sanitize", "memory", "some", "-k", "wrong", cwd=tmp_path)
    assert ("[memory:out-of-bounds]" in done.stdout, "test_False" in done.stdout) == (True, False)
    (tmp_path / "some" / "pytest.ini").write_text("[pytest]\npython_functions = test_r*\n")
    done = python(*command, "--wave-sanitize", "some/test_True.py", cwd=tmp_path)
    assert (done.returncode, "1 passed in" in done.stdout) == (0, True), done.stdout
    done = python(*command, "--wave-sanitize", "test_none.py", cwd=tmp_path)
    assert done.returncode == 4
    assert "there is no tool 'test_none.py': expected memory, races" in done.stderr
    assert "the option is --wave-sanitize=TOOLS, with =" in done.stderr


NO_TORCH = "import sys\n\ndef test_nothing_is_imported():\n    assert 'torch' not in sys.modules\n"


def test_pytest_finds_the_options(tmp_path: Path) -> None:
    """As the entry point of an installed package has them: they cost nothing where none is given."""
    (tmp_path / "test_nothing.py").write_text(NO_TORCH)
    options = ["-q", "-p", "no:cacheprovider", "-p", "wave_runtime_pytest"]
    done = run(sys.executable, "-m", "pytest", *options, cwd=tmp_path)
    assert done.returncode == 0, done.stdout
    (tmp_path / "test_nothing.py").write_text(TESTS)
    for plugins in ([], ["-p", "wave_runtime.pytest"]):
        command = ["-m", "pytest", *options, *plugins, "--wave-sanitize=memory", "-k", "wrong"]
        done = python(*command, cwd=tmp_path)
        assert "[memory:out-of-bounds]" in done.stdout, done.stdout + done.stderr
    (tmp_path / "wave_runtime.py").write_text("# as wave-lang's module of the name, found first\n")
    done = run(sys.executable, "-m", "pytest", *options, "--wave-emulate", cwd=tmp_path)
    assert done.returncode == 4
    assert f"wave_runtime is the module {tmp_path / 'wave_runtime.py'} here, not the package" in done.stderr
    (tmp_path / "wave_runtime.py").unlink()
    done = python("-m", "pytest", "-p", "wave_runtime.pytest", *options, "--wave-emulate=gfx9", cwd=tmp_path)
    assert (done.returncode, "--wave-emulate: " in done.stderr) == (4, True), done.stderr
