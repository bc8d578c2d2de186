#!/usr/bin/env python3
"""Breaks the product on purpose, one small mistake at a time, and reports which mistakes the tests do not notice.

A mutant is the tree with one mistake: a comparison, an operator, a constant or a condition that is another, two rows of
a table that have changed places, or a statement that is gone. Each is built and tested in a copy of the last commit
(in build/mutants), the tests that concern the file first, then all of them. Tests that fail without any mistake, for
want of something on this machine, are left out. What does not compile is no mutant: another one is drawn.

    python tools/mutate.py --count 200 --seed 1          # draws 200, hours on two cores
    python tools/mutate.py --jobs 10 --processes 3       # ten at a time, on a machine of 32 cores
    python tools/mutate.py --count 20 --only csrc/launch # of one folder
    python tools/mutate.py --first                       # only the tests that concern the file

What survives is printed as a diff. It is either a hole in the tests, or a change that changes nothing.
"""

from __future__ import annotations

import argparse
import contextlib
import difflib
import json
import os
import random
import re
import signal
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import asdict, dataclass
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
COPIES = ROOT / "build" / "mutants"
PYTHONPATH = [path for path in os.environ.get("PYTHONPATH", "").split(os.pathsep) if path and Path(path) != ROOT]

_ARITHMETIC = ["tests/emulator/test_instructions.py"]
_MEMORY = ["tests/emulator/test_memory_instructions.py", "tests/emulator/test_wild_addresses.py"]
_ATOMICS = ["tests/emulator/test_atomics.py", "tests/emulator/test_pending_adds.py"]
_LDS = ["tests/emulator/test_lds_instructions.py"]
_SANITIZER = ["tests/emulator/test_sanitize.py"]
_RACE_MODEL = "tests/emulator/test_race_model.py"
_CACHES = "tests/emulator/test_workgroup_caches.py"
_UNDEFINED = ["tests/emulator/test_uninitialized.py", "tests/emulator/test_unwritten_memory.py"]
_HAZARDS = ["tests/emulator/test_hazards.py", "tests/emulator/test_wave32_observers.py"]
_COUNTERS = "tests/emulator/test_mixed_counters.py"
_LAUNCHES = ["tests/emulator/test_launch_state.py", "tests/emulator/test_progress.py"]
_HIP = ["tests/test_hip_emulator.py"]
_STREAMS = [*_HIP, "tests/test_launch_races.py"]

