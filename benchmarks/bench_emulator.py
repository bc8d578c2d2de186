"""How fast the emulator runs kernels, on one core and on all, and what a launch costs.

    python benchmarks/bench_emulator.py [--only WORD] [--json FILE] [--plot FILE] [--baseline FILE]

Instructions are those of waves, each for up to 64 lanes. A kernel's goal is a rate that another emulator was measured
to have, times 100, for the matrix product times 45 (docs/emulator.md). Beside the matrix products stands torch.mm in
f32 on one core; beside kernels without barriers the same source compiled for the host, on one core (needs g++ or
clang++). The products of gemm_cdna.hip are compiled for gfx950, and one for gfx942, too, those of gemm_wave.hip for
gfx1100 and gfx1201 (needs a clang that knows all of them). Times are the least of several runs, after one that decodes
the code. --baseline names the JSON of an earlier run, and adds how many times faster this one is. At the end stand the
goals for any host, which emulator_goals.py has, and whether they are met.
"""

from __future__ import annotations

import argparse
import ctypes
import json
import math
import os
import shutil
import statistics
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import torch

import wave_runtime
from wave_runtime import _C

sys.path.insert(0, str(Path(__file__).parent.parent / "examples" / "kernels"))
import emulator_memory
import gemm_cdna
import gemm_wave
from catalog import BINARIES, CATALOG, SOURCES, Size, Tensors, cdiv, convolution
from emulator_goals import goals
from measured_on import describe

Host = Callable[[ctypes.CDLL, Tensors], None]


@dataclass(frozen=True)
class Case:
    """What to measure.

    Attributes:
        operations: floating-point operations of a matrix product.
        goal: million wave-instructions a second, on one core.
        host: runs the same source, compiled for the host.
    """

    name: str
    size: Size
    operations: int = 0
    goal: float | None = None
    host: Host | None = None


@dataclass(frozen=True)
class Result:
    """A kernel's figures: times in milliseconds, rates in millions a second."""

    kernel: str
    size: Size
    instructions: int
    one_core_ms: float
    all_cores_ms: float
    rate: float
    goal: float | None
    gflops: float | None
    host_ms: float | None


def host_elements(function: str) -> Host:
    """An elementwise kernel: the tensors, another for the result, and their length, in blocks of 256."""

    def run(library: ctypes.CDLL, inputs: Tensors) -> None:
        n = inputs[0].numel()
        result = torch.zeros(256, dtype=torch.int32) if function == "histogram" else torch.empty_like(inputs[0])
        pointers = [ctypes.c_void_p(tensor.data_ptr()) for tensor in (*inputs, result)]
        library[f"host_{function}"](cdiv(n, 256), 1, 256, 1, *pointers, n)

    return run


def host_matmul(library: ctypes.CDLL, inputs: Tensors) -> None:
    """matmul_naive, in blocks of 16 by 16."""
    n = inputs[0].shape[0]
    result = torch.empty(n, n)
    pointers = [ctypes.c_void_p(tensor.data_ptr()) for tensor in (*inputs, result)]
    library.host_matmul_naive(cdiv(n, 16), cdiv(n, 16), 16, 16, *pointers, n)


PRODUCTS = (*gemm_cdna.EXAMPLES, *gemm_wave.EXAMPLES)
CASES = (
    Case("gemm_f16_16x16x16_256x256x256", (256, 256, 256), 2 * 256**3, goal=15.75),
    Case("gemm_f16_32x32x8_128x256x512", (128, 256, 512), 2 * 128 * 256 * 512),
    Case("gemm_f16_16x16x16", (256, 256, 256), 2 * 256**3),
    Case("gemm_f8_16x16x32", (256, 256, 256), 2 * 256**3),
    Case("attention_f16_causal", (1, 4, 256, 256)),
    Case("conv2d_3x3", (8, 34, 34)),
    Case("softmax_f16_1024", (1024,)),
    Case("transpose_f16", (512, 512)),
    Case("vector_add", (10**6,), goal=17, host=host_elements("vector_add")),
    Case("matmul_naive", (128,), 2 * 128**3, goal=64, host=host_matmul),
    Case("matmul_tiled", (256,), 2 * 256**3, goal=58),
    Case("collatz", (10**5,), host=host_elements("collatz")),
    Case("histogram", (10**6,), host=host_elements("histogram")),
    *(Case(example.name, example.sizes[1], 2 * math.prod(example.sizes[1])) for example in PRODUCTS),
)
# The kernel whose sums are also made as the hardware makes them, the slow way.
EXACT = CASES[0].name


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


