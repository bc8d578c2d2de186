#!/usr/bin/env python3
"""Breaks the product on purpose, one small mistake at a time, and reports which mistakes the tests do not notice.

A mutant is the tree with one mistake: a comparison, an operator, a constant or a condition that is another, two rows of
a table that have changed places, or a statement that is gone. Each is built and tested in a copy of the last commit
(build/mutants), the tests that concern the file first, then all of them. What does not compile is no mutant: another
one is drawn.

    python tools/mutate.py --count 200 --seed 1          # draws 200, hours on two cores
    python tools/mutate.py --count 20 --only csrc/launch # of one folder
    python tools/mutate.py --first                       # only the tests that concern the file

What survives is printed as a diff. It is either a hole in the tests, or a change that changes nothing.
"""

from __future__ import annotations

import argparse
import difflib
import json
import os
import random
import re
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import asdict, dataclass
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
COPY = ROOT / "build" / "mutants"

# Where a file's mistakes should be noticed, by the beginning of its path; the longest one that fits counts.
CONCERNED = {
    "csrc/base": ["tests/test_cpp.py", "tests/code_object", "tests/test_load.py"],
    "csrc/c_api": ["tests/export/test_c_api.py"],
    "csrc/code_object": ["tests/code_object", "tests/test_load.py", "tests/test_load_nvidia.py"],
    "csrc/driver": ["tests/conformance", "tests/test_run.py", "tests/test_progress_bar.py"],
    "csrc/driver/cuda": ["tests/test_cuda_api.py", "tests/conformance"],
    "csrc/driver/hip": ["tests/test_hip_api.py", "tests/conformance"],
    "csrc/emulator": ["tests/emulator"],
    "csrc/emulator/exec_buffer": [
        "tests/emulator/test_buffer_formats.py",
        "tests/emulator/test_memory_instructions.py",
    ],
    "csrc/emulator/exec_lds": ["tests/emulator/test_lds_instructions.py"],
    "csrc/emulator/exec_matrix": ["tests/emulator/test_matrix_instructions.py"],
    "csrc/emulator/exec_scalar": ["tests/emulator/test_instructions.py", "tests/emulator/test_scalar_memory.py"],
    "csrc/emulator/exec_vector": ["tests/emulator/test_instructions.py", "tests/emulator/test_fp8_conversions.py"],
    "csrc/emulator/hazards": ["tests/emulator/test_hazards.py", "tests/emulator/test_matrix_timing.py"],
    "csrc/emulator/isa": ["tests/isa"],
    "csrc/emulator/matrix": ["tests/emulator/test_matrix_instructions.py"],
    "csrc/emulator/races": ["tests/emulator/test_races.py"],
    "csrc/emulator/vector_memory": ["tests/emulator/test_memory_instructions.py", "tests/emulator/test_atomics.py"],
    "csrc/hip_emulator": ["tests/test_hip_emulator.py", "tests/conformance"],
    "csrc/launch": ["tests/test_arguments.py", "tests/test_geometry.py", "tests/conformance"],
    "csrc/op": ["tests/test_operator.py", "tests/operators", "tests/upstream/test_c_entry_points.py"],
    "csrc/python": ["tests/test_arguments.py", "tests/conformance", "tests/upstream/test_contract.py"],
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
CONSTANT = re.compile(r"(?<![\w.\"'])(0x[0-9a-f]+|\d+)(?=u?[\s;,)\]}])")
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


def _passes(command: list[str], timeout: float) -> bool:
    """Whether the command succeeds in the copy; what hangs does not."""
    environment = {**os.environ, "PYTHONPATH": str(COPY)}
    try:
        return subprocess.run(command, cwd=COPY, capture_output=True, timeout=timeout, env=environment).returncode == 0
    except subprocess.TimeoutExpired:
        return False


def _build() -> bool:
    return _passes([sys.executable, "setup.py", "build_ext", "--inplace"], 3600)


def _tests_pass(tests: list[str], processes: int) -> bool:
    command = [sys.executable, "-m", "pytest", "-x", "-q", "-p", "no:cacheprovider", "-o", "timeout=300", *tests]
    return _passes([*command, "-n", str(processes), "--dist", "loadfile"], 3600)


def survives(mutant: Mutant, first_only: bool, processes: int) -> bool | None:
    """Whether no test notices the mutant; None where it does not compile."""
    path = COPY / mutant.file
    original = path.read_text()
    lines = original.splitlines()
    lines[mutant.line : mutant.line + len(mutant.before)] = mutant.after
    path.write_text("\n".join(lines) + "\n")
    try:
        if not _build():
            return None
        stages = [concerned(mutant.file)] + ([] if first_only else [["tests"]])
        return all(_tests_pass(tests, processes) for tests in stages if tests)
    finally:
        path.write_text(original)


def diff(mutant: Mutant) -> str:
    """The mutant as a patch's lines."""
    lines = difflib.unified_diff(mutant.before, mutant.after, lineterm="", n=0)
    return "\n".join([f"{mutant.file}:{mutant.line + 1} ({mutant.kind})", *list(lines)[3:]])


def prepare() -> None:
    """A copy of the last commit, built, whose tests pass or fail as they do here."""
    if not COPY.exists():
        subprocess.run(["git", "worktree", "add", "--detach", str(COPY)], cwd=ROOT, check=True, capture_output=True)
    subprocess.run(["git", "checkout", "--quiet", "--detach", "--force", "HEAD"], cwd=COPY, check=True)
    head = subprocess.run(["git", "rev-parse", "HEAD"], cwd=ROOT, check=True, capture_output=True, text=True)
    subprocess.run(["git", "reset", "--quiet", "--hard", head.stdout.strip()], cwd=COPY, check=True)
    if not _build():
        raise SystemExit(f"the tree itself does not build in {COPY}")


def main() -> None:
    """Draws mutants, and prints the share that is caught and those that are not."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--count", type=int, default=200)
    parser.add_argument("--seed", default="1")
    parser.add_argument("--only", action="append", help="beginning of a path; may be repeated", metavar="PATH")
    parser.add_argument("--first", action="store_true", help="run only the tests that concern the file")
    parser.add_argument("--processes", type=int, default=2, help="that run tests side by side")
    parser.add_argument("--json", type=Path, help="where to write what was tried")
    arguments = parser.parse_args()

    drawn = candidates(arguments.only or ["csrc/"])
    random.Random(arguments.seed).shuffle(drawn)
    prepare()
    tried: list[dict[str, object]] = []
    for mutant in drawn:
        if len(tried) == arguments.count:
            break
        survived = survives(mutant, arguments.first, arguments.processes)
        if survived is None:
            continue
        tried.append({**asdict(mutant), "survived": survived})
        caught = sum(not entry["survived"] for entry in tried)
        print(f"[{len(tried)}, {caught} caught] {'SURVIVED' if survived else 'caught'} {diff(mutant)}", flush=True)
        if arguments.json:
            arguments.json.write_text(json.dumps(tried, indent=1))
    print(f"{caught} of {len(tried)} caught")


if __name__ == "__main__":
    main()