# Where a file's mistakes should be noticed, by the beginning of its path; the longest one that fits counts.
CONCERNED = {
    "csrc/base": ["tests/test_cpp.py", "tests/code_object", "tests/test_load.py"],
    "csrc/base/emulator_options": ["tests/test_environment.py", "tests/emulator/test_checks.py"],
    "csrc/base/environment": ["tests/test_environment.py"],
    "csrc/base/finding": _SANITIZER,
    "csrc/base/fork_safe": ["tests/test_fork.py"],
    "csrc/base/freed_memory": ["tests/emulator/test_unwritten_memory.py"],
    "csrc/base/launch_profile": ["tests/test_profile.py"],
    "csrc/base/process_memory": ["tests/emulator/test_unwritten_memory.py", "tests/emulator/test_wild_addresses.py"],
    "csrc/base/profile_session": ["tests/test_profile.py"],
    "csrc/base/sanitizer": [*_SANITIZER, "tests/test_sanitize_programs.py"],
    "csrc/base/sessions": [*_SANITIZER, "tests/test_profile.py"],
    "csrc/base/tools": _SANITIZER,
    "csrc/base/unwritten_memory": ["tests/emulator/test_unwritten_memory.py"],
    "csrc/c_api": ["tests/export/test_c_api.py"],
    "csrc/code_object": ["tests/code_object", "tests/test_load.py", "tests/test_load_nvidia.py"],
    "csrc/driver": ["tests/conformance", "tests/test_run.py", "tests/test_progress_bar.py"],
    "csrc/driver/cuda": ["tests/test_cuda_api.py", "tests/conformance"],
    "csrc/driver/emulator/observe": ["tests/test_run.py", "tests/emulator/test_wave32_observers.py"],
    "csrc/driver/hip": ["tests/test_hip_api.py", "tests/conformance"],
    "csrc/emulator": ["tests/emulator"],
    "csrc/emulator/addresses": [*_MEMORY, *_LDS],
    "csrc/emulator/atomic": _ATOMICS,
    "csrc/emulator/barriers": _SANITIZER,
    "csrc/emulator/binding": ["tests/emulator/test_bindings.py", "tests/emulator/test_rdna_rare_instructions.py"],
    "csrc/emulator/checks": [*_SANITIZER, "tests/emulator/test_checks.py", "tests/test_profile.py"],
    "csrc/emulator/dispatch": _LAUNCHES,
    "csrc/emulator/exec_buffer": [
        "tests/emulator/test_memory_instructions.py",
        "tests/emulator/test_buffers_of_rdna.py",
    ],
    "csrc/emulator/exec_buffer_format": [
        "tests/emulator/test_buffer_formats.py",
        "tests/emulator/test_buffer_formats_of_rdna.py",
    ],
    "csrc/emulator/exec_control": ["tests/emulator/test_control.py", "tests/emulator/test_indexing.py"],
    "csrc/emulator/exec_convert_scaled": ["tests/emulator/test_cdna4.py"],
    "csrc/emulator/exec_exchange_cdna4": ["tests/emulator/test_cdna4.py"],
    "csrc/emulator/exec_gws": ["tests/emulator/test_grid_sync.py"],
    "csrc/emulator/exec_hardware_register": [
        "tests/emulator/test_control.py",
        "tests/emulator/test_launch_state.py",
        "tests/emulator/test_rdna_rare_instructions.py",
    ],
    "csrc/emulator/exec_lane": [*_ARITHMETIC, "tests/emulator/test_rdna_exchanges.py"],
    "csrc/emulator/exec_lds": _LDS,
    "csrc/emulator/exec_matrix": ["tests/emulator/test_matrix_instructions.py", "tests/emulator/test_cdna4.py"],
    "csrc/emulator/exec_matrix_scaled": ["tests/emulator/test_cdna4.py"],
    "csrc/emulator/exec_matrix_wave": ["tests/emulator/test_wave_matrices.py"],
    "csrc/emulator/exec_scalar": [*_ARITHMETIC, "tests/emulator/test_scalar_memory.py"],
    "csrc/emulator/exec_scalar_gfx11": [
        "tests/emulator/test_rdna_instructions.py",
        "tests/emulator/test_rdna_arithmetic.py",
        "tests/emulator/test_rdna_rare_instructions.py",
    ],
    "csrc/emulator/exec_scalar_memory": ["tests/emulator/test_scalar_memory.py"],
    "csrc/emulator/exec_vector": [*_ARITHMETIC, "tests/emulator/test_fp8_conversions.py"],
    "csrc/emulator/exec_vector_cdna4": ["tests/emulator/test_cdna4.py"],
    "csrc/emulator/exec_vector_gfx11": [
        "tests/emulator/test_rdna_instructions.py",
        "tests/emulator/test_rdna_arithmetic.py",
        "tests/emulator/test_plain_arithmetic.py",
    ],
    "csrc/emulator/exec_vector_memory": _MEMORY,
    "csrc/emulator/exec_wave32": ["tests/emulator/test_rdna_instructions.py", "tests/emulator/test_wave32.py"],
    "csrc/emulator/findings": [*_SANITIZER, "tests/emulator/test_races.py"],
    "csrc/emulator/float_rows": [*_SANITIZER, "tests/emulator/test_denormals.py"],
    "csrc/emulator/global_": [_RACE_MODEL, *_SANITIZER, _CACHES, "tests/test_launch_races.py"],
    "csrc/emulator/grid_sync": ["tests/emulator/test_grid_sync.py"],
    "csrc/emulator/hazards": [*_HAZARDS, "tests/emulator/test_matrix_timing.py"],
    "csrc/emulator/hostcall": ["tests/emulator/test_printing.py"],
    "csrc/emulator/isa": ["tests/isa"],
    "csrc/emulator/isa/memory_order": [*_SANITIZER, _CACHES, *_HAZARDS],
    "csrc/emulator/lane_dwords": [*_MEMORY, *_LDS],
    "csrc/emulator/launch_accesses": ["tests/test_launch_races.py"],
    "csrc/emulator/launch_state": _LAUNCHES,
    "csrc/emulator/matrix": ["tests/emulator/test_matrix_instructions.py"],
    "csrc/emulator/matrix_timing": ["tests/emulator/test_matrix_timing.py"],
    "csrc/emulator/memory": [*_MEMORY, "tests/emulator/test_faults.py"],
    "csrc/emulator/numbers": [*_SANITIZER, "tests/emulator/test_denormals.py"],
    "csrc/emulator/pending_adds": _ATOMICS,
    "csrc/emulator/print": ["tests/emulator/test_printing.py"],
    "csrc/emulator/profile": ["tests/test_profile.py", "tests/emulator/test_statistics.py"],
    "csrc/emulator/races": ["tests/emulator/test_races.py", _RACE_MODEL],
    "csrc/emulator/rdna_sums": ["tests/emulator/test_wave_matrices.py", "tests/emulator/test_rdna_instructions.py"],
    "csrc/emulator/skipped_access": [*_SANITIZER, "tests/emulator/test_wild_addresses.py"],
    "csrc/emulator/spinning": _SANITIZER,
    "csrc/emulator/undefined": _UNDEFINED,
    "csrc/emulator/uninitialized": [*_UNDEFINED, *_SANITIZER],
    "csrc/emulator/vector_memory": [*_MEMORY, *_ATOMICS, *_LDS],
    "csrc/emulator/wait_counters": [*_HAZARDS, _COUNTERS],
    "csrc/emulator/wait_states": ["tests/emulator/test_wait_states.py", "tests/emulator/test_hazards.py"],
    "csrc/hip_emulator": [*_HIP, "tests/test_hip_programs.py", "tests/conformance"],
    "csrc/hip_emulator/api_graph": _HIP,
    "csrc/hip_emulator/api_pool": _HIP,
    "csrc/hip_emulator/api_rtc": ["tests/test_hip_rtc.py"],
    "csrc/hip_emulator/api_stream": _STREAMS,
    "csrc/hip_emulator/device_memory": [*_STREAMS, "tests/emulator/test_unwritten_memory.py"],
    "csrc/hip_emulator/graph": _HIP,
    "csrc/hip_emulator/graph_events": _STREAMS,
    "csrc/hip_emulator/host_program": ["tests/test_hip_programs.py"],
    "csrc/hip_emulator/page_advice": _HIP,
    "csrc/hip_emulator/queue": _STREAMS,
    "csrc/hip_emulator/rtc": ["tests/test_hip_rtc.py"],
    "csrc/hip_emulator/stream_order": ["tests/test_launch_races.py"],
    "csrc/hip_emulator/submit": _STREAMS,
    "csrc/hip_emulator/user_object": _HIP,
    "csrc/launch": ["tests/test_arguments.py", "tests/test_geometry.py", "tests/conformance"],
    "csrc/op": ["tests/test_operator.py", "tests/operators", "tests/upstream/test_c_entry_points.py"],
    "csrc/python": ["tests/test_arguments.py", "tests/conformance", "tests/upstream/test_contract.py"],
    "csrc/python/code_object_bindings": ["tests/code_object", "tests/test_load.py"],
    "csrc/python/isa_bindings": ["tests/isa", "tests/test_cli.py"],
}
SOURCES = ("csrc/**/*.cpp", "csrc/**/*.h", "csrc/**/*.inl")

