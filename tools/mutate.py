#!/usr/bin/env python3
"""Breaks the product on purpose, one small mistake at a time, and reports which mistakes the tests do not notice.

A mutant is the tree with one mistake: a comparison, an operator, a constant or a condition that is another, two rows of
a table that have changed places, or a statement that is gone. Each is tested in a copy of the last commit (in
build/mutants), the tests that concern the file first, then all of them. Tests that fail without any mistake, for want
of something on this machine, are left out. What does not compile is no mutant: another one is drawn.

Most mistakes are built together, as one tree in which the environment's WAVE_MUTANT says which one of them is made
(Untch, Offutt and Harrold, "Mutation analysis using mutant schemata", 1993): one build serves them all. What is needed
at compile time, and rows that change places, are built one by one, in copies of their own.

    python tools/mutate.py --count 200 --seed 1          # draws 200, hours on two cores
    python tools/mutate.py --jobs 10 --processes 3       # ten at a time, on a machine of 32 cores
    python tools/mutate.py --count 20 --only csrc/launch # of one folder
    python tools/mutate.py --first                       # only the tests that concern the file

What survives is printed as a diff. It is either a hole in the tests, or a change that changes nothing.
"""

from __future__ import annotations

import argparse
import contextlib
import copy
import itertools
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
from concurrent.futures import ThreadPoolExecutor
from dataclasses import asdict
from pathlib import Path

import build_package
from mutants import ROOT, Mutant, candidates, chosen, concerned, diff

COPIES = ROOT / "build" / "mutants"
PYTHONPATH = [path for path in os.environ.get("PYTHONPATH", "").split(os.pathsep) if path and Path(path) != ROOT]

# What says in all sources which mutant is made.
_CHOICE = """#pragma once
#ifdef __cplusplus
#include <cstdlib>
inline int wave_mutant() {
  static const int number = std::getenv("WAVE_MUTANT") != nullptr ? std::atoi(std::getenv("WAVE_MUTANT")) : 0;
  return number;
}
#define WAVE_MUTANT(number) (wave_mutant() == (number))
#endif
"""


class Copy:
    """A copy of the last commit, built, in which one mutant at a time is tried."""

    def __init__(self, folder: Path, processes: int, limit: float) -> None:
        self.folder = folder
        self.processes = processes  # that build and that run tests, side by side
        self.limit = limit  # seconds that a build or tests may take
        self.left_out: list[str] = []  # tests that fail without a mistake
        self.environment = {**os.environ, "PYTHONPATH": os.pathsep.join([str(folder), *PYTHONPATH])}
        self.environment["MAX_JOBS"] = str(processes)
        if not folder.exists():
            subprocess.run(["git", "worktree", "add", "--detach", folder], cwd=ROOT, check=True, capture_output=True)
        head = subprocess.run(["git", "rev-parse", "HEAD"], cwd=ROOT, check=True, capture_output=True, text=True)
        subprocess.run(["git", "reset", "--quiet", "--hard", head.stdout.strip()], cwd=folder, check=True)

    def build(self) -> None:
        """Builds the tree without a mistake."""
        if not self._build():
            raise SystemExit(f"the tree itself does not build in {self.folder}")

    def failing(self, tests: list[str]) -> list[str]:
        """Those of the tests that fail, or whose process dies, as the tree is."""
        _, output = self._run([*self._pytest(tests), "-rfE"])
        if not re.search(r"^\d.* in [\d.]+s\b", output, re.MULTILINE):
            raise SystemExit(f"the tests of the tree itself do not end in {self.limit:.0f} s: {output[-1000:]}")
        return re.findall(r"^(?:FAILED|ERROR) (\S+)", output, re.MULTILINE)

    def survives(self, mutant: Mutant, first_only: bool) -> bool | None:
        """Whether no test notices the mutant; None where it does not compile."""
        path = self.folder / mutant.file
        original = path.read_text()
        lines = original.splitlines()
        lines[mutant.line : mutant.line + len(mutant.before)] = mutant.after
        path.write_text("\n".join(lines) + "\n")
        try:
            return self._passes(mutant, first_only) if self._build() else None
        finally:
            path.write_text(original)

    def _passes(self, mutant: Mutant, first_only: bool) -> bool:
        stages = [concerned(mutant.file)] + ([] if first_only else [["tests"]])
        return all(self._tests_pass(tests) for tests in stages if tests)

    def _run(self, command: list[str]) -> tuple[bool, str]:
        """Whether the command succeeds in the copy, and what it writes. What hangs fails.

        It writes to a file, not to a pipe, which a process that a test left running would keep open.
        """
        with tempfile.TemporaryFile("w+") as output:
            with subprocess.Popen(
                command, cwd=self.folder, stdout=output, stderr=output, env=self.environment, start_new_session=True
            ) as process:
                try:
                    process.wait(self.limit)
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
        # Not by file as `make test`: pytest-xdist does not get over the end of a process that has a whole file to do.
        options = ["-q", "-p", "no:cacheprovider", "-o", "timeout=300", "-n", str(self.processes), "--dist", "load"]
        return [sys.executable, "-m", "pytest", *options, *tests]

    def _tests_pass(self, tests: list[str]) -> bool:
        left_out = [f"--deselect={test}" for test in self.left_out]
        return self._run([*self._pytest(tests), "-x", *left_out])[0]


