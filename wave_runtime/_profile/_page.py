"""Counts as one page for a browser, which needs nothing else."""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path

from wave_runtime._profile._counts import GpuLaunch, KernelProfile
from wave_runtime._profile._export import as_json
from wave_runtime._version import __version__

_TEMPLATE = Path(__file__).parent / "page.html"
_MOST_LINES = 20_000  # of a source


def page(kernels: Sequence[KernelProfile], launches: Sequence[GpuLaunch]) -> str:
    """The page, with all counts and the sources that are still there."""
    data = {**as_json(kernels, launches), "sources": _sources(kernels), "version": __version__}
    text = json.dumps(data, separators=(",", ":")).replace("<", "\\u003c")  # a source may have </script>
    return _TEMPLATE.read_text(encoding="utf-8").replace("/*DATA*/", text)


def _sources(kernels: Sequence[KernelProfile]) -> dict[str, list[str]]:
    """The files that executed instructions come from."""
    names = {item.file for kernel in kernels for item in kernel.instructions if item.count and item.line}
    sources = {}
    for name in sorted(names):
        try:
            sources[name] = Path(name).read_text(encoding="utf-8", errors="replace").splitlines()[:_MOST_LINES]
        except OSError:
            continue
    return sources
