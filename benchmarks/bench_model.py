"""Time of each launch in a model of many small kernels, by how they are launched and how the model is run.

    python benchmarks/bench_model.py [--layers 100] [--quick] [--json FILE] [--plot FILE] [--only WORD ...]

The model adds a bias to its input, once in each layer, by a kernel that is too small to count. The kernel is launched
through wave_runtime, a Triton kernel, torch.library.custom_op or CuPy; the model runs eagerly, under torch.compile with
and without its CUDA graphs, as a CUDA graph captured by hand, and as an AOTInductor package in a C++ program. Each is
first checked. Figures are of one layer. The floor is a C loop over the driver's launch call, or without an NVIDIA
GPU the eager kernel(...) on CPU tensors in the emulator. As in bench_launch.py, every round measures all.
"""

from __future__ import annotations

import argparse
import gc
import itertools
import re
import sys
import tempfile
from collections.abc import Callable, Iterator, Sequence
from dataclasses import asdict, dataclass
from functools import partial
from pathlib import Path
from typing import Any

import measured_on
import torch
from launchers import build, floor, report
from launchers.cases import BLOCK, CASES, ELEMENTS, Launch
from launchers.measure import BATCH, GROUPS, Launcher, measure, python_timer, summarize
from torch import Tensor

import wave_runtime
from wave_runtime import _abi

ROOT = Path(__file__).parent.parent
BASICS = ROOT / "examples" / "kernels" / "binaries" / "basics.hsaco"
CASE = CASES[0]
ROUNDS = {True: GROUPS, False: 10 * GROUPS}  # by whether it shall be quick
ON_CPU = "eager: kernel(...)"
PACKAGE = "AOTInductor in C++: kernel(...)"

# What compiled code calls is to cost no more than the same call in eager mode.
OURS = ("kernel(...)", "define_op, decorated", "define_op, declared")
EAGER = {f"torch.compile: {name}": f"eager: {name}" for name in OURS} | {PACKAGE: ON_CPU}

Add = Callable[[Tensor, Tensor], Tensor]
Model = Callable[[Tensor, Tensor], Tensor]


@dataclass(frozen=True)
class Way:
    """A way to launch the kernel, as a function that returns the sum of two tensors.

    Attributes:
        modes: keys of MODES that it can run in.
    """

    name: str
    group: str
    make: Callable[[Any], Add]
    modes: tuple[str, ...]


ALL = ("eager", "torch.compile", "reduce-overhead", "CUDA graph")


def grid_of(a: Tensor) -> int:
    """Workgroups for a tensor."""
    return wave_runtime.cdiv(a.numel(), BLOCK)


def call(kernel: Any) -> Add:
    """The kernel called as a function."""

    def add(a: Tensor, b: Tensor) -> Tensor:
        c = torch.empty_like(a)
        kernel(a, b, c, a.numel(), grid=grid_of(a), block=BLOCK)
        return c

    return add


def decorated(kernel: Any) -> Add:
    """An operator whose body is Python."""
    return wave_runtime.define_op("bench_model::decorated", kernels=[kernel])(call(kernel))


def declared(kernel: Any) -> Add:
    """An operator that is declared."""
    return wave_runtime.define_op(
        "bench_model::declared",
        kernel,
        outputs={"c": lambda a: a.new_empty(a.shape)},
        arguments={"n": lambda a: a.numel()},
        grid=lambda a: wave_runtime.cdiv(a.numel(), BLOCK),
        block=BLOCK,
    )


def custom_op(kernel: Any) -> Add:
    """PyTorch's own decorator around the same body."""
    operator = torch.library.custom_op("bench_model::custom_op", call(kernel), mutates_args=())
    operator.register_fake(lambda a, b: torch.empty_like(a))
    return operator


def triton(kernel: Any) -> Add:
    """The same in Triton."""
    from launchers import triton_kernels

    def add(a: Tensor, b: Tensor) -> Tensor:
        c = torch.empty_like(a)
        triton_kernels.vector_add[(grid_of(a),)](a, b, c, a.numel(), BLOCK=BLOCK)
        return c

    return add


def cupy(kernel: Any) -> Add:
    """CuPy's RawKernel, given addresses, on torch's current stream."""
    import cupy as cp
    import numpy as np

    raw = cp.RawKernel(CASE.cuda_source(), CASE.name)

    def add(a: Tensor, b: Tensor) -> Tensor:
        c = torch.empty_like(a)
        with cp.cuda.ExternalStream(torch.cuda.current_stream().cuda_stream):
            raw((grid_of(a),), (BLOCK,), (a.data_ptr(), b.data_ptr(), c.data_ptr(), np.int32(a.numel())))
        return c

    return add