class CopyOfAll(Copy):
    """A copy of the last commit with many mutants in it, of which the environment chooses one."""

    def __init__(self, folder: Path, processes: int, limit: float, mutants: list[Mutant]) -> None:
        super().__init__(folder, processes, limit)
        header = folder / "build" / "mutant.h"
        header.parent.mkdir(exist_ok=True)
        header.write_text(_CHOICE)
        self.environment["CXXFLAGS"] = f"-include {header}"
        self._number = self._build_all(mutants)

    def holds(self, mutant: Mutant) -> bool:
        """Whether it is one of those that can be chosen here."""
        return mutant in self._number

    def survives(self, mutant: Mutant, first_only: bool) -> bool:
        """Whether no test notices the mutant."""
        chosen_here = copy.copy(self)
        chosen_here.environment = {**self.environment, "WAVE_MUTANT": str(self._number[mutant])}
        return chosen_here._passes(mutant, first_only)

    def _errors(self) -> str | None:
        """What the compiler says of all files that it refuses."""
        for command in build_package.commands(self.folder):
            succeeds, output = self._run([*command, "--", "-k", "0"] if "--build" in command else command)
            if not succeeds:
                return output
        return None

    def _build_all(self, mutants: list[Mutant]) -> dict[Mutant, int]:
        """Builds all that compile so, one of each line: the number of each."""
        files = {file: (self.folder / file).read_text().splitlines() for file in {mutant.file for mutant in mutants}}
        at: dict[tuple[str, int], tuple[Mutant, int, str]] = {}
        for number, mutant in enumerate(mutants, 1):
            if text := chosen(mutant, number, files[mutant.file]):
                at.setdefault((mutant.file, mutant.line), (mutant, number, text))
        while True:
            changed = {file: list(lines) for file, lines in files.items()}
            for (file, line), (_, _, text) in at.items():
                changed[file][line] = text
            for file, lines in changed.items():
                text = "\n".join(lines) + "\n"
                if (self.folder / file).read_text() != text:
                    (self.folder / file).write_text(text)
            log = self._errors()
            if log is None:
                return {mutant: number for mutant, number, _ in at.values()}
            # Errors, and where they come from: macros, and templates that are made.
            named = re.findall(r"\b(csrc/[\w/.]+):(\d+)[:,]", log)
            broken = {(file, int(line) - 1) for file, line in named} & set(at)
            if not broken:
                failed = set(re.findall(r"^FAILED: .*?\b(csrc/[\w/.]+)\.o\b", log, re.MULTILINE))
                broken = {place for place in at if place[0] in failed}
            if not broken:
                raise SystemExit(f"the tree does not build in {self.folder}, none of its mutants being to blame")
            for place in broken:
                del at[place]


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
    parser.add_argument("--limit", type=float, default=3600.0, metavar="SECONDS", help="what takes longer hangs: 3600")
    parser.add_argument("--json", type=Path, help="where to write what was tried")
    arguments = parser.parse_args()

    begin = time.monotonic()
    drawn = candidates(arguments.only or ["csrc/"])
    random.Random(arguments.seed).shuffle(drawn)
    tried: list[dict[str, object]] = []
    begun: set[Mutant] = set()
    lock = threading.Lock()
    together = drawn[arguments.skip : arguments.skip + arguments.count]
    all_in_one = CopyOfAll(COPIES / "all", arguments.jobs * arguments.processes, arguments.limit, together)
    tests = sorted({test for mutant in drawn for test in concerned(mutant.file)}) if arguments.first else ["tests"]
    all_in_one.left_out = all_in_one.failing(tests)
    all_in_one.processes = arguments.processes
    print(f"{len(all_in_one.left_out)} tests are left out, since they fail without any mistake: {all_in_one.left_out}")

    def alone(number: int) -> Copy:
        one = Copy(COPIES / str(number), arguments.processes, arguments.limit)
        one.build()
        one.left_out = all_in_one.left_out
        return one

    held = [mutant for mutant in together if all_in_one.holds(mutant)]
    spare = drawn[arguments.skip + arguments.count :]  # for those that do not compile
    for_all = iter(held)
    for_builders = itertools.chain((mutant for mutant in together if mutant not in held), for_all, spare)

    def draw(builds: bool) -> Mutant | None:
        with lock:
            if time.monotonic() - begin >= arguments.seconds or len(tried) + len(begun) >= arguments.count:
                return None
            mutant = next(for_builders if builds else for_all, None)
            if mutant:
                begun.add(mutant)
            return mutant

    def work(number: int) -> None:
        builds = number < max(1, arguments.jobs // 4)  # a copy takes minutes to build: few have one
        mine = None
        while mutant := draw(builds):
            if all_in_one.holds(mutant):
                survived: bool | None = all_in_one.survives(mutant, arguments.first)
            else:
                mine = mine or alone(number)
                survived = mine.survives(mutant, arguments.first)
            with lock:
                begun.remove(mutant)
                if survived is None:
                    continue
                tried.append({**asdict(mutant), "survived": survived})
                caught = sum(not entry["survived"] for entry in tried)
                verdict = "SURVIVED" if survived else "caught"
                print(f"[{len(tried)}, {caught} caught] {verdict} {diff(mutant)}", flush=True)
                if arguments.json:
                    arguments.json.write_text(json.dumps(tried, indent=1))

    with ThreadPoolExecutor(arguments.jobs) as pool:
        list(pool.map(work, range(arguments.jobs)))
    print(f"{sum(not entry['survived'] for entry in tried)} of {len(tried)} caught")


if __name__ == "__main__":
    main()
