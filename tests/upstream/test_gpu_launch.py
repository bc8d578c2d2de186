"""launch() on GPUs, over a libcuda that keeps what it was given: what a launch remembers must not outlive its truth."""

from __future__ import annotations

import os
import subprocess
from pathlib import Path

import pytest
import torch
import warm_python
from requirements import does_not_apply
from support import ROOT
from torch.utils.cpp_extension import include_paths, library_paths

PROLOGUE = f"""
import ctypes, struct, sys, threading
import numpy as np, pytest, torch
double, gpu = (ctypes.CDLL(path, mode=ctypes.RTLD_GLOBAL) for path in sys.argv[1:])
import wave_runtime
from wave_runtime import Int64Vector, KernelLaunchInfo, launch

class Seen(ctypes.Structure):
    _fields_ = [(name, ctypes.c_uint64) for name in ("launches", "device", "stream", "synchronized")]
    _fields_ += [("grid", ctypes.c_uint32 * 3), ("block", ctypes.c_uint32 * 3)]
    _fields_ += [("shared_memory", ctypes.c_uint32), ("size", ctypes.c_uint32), ("arguments", ctypes.c_uint8 * 64)]

seen = Seen.in_dll(double, "seen")
double.make_current(0)
HOST_OBJECT = {str(ROOT / "tests/code_object/nvidia/host.o")!r}
binary, add = wave_runtime.load_binary(HOST_OBJECT, "vector_add")
other_binary, scale = wave_runtime.load_binary({str(ROOT / "tests/code_object/nvidia/sm_90.cubin")!r}, "scale")
pointers = Int64Vector([1 << 40, 2 << 40, 3 << 40])

def info(**fields):
    return KernelLaunchInfo(**{{"gpu_stream": 0, "gpu_func": add, "gridX": 4, "blockX": 256, **fields}})

def arguments():
    return bytes(seen.arguments[:seen.size])

def refused(error, text, *given):
    before = seen.launches
    with pytest.raises(error, match=text):
        launch(*given)
    assert seen.launches == before

expected = struct.pack("<3Qi", *pointers, 1000)
"""


@pytest.fixture(scope="module")
def libraries(tmp_path_factory: pytest.TempPathFactory) -> list[Path]:
    """A libcuda, and what makes torch say that there is a GPU."""
    folder = tmp_path_factory.mktemp("gpu")
    double, gpu = folder / "libcuda_double.so", folder / "torch_gpu.so"
    compiler = ["g++", "-std=c++20", "-shared", "-fPIC", "-fvisibility=hidden"]
    subprocess.run([*compiler, f"-I{ROOT / 'csrc'}", ROOT / "tests/cpp/cuda_double.cpp", "-o", double], check=True)
    torch_options = [f"-I{path}" for path in include_paths()] + [f"-L{path}" for path in library_paths()]
    sources = [ROOT / "tests/cpp/torch_gpu.cpp", "-o", gpu]
    subprocess.run([*compiler, *torch_options, *sources, "-lc10"], check=True)
    return [double, gpu]


def run(libraries: list[Path], code: str, **variables: str) -> None:
    if torch.cuda.is_available():
        does_not_apply("torch has a GPU of its own")
    environment = {**os.environ, "WAVE_RUNTIME_LIBCUDA": str(libraries[0]), "PYTHONPATH": str(ROOT), **variables}
    done = warm_python.run("-c", PROLOGUE + code, *libraries, env=environment)
    assert done.returncode == 0, done.stderr