WAYS = (
    Way("kernel(...)", "ours", call, ALL),
    Way("define_op, decorated", "ours", decorated, ALL),
    Way("define_op, declared", "ours", declared, ALL),
    Way("Triton", "peer", triton, ALL),
    Way("torch.library.custom_op", "peer", custom_op, ALL),
    Way("CuPy RawKernel", "peer", cupy, ("eager", "CUDA graph")),
)


def captured(model: Model, x: Tensor, bias: Tensor) -> Model:
    """The model as a CUDA graph that is replayed."""
    stream = torch.cuda.Stream()  # type: ignore[no-untyped-call]
    stream.wait_stream(torch.cuda.current_stream())
    with torch.cuda.stream(stream):
        model(x, bias)
    torch.cuda.current_stream().wait_stream(stream)
    graph = torch.cuda.CUDAGraph()
    with torch.cuda.graph(graph):
        result = model(x, bias)

    def replay(x: Tensor, bias: Tensor) -> Tensor:
        graph.replay()
        return result

    return replay


def compiled(model: Model, x: Tensor, bias: Tensor, **options: Any) -> Model:
    """The model under torch.compile."""
    function = torch.compile(model, fullgraph=True, **options)
    for _ in range(3):  # reduce-overhead warms up, then captures
        function(x, bias)
    return function


MODES: dict[str, Callable[[Model, Tensor, Tensor], Model]] = {
    "eager": lambda model, x, bias: model,
    "torch.compile": compiled,
    "reduce-overhead": partial(compiled, mode="reduce-overhead"),
    "CUDA graph": captured,
}
ONLY_GPU = ("reduce-overhead", "CUDA graph")


class Layers(torch.nn.Module):
    """The model, for export."""

    def __init__(self, add: Add, count: int) -> None:
        super().__init__()
        self.model = model_of(add, count)

    def forward(self, x: Tensor, bias: Tensor) -> Tensor:
        """Map [n] and [n] to [n]."""
        return self.model(x, bias)


def model_of(add: Add, count: int) -> Model:
    """The model. Its code is its own: dynamo compiles no code more than eight times."""
    scope: dict[str, Any] = {"add": add, "count": count}
    exec("def model(x, bias):\n for _ in range(count): x = add(x, bias)\n return x", scope)
    model: Model = scope["model"]
    return model


def package_timer(kernel: Any, layers: int, x: Tensor, bias: Tensor, folder: Path) -> Launcher:
    """The model as an AOTInductor package, run by examples/cpp/run_package.cpp.

    To start the program takes longer than to measure all else, so it runs once for each group of rounds.
    """
    program = build_program(folder)
    with torch.no_grad():
        exported = torch.export.export(Layers(call(kernel), layers), (x, bias))
        package = torch._inductor.aoti_compile_and_package(exported, package_path=str(folder / "model.pt2"))
    inputs, outputs = folder / "inputs.pt", folder / "outputs.pt"
    torch.save([x, bias], inputs)
    figures: list[float] = []
    turns = itertools.count()

    def run(calls: int) -> float:
        printed = build.command_output([program, package, inputs, outputs, str(calls)])
        figure = re.search(r"([\d.]+) us a run on the host", printed)
        if figure is None:
            raise RuntimeError(f"run_package printed {printed!r}")
        return float(figure[1]) * 1e-6

    def seconds(calls: int, threads: int) -> float:
        if len(figures) < GROUPS:
            figures.append(run(calls))
        return figures[next(turns) % len(figures)] * calls

    run(1)
    torch.testing.assert_close(torch.load(outputs)[0], x + layers * bias)
    return Launcher(PACKAGE, "ours", seconds, launches=layers)


def build_program(folder: Path) -> Path:
    """Compile run_package.cpp against torch and the operators."""
    from torch.utils.cpp_extension import include_paths, library_paths

    libraries = ["-ltorch", "-ltorch_cpu", "-lc10"]
    if torch.cuda.is_available():
        libraries += ["-ltorch_cuda", "-lc10_cuda"]
    paths = [*library_paths(), str(_abi.folder())]
    program = folder / "run_package"
    command = ["g++", "-std=c++20", "-O2", *(f"-I{path}" for path in include_paths())]
    command += [str(ROOT / "examples" / "cpp" / "run_package.cpp"), "-o", str(program)]
    # The library registers its operators when it is loaded. What it needs itself it finds.
    command += ["-Wl,--no-as-needed,--unresolved-symbols=ignore-in-shared-libs"]
    command += [word for path in paths for word in (f"-L{path}", f"-Wl,-rpath,{path}")]
    build.command_output([*command, *libraries, "-lwave_runtime"])
    return program


