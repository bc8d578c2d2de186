"""What compile() costs of a kernel that is new, and of one that is kept: known to the process, and not.

    python benchmarks/bench_compile.py [--json FILE]

The source includes <hip/hip_runtime.h>, all of whose files are looked at for changes. The first of all keeps what clang
has made of these headers; those that are compiled behind it take that. Times are medians: of 20 sources, of 200 calls,
and of 20 processes, in each of which it is the first call, after the package is imported.
"""

from __future__ import annotations

import argparse
import json
import os
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import measured_on

import wave_runtime

SOURCE = """#include <hip/hip_runtime.h>
extern "C" __global__ void scale(const float* a, float* b, float factor, int n) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) b[i] = factor * a[i];
}
"""
GOALS_MS = {"known": 1.0, "kept": 5.0}


def milliseconds(path: Path) -> float:
    """A call of compile()."""
    begin = time.perf_counter()
    wave_runtime.compile(path)
    return (time.perf_counter() - begin) * 1e3


def in_another_process(path: Path) -> float:
    """The first call of a process."""
    command = [sys.executable, __file__, "--once", str(path)]
    return float(subprocess.run(command, capture_output=True, check=True, text=True).stdout)


def measure() -> dict[str, float]:
    """Milliseconds, by what the process knows."""
    with tempfile.TemporaryDirectory() as folder:
        os.environ["WAVE_RUNTIME_CACHE_DIR"] = folder
        path = Path(folder) / "scale.hip"
        path.write_text(SOURCE)
        first = milliseconds(path)
        others = [path.with_name(f"scale{number}.hip") for number in range(20)]
        for number, other in enumerate(others):
            other.write_text(SOURCE.replace("factor *", f"{number} *"))
        another = statistics.median(map(milliseconds, others))
        known = statistics.median(milliseconds(path) for _ in range(200))
        kept = statistics.median(in_another_process(path) for _ in range(20))
    return {"first": first, "another": another, "known": known, "kept": kept}


def main() -> None:
    """Print the times."""
    arguments = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    arguments.add_argument("--json", type=Path, metavar="FILE", help="write the figures there as well")
    arguments.add_argument("--once", type=Path, metavar="SOURCE", help=argparse.SUPPRESS)
    options = arguments.parse_args()
    if options.once:
        print(milliseconds(options.once))
        return
    described = measured_on.describe()
    times = measure()
    names = {
        "first": "compiled, the first of all",
        "another": "compiled behind it",
        "known": "known to the process",
        "kept": "kept, new to the process",
    }
    for name, what in names.items():
        line = f"{what:<26} {times[name]:>9.2f} ms"
        if (goal := GOALS_MS.get(name)) is not None:
            line += f"  goal {goal:g}: {'met' if times[name] <= goal else 'MISSED'}"
        print(line)
    if options.json:
        options.json.write_text(json.dumps({"machine": described, "ms": times}, indent=1) + "\n")


if __name__ == "__main__":
    main()