def test_arguments_and_geometry(libraries: list[Path]) -> None:
    """However they are passed, and twice: the first launch looks up what later ones remember."""
    run(
        libraries,
        """
for tensors, dims, scalars, strides in (
    (pointers, Int64Vector([]), [1000], ()),
    (list(pointers), [], [1000], ([],)),
    (tuple(pointers), (), (np.int32(1000),), (np.array([7]),)),
    (pointers, [], wave_runtime.Int32Vector([1000]), (Int64Vector([]),)),
):
    for _ in range(2):
        launch(info(), tensors, dims, scalars, *strides)
        assert arguments() == expected
        assert (list(seen.grid), list(seen.block), seen.shared_memory) == ([4, 1, 1], [256, 1, 1], 0)
launch(info(), pointers, [], [0.5])
assert arguments() == struct.pack("<3Qf", *pointers, 0.5)
launch(info(), [1 << 63, -1, 0], [], [-1])
assert arguments() == struct.pack("<QqQi", 1 << 63, -1, 0, -1)
refused(ValueError, "does not fit in 32 bits", info(), pointers, [], [1 << 32])
refused(ValueError, "does not fit in 64 bits", info(), [1, 2, 1 << 64], [], [1])
refused(TypeError, "expected a tensor or an address", info(), [1, 2, 3.0], [], [1])
refused(ValueError, "takes 28 bytes of arguments .* given 24", info(), pointers, [], [])
refused(ValueError, "takes 28 bytes of arguments .* given 32", info(), pointers, [1], [])
refused(TypeError, "expected a list, given", info(), None, [], [1])
refused(TypeError, "expected a KernelLaunchInfo, given list", [], pointers, [], [1])
""",
    )


def test_fields_that_change_between_launches(libraries: list[Path]) -> None:
    run(
        libraries,
        """
info = info()
launch(info, pointers, [], [1])
for field, value, text in (
    ("gridX", 0, "has an extent below 1"),
    ("gridX", -1, "has an extent below 1"),
    ("gridY", 65536, "more than the 65535 workgroups in y"),
    ("blockX", 0, "has an extent below 1"),
    ("blockX", 1025, "more than the 1024 work-items"),
    ("blockY", 5, "more than the 1024 work-items"),
    ("blockZ", 65, "block"),
    ("sharedMemoryBytes", 232449, "more than the 232448 bytes"),
    ("sharedMemoryBytes", -1, "is negative"),
    ("clusterDimX", 3, "has no clusters"),
    ("gpu_func", add + 1, "is no function that load_binary"),
    ("gpu_func", scale, "bytes of arguments"),
):
    before = getattr(info, field)
    setattr(info, field, value)
    refused(ValueError, text, info, pointers, [], [1])
    setattr(info, field, before)
    launch(info, pointers, [], [1])
info.gridY, info.blockZ, info.sharedMemoryBytes, info.gpu_stream = 3, 2, 1024, 64
launch(info, pointers, [], [1])
assert (list(seen.grid), list(seen.block), seen.shared_memory, seen.stream) == ([4, 3, 1], [256, 1, 2], 1024, 64)
info.gpu_stream = None
launch(info, pointers, [], [1])
assert seen.stream == 0
""",
    )


def test_devices(libraries: list[Path]) -> None:
    """The driver's current device; on a thread that has none torch's, which is cuda:0 here."""
    run(
        libraries,
        """
def on(device):
    for _ in range(2):
        launch(info(), pointers, [], [1000])
        assert (seen.device, arguments(), double.current()) == (device, expected, device)

errors = []

def without_context():
    try:
        assert double.current() == -1
        on(0)
    except BaseException as error:
        errors.append(error)

on(0)
wave_runtime.load(HOST_OBJECT)["vector_add"].preload("cuda:1")  # from now on its context is known
double.make_current(1)
on(1)
thread = threading.Thread(target=without_context)
thread.start()
thread.join()
assert not errors, errors
double.make_current(0)
on(0)
""",
    )


def test_unloading_errors_and_profilers(libraries: list[Path]) -> None:
    run(
        libraries,
        """
launch(info(), pointers, [], [1000])
del binary  # unloads the code, which the next launch loads again
launch(info(), pointers, [], [1000])
assert arguments() == expected
ctypes.c_int.in_dll(double, "next_error").value = 1
with pytest.raises(RuntimeError, match=r"Error 1\\(CUDA_ERROR_OF_TEST\\)[^$]*cuLaunchKernel[^$]*n=1000|arguments"):
    launch(info(), pointers, [], [1000])
with torch.profiler.profile(activities=[torch.profiler.ProfilerActivity.CPU], acc_events=True) as profiler:
    launch(info(), pointers, [], [1000])
assert [event.name for event in profiler.events() if "wave::" in event.name] == ["wave::launch/vector_add"]
assert seen.synchronized == 0
""",
    )


def test_synchronous_launches(libraries: list[Path]) -> None:
    code = "launch(info(), pointers, [], [1000])\nassert (arguments(), seen.synchronized) == (expected, 1)"
    run(libraries, code, WAVE_RUNTIME_SYNC="1")
