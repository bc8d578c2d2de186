"""What memory a launch takes: that of the workgroups in flight, however many there are in all."""

from __future__ import annotations

import subprocess
import sys

from support import EXAMPLES, ROOT

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