def host_library() -> ctypes.CDLL | None:
    """host_kernels.cpp as the host's compiler makes it, or None where there is none."""
    compiler = shutil.which("clang++") or shutil.which("g++")
    if compiler is None:
        return None
    with tempfile.TemporaryDirectory() as folder:
        library = Path(folder) / "host_kernels.so"
        options = ["-O3", "-march=native", "-w", "-shared", "-fPIC", f"-I{SOURCES}"]
        subprocess.run([compiler, *options, Path(__file__).parent / "host_kernels.cpp", "-o", library], check=True)
        return ctypes.CDLL(str(library))


def measure(case: Case, cores: int, library: ctypes.CDLL | None) -> Result:
    """One kernel on one core and on all of them."""
    example = next(example for example in (*CATALOG, *PRODUCTS) if example.name == case.name)
    inputs = example.inputs(*case.size)
    torch.set_num_threads(1)
    one = least_seconds(lambda: example.run(*inputs))
    instructions = _C.emulator_statistics()["instructions"]
    host = None
    if case.host is not None and library is not None:
        run = case.host
        host = least_seconds(lambda: run(library, inputs))
    torch.set_num_threads(cores)
    every = least_seconds(lambda: example.run(*inputs))
    return Result(
        case.name,
        case.size,
        instructions,
        one * 1e3,
        every * 1e3,
        instructions / one / 1e6,
        case.goal,
        case.operations / one / 1e9 if case.operations else None,
        host * 1e3 if host is not None else None,
    )


def host_gflops() -> float:
    """torch.mm in f32 for 256 by 256 by 256, on one core."""
    torch.set_num_threads(1)
    a, b = torch.randn(256, 256), torch.randn(256, 256)
    return 2 * 256**3 / least_seconds(lambda: torch.mm(a, b)) / 1e9


def host_times(cores: int) -> float:
    """How many times faster than one core all are at torch.mm in f32 for 1024 by 1024 by 1024.

    Two cores of a virtual machine may be one core's two threads, which share its arithmetic: what can be shared out
    perfectly says what is to be had. Leaves torch with one thread, as what is measured behind it wants it.
    """
    a, b = torch.randn(1024, 1024), torch.randn(1024, 1024)
    seconds = []
    for threads in (cores, 1):
        torch.set_num_threads(threads)
        seconds.append(least_seconds(lambda: torch.mm(a, b)))
    return seconds[1] / seconds[0]


def equal_parts_times(library: ctypes.CDLL, cores: int) -> float:
    """How many times faster than one core all are at multiplications in registers, an equal part on each.

    Cores of a virtual machine may be threads of one core, and have other work: the slowest one counts. No product
    whose workgroups are as many as the cores can gain more.
    """
    steps, rounds = 2_000_000, 30  # milliseconds: all are at work by then
    alone = least_seconds(lambda: library.host_multiplications(steps))
    barrier = threading.Barrier(cores)

    def part(_: int) -> list[float]:
        seconds = []
        for _ in range(rounds):
            barrier.wait()
            begin = time.perf_counter()
            library.host_multiplications(steps)
            seconds.append(time.perf_counter() - begin)
        return seconds

    with ThreadPoolExecutor(cores) as threads:
        slowest: list[float] = [max(seconds) for seconds in zip(*threads.map(part, range(cores)), strict=True)]
    return cores * alone / min(slowest)


