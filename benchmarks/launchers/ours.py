"""What wave_runtime offers, with the ratios to the floor that it is to stay below."""

from __future__ import annotations

import functools
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import torch

import wave_runtime
from launchers import build, upstream
from launchers.cases import BLOCK, Launch
from launchers.measure import Launcher, python_timer, warm_up

DISPATCHER_SOURCE = Path(__file__).parent.parent / "launch_dispatcher.cpp"
SEQUENCE = 16


@functools.cache
def kernel_of(launch: Launch) -> Any:
    """The kernel, loaded from the case's binary."""
    return wave_runtime.load(launch.binary, signature={launch.case.name: launch.case.signature})[launch.case.name]


def bound_of(launch: Launch) -> Any:
    """The kernel with its arguments."""
    values = launch.values
    return kernel_of(launch).bind(*(values[name] for name in launch.case.parameters), grid=(launch.grid,), block=BLOCK)


def lists(launch: Launch) -> list[Any]:
    """The operator's arguments from `kernel` to `block`."""
    case = launch.case
    return [
        kernel_of(launch).handle,
        launch.inputs,
        [launch.output],
        list(case.ints.values()),
        list(case.floats.values()),
        (launch.grid, 1, 1),
        (BLOCK, 1, 1),
    ]


def call(launch: Launch) -> Iterator[Launcher]:
    """The kernel called as a function."""
    statement = f"kernel({launch.case.arguments}, grid=grid, block={BLOCK})"
    yield Launcher(
        "kernel(...)", "ours", python_timer(statement, {**launch.values, "kernel": kernel_of(launch)}), target=1.10
    )


def bound(launch: Launch) -> Iterator[Launcher]:
    """A prebuilt launch."""
    yield Launcher("kernel.bind(...)()", "ours", python_timer("bound()", {"bound": bound_of(launch)}), target=1.05)


def sequence(launch: Launch) -> Iterator[Launcher]:
    """Several prebuilt launches in one call."""
    launches = wave_runtime.sequence([bound_of(launch)] * SEQUENCE)  # type: ignore[attr-defined, unused-ignore]
    timer = python_timer("launches()", {"launches": launches})
    yield Launcher(f"sequence of {SEQUENCE}, each", "ours", timer, target=1.02, launches=SEQUENCE)


def operator(launch: Launch) -> Iterator[Launcher]:
    """The generic operator, from Python."""
    case = launch.case
    statement = (
        f"launch(handle, [{', '.join(case.inputs)}], [{case.output}], [{', '.join(case.ints)}], "
        f"[{', '.join(case.floats)}], (grid_x, 1, 1), ({BLOCK}, 1, 1))"
    )
    values = {**launch.values, "handle": kernel_of(launch).handle}
    for name, function in (
        ("torch.ops.wave.launch", torch.ops.wave.launch),
        ("torch.ops.wave.launch.default", torch.ops.wave.launch.default),
    ):
        yield Launcher(name, "ours", python_timer(statement, {**values, "launch": function}), target=3.2)


def dedicated_operator(launch: Launch) -> Iterator[Launcher]:
    """An operator of the kernel's own, without lists."""
    function = kernel_of(launch).as_operator(f"bench::{launch.case.name}", block=BLOCK)
    statement = f"operator({launch.case.arguments}, grid_x)"
    timer = python_timer(statement, {**launch.values, "operator": function})
    yield Launcher("kernel.as_operator(...)", "ours", timer, target=1.7)


def declared_operator(launch: Launch) -> Iterator[Launcher]:
    """An operator that is declared, given the tensor to write: no allocation is timed, as with the others."""
    function = wave_runtime.define_op(
        f"bench::{launch.case.name}_declared", kernel_of(launch), grid=launch.grid, block=BLOCK
    )
    timer = python_timer(f"operator({launch.case.arguments})", {**launch.values, "operator": function})
    yield Launcher("define_op(name, kernel, ...)", "ours", timer, target=1.35)


def dispatcher(launch: Launch) -> Iterator[Launcher]:
    """The generic operator, from C++."""
    load_dispatcher_loop()
    arguments = lists(launch)

    def seconds(calls: int, threads: int) -> float:
        result: float = torch.ops.wave_benchmark.seconds_of_operator(*arguments, calls, warm_up(calls), threads)
        return result

    yield Launcher("wave::launch from C++", "ours", seconds, target=1.3)


@functools.cache
def load_dispatcher_loop() -> None:
    """Compile and load the C++ loop over the operator."""
    from torch.utils.cpp_extension import include_paths, library_paths

    options = [f"-I{path}" for path in include_paths()]
    options += [f"-L{path}" for path in library_paths()]
    libraries = ["-ltorch_cpu", "-lc10"]
    folder = Path(tempfile.mkdtemp(prefix="launch_dispatcher."))
    torch.ops.load_library(  # type: ignore[no-untyped-call, unused-ignore]
        build.shared_library(DISPATCHER_SOURCE, folder / "launch_dispatcher.so", *options, libraries=libraries)
    )


def compatible(launch: Launch) -> Iterator[Launcher]:
    """The functions of upstream's interface."""
    yield from upstream.launchers_of(wave_runtime, launch, upstream.OURS, "ours", target=1.5)


def custom_op(launch: Launch) -> Iterator[Launcher]:
    """PyTorch's Python decorator for operators, around the call."""
    case = launch.case
    kernel, grid = kernel_of(launch), (launch.grid,)
    types = {
        **dict.fromkeys(case.tensors, torch.Tensor),
        **dict.fromkeys(case.ints, int),
        **dict.fromkeys(case.floats, float),
    }

    def function(*args: Any) -> None:
        kernel(*args, grid=grid, block=BLOCK)

    schema = ", ".join(
        f"{'Tensor(a!)' if name == case.output else 'Tensor' if kind is torch.Tensor else kind.__name__} {name}"
        for name, kind in types.items()
    )
    wrapped = torch.library.custom_op(
        f"bench_custom::{case.name}", function, mutates_args=[case.output], schema=f"({schema}) -> ()"
    )
    timer = python_timer(f"custom({case.arguments})", {**launch.values, "custom": wrapped})
    yield Launcher("torch.library.custom_op around kernel(...)", "peer", timer)


PROVIDERS = {
    "kernel(...)": call,
    "kernel.bind(...)()": bound,
    "sequence": sequence,
    "kernel.as_operator(...)": dedicated_operator,
    "define_op(name, kernel, ...)": declared_operator,
    "wave_runtime.launch(...)": compatible,
    "wave::launch from C++": dispatcher,
    "torch.ops.wave.launch": operator,
    "torch.library.custom_op": custom_op,
}
