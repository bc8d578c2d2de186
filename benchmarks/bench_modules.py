"""What modules cost: the memory that load and unload cycles leave behind, and the time until a kernel's first launch.

    python benchmarks/bench_modules.py [--cycles N] [--json FILE]

A cycle loads a file, loads its module on the GPU, launches now and then, and drops it all again: by unload(), or by
letting it be garbage. Memory is what the process has resident and what the GPU has in use, after warm-up, halfway, and
at the end: a leak grows as much in the second half as in the first, caches and fragments of the heap do not.
"""

from __future__ import annotations

import argparse
import gc
import json
import os
import statistics
import sys
import tempfile
import time
from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass
from functools import partial
from pathlib import Path
from typing import Any

import measured_on
import torch
from launchers import build
from launchers.cases import BLOCK, CASES, Launch

import wave_runtime

WARM_UP = 200
LAUNCH_EVERY = 100
FIRST_LAUNCHES = 50


@dataclass(frozen=True)
class Memory:
    """Bytes in use by the process, and on the GPU by all."""

    resident: int
    gpu: int

    @staticmethod
    def now() -> Memory:
        """Collects garbage first."""
        gc.collect()
        torch.cuda.synchronize()
        pages = int(Path("/proc/self/statm").read_text().split()[1])
        free, total = torch.cuda.mem_get_info()
        return Memory(pages * os.sysconf("SC_PAGE_SIZE"), total - free)


@dataclass(frozen=True)
class Cycles:
    """A way to unload, and what it left behind."""

    name: str
    cycles: int
    microseconds: float
    memory: tuple[Memory, Memory, Memory]

    def __str__(self) -> str:
        lines = [f"{self.name}: {self.cycles:,} cycles of {self.microseconds:.0f} us"]
        for kind, values in (
            ("resident", [memory.resident for memory in self.memory]),
            ("on the GPU", [memory.gpu for memory in self.memory]),
        ):
            start, half, end = values
            lines.append(
                f"  {kind:<11} {start / 2**20:9.2f} MiB, first half {(half - start) / 2**20:+8.2f}, "
                f"second half {(end - half) / 2**20:+8.2f}: {(end - half) / (self.cycles / 2):+.1f} bytes a cycle"
            )
        return "\n".join(lines)


class Bench:
    """The kernel that is loaded, and its arguments."""

    def __init__(self, folder: Path) -> None:
        case = CASES[0]
        self.launch = Launch(case, build.cubin(case.cuda_source(), build.architecture(), folder), folder)
        self.arguments = [self.launch.values[name] for name in case.parameters]
        self.device = torch.device("cuda", torch.cuda.current_device())

    def load(self) -> Any:
        """A module."""
        case = self.launch.case
        return wave_runtime.load(self.launch.binary, signature={case.name: case.signature})

    def run(self, kernel: Any) -> None:
        """Launch a kernel."""
        kernel(*self.arguments, grid=(self.launch.grid,), block=BLOCK)

    def cycle(self, drop: Callable[[Any], None], check: bool) -> None:
        """Load, launch where the result is to be checked, and drop. What is left of it is garbage at the end."""
        module = self.load()
        kernel = module[self.launch.case.name]
        kernel.preload(self.device)
        if check:
            self.launch.check(partial(self.run, kernel))
        drop(module)

    def cycles(self, name: str, drop: Callable[[Any], None], count: int) -> Cycles:
        """Load and drop ``count`` times."""

        def repeat(times: int) -> None:
            for i in range(times):
                self.cycle(drop, check=i % LAUNCH_EVERY == 0)

        repeat(WARM_UP)
        start = Memory.now()
        begin = time.perf_counter()
        repeat(count // 2)
        half = Memory.now()
        repeat(count // 2)
        seconds = time.perf_counter() - begin
        return Cycles(name, count, seconds / count * 1e6, (start, half, Memory.now()))

    def first_launch(self) -> dict[str, float]:
        """Medians, in microseconds, of the steps from a file's bytes to a kernel that has been launched before."""
        steps: dict[str, list[float]] = {}

        def timed(step: str, call: Callable[[], Any]) -> Any:
            begin = time.perf_counter()
            result = call()
            steps.setdefault(step, []).append((time.perf_counter() - begin) * 1e6)
            torch.cuda.synchronize()
            return result

        for _ in range(FIRST_LAUNCHES):
            module = timed("load() parses", self.load)
            kernel = module[self.launch.case.name]
            timed("first launch", partial(self.run, kernel))
            timed("second launch", partial(self.run, kernel))
            module.unload()
        return {step: statistics.median(values) for step, values in steps.items()}


def main(words: Sequence[str] | None = None) -> int:
    """Measure and print."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--cycles", type=int, default=10_000, metavar="N", help="default: 10000")
    parser.add_argument("--json", type=Path, metavar="FILE", help="write the figures there as well")
    options = parser.parse_args(words)
    if not torch.cuda.is_available() or torch.version.hip:
        print("bench_modules.py needs an NVIDIA GPU and a torch built for CUDA; nothing was measured")
        return 0
    parts = measured_on.describe()
    print(", ".join(f"{name} {value}" for name, value in parts.items()))
    with tempfile.TemporaryDirectory(prefix="bench_modules.") as folder:
        bench = Bench(Path(folder))
        results = []
        for name, drop in (("unload()", lambda module: module.unload()), ("garbage collection", lambda module: None)):
            results.append(bench.cycles(name, drop, options.cycles))
            print(results[-1], flush=True)
        steps = bench.first_launch()
    for step, microseconds in steps.items():
        print(f"{step:<16} {microseconds:9.1f} us")
    if options.json:
        cycles = [asdict(result) for result in results]
        options.json.write_text(json.dumps({"machine": parts, "cycles": cycles, "steps_us": steps}, indent=1))
    return 0


if __name__ == "__main__":
    sys.exit(main())
