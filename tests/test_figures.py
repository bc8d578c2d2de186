"""The figures of docs/, and the files of benchmarks/results that they are made from."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from support import ROOT, load_tool

figures = load_tool("generate_figures")

MACHINE = {"date": "2026-01-02", "cpu": "a CPU", "cores": "2", "python": "3.11", "torch": "2.13", "load": "0.3"}
GPU = {**MACHINE, "gpu": "a GPU", "cuda": "13.0", "driver": "580"}


def test_pages_are_current() -> None:
    """`python tools/generate_figures.py` makes them so."""
    for path, text in figures.pages().items():
        assert path.read_text() == text, path


def test_every_file_is_shown() -> None:
    assert {path.stem for path in figures.RESULTS.glob("*.json")} <= {figure.name for figure in figures.FIGURES}


def test_every_figure_has_a_place() -> None:
    """Also those that nobody has measured yet: one run on a machine with a GPU fills them in."""
    for figure in figures.FIGURES:
        page = (figures.DOCS / figure.page).read_text()
        assert page != figures.filled(page, figure.name, "other text")


def test_a_page_without_the_place_is_an_error() -> None:
    with pytest.raises(ValueError, match="expected one block '<!-- figures: absent -->'"):
        figures.filled("text", "absent", "")


def row(launcher: str, ratio: float, *, group: str = "ours", arguments: int = 4, threads: int = 1) -> dict[str, Any]:
    setting = {"kernel": "k", "arguments": arguments, "threads": threads}
    return {"launcher": launcher, "group": group, "ratio": ratio, "microseconds": 3 * ratio, "setting": setting}


def test_launches() -> None:
    rows = [row("C loop", 1, group="floor"), row("kernel(...)", 1.134), row("Triton", 3.89, group="peer")]
    rows += [row("C loop", 1, group="floor", threads=8), row("kernel(...)", 1.5, threads=8)]
    text = figures.launching({"machine": GPU, "rows": rows})
    assert text.startswith(
        "On 2026-01-02: a GPU, CUDA 13.0, driver 580; a CPU with 2 cores, Python 3.11, torch 2.13. "
        "The C loop takes 3.0 us with 4 arguments, 3.0 us with 4 arguments, on 8 threads; "
    )
    assert text.splitlines()[2:] == [
        "| | 4 arguments | 4 arguments, on 8 threads |",
        "| --- | --- | --- |",
        "| `C loop` | 1.00 | 1.00 |",
        "| `kernel(...)` | 1.13 | 1.50 |",
        "| `Triton` | 3.89 | |",
    ]


def test_models() -> None:
    rows = [row("C loop", 1, group="floor"), row("eager: Triton", 4.9, group="peer"), row("eager: kernel(...)", 2.08)]
    rows += [row("CUDA graph: kernel(...)", 0.01), row("AOTInductor in C++: kernel(...)", 1.75)]
    text = figures.modelling({"machine": GPU, "rows": rows})
    assert text.splitlines()[-2:] == [
        "| `kernel(...)` | 2.08 | | | 0.01 | 1.75 |",
        "| `Triton` | 4.90 | | | | |",
    ]
    assert "The C loop takes 3.0 us." in text


def test_hand_written_kernels() -> None:
    """Folders that are not launched count among all, and have no row."""

    def tally(launched: int, agree: int) -> dict[str, Any]:
        return {"files": 30, "complete": 29, "instructions": 600_000, "launched": launched, "agree": agree}

    folders = {"gfx942/fmoe": tally(9, 8), "gfx942/other": tally(0, 0), "gfx950/fmoe": tally(7, 7)}
    text = figures.aiter({"date": "2026-01-02", "commit": "e4048607a535", "folders": folders})
    expected = (
        "commit e4048607: for gfx942 the emulator runs every instruction of 58 of the 60 code objects, 1.2 million"
    )
    assert expected in text
    assert [line for line in text.splitlines() if "| 9, 8 | 7, 7 |" in line]
    assert "`other`" not in text


def test_results_of_wheels_are_kept(tmp_path: Path) -> None:
    """The newest for each minor version of Python and each torch, in their order, failures among them."""
    check_wheel, file = load_tool("check_wheel"), tmp_path / "wheels.json"
    python = Path(sys.executable)
    for summary in ("2 failed, 7 passed in 9.12s\nlast words", "9 passed, 1 skipped in 10.00s (0:00:10)"):
        check_wheel.keep(file, check_wheel.result(python, summary))
    (found,) = json.loads(file.read_text()).values()
    assert found["tests"] == "9 passed, 1 skipped"
    check_wheel.keep(file, check_wheel.Result(date="2026-01-02", python="3.9.1", torch="2.9.0", tests="1 failed"))
    assert figures.wheels(json.loads(file.read_text())).splitlines()[-1] == "| 3.9.1 | 2.9.0 | 1 failed | 2026-01-02 |"
    assert check_wheel.result(python, "an error of pip")["tests"] == "failed before the tests"


def test_a_busy_machine_is_told() -> None:
    machine = {**MACHINE, "load": "7.5"}
    assert "other work (load average 7.5)" in figures.compiling(
        {"machine": machine, "ms": {"first": 1, "kept": 1, "known": 1}}
    )


FUZZER = """
import sys
print("stat::number_of_executed_units: 1234", file=sys.stderr)
sys.exit({status})
"""


def test_runs_of_a_fuzzer_add_up(tmp_path: Path) -> None:
    file = tmp_path / "fuzz.json"
    tool = ROOT / "tools" / "record_fuzzing.py"
    for status in (0, 77):
        command = [sys.executable, tool, file, "files", "--", sys.executable, "-c", FUZZER.format(status=status)]
        done = subprocess.run(command, capture_output=True, text=True)
        assert done.returncode == status
        assert "number_of_executed_units" in done.stderr
    runs = json.loads(file.read_text())
    assert [run["findings"] for run in runs] == [0, 1]
    assert figures.fuzzing(runs).splitlines()[-1] == f"| files | 0 | 2,468 | 1 | {runs[0]['date']} |"
