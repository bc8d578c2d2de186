"""What Intel's code costs on CPU tensors: its first launch in a process, and each that follows.

    python benchmarks/bench_sycl.py [--json FILE]

Times of first launches are the least of 5 processes, after the package is imported; those of others of 20 runs of 500.
The emulator launches the same kernel in HIP.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path

import measured_on
import torch

from wave_runtime.compat import vendors

INTEL = """
void scale(sycl::nd_item<3> item, const float* a, float* b, float factor, std::int32_t n) {
  const auto i = item.get_global_id(2);
  if (i < std::size_t(n)) b[i] = factor * a[i];
}
"""
AMD = """
extern "C" __global__ void scale(const float* a, float* b, float factor, int n) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) b[i] = factor * a[i];
}
"""
SIGNATURE = "a: *f32 const, b: *f32, factor: f32, n: i32"


def launcher(kernel: vendors.PortableKernel) -> Callable[[], None]:
    """What launches it for 1,000 elements."""
    a, b = torch.randn(1000), torch.zeros(1000)

    def launch() -> None:
        kernel(a, b, 2.0, 1000, grid=4, block=256)

    return launch


def microseconds(launch: Callable[[], None], times: int) -> float:
    """Of one of so many launches."""
    begin = time.perf_counter()
    for _ in range(times):
        launch()
    return (time.perf_counter() - begin) / times * 1e6


def repeated(launch: Callable[[], None]) -> float:
    """Microseconds of a launch, when all is warm."""
    microseconds(launch, 500)
    return min(microseconds(launch, 500) for _ in range(20))


def first_in_another_process(**variables: str) -> float:
    """Microseconds of the first launch of a process."""
    command = [sys.executable, __file__, "--once"]
    environment = {**os.environ, **variables}
    return float(subprocess.run(command, capture_output=True, check=True, text=True, env=environment).stdout)


def measure() -> dict[str, float]:
    """Microseconds, by what is measured."""

    def first(**variables: str) -> float:
        return min(first_in_another_process(**variables) for _ in range(5))

    with tempfile.TemporaryDirectory() as folder:
        os.environ["WAVE_RUNTIME_CACHE_DIR"] = f"{folder}/ours"
        sycl = {"SYCL_CACHE_PERSISTENT": "1", "SYCL_CACHE_DIR": f"{folder}/sycl"}
        times = {"first ever": first_in_another_process(), "first": first()}
        first_in_another_process(**sycl)
        times["first, kept by SYCL"] = first(**sycl)
    times["launch"] = repeated(launcher(vendors.kernel("scale", intel=INTEL, signature=SIGNATURE)))
    times["on the emulator"] = repeated(launcher(vendors.kernel("scale", amd=AMD)))
    return times


def main() -> None:
    """Print the times."""
    arguments = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    arguments.add_argument("--json", type=Path, metavar="FILE", help="write the figures there as well")
    arguments.add_argument("--once", action="store_true", help=argparse.SUPPRESS)
    options = arguments.parse_args()
    if options.once:
        print(microseconds(launcher(vendors.kernel("scale", intel=INTEL, signature=SIGNATURE)), 1))
        return
    described = measured_on.describe()
    times = measure()
    for name, time_of in times.items():
        print(f"{name:<20} {time_of:>12.1f} us")
    if options.json:
        options.json.write_text(json.dumps({"machine": described, "us": times}, indent=1) + "\n")


if __name__ == "__main__":
    main()
