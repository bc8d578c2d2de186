"""Environment variables: one table has them all, and none takes a value that it cannot mean."""

from __future__ import annotations

import os
import re
import subprocess

import pytest
import torch
import warm_python
from support import EXAMPLES, ROOT

import wave_emulator
import wave_runtime
from wave_runtime import _C, _env

BASICS = EXAMPLES / "binaries" / "basics.hsaco"
HIP_EMULATOR = str(wave_emulator.library("wave_hip_emulator"))

SOURCES = [
    path
    for folder in ("csrc", "wave_emulator", "wave_runtime")
    for path in sorted((ROOT / folder).rglob("*"))
    if path.suffix in {".cpp", ".h", ".inl", ".inc", ".py"} and "device" not in path.parts
]
# How C++ and Python read a variable.
READ = re.compile(
    r'(?:[vV]ariables(?:\(\))?\[|at_load\(|\bflag\(|\bsize\(|\bnamed_by\(|environ\.get\()\s*"([A-Z_]+)"', re.MULTILINE
)

# Those of C++ that are read when its library is loaded.
READ_AT_LOAD = set(re.findall(r'\bat_load\("([A-Z_]+)"', "".join(path.read_text() for path in SOURCES)))

# What a program does that reads all of C++'s variables.
LAUNCH = f"""
import torch, wave_runtime
signature = {{"vector_add": "*f32 const, *f32 const, *f32, i32"}}
kernel = wave_runtime.load({str(BASICS)!r}, signature=signature)["vector_add"]
a, c = torch.ones(64), torch.zeros(64)
kernel(a, a, c, 64, grid=1, block=64)
print(c.sum().item())
"""
DRIVERS = "import wave_runtime\nprint(wave_runtime._C.drivers())"
CACHE = "from pathlib import Path\nfrom wave_runtime._cache import Cache\nCache(Path('/nowhere'))"
TUNE = """
import torch
from wave_runtime._op._variants import _may_measure
_may_measure(torch.device('cpu'))
"""
EMULATE = """
import os
value = os.environ.pop("WAVE_RUNTIME_EMULATE", "")
import wave_runtime
os.environ["WAVE_RUNTIME_EMULATE"] = value
wave_runtime._emulate.from_environment()
"""
INDUCTOR = """
import os
import wave_runtime
os.environ["WAVE_RUNTIME_EMULATE"] = "gfx942"
wave_runtime._emulate.from_environment()
"""
HIP = {"WAVE_RUNTIME_CPU_DRIVER": "hip", "WAVE_RUNTIME_LIBHIP": HIP_EMULATOR}

WHOLE = ["-1", "+1", "1e9", "1.5", " 1", "0x10", "many", "99999999999999999999999"]
FLAG = ["yes", "2", "-1", "true", "01"]
SECONDS = ["-1", "-0", "soon", "1s", "inf", "nan", " 1"]

