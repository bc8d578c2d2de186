"""The goals of the emulator's speed, for whichever host it runs on: ratios to what was measured in the same run."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

GEMM, TILED, FP8_GEMM = "gemm_f16_16x16x16_256x256x256", "matmul_tiled", "gemm_mxfp8 (gfx950)"
# How many times faster than one core two are to be, and sixteen.
SCALING = {
    GEMM: (1.9, 12),
    "gemm_f8_16x16x32": (1.9, 12),
    "gemm_f16_16x16x16": (1.9, 12),
    "conv2d_3x3": (1.9, 6),
    "vector_add": (1.7, 6),
    "transpose_f16": (1.7, 6),
    "histogram": (1.3, 1.5),
}
# Seconds that another CPU emulator of gfx950, rocjitsu, takes for an FP8 GEMM of 1024x1024x1024 on one thread, and on
# some sixty of a Threadripper 9995WX, as its maker published, and how many times faster we are to be on one core, and
# on 16, or as many as there are.
PEER_SECONDS, PEER_TIMES = (4.21, 0.525), (20, 30)
HOST_RATIO = 2.5  # of the same source, compiled for the host
LAUNCH_US, FIRST_LAUNCH_MS, EXACT_RATIO = 4.0, 1.0, 3.0
GROWTH_BYTES = 256  # of the process, a launch: less than anything that could be kept of one


@dataclass(frozen=True)
class Goal:
    """A figure and what it is to be: at least, or at most."""

    name: str
    value: float
    goal: float
    at_least: bool = False

    @property
    def is_met(self) -> bool:
        """Whether the figure is what it is to be."""
        return self.value >= self.goal if self.at_least else self.value <= self.goal

    def line(self) -> str:
        """A line of the table."""
        sign = ">=" if self.at_least else "<="
        return f"{self.name:<88} {self.value:>10.3f}  {sign} {self.goal:<8g} {'met' if self.is_met else 'MISSED'}"


def scaling_goal(kernel: str, cores: int) -> float:
    """How many times faster than one core so many are to be.

    Between the goals for 2 and 16 a core's share of that falls evenly with each doubling.
    """
    two, sixteen = SCALING[kernel]
    doublings = (math.log2(min(max(cores, 2), 16)) - 1) / 3
    return cores * (two / 2 + (sixteen / 16 - two / 2) * doublings)


def goals(report: dict[str, Any]) -> list[Goal]:
    """Those that a report of bench_emulator.py has the figures for."""
    rows = {row["kernel"]: row for row in report["results"]}
    cores, product = report["threads"], report["torch_mm_gflops"]
    result = [
        Goal(f"{GEMM} / torch.mm, f32, one core", rows[GEMM]["gflops"] / product, 0.60, at_least=True),
        Goal(f"{TILED} / torch.mm, f32, one core", rows[TILED]["gflops"] / product, 0.04, at_least=True),
    ]
    for row in rows.values():
        if row["host_ms"] is not None:
            result.append(
                Goal(f"{row['kernel']} / the host's code, one core", row["one_core_ms"] / row["host_ms"], HOST_RATIO)
            )
    if cores > 1:
        for kernel in SCALING:
            times = rows[kernel]["one_core_ms"] / rows[kernel]["all_cores_ms"]
            result.append(
                Goal(f"{kernel}: {cores} cores against one", times, scaling_goal(kernel, cores), at_least=True)
            )
    if FP8_GEMM in rows:
        measured = [("one core", "one thread", rows[FP8_GEMM]["one_core_ms"])]
        if cores > 1:
            measured.append((f"{cores} cores", "some sixty threads", rows[FP8_GEMM]["all_cores_ms"]))
        for (of, peers, ms), seconds, times in zip(measured, PEER_SECONDS, PEER_TIMES, strict=False):
            name = f"{FP8_GEMM} 1024^3, {of}: times faster than rocjitsu on {peers}"
            result.append(Goal(name, seconds * 1e3 / ms, times, at_least=True))
    return [
        *result,
        Goal(f"{GEMM}: exact sums against fast", report["exact_ms"] / rows[GEMM]["one_core_ms"], EXACT_RATIO),
        Goal("launch of one workgroup, us", report["launch_us"], LAUNCH_US),
        Goal("first launch of 12 KB of code, ms", report["first_launch_ms"], FIRST_LAUNCH_MS),
        Goal("growth of the process, bytes a launch", report["memory"]["growth_bytes"], GROWTH_BYTES),
    ]
