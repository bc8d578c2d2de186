"""How long something takes, on the device that it runs on."""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import Literal

import torch

from wave_runtime._device import has_gpu

MOST_RUNS = 1000
# More than the last cache of any GPU holds: 256 MiB on an MI300X (AMD's CDNA 3 white paper, "Infinity Cache").
_FLUSHED = 512 << 20


def do_bench(
    run: Callable[[], object],
    *,
    device: torch.device | str | int | None = None,
    seconds: float = 0.1,
    statistic: Literal["median", "mean", "min"] = "median",
    cold: bool = True,
) -> float:
    """Measure how many milliseconds a function takes.

        wave_runtime.do_bench(lambda: kernel(a, b, c, n, grid=4, block=256))

    On a GPU that is the time of the work that it enqueues on the current stream, between two events. Each run finds the
    caches full of something else, as most launches of a model do. On the CPU, for emulated launches too, it is the time
    of the wall clock.

    The function is called once to load what it needs, then once to see how long it takes, and then as often as fits
    into ``seconds``, up to a thousand times.

    Args:
        run: the function. It is called without arguments, and writes each time what it writes.
        device: where it runs; by default the current GPU or, if there is none, the CPU.
        seconds: about how long measuring may take.
        statistic: which statistic of the times to return.
        cold: whether a GPU's caches are filled with zeros before each run, which takes 512 MiB of its memory.

    Raises:
        ValueError: there is no such statistic.
        torch.OutOfMemoryError: the GPU does not have 512 MiB left.
    """
    import statistics  # not needed to launch

    known: dict[str, Callable[[list[float]], float]] = {
        "median": statistics.median,
        "mean": statistics.fmean,
        "min": min,
    }
    if statistic not in known:
        raise ValueError(f"statistic={statistic!r}: expected one of {', '.join(known)}")
    chosen = torch.device("cuda" if has_gpu() else "cpu") if device is None else torch.device(device)
    times = _times_on_gpu(run, chosen, seconds, cold) if chosen.type == "cuda" else _times_on_cpu(run, seconds)
    return known[statistic](times)


def _times_on_cpu(run: Callable[[], object], seconds: float) -> list[float]:
    def timed() -> float:
        start = time.perf_counter()
        run()
        return 1e3 * (time.perf_counter() - start)

    run()
    return _as_often_as_fits(lambda count: [timed() for _ in range(count)], seconds)


def _times_on_gpu(run: Callable[[], object], device: torch.device, seconds: float, cold: bool) -> list[float]:
    with torch.cuda.device(device):
        filler = torch.empty(_FLUSHED if cold else 0, dtype=torch.uint8, device=device)

        def timed(count: int) -> list[float]:
            pairs = [[torch.cuda.Event(enable_timing=True) for _ in range(2)] for _ in range(count)]  # type: ignore[no-untyped-call]
            for begin, end in pairs:
                filler.zero_()
                begin.record()
                run()
                end.record()
            torch.cuda.current_stream().synchronize()
            return [begin.elapsed_time(end) for begin, end in pairs]

        run()
        return _as_often_as_fits(timed, seconds)


def _as_often_as_fits(timed: Callable[[int], list[float]], seconds: float) -> list[float]:
    """The times of one run, and of as many more as it says fit."""
    (first,) = timed(1)
    more = min(MOST_RUNS - 1, int(1e3 * seconds / max(first, 1e-6)))
    return timed(more) if more > 1 else [first]
