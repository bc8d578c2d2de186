"""What the HIP library costs a program: its start, and a launch on the caller's thread of a kernel that does nothing.

`python benchmarks/bench_hip.py` builds hip_launches.hip twice, with a kernel and without, by the hipcc of
`python -m wave_emulator toolchain`, and runs the two in turn. Times are the least of several. The goals are that a
program with kernels starts at most 50 ms later than one without, and that a launch takes at most 2 us.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import tempfile
import time
from pathlib import Path

from wave_emulator import _toolchain

SOURCE = Path(__file__).with_name("hip_launches.hip")
LAUNCHES, ROUNDS = 1000, 15
START_GOAL, LAUNCH_GOAL = 50.0, 2.0  # milliseconds, microseconds


def build(program: Path, compiler: str, toolchain: Path, *options: str) -> Path:
    """Compile the program for gfx942. Raises CalledProcessError."""
    command = [str(toolchain / "bin" / "hipcc"), "--offload-arch=gfx942", "-O2", "-w", "-Wl,--no-as-needed", *options]
    subprocess.run([*command, SOURCE, "-o", program], env={**os.environ, "CLANG": compiler}, check=True)
    return program


def run(program: Path, library: Path, *arguments: str) -> tuple[float, str]:
    """Milliseconds that a program took, and what it printed. Raises CalledProcessError."""
    environment = {**os.environ, "LD_LIBRARY_PATH": str(library)}
    start = time.perf_counter()
    done = subprocess.run([program, *arguments], env=environment, capture_output=True, text=True, check=True)
    return (time.perf_counter() - start) * 1e3, done.stdout


def main() -> None:
    """Measure both, and print them beside the goals."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--clang", default="clang++-19")
    parser.add_argument("--json", type=Path, help="write the figures here")
    options = parser.parse_args()
    toolchain = _toolchain.kept(options.clang)
    with tempfile.TemporaryDirectory() as folder:
        plain = build(Path(folder) / "plain", options.clang, toolchain)
        with_kernels = build(Path(folder) / "with_kernels", options.clang, toolchain, "-DWITH_KERNELS")
        starts = {program: float("inf") for program in (plain, with_kernels)}
        for _ in range(ROUNDS):
            for program in starts:
                starts[program] = min(starts[program], run(program, toolchain / "lib")[0])
        launch = min(float(run(with_kernels, toolchain / "lib", str(LAUNCHES))[1]) for _ in range(3))
    start = starts[with_kernels] - starts[plain]
    for name, value, unit, goal in (
        ("start of a program with kernels, more than without", start, "ms", START_GOAL),
        ("launch of a kernel that does nothing", launch, "us", LAUNCH_GOAL),
    ):
        print(f"{name:55}{value:8.2f} {unit}  goal {goal:g}: {'met' if value <= goal else 'MISSED'}")
    if options.json:
        options.json.write_text(json.dumps({"start_ms": start, "launch_us": launch}, indent=1) + "\n")


if __name__ == "__main__":
    main()