def exact_ms() -> float:
    """The matrix product on one core with WAVE_RUNTIME_MFMA=exact, which is read once in a process."""
    command = [sys.executable, __file__, "--only", EXACT, "--json", "-"]
    environment = {**os.environ, "WAVE_RUNTIME_MFMA": "exact"}
    output = subprocess.run(command, env=environment, stdout=subprocess.PIPE, check=True, text=True).stdout
    return float(json.loads(output)["results"][0]["one_core_ms"])


def launch_us() -> float:
    """Host time of a launch of one workgroup of four waves that adds 256 numbers."""
    kernel = wave_runtime.load(
        BINARIES / "basics.hsaco", signature={"vector_add": "*f32 const, *f32 const, *f32, i32"}
    )["vector_add"]
    a, b = torch.randn(256), torch.randn(256)
    c = torch.empty_like(a)

    def launches() -> None:
        for _ in range(100):
            kernel(a, b, c, 256, grid=1, block=256)

    return least_seconds(launches) / 100 * 1e6


def first_launch_ms() -> float:
    """Loading a file that the process has not seen, with 12 KB of code, and the first launch, of one workgroup."""
    example = next(example for example in CATALOG if example.name == "conv2d_3x3")
    inputs = example.inputs(1, 3, 3)
    binary = (BINARIES / "conv2d_3x3.hsaco").read_bytes()
    times = []
    with tempfile.TemporaryDirectory() as folder:
        for i in range(20):
            path = Path(folder) / f"copy{i}.hsaco"
            path.write_bytes(binary + bytes([i]))
            begin = time.perf_counter()
            convolution.conv2d(str(path.with_suffix("")), stride=1)(*inputs)
            times.append(time.perf_counter() - begin)
    return statistics.median(times) * 1e3


def heading(has_baseline: bool) -> str:
    """The table's first line."""
    columns = (
        f"{'kernel':<30} {'size':>12} {'instructions':>13} {'1 core ms':>10} {'all ms':>9} {'times':>6} {'M/s':>7}"
    )
    columns += f" {'goal':>6} {'GFLOP/s':>8} {'host ms':>8} {'/host':>6}"
    return columns + (f" {'faster':>7}" if has_baseline else "")


def row(result: Result, earlier: dict[str, Any] | None) -> str:
    """A line of the table."""

    def number(value: float | None, width: int, digits: int) -> str:
        return f"{value:>{width}.{digits}f}" if value is not None else " " * width

    times = result.one_core_ms / result.all_cores_ms
    ratio = result.one_core_ms / result.host_ms if result.host_ms is not None else None
    line = f"{result.kernel:<30} {'x'.join(map(str, result.size)):>12} {result.instructions:>13,} "
    line += f"{result.one_core_ms:>10.2f} {result.all_cores_ms:>9.2f} {times:>6.2f} {result.rate:>7.1f} "
    line += f"{number(result.goal, 6, 1)} {number(result.gflops, 8, 1)} {number(result.host_ms, 8, 2)} "
    line += number(ratio, 6, 1)
    return line + (f" {earlier['one_core_ms'] / result.one_core_ms:>7.2f}" if earlier is not None else "")


def draw(results: list[Result], earlier: dict[str, Any], path: Path) -> None:
    """Bars of the rates on one core, the earlier ones below, and a mark at each goal."""
    import matplotlib

    matplotlib.use("agg")
    import matplotlib.pyplot as plt

    figure, axes = plt.subplots(figsize=(9, 0.5 * len(results) + 1.5), layout="constrained")
    height = 0.4 if earlier else 0.7
    for i, result in enumerate(results):
        axes.barh(i, result.rate, height, color="#c44e52", label="now" if i == 0 else None)
        if before := earlier.get(result.kernel):
            axes.barh(i + height, before["rate"], height, color="#9fb4cf", label="before" if i == 0 else None)
        if result.goal is not None:
            axes.plot([result.goal] * 2, [i - 0.4, i + 0.6], color="black", linewidth=1.5)
    axes.set_yticks(range(len(results)), [result.kernel for result in results])
    axes.invert_yaxis()
    axes.set_xlabel("million wave-instructions a second, one core; lines: goals")
    axes.grid(axis="x", alpha=0.3)
    if earlier:
        axes.legend(frameon=False)
    figure.savefig(path, dpi=150)


