"""Writes docs/figures.md from what benchmarks and campaigns wrote: ``python tools/generate_figures.py``.

It reads benchmarks/results/ and imports nothing of the package. A test tells when the page is not current.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

ROOT = Path(__file__).parent.parent
RESULTS = ROOT / "benchmarks" / "results"
PAGE = ROOT / "docs" / "figures.md"
HEADER = """# Figures

What benchmarks measured and campaigns found, with the machine and the day. The files that they wrote are in
`benchmarks/results`; `python tools/generate_figures.py` writes this page from them. Figures of other pages say beside
them what measures them.

"""


def page() -> str:
    """The page's text."""
    return HEADER + "\n".join(part() for part in (compiling, random_kernels))


def compiling() -> str:
    """Of benchmarks/bench_compile.py."""
    found = _read("compile.json")
    rows = {
        "compiled": found["ms"]["first"],
        "kept, in a process that does not know it": found["ms"]["kept"],
        "known to the process": found["ms"]["known"],
    }
    table = "\n".join(f"| {name} | {value:.2f} |" for name, value in rows.items())
    return f"""## A call of compile()

Of one kernel that includes `<hip/hip_runtime.h>`, by `python benchmarks/bench_compile.py --json
benchmarks/results/compile.json`. {_machine(found["machine"])}

| | milliseconds |
|---|---|
{table}
"""


def random_kernels() -> str:
    """Of tests/emulator/test_random_kernels.py."""
    rows = [
        f"| {name} | {found['programs']} | {found['not compiled']} | {_seeds(found['different'])} "
        f"| {found['first seed']} | {found['clang'].split(' (')[0]} | {found['date']} |"
        for name, found in _read("random_kernels.json").items()
    ]
    return f"""## Random kernels against the host

Programs of four kernels, compiled for a GPU and for x86-64, which must give the same bits; [emulator.md](emulator.md)
says why a seed differs. `make campaign-random` tries the same seeds again, and writes the file.

| for | programs | not compiled | seeds that differ | first seed | compiler | on |
|---|---|---|---|---|---|---|
{chr(10).join(rows)}
"""


def _seeds(different: list[int]) -> str:
    return ", ".join(map(str, different)) or "none"


def _machine(parts: dict[str, str]) -> str:
    where = f"{parts['cpu']} with {parts['cores']} cores, Python {parts['python']}, torch {parts['torch']}"
    return f"On {parts['date']}: {where}."


def _read(name: str) -> Any:
    return json.loads((RESULTS / name).read_text())


if __name__ == "__main__":
    PAGE.write_text(page())
    print(PAGE)
