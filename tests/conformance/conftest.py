"""The suite's fixtures: each test runs once for each driver that it applies to."""

from __future__ import annotations

from collections.abc import Callable, Iterator

import pytest
from conformance_support import DRIVERS, ON_GPU, Absent, Driver, driver_in_use
from support import absent

import wave_runtime

Launch = Callable[..., None]


def parameters(names: tuple[str, ...]) -> list[object]:
    return [pytest.param(name, marks=pytest.mark.gpu) if name in ON_GPU else name for name in names]


def opened(name: str) -> Iterator[Driver]:
    try:
        with driver_in_use(name) as driver:
            yield driver
    except Absent as reason:
        if reason.requirement is None:
            pytest.skip(str(reason))
        absent(reason.requirement, str(reason))


@pytest.fixture(params=parameters(tuple(DRIVERS)))
def driver(request: pytest.FixtureRequest) -> Iterator[Driver]:
    yield from opened(request.param)


@pytest.fixture(params=parameters(ON_GPU))
def gpu(request: pytest.FixtureRequest) -> Iterator[Driver]:
    """The drivers with streams and graphs."""
    yield from opened(request.param)


@pytest.fixture
def module(driver: Driver) -> wave_runtime.Module:
    return driver.load()


@pytest.fixture(params=["call", "bound", "sequence", "operator", "dedicated"])
def way(request: pytest.FixtureRequest) -> Callable[[wave_runtime.Kernel], Launch]:
    """The ways to launch a kernel: each makes a function that is called as the kernel is."""
    return WAYS[request.param]


_operators: dict[tuple[str, str], object] = {}


def by_operator(kernel: wave_runtime.Kernel) -> Launch:
    from wave_runtime._kernel import call_operator

    return lambda *arguments, **options: call_operator(kernel, *arguments, **options)


def by_dedicated(kernel: wave_runtime.Kernel) -> Launch:
    """An operator of the kernel and its options; operators are for good, so each is made once."""

    def launch(*arguments: object, grid: int | tuple[int, ...], **options: object) -> None:
        key = (kernel.handle, repr(sorted(options.items())))
        if key not in _operators:
            _operators[key] = kernel.as_operator(f"conformance::launch{len(_operators)}", **options)
        _operators[key](*arguments, *((grid,) if isinstance(grid, int) else grid))  # type: ignore[operator]

    return launch


WAYS: dict[str, Callable[[wave_runtime.Kernel], Launch]] = {
    "call": lambda kernel: kernel,
    "bound": lambda kernel: lambda *arguments, **options: kernel.bind(*arguments, **options)(),
    "sequence": lambda kernel: lambda *arguments, **options: wave_runtime.sequence(
        [kernel.bind(*arguments, **options)]
    )(),
    "operator": by_operator,
    "dedicated": by_dedicated,
}
