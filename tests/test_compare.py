"""wave_runtime.compare: a GPU's results against the emulator's. Here the HIP library over the emulator is the GPU."""

from __future__ import annotations

import math
import os

import pytest
import torch
import warm_python
from support import EXAMPLES

import wave_runtime
from wave_runtime._compare import difference

BASICS = EXAMPLES / "binaries" / "basics.hsaco"


def floats(*values: float, dtype: torch.dtype = torch.float32) -> torch.Tensor:
    return torch.tensor(values, dtype=dtype)


def test_equal_tensors_have_no_difference() -> None:
    for dtype in (torch.float32, torch.float16, torch.float8_e4m3fnuz, torch.int64, torch.uint8, torch.bool):
        tensor = torch.arange(12).reshape(3, 4).to(dtype)
        assert difference("x", tensor, tensor.clone()) is None
    assert difference("x", floats(math.nan, math.inf), floats(-math.nan, math.inf)) is None
    assert difference("x", torch.tensor(1.0), torch.tensor(1.0)) is None


def test_ulps() -> None:
    a = torch.tensor([[1.0, -1.0], [0.0, 2.0]])
    b = torch.tensor([[1.0 + 2**-22, -1.0], [1e-45, 2.0]])
    found = difference("c", a, b)
    assert found is not None
    assert (found.elements, found.differing, found.nans, found.ulps) == (4, 2, 0, 2)
    assert [element.index for element in found.first] == [(0, 0), (1, 0)]
    assert [element.ulps for element in found.first] == [2, 1]
    assert found.absolute == 2**-22


@pytest.mark.parametrize(
    ("a", "b", "ulps"),
    [
        (floats(0.0), floats(-0.0), 0),
        (floats(-1e-45), floats(1e-45), 2),
        (floats(65504, dtype=torch.float16), floats(math.inf, dtype=torch.float16), 1),
        (floats(1, dtype=torch.bfloat16), floats(1.0078125, dtype=torch.bfloat16), 1),
        (torch.tensor([7]), torch.tensor([-3]), 10),
        (torch.tensor([-(2**63)]), torch.tensor([2**63 - 1]), 2**63 - 1),
        (torch.tensor([2**63], dtype=torch.uint64), torch.tensor([2**63 - 2], dtype=torch.uint64), 2),
        (floats(1, dtype=torch.float8_e8m0fnu), floats(4, dtype=torch.float8_e8m0fnu), 2),
    ],
)
def test_distances(a: torch.Tensor, b: torch.Tensor, ulps: int) -> None:
    found = difference("c", a, b)
    assert found is not None
    assert found.ulps == ulps


def test_the_largest_difference_as_a_number() -> None:
    cases = [
        (torch.tensor([-(2**63)]), torch.tensor([2**63 - 1]), 2.0**63),
        (torch.tensor([2**63], dtype=torch.uint64), torch.tensor([2**63 - 2], dtype=torch.uint64), 2),
        (floats(math.inf, 1), floats(-math.inf, math.nan), math.inf),
        (torch.tensor([True]), torch.tensor([False]), 1),
    ]
    for a, b, absolute in cases:
        found = difference("c", a, b)
        assert found is not None
        assert found.absolute == absolute
        assert (found.first[0].gpu, found.first[0].emulator) == (a[0].item(), b[0].item())


def test_pairs_of_four_bits_are_compared_as_bytes() -> None:
    a, b = (torch.tensor([0x12, value], dtype=torch.uint8).view(torch.float4_e2m1fn_x2) for value in (0x34, 0x35))
    assert difference("x", a, a.clone()) is None
    found = difference("x", a, b)
    assert found is not None
    assert [(element.index, element.gpu, element.emulator) for element in found.first] == [((1,), 0x34, 0x35)]


def test_a_nan_on_one_side() -> None:
    found = difference("c", floats(1, math.nan), floats(1, 2))
    assert found is not None
    assert (found.nans, found.differing, found.ulps, found.first[0].ulps) == (1, 1, 0, None)
    assert not wave_runtime.Comparison("k", "cuda:0", (found,)).within(100)
    assert "1 of 2 elements differ" in str(found)


CODE = f"""
import subprocess, sys, os, torch
from wave_runtime import _C
command = [sys.executable, "-m", "wave_emulator", "library"]
os.environ["WAVE_RUNTIME_LIBHIP"] = subprocess.run(command, capture_output=True, text=True, check=True).stdout.strip()
import wave_runtime
from wave_runtime import _compare
signature = {{"vector_add": "a: *f32 const, b: *f32 const, c: *f32, n: i32"}}
kernel = wave_runtime.load({str(BASICS)!r}, signature=signature)["vector_add"]
storage, c = torch.randn(2000), torch.zeros(1000)
found = wave_runtime.compare(kernel, storage[:1000], storage[1000:], c, 1000, device="hip", grid=4, block=256)
print(found)
assert found.equal and found.within(0)
assert not c.any(), "copies are written"
assert _C.drivers()[0] == "emulator"
copies = _compare._copies

def planted(arguments, device):
    result = copies(arguments, device)
    if not calls:
        result[0][7] += 1
    calls.append(device)
    return result

calls, _compare._copies = [], planted
found = wave_runtime.compare(kernel, storage[:1000], storage[1000:], c, 1000, device="hip", grid=4, block=256)
print([(item.argument, item.differing, item.first[0].index) for item in found.differences])
arrays = [array.numpy() for array in (storage[:1000], storage[1000:], c)]
calls.clear()
found = wave_runtime.compare(kernel, *arrays, 1000, device="hip", grid=4, block=256)
print([(item.argument, item.differing, item.first[0].index) for item in found.differences])
assert not c.any(), "copies are written"
_compare._copies = copies
try:
    wave_runtime.compare(kernel, storage[:1000], storage[1000:], c, 1000, grid=4, block=256)
except RuntimeError as error:
    print(error)
"""


def test_the_same_launch_twice() -> None:
    environment = {**os.environ, "CUDA_VISIBLE_DEVICES": "", "HIP_VISIBLE_DEVICES": ""}  # what a GPU here could not run
    done = warm_python.run("-c", CODE, env=environment)
    assert done.returncode == 0, done.stderr
    lines = done.stdout.splitlines()
    assert lines[0] == "kernel 'vector_add' on hip and on the emulator: equal"
    assert lines[1] == "[('a', 1, (7,)), ('c', 1, (7,))]", "an element that another GPU would compute otherwise"
    assert lines[2] == lines[1], "of NumPy's arrays, too"
    assert lines[3] == "there is no GPU to compare the emulator with"