# Binary operators have a blank on both sides, brackets of templates have none (clang-format).
OPERATORS = {
    "<": "<=",
    "<=": "<",
    ">": ">=",
    ">=": ">",
    "==": "!=",
    "!=": "==",
    "+": "-",
    "-": "+",
    "*": "+",
    "/": "*",
    "%": "/",
    "<<": ">>",
    ">>": "<<",
    "&": "|",
    "|": "&",
    "^": "&",
    "&&": "||",
    "||": "&&",
}
OPERATOR = re.compile(r"(?<= )(<<|>>|<=|>=|==|!=|&&|\|\||[-+*/%&|^<>])(?= )")
CONSTANT = re.compile(r"(?<![\w.\"'])(0x[0-9a-f]+|0|[1-9]\d*)(?=u?[\s;,)\]}])")
CONDITION = re.compile(r"\b(if|while) \((?!constexpr)(.+)\) (?=\{|return|throw|continue|break)")
STATEMENT = re.compile(r"^\s+(throw |fault|check|[\w.>-]+(\[[^]]*\])? [-+|&^*]?= |[\w.>-]+\()[^{}]*;\s*(//.*)?$")
ROW = re.compile(r'^(\s+\{"[^"]+", )(.+)(\},)$')
NOT_CODE = re.compile(r"^\s*(//|#|static_assert|template|using|namespace|\*)")


