"""Profiles of launches on GPUs: their times, by the driver's events."""

from __future__ import annotations

import torch
from conformance_support import Driver

import wave_runtime

N = 1000
CYCLES = 1_000_000


def test_times_of_launches(gpu: Driver) -> None:
    kernel = gpu.load()["slow_increment"]
    kernel.preload(gpu.device)
    a, b = gpu.zeros(N), gpu.zeros(N)
    with wave_runtime.profile() as p:
        kernel(a, b, N, CYCLES, grid=16, block=64)
        with torch.cuda.stream(torch.cuda.Stream()):
            kernel(a, b, N, CYCLES, grid=(16, 1), block=64)
    first, second = p.gpu_launches
    assert (first.kernel, first.device, first.grid, first.block) == ("slow_increment", "cuda:0", (16, 1, 1), (64, 1, 1))
    assert first.milliseconds is not None
    assert second.milliseconds is not None
    assert min(first.milliseconds, second.milliseconds) > 0
    assert p.kernels == [], "nothing ran on the emulator"
    assert "slow_increment on cuda:0" in p.table()


def test_captured_launches_have_no_times(gpu: Driver) -> None:
    kernel = gpu.load()["slow_increment"]
    kernel.preload(gpu.device)
    a, b = gpu.zeros(N), gpu.zeros(N)
    graph = torch.cuda.CUDAGraph()
    with wave_runtime.profile() as p, torch.cuda.graph(graph):
        kernel(a, b, N, 0, grid=16, block=64)
    assert [launch.milliseconds for launch in p.gpu_launches] == [None]
