"""The suite's fixtures: each test runs once for each driver that it applies to."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from conformance_support import DRIVERS, ON_GPU, WAYS, Absent, Driver, Way, driver_in_use
from requirements import absent, does_not_apply

import wave_runtime


def parameters(names: tuple[str, ...]) -> list[object]:
    return [pytest.param(name, marks=pytest.mark.gpu) if name in ON_GPU else name for name in names]


def opened(name: str) -> Iterator[Driver]:
    try:
        with driver_in_use(name) as driver:
            yield driver
    except Absent as reason:
        if reason.requirement is None:
            does_not_apply(str(reason))
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


@pytest.fixture(params=WAYS)
def way(request: pytest.FixtureRequest) -> Way:
    """The ways to launch a kernel: each makes a function that is called as the kernel is."""
    return WAYS[request.param]
