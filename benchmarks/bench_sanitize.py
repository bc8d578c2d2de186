"""What the sanitizer's tools and the profiler cost: times of launches with each, as a ratio to those without.

    python benchmarks/bench_sanitize.py [--only WORD] [--tools WORDS] [--seconds N] [--json FILE]

Kernels are those of bench_emulator.py, of sizes that take a few milliseconds. Launches with a tool and without take
turns, so that a machine whose speed changes is as fast for the one as for the other; of each the least time counts, of
about --seconds for each tool and kernel. docs/sanitize.md has the table.
"""

from __future__ import annotations

import argparse
import json
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import measured_on
import torch

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


def seconds(function: Callable[[], Any]) -> float:
    """What a call takes."""
    begin = time.perf_counter()
    function()
    return time.perf_counter() - begin


@contextmanager
def looking(tool: str) -> Iterator[None]:
    """With a tool of the sanitizer, which must find nothing, or with the profiler."""
    if tool == "profile":
        with wave_runtime.profile():
            yield
    else:
        with wave_runtime.sanitize(tool, fail=True):
            yield


def least_of_both(function: Callable[[], Any], tool: str, budget: float) -> tuple[float, float]:
    """The least time of a call without a tool and with it, over at least eight turns and about `budget` seconds."""
    plain = looked_at = float("inf")
    begin, turns = time.perf_counter(), 0
    while turns < 8 or time.perf_counter() - begin < budget:
        turns += 1
        function()
        plain = min(plain, seconds(function), seconds(function))
        with looking(tool):
            function()
            looked_at = min(looked_at, seconds(function), seconds(function))
    return plain, looked_at


def ratios(name: str, size: Size, tools: list[str], budget: float) -> dict[str, float]:
    """For each tool the time with it, as a multiple of the time without; and that, in milliseconds, as "plain"."""
    example = next(example for example in CATALOG if example.name == name)
    inputs = example.inputs(*size)
    times = {tool: least_of_both(lambda: example.run(*inputs), tool, budget) for tool in tools}
    plain = min(without for without, _ in times.values())
    return {"plain": plain * 1e3} | {tool: looked_at / without for tool, (without, looked_at) in times.items()}


def main() -> None:
    """Print the table."""
    arguments = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    arguments.add_argument("--only", default="", metavar="WORD", help="the kernels in whose name it is")
    arguments.add_argument("--tools", default="", metavar="WORDS", help="these alone, with commas between them")
    arguments.add_argument("--seconds", type=float, default=1.0, metavar="N", help="for each tool and kernel (1)")
    arguments.add_argument("--json", type=Path, metavar="FILE", help="write the figures there as well")
    options = arguments.parse_args()
    described = measured_on.describe()
    torch.manual_seed(0)
    tools = options.tools.split(",") if options.tools else [*_C.sanitizer_tools(), "profile"]
    print(f"{'kernel':24} {'plain, ms':>10}", *(f"{tool:>13}" for tool in tools), flush=True)
    table = {}
    for name, size in CASES.items():
        if options.only in name:
            table[name] = found = ratios(name, size, tools, options.seconds)
            print(f"{name:24} {found['plain']:10.2f}", *(f"{found[tool]:13.2f}" for tool in tools), flush=True)
    if options.json:
        options.json.write_text(json.dumps({"machine": described, "ratios": table}, indent=1) + "\n")


if __name__ == "__main__":
    main()
