"""The figures of docs/, and the files of benchmarks/results that they are made from."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
import warm_python
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
    """Each folder's code objects: those that agree, are mistaken, are not launched, and differ, if there are such."""

    def tally(launched: int, agree: int, **mistaken: int) -> dict[str, Any]:
        counts = {"files": 30, "complete": 29, "instructions": 600_000, "launched": launched, "agree": agree}
        return counts | {"mistaken": mistaken}

    folders = {"gfx942/fmoe": tally(9, 5, adds=3), "gfx942/other": tally(0, 0), "gfx950/fmoe": tally(8, 7, adds=1)}
    text = figures.aiter({"date": "2026-01-02", "commit": "e4048607a535", "folders": folders})
    expected = (
        "commit e4048607: for gfx942 the emulator runs every instruction of 58 of the 60 code objects, 1.2 million"
    )
    assert expected in text
    assert [line for line in text.splitlines() if "| 30, 5, 3, 21; 1 differ | 30, 7, 1, 22 |" in line]
    assert "| adds | 3 | 1 |" in text.splitlines()
    assert "`other`" not in text


def test_the_emulators_speed() -> None:
    """Kernels without a goal or a host's code have empty cells; a goal that is missed is told."""
    result = {"kernel": "add", "size": [4, 5], "instructions": 1234, "one_core_ms": 2, "all_cores_ms": 1.049, "rate": 3,
              "goal": None, "gflops": 1.26, "host_ms": None}  # fmt: skip
    goals = [
        {"name": "add: 2 cores against one", "value": 1.906, "goal": 1.95, "at_least": True, "is_met": False},
        {"name": "launch, us", "value": 3, "goal": 4, "at_least": False, "is_met": True},
    ]
    report = {"machine": MACHINE, "threads": 2, "results": [result], "goals": goals, "torch_mm_gflops": 99.6,
              "torch_mm_times": 1.26, "equal_parts_times": 0.96,
              "memory": {"code_object_bytes": 253_400, "peak_of_launch_bytes": 1_260_000}}  # fmt: skip
    lines = figures.emulating(report).splitlines()
    assert lines[2].split(" | ")[3:5] == ["one core, ms", "2 cores, ms"]
    assert lines[4] == "| `add` | 4x5 | 1,234 | 2.00 | 1.05 | 3.0 | | 1.3 | |"
    assert lines[8:10] == [
        "| add: 2 cores against one | 1.906 | at least 1.95 | no |",
        "| launch, us | 3 | at most 4 | yes |",
    ]
    assert "100 GFLOP/s" in lines[-1]
    assert "2 cores are 1.3 times as fast as one, and 1.0 times where each has an equal part" in lines[-1]
    assert "253 KB, a launch of `matmul_tiled` at most 1.3 MB besides its tensors" in lines[-1]


def test_suites_of_others() -> None:
    """Two runs on two machines; of one it is not known how many cores it had."""
    other = {"date": "2026-01-03", "cpu": "another CPU", "load": "5.0"}
    runs = {
        "gfx942": {"commit": "abcd1234", "machine": MACHINE, "counts": {"passed": 1234, "failed": 5}},
        "gfx950, 9 drawn": {"commit": "abcd1234", "machine": other, "counts": {"passed": 7, "skipped": 2}},
    }
    found = {"repository": "owner/name", "runs": runs}
    assert figures.suite(found).splitlines() == [
        "[owner/name](https://github.com/owner/name) at abcd1234. "
        "On 2026-01-02: a CPU with 2 cores, Python 3.11, torch 2.13. "
        "On 2026-01-03: another CPU. The machine had other work (load average 5.0).",
        "",
        "| | gfx942 | gfx950, 9 drawn |",
        "| --- | --- | --- |",
        "| passed | 1,234 | 7 |",
        "| failed | 5 | |",
        "| skipped | | 2 |",
    ]


def test_a_run_of_a_suite_is_recorded(tmp_path: Path) -> None:
    """In the place of an earlier one of that name, beside the others; its status is kept."""
    file, suite = tmp_path / "suite.json", tmp_path / "test_it.py"
    earlier = {"commit": "abcd1234", "machine": MACHINE, "counts": {"passed": 1}}
    file.write_text(json.dumps({"repository": "owner/name", "runs": {"gfx942": earlier, "gfx950": earlier}}))
    suite.write_text(
        "import pytest, warnings\n"
        "@pytest.mark.parametrize('n', range(3))\n"
        "def test_some(n):\n"
        "    warnings.warn('a word')\n"
        "    assert n or pytest.skip('none')\n"
        "def test_wrong():\n"
        "    assert False\n"
    )
    command = [ROOT / "tools" / "record_suite.py", file, "gfx942", ROOT, "--", sys.executable, "-m", "pytest", suite]
    done = warm_python.run(*command, cwd=tmp_path)
    assert done.returncode == 1, done.stderr
    assert "test_wrong" in done.stdout
    runs = json.loads(file.read_text())["runs"]
    assert runs["gfx942"]["counts"] == {"failed": 1, "passed": 2, "skipped": 1}
    assert runs["gfx942"]["machine"]["python"] in sys.version
    assert runs["gfx942"]["commit"] != "abcd1234"
    assert runs["gfx950"] == earlier


def test_a_last_line_that_counts_something_else() -> None:
    counts = load_tool("record_suite").counts_of
    assert counts("x\n17 PASS, 20 longer than 20 s, 2 not built\n") == {
        "PASS": 17,
        "longer than 20 s": 20,
        "not built": 2,
    }
    assert counts("= 1 passed, 2 warnings in 61.20s (0:01:01) =") == {"passed": 1}
    assert counts("no tests ran in 0.01s") == counts("") == {}


def test_sizes_of_wheels() -> None:
    wheels = [
        {"wheel": "wave_emulator-0.1.0-py3-none-any.whl", "bytes": 3_960_000, "torch": []},
        {"wheel": "wave_runtime-0.1.0-cp310-abi3-any.whl", "bytes": 1_000_000, "torch": ["2.9", "2.10"]},
    ]
    assert figures.wheel_sizes({"date": "2026-01-02", "wheels": wheels}).splitlines()[-3:] == [
        "| wave_emulator | 4.0 | |",
        "| wave_runtime | 1.0 | 2.9, 2.10 |",
        "| both | 5.0 | |",
    ]


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
        {"machine": machine, "ms": {"first": 1, "another": 1, "kept": 1, "known": 1}}
    )
    machine["scheduling"] = "real-time"
    assert "(load average 7.5), before which this had precedence" in figures.compiling(
        {"machine": machine, "ms": {"first": 1, "another": 1, "kept": 1, "known": 1}}
    )


FUZZER = """
import sys
print("stat::number_of_executed_units: 1234", file=sys.stderr)
sys.exit({status})
"""


def test_runs_of_a_fuzzer_add_up(tmp_path: Path) -> None:
    file = tmp_path / "fuzz.json"
    tool = ROOT / "tools" / "record_fuzzing.py"
    for status in (0, 77, 72):  # the last where it was interrupted
        command = [sys.executable, tool, file, "files", "--", sys.executable, "-c", FUZZER.format(status=status)]
        done = subprocess.run(command, capture_output=True, text=True)
        assert done.returncode == status
        assert "number_of_executed_units" in done.stderr
    runs = json.loads(file.read_text())
    assert [run["findings"] for run in runs] == [0, 1, 0]
    assert figures.fuzzing(runs).splitlines()[-1] == f"| files | 0 | 3,702 | 1 | {runs[0]['date']} |"
