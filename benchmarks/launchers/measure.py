"""Timing launchers against each other."""

from __future__ import annotations

import functools
import random
import statistics
import threading
import time
import timeit
from collections.abc import Callable, Iterable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from typing import Any

import torch

# Seconds of a number of calls on each of a number of threads at once, from the first begin to the last end.
Timer = Callable[[int, int], float]

# With this many launches between two synchronisations the driver's queue does not fill, which would make every launcher
# as slow as the GPU.
BATCH = 400
GROUPS = 7


@dataclass(frozen=True)
class Launcher:
    """A way to launch the kernel.

    Attributes:
        group: "floor", "ours", "peer" or "probe".
        target: which ratio to the floor it is to stay below, for ours.
        launches: how many one call makes.
    """

    name: str
    group: str
    timer: Timer
    target: float | None = None
    launches: int = 1


@dataclass(frozen=True)
class Figures:
    """Time of one launch in microseconds; ratio to the floor, and the least and the largest among the groups."""

    microseconds: float
    ratio: float
    low: float
    high: float


def warm_up(calls: int) -> int:
    """How many calls precede ``calls`` timed ones: what another launcher has driven out of the caches comes back."""
    return max(2, calls // 20)


def python_timer(statement: str, values: Mapping[str, Any]) -> Timer:
    """Times a Python statement as it stands in a loop, with no function around it that would add a call."""
    timer = timeit.Timer(statement, globals=dict(values))

    def seconds(calls: int, threads: int) -> float:
        if threads > 1:
            return seconds_on_threads(timer.timeit, calls, threads)
        timer.timeit(warm_up(calls))
        return timer.timeit(calls)

    return seconds


def seconds_on_threads(run: Callable[[int], object], calls: int, threads: int) -> float:
    """Seconds of ``run(calls)`` on each thread, all at once."""
    barrier = threading.Barrier(threads)

    def work() -> tuple[float, float]:
        try:
            run(warm_up(calls))
            barrier.wait(timeout=60)
        except BaseException:
            barrier.abort()  # the others wait
            raise
        begin = time.perf_counter()
        run(calls)
        return begin, time.perf_counter()

    futures = [worker_threads(threads).submit(work) for _ in range(threads)]
    errors = [error for future in futures if (error := future.exception())]
    for error in errors:
        if not isinstance(error, threading.BrokenBarrierError):
            raise error
    spans = [future.result() for future in futures]
    return max(end for _, end in spans) - min(begin for begin, _ in spans)


@functools.cache
def worker_threads(threads: int) -> ThreadPoolExecutor:
    """Threads that live as long as the process."""

    def make_context_current() -> None:
        if torch.cuda.is_available():
            torch.zeros(1, device="cuda")  # launchers that call the driver rely on it

    return ThreadPoolExecutor(threads, initializer=make_context_current)


def measure(
    launchers: Sequence[Launcher],
    threads: int,
    rounds: int,
    synchronize: Callable[[], None],
    failed: Callable[[Launcher, Exception], None],
) -> dict[str, list[float]]:
    """Seconds of one launch by launcher, in each round.

    Each round runs a batch of every launcher, in an order of its own, so that noise hits all alike and none is always
    measured after the same other. A launcher that raises is left out; ``failed`` hears of it.
    """
    shuffle = random.Random(0).shuffle
    samples: dict[str, list[float]] = {launcher.name: [] for launcher in launchers}
    for _ in range(rounds):
        order = [launcher for launcher in launchers if launcher.name in samples]
        shuffle(order)
        for launcher in order:
            calls = max(1, BATCH // threads // launcher.launches)
            try:
                seconds = launcher.timer(calls, threads)
                synchronize()
            except Exception as error:
                del samples[launcher.name]
                failed(launcher, error)
                continue
            samples[launcher.name].append(seconds / (calls * launcher.launches * threads))
    return samples


def summarize(samples: Mapping[str, Sequence[float]], floor: Iterable[str]) -> dict[str, Figures]:
    """Figures by launcher, from seconds of one launch in each round.

    The rounds are divided into groups. Noise only adds time, so a group's figure is its least; a single least, taken
    over all rounds, may still be a lucky one, and clocks drift, so each group is compared with the floor's figure in
    the same group, and the median over the groups counts.
    """
    least = {name: [min(group) for group in divided(values)] for name, values in samples.items()}
    floors = [min(figures) for figures in zip(*(least[name] for name in floor if name in least), strict=True)]
    if not floors:
        raise ValueError("nothing to compare with: the floor was not measured")
    result = {}
    for name, figures in least.items():
        ratios = [figure / base for figure, base in zip(figures, floors, strict=True)]
        result[name] = Figures(statistics.median(figures) * 1e6, statistics.median(ratios), min(ratios), max(ratios))
    return result


def divided(values: Sequence[float]) -> list[Sequence[float]]:
    """The values in GROUPS consecutive groups of about the same size, or one for each value where there are fewer."""
    count = min(GROUPS, len(values))
    return [values[len(values) * i // count : len(values) * (i + 1) // count] for i in range(count)]
