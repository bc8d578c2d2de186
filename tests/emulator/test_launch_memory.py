"""What memory a launch takes: that of the workgroups in flight, however many there are in all. And where."""

from __future__ import annotations

import itertools
import subprocess
import sys
from pathlib import Path

import pytest
import torch
from support import EXAMPLES, ROOT

import wave_runtime

# In a process of its own: what others have had resident at most would hide it.
PROGRAM = """
import resource, sys, torch, wave_runtime

signature = {"collatz": "start: *i32 const, steps: *i32, n: i32"}
kernel = wave_runtime.load(sys.argv[1], signature=signature)["collatz"]
start, steps = torch.arange(1, 65, dtype=torch.int32), torch.zeros(64, dtype=torch.int32)
for workgroups in (1000, 100_000):  # the registers of the latter would be a gigabyte and more
    kernel(start, steps, 64, grid=workgroups, block=256)
    print(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss)
"""


def test_memory_does_not_grow_with_the_grid() -> None:
    command = [sys.executable, "-c", PROGRAM, EXAMPLES / "binaries" / "basics.hsaco"]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    before, after = map(int, done.stdout.split())
    assert after - before < 4 << 10  # KiB


# A structure of so many bytes is an argument.
ARGUMENTS = """
struct Given { int first; char rest[%d]; int last; };
extern "C" __global__ void find_arguments(unsigned long* address, int* sum, Given given) {
  *address = (unsigned long)__builtin_amdgcn_kernarg_segment_ptr();
  *sum = given.first + given.last;
}
"""


def is_in_heap(address: int) -> bool:
    """Whether the C library's heap in this process has it."""
    lines = [line for line in Path("/proc/self/maps").read_text().splitlines() if line.endswith("[heap]")]
    assert lines
    spans = [[int(part, 16) for part in line.split()[0].split("-")] for line in lines]
    return any(begin <= address < end for begin, end in spans)


TABLE = """
__device__ int table[100] = {1};
extern "C" __global__ void find_table(unsigned long* address) { *address = (unsigned long)table; }
"""


@pytest.mark.needs("clang")
def test_code_objects_lie_beside_nothing() -> None:
    """What a kernel reads behind the end of a tensor, or of another's globals, would be no mistake there."""
    (image,) = wave_runtime.compile(TABLE, target="gfx942").images.values()
    modules = [wave_runtime.load(image + bytes([i])) for i in range(5)]
    addresses = []
    for module in modules:
        address = torch.zeros(1, dtype=torch.uint64)
        module["find_table"](address, grid=1, block=1)
        addresses.append(address.item())
    addresses.sort()
    assert all(behind - before > 2 << 20 for before, behind in itertools.pairwise(addresses))


@pytest.mark.needs("clang")
@pytest.mark.parametrize("rest", [8, 960, 3000])
def test_arguments_lie_beside_no_tensor(rest: int) -> None:
    """What a kernel reads behind the end of a tensor would be its arguments there, where nothing is to be read."""
    kernel = wave_runtime.compile(ARGUMENTS % rest, target="gfx942")["find_arguments"]
    given = (3).to_bytes(4, "little") + bytes(rest) + (4).to_bytes(4, "little")
    address, total = torch.zeros(1, dtype=torch.uint64), torch.zeros(1, dtype=torch.int32)
    kernel(address, total, given, grid=1, block=1)
    assert total.item() == 7
    assert rest == 3000 or not is_in_heap(int(address.item()))