def main() -> None:
    """Print the table."""
    arguments = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    arguments.add_argument(
        "--only", default="", metavar="WORD", help="the kernels in whose name it is, and no launches"
    )
    arguments.add_argument("--json", metavar="FILE", help="write the figures there as well; -: there alone")
    arguments.add_argument("--plot", type=Path, metavar="FILE", help="draw the rates")
    arguments.add_argument("--baseline", type=Path, metavar="FILE", help="the JSON of an earlier run")
    options = arguments.parse_args()
    is_quiet = options.json == "-"
    torch.manual_seed(0)
    cores = torch.get_num_threads()
    machine = describe()
    earlier = json.loads(options.baseline.read_text())["results"] if options.baseline else []
    before = {result["kernel"]: result for result in earlier}
    show: Callable[[str], None] = (lambda line: None) if is_quiet else (lambda line: print(line, flush=True))
    show(", ".join(f"{key} {value}" for key, value in machine.items()) + "\n")
    show(heading(bool(before)))
    library = None if is_quiet else host_library()
    results = []
    for case in CASES:
        if options.only not in case.name:
            continue
        try:
            results.append(measure(case, cores, library))
        except wave_runtime.CompileError as error:
            show(f"{case.name}: left out, since {str(error).splitlines()[0].partition(';')[0]}")
            continue
        show(row(results[-1], before.get(case.name)))
    report: dict[str, Any] = {"machine": machine, "threads": cores, "results": [asdict(result) for result in results]}
    if not options.only:
        report |= {
            "torch_mm_gflops": host_gflops(),
            "torch_mm_times": host_times(cores),
            "equal_parts_times": equal_parts_times(library, cores) if library is not None else None,
            "exact_ms": exact_ms(),
            "launch_us": launch_us(),
            "first_launch_ms": first_launch_ms(),
            "memory": emulator_memory.measure(),
        }
        show(f"\ntorch.mm, f32, 256x256x256, one core: {report['torch_mm_gflops']:.1f} GFLOP/s")
        show(f"torch.mm, f32, 1024x1024x1024: {cores} cores are {report['torch_mm_times']:.1f} times as fast as one")
        if (times := report["equal_parts_times"]) is not None:
            show(f"multiplications in {cores} equal parts: {cores} cores are {times:.1f} times as fast as one")
        times = report["exact_ms"] / results[0].one_core_ms
        show(f"{EXACT} with exact sums: {report['exact_ms']:.2f} ms, {times:.1f} times as long")
        show(f"launch of one workgroup: {report['launch_us']:.1f} us")
        show(f"first launch of a code object with 12 KB of code: {report['first_launch_ms']:.2f} ms")
        memory = report["memory"]
        show(f"memory of a launch of matmul_tiled, besides its tensors: {memory['peak_of_launch_bytes'] / 1e6:.1f} MB")
        show(f"memory of a code object with 12 KB of code: {memory['code_object_bytes'] / 1e3:.0f} KB")
        show("")
        for goal in goals(report):
            show(goal.line())
        report["goals"] = [{**asdict(goal), "is_met": goal.is_met} for goal in goals(report)]
    if is_quiet:
        print(json.dumps(report))
    elif options.json:
        Path(options.json).write_text(json.dumps(report, indent=1) + "\n")
    if options.plot:
        draw(results, before, options.plot)


if __name__ == "__main__":
    main()
