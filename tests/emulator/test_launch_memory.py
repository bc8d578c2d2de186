"""What memory a launch takes: that of the workgroups in flight, however many there are in all."""

from __future__ import annotations

import resource

import torch
from support import EXAMPLES

import wave_runtime


def peak() -> int:
    """Bytes that the process has had resident at most."""
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024


def test_memory_does_not_grow_with_the_grid() -> None:
    signature = {"collatz": "start: *i32 const, steps: *i32, n: i32"}
    kernel = wave_runtime.load(EXAMPLES / "binaries" / "basics.hsaco", signature=signature)["collatz"]
    start, steps = torch.arange(1, 65, dtype=torch.int32), torch.zeros(64, dtype=torch.int32)
    kernel(start, steps, 64, grid=1000, block=256)
    before = peak()
    workgroups = 100_000  # whose registers would be a gigabyte and more
    kernel(start, steps, 64, grid=workgroups, block=256)
    assert peak() - before < 4 << 20
