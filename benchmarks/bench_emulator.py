"""How fast the emulator runs kernels, on one core and on all.

    python benchmarks/bench_emulator.py [--json FILE]

Instructions are those of waves, each for up to 64 lanes. Beside the matrix products stands torch.mm in f32 on one core
of the same host. Times are the least of several runs, after one that decodes the code.
"""

from __future__ import annotations

import argparse
import json
import platform
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import torch

import wave_runtime
from wave_runtime import _C

sys.path.insert(0, str(Path(__file__).parent.parent / "examples" / "kernels"))
from catalog import CATALOG
from machine import processor_name

# Name, size, and the floating-point operations of a matrix product.
CASES: tuple[tuple[str, tuple[int, ...], int], ...] = (
    ("gemm_f16_16x16x16_256x256x256", (256, 256, 256), 2 * 256**3),
    ("gemm_f16_32x32x8_128x256x512", (128, 256, 512), 2 * 128 * 256 * 512),
    ("gemm_f16_16x16x16", (256, 256, 256), 2 * 256**3),
    ("vector_add", (10**6,), 0),
    ("matmul_naive", (128,), 2 * 128**3),
    ("matmul_tiled", (256,), 2 * 256**3),
    ("collatz", (10**5,), 0),
    ("histogram", (10**6,), 0),
)


def least_seconds(function: Callable[[], Any], budget: float = 0.5) -> float:
    """The least time of a call, over at least five calls and about `budget` seconds."""
    function()
    best, spent, calls = float("inf"), 0.0, 0
    while calls < 5 or spent < budget:
        begin = time.perf_counter()
        function()
        seconds = time.perf_counter() - begin
        best, spent, calls = min(best, seconds), spent + seconds, calls + 1
    return best


def measure(name: str, size: tuple[int, ...], operations: int, cores: int) -> dict[str, Any]:
    """One kernel on one core and on all of them."""
    example = next(example for example in CATALOG if example.name == name)
    inputs = example.inputs(*size)
    torch.set_num_threads(1)
    one = least_seconds(lambda: example.run(*inputs))
    instructions = _C.emulator_statistics()["instructions"]
    torch.set_num_threads(cores)
    every = least_seconds(lambda: example.run(*inputs))
    return {
        "kernel": name,
        "size": size,
        "instructions": instructions,
        "one_core_ms": one * 1e3,
        "all_cores_ms": every * 1e3,
        "instructions_per_second": instructions / one,
        "gflops": operations / one / 1e9 if operations else None,
    }


def host_gflops() -> float:
    """torch.mm in f32 for 256 by 256 by 256, on one core."""
    torch.set_num_threads(1)
    a, b = torch.randn(256, 256), torch.randn(256, 256)
    return 2 * 256**3 / least_seconds(lambda: torch.mm(a, b)) / 1e9


def row(result: dict[str, Any]) -> str:
    """A line of the table."""
    size = "x".join(map(str, result["size"]))
    gflops = f"{result['gflops']:.1f}" if result["gflops"] else ""
    return (
        f"{result['kernel']:<36} {size:>12} {result['instructions']:>13,} {result['one_core_ms']:>10.2f} "
        f"{result['all_cores_ms']:>9.2f} {result['instructions_per_second'] / 1e6:>7.1f} {gflops:>8}"
    )


def main() -> None:
    """Print the table."""
    arguments = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    arguments.add_argument("--json", type=Path, metavar="FILE", help="write the figures there as well")
    options = arguments.parse_args()
    torch.manual_seed(0)
    cores = torch.get_num_threads()
    machine = {
        "cpu": processor_name(),
        "cores": cores,
        "torch": torch.__version__,
        "wave_runtime": wave_runtime.__version__,
        "python": platform.python_version(),
    }
    print(", ".join(f"{key} {value}" for key, value in machine.items()))
    print(
        f"\n{'kernel':<36} {'size':>12} {'instructions':>13} {'1 core ms':>10} {'all ms':>9} {'M/s':>7} {'GFLOP/s':>8}"
    )
    results = []
    for case in CASES:
        results.append(measure(*case, cores))
        print(row(results[-1]), flush=True)
    host = host_gflops()
    print(f"\ntorch.mm, f32, 256x256x256, one core: {host:.1f} GFLOP/s")
    if options.json:
        options.json.write_text(json.dumps({"machine": machine, "results": results, "torch_mm_gflops": host}, indent=1))


if __name__ == "__main__":
    main()