# By variable: values that mean nothing, and a program that reads it.
BAD: dict[str, tuple[list[str], str, dict[str, str]]] = {
    "WAVE_RUNTIME_DRIVER": (["emulator", "HIP"], DRIVERS, {}),
    "WAVE_RUNTIME_EMULATE": (["1", "mi300", "GFX942"], EMULATE, {}),
    "WAVE_RUNTIME_EMULATE_INDUCTOR": (FLAG, INDUCTOR, {}),
    "WAVE_RUNTIME_CPU_DRIVER": (["cpu", "cuda"], DRIVERS, {}),
    "WAVE_RUNTIME_SYNC": (FLAG, LAUNCH, {}),
    "WAVE_RUNTIME_TIME_LIMIT": (SECONDS, LAUNCH, {}),
    "WAVE_RUNTIME_MAX_INSTRUCTIONS": ([*WHOLE, "18446744073709551615"], LAUNCH, {}),
    "WAVE_RUNTIME_DETERMINISTIC": (FLAG, LAUNCH, {}),
    "WAVE_RUNTIME_CHECK": (["leaks", "races hazards", "hazards,", "races,,hazards"], LAUNCH, {}),
    "WAVE_RUNTIME_SANITIZE": (["leaks", "races,", "races memory"], LAUNCH, {}),
    "WAVE_RUNTIME_SANITIZE_OVER_READS": (FLAG, LAUNCH, {"WAVE_RUNTIME_SANITIZE": "memory"}),
    "WAVE_RUNTIME_SANITIZE_DENORMALS": (FLAG, LAUNCH, {"WAVE_RUNTIME_SANITIZE": "numbers"}),
    "WAVE_RUNTIME_SANITIZE_DEAD_REGISTERS": (FLAG, LAUNCH, {"WAVE_RUNTIME_SANITIZE": "waits"}),
    "WAVE_RUNTIME_PROFILE": (["profile", "1", "counts.txt"], LAUNCH, {}),
    "WAVE_RUNTIME_STATS": (FLAG, LAUNCH, {}),
    "WAVE_RUNTIME_TRACE_ONLY": (
        ["x", "1.", ".1", "1.2.3", "-1", "1.x", "99999999999999999999", "1.4294967296"],
        LAUNCH,
        {},
    ),
    "WAVE_RUNTIME_PROGRESS": (SECONDS, LAUNCH, {}),
    "WAVE_RUNTIME_MFMA": (["slow", "Exact"], LAUNCH, {}),
    "WAVE_RUNTIME_SIMD": (["sse", "avx"], LAUNCH, {}),
    "WAVE_RUNTIME_EMULATOR_PROCESSOR": (["gfx908", "gfx942:xnack-", "MI300X"], LAUNCH, {}),
    "WAVE_RUNTIME_EMULATOR_BOUNDS": (["tight", "Exact"], LAUNCH, {}),
    "WAVE_RUNTIME_EMULATOR_DEVICES": ([*WHOLE, "0", "65"], LAUNCH, HIP),
    "WAVE_RUNTIME_EMULATOR_THREADS": ([*WHOLE, "0", "1025"], LAUNCH, HIP),
    "WAVE_RUNTIME_CACHE_SIZE": (["-1", "1T", "G", "1.5G", "\u00b2", "1e9", "much"], CACHE, {}),
    "WAVE_RUNTIME_AUTOTUNE": (FLAG, TUNE, {}),
}
PROCESSORS = " or ".join(sorted(_C.emulator_processors()))
# What each says that it takes, and gives as an instance.
SAYS = {
    "WAVE_RUNTIME_DRIVER": ("hip or cuda", "hip"),
    "WAVE_RUNTIME_EMULATE": (PROCESSORS, "gfx950"),
    "WAVE_RUNTIME_CPU_DRIVER": ("emulator or hip", "emulator"),
    "WAVE_RUNTIME_MAX_INSTRUCTIONS": ("a whole number from 0 to 1000000000000000000 in decimal digits", "1000000"),
    "WAVE_RUNTIME_CHECK": ("hazards, races or hazards,races", "hazards,races"),
    "WAVE_RUNTIME_SANITIZE": (
        "tools with commas between them, of memory, races, waits, barriers, numbers, uninitialized, lanes, or all",
        "memory,races",
    ),
    "WAVE_RUNTIME_PROFILE": ("a file whose name ends in .html, .json, .csv", "profile.html"),
    "WAVE_RUNTIME_TRACE_ONLY": ("a workgroup's number, and after a point a wave's or not", "7.1"),
    "WAVE_RUNTIME_MFMA": ("fast or exact", "fast"),
    "WAVE_RUNTIME_SIMD": ("avx512, avx2 or portable", "avx512"),
    "WAVE_RUNTIME_EMULATOR_PROCESSOR": (PROCESSORS, "gfx942"),
    "WAVE_RUNTIME_EMULATOR_BOUNDS": ("exact or process", "exact"),
    "WAVE_RUNTIME_EMULATOR_DEVICES": ("a whole number from 1 to 64 in decimal digits", "64"),
    "WAVE_RUNTIME_EMULATOR_THREADS": ("a whole number from 1 to 1024 in decimal digits", "1024"),
    "WAVE_RUNTIME_CACHE_SIZE": ("a number of bytes, with K, M or G behind it or not", "2G"),
}
SAYS |= {
    name: ("1 for yes or 0 for no", "1") if values is FLAG else ("a number of seconds", "2.5")
    for name, (values, _, _) in BAD.items()
    if values in (FLAG, SECONDS)
}
# Any text may be a path, or be in a kernel's name. What leads nowhere is told by what wants it: test_run.py,
# test_env.py, compile/.
TEXTS = {
    "WAVE_RUNTIME_LIBHIP",
    "WAVE_RUNTIME_LIBCUDA",
    "WAVE_RUNTIME_LIBHIPRTC",
    "WAVE_RUNTIME_TRACE",
    "WAVE_RUNTIME_TRACE_KERNEL",
    "WAVE_RUNTIME_SANITIZE_LOG",
    "WAVE_RUNTIME_PROFILE_LOG",
    "WAVE_RUNTIME_DUMP",
    "WAVE_RUNTIME_CACHE_DIR",
    "ROCM_PATH",
    "XDG_CACHE_HOME",
    "CLANG",
    "NVCC",
    "CUDA_HOME",
    "CUDA_PATH",
    "IREE_COMPILE",
    "CMPLR_ROOT",
    "CXX",
}