def launchers_of(
    way: Way, kernel: Any, layers: int, x: Tensor, bias: Tensor
) -> Iterator[tuple[str, Callable[[], Launcher]]]:
    """The name of a way in each of its modes, and what makes and checks its launcher."""
    add = way.make(kernel)
    for mode in way.modes:
        if mode in ONLY_GPU and not x.is_cuda:
            continue

        name = f"{mode}: {way.name}"

        def ready(mode: str = mode, name: str = name) -> Launcher:
            model = MODES[mode](model_of(add, layers), x, bias)
            torch.testing.assert_close(model(x, bias), x + layers * bias)
            timer = python_timer("model(x, bias)", {"model": model, "x": x, "bias": bias})
            return Launcher(name, way.group, timer, launches=layers)

        yield name, ready


def gather(options: argparse.Namespace, results: report.Report, folder: Path) -> list[Launcher]:
    """All that works; the rest is noted in the results."""
    device = "cuda" if torch.cuda.is_available() and not torch.version.hip else "cpu"
    found: list[Launcher] = []
    if device == "cuda":
        launch = Launch(CASE, build.cubin(CASE.cuda_source(), build.architecture(), folder), folder)
        kernel = wave_runtime.load(launch.binary, signature=CASE.signature)[CASE.name]
        found += [launcher for launcher in floor.floor(launch) if launcher.group == "floor"]
    else:
        kernel = wave_runtime.load(BASICS, signature={CASE.name: CASE.signature})[CASE.name]
    x = torch.arange(ELEMENTS, dtype=torch.float32, device=device)
    bias = torch.ones(ELEMENTS, device=device)

    def add(name: str, make: Callable[[], Launcher]) -> None:
        print(f"preparing {name}", file=sys.stderr, flush=True)
        try:
            found.append(make())
        except Exception as error:
            lines = str(error).strip().splitlines() or [""]
            results.missing.append(report.Missing(name, "the model", f"{type(error).__name__}: {lines[0][:200]}"))

    for way in WAYS:
        if options.only and not any(word in way.name for word in options.only):
            continue
        try:
            makers = list(launchers_of(way, kernel, options.layers, x, bias))
        except Exception as error:
            results.missing.append(report.Missing(way.name, "the model", f"{type(error).__name__}: {error}"))
            continue
        for name, make in makers:
            add(name, make)
    if not options.only or "AOTInductor" in options.only:
        add(PACKAGE, lambda: package_timer(kernel, options.layers, x, bias, folder))
    return found


def run(options: argparse.Namespace) -> report.Report:
    """Measure what the options say."""
    gc.disable()
    rounds = ROUNDS[options.quick]
    results = report.Report(measured_on.describe(), {"rounds": rounds, "groups": GROUPS, "batch": BATCH})
    setting = report.Setting(f"{options.layers} layers of {CASE.name}", len(CASE.parameters), 1)
    with tempfile.TemporaryDirectory(prefix="bench_model.") as name, torch.no_grad():
        launchers = gather(options, results, Path(name))
        print(f"measuring {len(launchers)}, {rounds} rounds", file=sys.stderr, flush=True)

        def failed(launcher: Launcher, error: Exception) -> None:
            results.missing.append(report.Missing(launcher.name, str(setting), str(error)))

        synchronize = torch.cuda.synchronize if torch.cuda.is_available() else lambda: None
        samples = measure(launchers, 1, rounds, synchronize, failed)
    base = [launcher.name for launcher in launchers if launcher.group == "floor"] or [ON_CPU]
    groups = {launcher.name: launcher.group for launcher in launchers}
    for launcher, figures in summarize(samples, base).items():
        results.rows.append(report.Row(setting, launcher, groups[launcher], **asdict(figures)))
    results.set_targets(EAGER)
    return results


def above_the_driver(results: report.Report) -> Iterator[str]:
    """What a launch costs more than the C loop, where there is one."""
    driver = min((row.microseconds for row in results.rows if row.group == "floor"), default=None)
    if driver is not None:
        yield f"\nMicroseconds of a launch above the driver's own {driver:.2f}:"
        for row in sorted(results.rows, key=lambda row: row.microseconds):
            if row.group != "floor":
                yield f"{row.launcher:<48} {row.microseconds - driver:>7.2f}"


def main(words: Sequence[str] | None = None) -> int:
    """Measure, print the table, write the files."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--layers", type=int, default=100, help="of the model; default: 100")
    parser.add_argument("--quick", action="store_true", help="fewer rounds: less exact")
    parser.add_argument("--only", nargs="+", metavar="WORD", help="the ways whose name has one of these words")
    parser.add_argument("--json", type=Path, metavar="FILE", help="write the figures there as well")
    parser.add_argument("--plot", type=Path, metavar="FILE", help="draw them there (PNG)")
    options = parser.parse_args(words)
    results = run(options)
    print(report.table(results))
    print(*above_the_driver(results), sep="\n")
    if options.json:
        options.json.write_text(results.to_json())
    if options.plot:
        report.draw(results, options.plot)
    return 0


if __name__ == "__main__":
    sys.exit(main())