@dataclass(frozen=True)
class Mutant:
    """One changed line of one file (two, where rows change places); lines are counted from 0."""

    file: str
    line: int
    kind: str
    before: list[str]
    after: list[str]


def _blank_strings(line: str) -> str:
    """The line with its strings and comment made of blanks, as long as before."""
    line = re.sub(r'"(?:\\.|[^"\\])*"', lambda found: '"' + "_" * (len(found[0]) - 2) + '"', line)
    return re.sub(r"//.*", lambda found: " " * len(found[0]), line)


def _replaced(line: str, found: re.Match[str], group: int, text: str) -> str:
    return line[: found.start(group)] + text + line[found.end(group) :]


def changes_of(lines: list[str], at: int) -> Iterator[tuple[str, list[str]]]:
    """What can be broken in a line: the kind of the mistake, and the lines in its place."""
    line = lines[at]
    if NOT_CODE.match(line):
        return
    code = _blank_strings(line)
    for found in OPERATOR.finditer(code):
        yield "operator", [_replaced(line, found, 1, OPERATORS[found[1]])]
    for found in CONSTANT.finditer(code):
        value = int(found[1], 0) + 1
        yield "constant", [_replaced(line, found, 1, hex(value) if found[1].startswith("0x") else str(value))]
    if condition := CONDITION.search(code):
        yield "condition", [_replaced(line, condition, 2, f"!({line[condition.start(2) : condition.end(2)]})")]
    if STATEMENT.match(code) and lines[at - 1].rstrip().endswith(("{", ";", "}")):
        yield "statement", [f"{' ' * (len(line) - len(line.lstrip()))};"]
    row, below = ROW.match(line), ROW.match(lines[at + 1]) if at + 1 < len(lines) else None
    if row and below and row[2] != below[2]:
        yield "rows", [f"{row[1]}{below[2]}{row[3]}", f"{below[1]}{row[2]}{below[3]}"]


def candidates(only: list[str]) -> list[Mutant]:
    """All mutants of the files that git tracks, whose paths begin with one of `only`."""
    tracked = subprocess.run(["git", "ls-files", *SOURCES], cwd=ROOT, check=True, capture_output=True, text=True)
    found = []
    for file in tracked.stdout.split():
        if not file.startswith(tuple(only)):
            continue
        lines = (ROOT / file).read_text().splitlines()
        for at in range(len(lines)):
            for kind, after in changes_of(lines, at):
                found.append(Mutant(file, at, kind, lines[at : at + len(after)], after))
    return found


def concerned(file: str) -> list[str]:
    """The tests that concern a file."""
    fitting = [begin for begin in CONCERNED if file.startswith(begin)]
    return CONCERNED[max(fitting, key=len)] if fitting else []


class Copy:
    """A copy of the last commit, built, in which one mutant at a time is tried."""

    def __init__(self, folder: Path, processes: int) -> None:
        self.folder = folder
        self.processes = processes  # that build and that run tests, side by side
        self.left_out: list[str] = []  # tests that fail without a mistake
        if not folder.exists():
            subprocess.run(["git", "worktree", "add", "--detach", folder], cwd=ROOT, check=True, capture_output=True)
        head = subprocess.run(["git", "rev-parse", "HEAD"], cwd=ROOT, check=True, capture_output=True, text=True)
        subprocess.run(["git", "reset", "--quiet", "--hard", head.stdout.strip()], cwd=folder, check=True)
        if not self._build():
            raise SystemExit(f"the tree itself does not build in {folder}")

    def failing(self, tests: list[str]) -> list[str]:
        """Those of the tests that fail, or whose process dies, as the tree is."""
        _, output = self._run([*self._pytest(tests), "-rfE"])
        return re.findall(r"^(?:FAILED|ERROR) (\S+)", output, re.MULTILINE)

    def survives(self, mutant: Mutant, first_only: bool) -> bool | None:
        """Whether no test notices the mutant; None where it does not compile."""
        path = self.folder / mutant.file
        original = path.read_text()
        lines = original.splitlines()
        lines[mutant.line : mutant.line + len(mutant.before)] = mutant.after
        path.write_text("\n".join(lines) + "\n")
        try:
            if not self._build():
                return None
            stages = [concerned(mutant.file)] + ([] if first_only else [["tests"]])
            return all(self._tests_pass(tests) for tests in stages if tests)
        finally:
            path.write_text(original)

    def _run(self, command: list[str]) -> tuple[bool, str]:
        """Whether the command succeeds in the copy, and what it writes. What hangs fails.

        It writes to a file, not to a pipe, which a process that a test left running would keep open.
        """
        environment = {**os.environ, "PYTHONPATH": os.pathsep.join([str(self.folder), *PYTHONPATH])}
        environment["MAX_JOBS"] = str(self.processes)
        with tempfile.TemporaryFile("w+") as output:
            with subprocess.Popen(
                command, cwd=self.folder, stdout=output, stderr=output, env=environment, start_new_session=True
            ) as process:
                try:
                    process.wait(3600)
                except subprocess.TimeoutExpired:
                    pass
                finally:
                    with contextlib.suppress(ProcessLookupError):
                        os.killpg(process.pid, signal.SIGKILL)
            output.seek(0)
            return process.returncode == 0, output.read()

    def _build(self) -> bool:
        return self._run([sys.executable, "tools/build_package.py", "build/log"])[0]

    def _pytest(self, tests: list[str]) -> list[str]:
        options = ["-q", "-p", "no:cacheprovider", "-o", "timeout=300", "-n", str(self.processes), "--dist", "loadfile"]
        return [sys.executable, "-m", "pytest", *options, "--no-loadscope-reorder", *tests]

    def _tests_pass(self, tests: list[str]) -> bool:
        left_out = [f"--deselect={test}" for test in self.left_out]
        return self._run([*self._pytest(tests), "-x", *left_out])[0]


