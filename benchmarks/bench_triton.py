"""Triton kernels on the emulator beside Triton's interpreter, and what a launch costs in Python.

    python benchmarks/bench_triton.py [--json FILE]

Each side runs in a process of its own, since TRITON_INTERPRET is read at import. Times are the best of several calls,
without compiling. Results are compared with torch's.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import measured_on

SIDES = ("emulate", "interpret")


def best(call: Callable[[], object], seconds: float) -> float:
    """The shortest time of a call, in milliseconds, of as many as fit into some seconds, at least two."""
    call()
    times: list[float] = []
    end = time.perf_counter() + seconds
    while len(times) < 2 or time.perf_counter() < end:
        begin = time.perf_counter()
        call()
        times.append(time.perf_counter() - begin)
    return min(times) * 1e3


def measure(side: str) -> dict[str, float]:
    """The times of one side: milliseconds, by what is launched."""
    import torch

    import wave_runtime

    if side == "emulate":
        wave_runtime.emulate("gfx942")
    from launchers import triton_samples as samples

    torch.manual_seed(0)
    times = {}
    for case in samples.CASES:
        launch, check = case()
        times[case.__name__.replace("_", " ")] = best(launch, 1.0)
        check()
    if side == "emulate":
        times |= {f"in Python: {name}": value for name, value in launch_cost(samples).items()}
    return times


def launch_cost(samples: Any) -> dict[str, float]:
    """What a launch of one small program costs as a whole, and without the parts that are this package's."""
    from wave_runtime.triton._program import Program

    launch, _ = samples.one_program()
    whole = best(launch, 1.0)
    emulator: list[Callable[[], None]] = []
    real = Program.launch

    def keep(self: Program, grid: tuple[int, int, int], stream: Any, values: list[Any]) -> None:
        options = {key: value for key, value in self._options.items() if key in ("block", "shared_memory")}
        emulator.append(self.kernel.bind(*values, *samples.NO_SCRATCH, grid=grid, **options))

    try:
        Program.launch = keep  # type: ignore[method-assign]
        launch()
        Program.launch = lambda *_: None  # type: ignore[method-assign]
        without = best(launch, 1.0)
    finally:
        Program.launch = real  # type: ignore[method-assign]
    return {"a launch": whole, "of it Triton's": without, "of it the emulator's": best(emulator[0], 1.0)}


def in_process(side: str) -> dict[str, float]:
    """The times of one side, of a process of its own."""
    environment = {**os.environ, "TRITON_DEFAULT_FP_FUSION": "1"}
    environment.pop("TRITON_INTERPRET", None)
    if side == "interpret":
        environment["TRITON_INTERPRET"] = "1"
    command = [sys.executable, __file__, "--side", side]
    shown = subprocess.run(command, env=environment, stdout=subprocess.PIPE, text=True, check=True).stdout
    times: dict[str, float] = json.loads(shown.splitlines()[-1])
    return times


def show(sides: dict[str, dict[str, float]]) -> str:
    """The times as a table."""
    lines = [f"{'':28}{'emulator':>14}{'interpreter':>14}{'ratio':>8}"]
    for name, emulated in sides["emulate"].items():
        interpreted = sides["interpret"].get(name)
        rest = "" if interpreted is None else f"{interpreted:11.3f} ms{interpreted / emulated:8.0f}"
        lines.append(f"{name:28}{emulated:11.3f} ms{rest}")
    return "\n".join(lines)


def main() -> None:
    """Measure both sides, and print them."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--json", type=Path)
    parser.add_argument("--side", choices=SIDES, help="measure this one alone, in this process")
    options = parser.parse_args()
    if options.side is not None:
        print(json.dumps(measure(options.side)))
        return
    described = measured_on.describe()
    sides = {side: in_process(side) for side in SIDES}
    print(show(sides))
    if options.json is not None:
        options.json.write_text(json.dumps({"machine": described, "milliseconds": sides}, indent=1) + "\n")


if __name__ == "__main__":
    main()
