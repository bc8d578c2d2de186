"""Counts as files for tools."""

from __future__ import annotations

import csv
import io
import json
from collections.abc import Sequence
from dataclasses import asdict
from typing import Any

from wave_runtime._profile._counts import COUNTS, GpuLaunch, KernelProfile
from wave_runtime._profile._peaks import bounds, peaks_of, processor_of

FORMAT = 1  # of the JSON: another for each change that readers notice

_COLUMNS = ("kernel", "target", "address", "file", "line", "kind", "text")


def as_json(kernels: Sequence[KernelProfile], launches: Sequence[GpuLaunch]) -> dict[str, Any]:
    """All of it, by the names of the attributes; docs/profile.md has the schema."""
    return {
        "format": FORMAT,
        "kernels": [_kernel(kernel) for kernel in kernels],
        "gpu_launches": [asdict(launch) for launch in launches],
    }


def _kernel(kernel: KernelProfile) -> dict[str, Any]:
    peaks = peaks_of(processor_of(kernel))
    return {
        **asdict(kernel),
        "asked": kernel.asked,
        "lane_share": kernel.lane_share,
        "lines": [asdict(line) for line in kernel.lines],
        "bounds": [asdict(bound) for bound in bounds(kernel)],
        "peaks": None if peaks is None else asdict(peaks),
    }


def as_json_text(kernels: Sequence[KernelProfile], launches: Sequence[GpuLaunch]) -> str:
    """The same as the contents of a file."""
    return json.dumps(as_json(kernels, launches), indent=1)


def as_csv(kernels: Sequence[KernelProfile], launches: Sequence[GpuLaunch]) -> str:
    """A row for each instruction that was executed on the emulator."""
    out = io.StringIO()
    rows = csv.writer(out, lineterminator="\n")
    rows.writerow([*_COLUMNS, *COUNTS])
    for kernel in kernels:
        for item in kernel.instructions:
            if item.count:
                values = (kernel.name, kernel.target, f"{item.address:#x}", item.file, item.line, item.kind, item.text)
                rows.writerow([*values, *(getattr(item, name) for name in COUNTS)])
    return out.getvalue()