def diff(mutant: Mutant) -> str:
    """The mutant as a patch's lines."""
    lines = difflib.unified_diff(mutant.before, mutant.after, lineterm="", n=0)
    return "\n".join([f"{mutant.file}:{mutant.line + 1} ({mutant.kind})", *list(lines)[3:]])


def main() -> None:
    """Draws mutants, and prints the share that is caught and those that are not."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--count", type=int, default=200)
    parser.add_argument("--seed", default="1")
    parser.add_argument("--skip", type=int, default=0, help="so many of those drawn, which an earlier run tried")
    parser.add_argument("--seconds", type=float, default=float("inf"), help="after which no other mutant is tried")
    parser.add_argument("--only", action="append", help="beginning of a path; may be repeated", metavar="PATH")
    parser.add_argument("--first", action="store_true", help="run only the tests that concern the file")
    parser.add_argument("--jobs", type=int, default=1, help="mutants tried side by side, each in a copy of its own")
    parser.add_argument("--processes", type=int, default=2, help="of each job, that run tests side by side")
    parser.add_argument("--json", type=Path, help="where to write what was tried")
    arguments = parser.parse_args()

    begin = time.monotonic()
    drawn = candidates(arguments.only or ["csrc/"])
    random.Random(arguments.seed).shuffle(drawn)
    left = iter(drawn[arguments.skip :])
    tried: list[dict[str, object]] = []
    lock = threading.Lock()

    def work(copy: Copy) -> None:
        while time.monotonic() - begin < arguments.seconds:
            with lock:
                mutant = next(left, None)
            if mutant is None or len(tried) >= arguments.count:
                return
            survived = copy.survives(mutant, arguments.first)
            if survived is None:
                continue
            with lock:
                if len(tried) >= arguments.count:
                    return
                tried.append({**asdict(mutant), "survived": survived})
                caught = sum(not entry["survived"] for entry in tried)
                verdict = "SURVIVED" if survived else "caught"
                print(f"[{len(tried)}, {caught} caught] {verdict} {diff(mutant)}", flush=True)
                if arguments.json:
                    arguments.json.write_text(json.dumps(tried, indent=1))

    first = Copy(COPIES / "0", arguments.jobs * arguments.processes)  # where there is ccache, it builds the others, too
    tests = sorted({test for mutant in drawn for test in concerned(mutant.file)}) if arguments.first else ["tests"]
    left_out = first.failing(tests)
    with ThreadPoolExecutor(arguments.jobs) as pool:
        copies = list(pool.map(lambda i: Copy(COPIES / str(i), arguments.processes), range(arguments.jobs)))
        print(f"{len(left_out)} tests are left out, since they fail without any mistake: {left_out}", flush=True)
        for copy in copies:
            copy.left_out = left_out
        list(pool.map(work, copies))
    print(f"{sum(not entry['survived'] for entry in tried)} of {len(tried)} caught")


if __name__ == "__main__":
    main()
