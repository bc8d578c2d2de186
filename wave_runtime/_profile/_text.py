"""Counts as a table for a terminal."""

from __future__ import annotations

from collections.abc import Sequence

from wave_runtime._profile._counts import GpuLaunch, Instruction, KernelProfile, Line
from wave_runtime._profile._peaks import bounds

_MOST_TEXT = 72


def table(kernels: Sequence[KernelProfile], launches: Sequence[GpuLaunch], by: str, limit: int) -> str:
    """See ``Profile.table``."""
    parts = []
    if by == "kernel":
        parts += [_kernels(kernels, limit)] if kernels or not launches else []
        parts += [_gpu(launches, limit)] if launches else []
    elif by in ("line", "instruction"):
        parts += [_code(kernel, by, limit) for kernel in kernels]
    else:
        raise ValueError(f"by={by!r}: expected kernel, line or instruction")
    return "\n\n".join(parts)


def amount(value: float) -> str:
    """A number in three digits: 12.3k, 4.56M."""
    return _in_units(value, ((1, ""), (1e3, "k"), (1e6, "M"), (1e9, "G"), (1e12, "T")))


def seconds(value: float) -> str:
    """A time in three digits."""
    return _in_units(value, ((1e-9, " ns"), (1e-6, " us"), (1e-3, " ms"), (1, " s")))


def _in_units(value: float, units: Sequence[tuple[float, str]]) -> str:
    """In the smallest one in which three digits are enough, once they are rounded."""
    texts = [f"{value / factor:.3g}{unit}" for factor, unit in units]
    return next((text for text in texts if "e+" not in text), texts[-1])


def _rows(header: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    """Columns under a header; the last is text, the others are numbers."""
    widths = [max(len(row[i]) for row in (header, *rows)) for i in range(len(header) - 1)]
    return "\n".join(
        "  ".join([*(cell.rjust(width) for cell, width in zip(row, widths, strict=False)), row[-1]]).rstrip()
        for row in (header, *rows)
    )


def _kernels(kernels: Sequence[KernelProfile], limit: int) -> str:
    header = (
        "launches",
        "instructions",
        "lanes",
        "asked for",
        "moved",
        "LDS conflicts",
        "matrix",
        "at least",
        "kernel",
    )
    rows = []
    for kernel in sorted(kernels, key=lambda kernel: -kernel.count)[:limit]:
        bound = next(iter(bounds(kernel)), None)
        matrix = kernel.kinds.get("matrix", 0) / kernel.count if kernel.count else 0
        conflicts = f"{kernel.lds_conflict_cycles / kernel.lds_cycles:.0%}" if kernel.lds_cycles else "-"
        least = f"{seconds(bound.seconds)} ({bound.pipe})" if bound else "-"
        counts = (str(len(kernel.launches)), amount(kernel.count), f"{kernel.lane_share:.0%}")
        traffic = (f"{amount(kernel.asked)}B", f"{amount(kernel.moved)}B")
        rows.append((*counts, *traffic, conflicts, f"{matrix:.0%}", least, f"{kernel.name} ({kernel.target})"))
    more = f"\n{len(kernels) - limit} more kernels" if len(kernels) > limit else ""
    return _rows(header, rows) + more


def _gpu(launches: Sequence[GpuLaunch], limit: int) -> str:
    times: dict[tuple[str, str], list[float]] = {}
    for launch in launches:
        known = times.setdefault((launch.kernel, launch.device), [])
        known += [] if launch.milliseconds is None else [launch.milliseconds]
    rows = [
        (str(len(known)), _total(known), _total(known, len(known)), f"{name} on {device}")
        for (name, device), known in sorted(times.items(), key=lambda item: -sum(item[1]))[:limit]
    ]
    return _rows(("timed", "in all", "each", "kernel; what needs a GPU's counters is not available"), rows)


def _total(times: Sequence[float], count: int = 1) -> str:
    """A sum of milliseconds, or its share of each."""
    return seconds(sum(times) / 1e3 / count) if times else "-"


def _code(kernel: KernelProfile, by: str, limit: int) -> str:
    items: Sequence[Line | Instruction] = kernel.lines if by == "line" else kernel.instructions
    chosen = sorted((item for item in items if item.count), key=lambda item: -item.count)[:limit]
    if by == "line" and not chosen:
        return f"{kernel.name}: no line table: compile with -g, or ask for by='instruction'"
    header = ("share", "executed", "lanes", "asked for", "moved", "LDS conflicts", kernel.name)
    rows = [
        (
            f"{item.count / kernel.count:.1%}",
            amount(item.count),
            f"{item.lanes / item.count / max(kernel.wave_lanes, 1):.0%}",
            f"{amount(item.bytes)}B" if item.bytes else "-",
            f"{amount(item.moved)}B" if item.moved else "-",
            f"{item.lds_conflict_cycles / item.lds_cycles:.0%}" if item.lds_cycles else "-",
            _label(item)[:_MOST_TEXT],
        )
        for item in chosen
    ]
    return _rows(header, rows)


def _label(item: Line | Instruction) -> str:
    place = f"{item.file.rsplit('/', 1)[-1]}:{item.line}" if item.line else ""
    return f"{place}  {item.text}".strip()
