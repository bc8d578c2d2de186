"""What the sanitizer's tools and the profiler cost: times of launches with each, as a ratio to those without.

    python benchmarks/bench_sanitize.py [--only WORD] [--json FILE]

Kernels are those of bench_emulator.py, of sizes that take a few milliseconds. Times are the least of several runs.
docs/sanitize.md has the table.
"""

from __future__ import annotations

import argparse
import json
import sys
from pathlib import Path

import machine
import torch
from bench_emulator import least_seconds

import wave_runtime
from wave_runtime import _C

sys.path.insert(0, str(Path(__file__).parent.parent / "examples" / "kernels"))
from catalog import CATALOG, Size

CASES: dict[str, Size] = {
    "gemm_f16_16x16x16": (256, 256, 256),
    "attention_f16_causal": (1, 4, 256, 256),
    "softmax_f16_1024": (256,),
    "transpose_f16": (512, 512),
    "vector_add": (10**6,),
    "matmul_naive": (128,),
    "matmul_tiled": (128,),
    "collatz": (10**5,),
    "histogram": (10**5,),
}


def ratios(name: str, size: Size) -> dict[str, float]:
    """For each tool the time with it, as a multiple of the time without; and that, in milliseconds, as "plain"."""
    example = next(example for example in CATALOG if example.name == name)
    inputs = example.inputs(*size)
    plain = least_seconds(lambda: example.run(*inputs))
    found = {"plain": plain * 1e3}
    for tool in _C.sanitizer_tools():
        with wave_runtime.sanitize(tool) as report:
            found[tool] = least_seconds(lambda: example.run(*inputs)) / plain
        assert not report.findings, report
    with wave_runtime.profile():
        found["profile"] = least_seconds(lambda: example.run(*inputs)) / plain
    return found


def main() -> None:
    """Print the table."""
    arguments = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    arguments.add_argument("--only", default="", metavar="WORD", help="the kernels in whose name it is")
    arguments.add_argument("--json", type=Path, metavar="FILE", help="write the figures there as well")
    options = arguments.parse_args()
    described = machine.describe()
    torch.manual_seed(0)
    tools = [*_C.sanitizer_tools(), "profile"]
    print(f"{'kernel':24} {'plain, ms':>10}", *(f"{tool:>13}" for tool in tools), flush=True)
    table = {}
    for name, size in CASES.items():
        if options.only in name:
            table[name] = found = ratios(name, size)
            print(f"{name:24} {found['plain']:10.2f}", *(f"{found[tool]:13.2f}" for tool in tools), flush=True)
    if options.json:
        options.json.write_text(json.dumps({"machine": described, "ratios": table}, indent=1) + "\n")


if __name__ == "__main__":
    main()