def read_anywhere() -> set[str]:
    return {name for source in SOURCES for name in READ.findall(source.read_text())}


def run(code: str, **variables: str) -> subprocess.CompletedProcess[str]:
    kept = {name: value for name, value in os.environ.items() if name not in _env.VARIABLES}
    environment = {**kept, **variables}
    return warm_python.run("-c", code, env=environment)


def test_variables_are_read_in_one_place() -> None:
    """Of C++; Python has os.environ."""
    use = re.compile(r"\b(?:secure_)?getenv\b|\benviron\b")
    users = [str(path.relative_to(ROOT)) for path in SOURCES if path.suffix != ".py" and use.search(path.read_text())]
    assert users == ["csrc/base/environment.cpp"]


def test_every_variable_is_in_the_table() -> None:
    """Also those that the sources only name."""
    page = (ROOT / "docs" / "environment.md").read_text()
    listed = re.findall(r"^\| `([A-Z_]+)` \|", page, re.MULTILINE)
    assert len(listed) == len(set(listed))
    assert set(listed) == read_anywhere() == set(_env.VARIABLES)
    named = {name for source in SOURCES for name in re.findall(r"\bWAVE_RUNTIME_[A-Z_]+[A-Z]\b", source.read_text())}
    assert {name for name in named if not name.endswith("_H")} - {"WAVE_RUNTIME_API"} <= set(listed)


def test_every_variable_is_parsed_strictly_or_any_text() -> None:
    assert set(BAD) | TEXTS == read_anywhere()
    assert not set(BAD) & TEXTS


@pytest.mark.parametrize("name", BAD)
def test_values_that_mean_nothing(name: str) -> None:
    """Each is an error that names the variable and the value, and gives one that is right."""
    values, code, more = BAD[name]
    if name in READ_AT_LOAD:
        done = run(code, **more, **{name: values[0]})
        assert done.returncode == 1, f"{name}={values[0]} is taken"
        check_message(done.stderr, name, values[0])
    else:
        check_in_one_process(name, values, code, more)


def check_message(message: str, name: str, value: str) -> None:
    expected, instance = SAYS[name]
    assert f"{name}={value}: expected {expected}, for instance {name}={instance}" in message, message


def check_in_one_process(name: str, values: list[str], code: str, more: dict[str, str]) -> None:
    """What is read once is asked for again after a failure."""
    program = f"""
import os
for value in {values!r}:
    os.environ[{name!r}] = value
    try:
        exec({code!r})
    except {"RuntimeError" if more else "ValueError"} as error:
        print("error:", error, flush=True)
    else:
        print("taken:", value)
"""
    done = run(program, **more)
    assert done.returncode == 0, done.stderr
    found = [line for line in done.stdout.splitlines() if line.startswith(("error:", "taken:"))]
    assert len(found) == len(values)
    for line, value in zip(found, values, strict=True):
        check_message(done.stderr if more else line, name, value)  # the HIP library says on stderr what a code does not


@pytest.mark.parametrize(
    "variables",
    [
        {"WAVE_RUNTIME_MAX_INSTRUCTIONS": "1000000000000000000"},  # more than a turn's
        {"WAVE_RUNTIME_MAX_INSTRUCTIONS": "0", "WAVE_RUNTIME_TIME_LIMIT": "0"},
        {"WAVE_RUNTIME_TIME_LIMIT": "1e3", "WAVE_RUNTIME_PROGRESS": "0.5", "WAVE_RUNTIME_SYNC": "1"},
        {"WAVE_RUNTIME_STATS": "1", "WAVE_RUNTIME_CHECK": "hazards,races", "WAVE_RUNTIME_DETERMINISTIC": "0"},
        {"WAVE_RUNTIME_CHECK": "races, hazards", "WAVE_RUNTIME_SANITIZE": "races, memory ,waits"},
        {"WAVE_RUNTIME_CHECK": " races", "WAVE_RUNTIME_SANITIZE": "memory,all"},
        dict.fromkeys([name for name in BAD if name.startswith("WAVE_RUNTIME_")], ""),  # as if not set
    ],
)
def test_values_that_mean_something(variables: dict[str, str]) -> None:
    done = run(LAUNCH, **variables)
    assert (done.returncode, done.stdout) == (0, "128.0\n"), done.stderr


def test_a_limit_of_instructions_is_exact(monkeypatch: pytest.MonkeyPatch) -> None:
    kernel = wave_runtime.load(BASICS, signature={"vector_add": "*f32 const, *f32 const, *f32, i32"})["vector_add"]
    a, c = torch.ones(64), torch.zeros(64)
    kernel(a, a, c, 64, grid=1, block=64)
    needed = wave_runtime._C.emulator_statistics()["instructions"]
    monkeypatch.setenv("WAVE_RUNTIME_MAX_INSTRUCTIONS", str(needed))
    kernel(a, a, c, 64, grid=1, block=64)
    monkeypatch.setenv("WAVE_RUNTIME_MAX_INSTRUCTIONS", str(needed - 1))
    with pytest.raises(wave_runtime.KernelFault, match=f"more than {needed - 1} instructions"):
        kernel(a, a, c, 64, grid=1, block=64)


LAUNCHES = {
    "kernel(...)": "kernel(a, a, c, 64, grid=1, block=64)",
    "a bound launch": "bound()",
    "an operator": "torch.ops.wave.launch(kernel.handle, [a, a], [c], [64], [], [1], [64])",
}
CHANGES = """
import os, threading, time
stop = threading.Event()
def change():
    while not stop.is_set():
        for i in range(3000):
            os.environ[f"SOME_{{i}}"] = "value"
        for i in range(3000):
            del os.environ[f"SOME_{{i}}"]
changing = threading.Thread(target=change)
changing.start()
bound = kernel.bind(a, a, c, 64, grid=1, block=64)
end = time.monotonic() + 1
while time.monotonic() < end:
    {launch}
stop.set()
changing.join()
"""


@pytest.mark.parametrize("launch", LAUNCHES.values(), ids=LAUNCHES)
def test_the_environment_may_change_during_launches(launch: str) -> None:
    """os.environ moves the table of variables when it grows; a launch that looked at it then crashed."""
    done = run(LAUNCH + CHANGES.format(launch=launch))
    assert done.returncode == 0, (done.returncode, done.stderr)
