"""Runs the tests of ROCm's libraries, as Debian has built both, on the emulator: ``run_rocm_tests.py PACKAGE...``.

Packages such as librocblas4-tests have a program of GoogleTest or several, in /usr/libexec/rocm. They are taken from a
folder that debootstrap has filled, or from this system. Of each group of tests a sample is run, which is the same in
each run.
"""

from __future__ import annotations

import argparse
import collections
import json
import os
import random
import re
import selectors
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any

import measured_on

from wave_emulator import LIBRARIES, _hip, library

PACKAGES = "usr/libexec/rocm"
LONGEST = 100_000  # characters of a filter: an argument has at most 128 KiB
START = 900  # seconds that a program may take to list its tests: rocBLAS' has more than a million
# Of tests whose names say for which occasion they are, those for the most frequent ones; no stress tests.
FILTERS = {
    "rocblas-test": "*quick*:*pre_checkin*-*known_bug*:*stress*",
    "rocsparse-test": "*quick*:*pre_checkin*-*known_bug*:*stress*",
    "hipsparse-test": "*-*known_bug*",
    "rocsolver-test": "checkin*-*known_bug*",
}
TOLD = re.compile(r"\[ +(RUN|OK|FAILED|SKIPPED) +\] (\S+?)(?:,| \(|$)")
OUTCOMES = {"OK": "pass", "FAILED": "fail", "SKIPPED": "skipped"}


def listed(text: str) -> Iterator[tuple[str, str]]:
    """The group and the name of each test, of what --gtest_list_tests prints.

    A group has the tests of a suite whose names begin alike, for all of its types.
    """
    suite = ""
    for line in text.splitlines():
        word = line.split("#")[0].strip()
        if not line.startswith(" "):
            suite = word if re.fullmatch(r"\S+\.", word) else ""
        elif suite and word:
            parts = [part for part in suite.rstrip(".").split("/") if not part.isdigit()]
            kind = word.split("/")[0] if "/" in word else ""
            yield "/".join([*parts, kind]), suite + word


def sample(tests: Iterable[tuple[str, str]], count: int) -> list[str]:
    """So many tests of each group, in their order."""
    groups = collections.defaultdict(list)
    for group, name in tests:
        groups[group].append(name)
    chosen: list[str] = []
    for group, names in groups.items():
        kept = set(random.Random(group).sample(names, min(count, len(names))))
        chosen += [name for name in names if name in kept]
    return chosen


def put_libraries(folder: Path) -> None:
    """Put our libraries into a folder, under all of AMD's names: another root has none of ours."""
    for name in LIBRARIES:
        shutil.copy(library(name), folder)
    shutil.copytree(library("wave_emulator").parent / "device", folder / "device")  # the headers for hipRTC
    for name in _hip.NAMES:
        (folder / name).symlink_to(library("wave_hip_emulator").name)


class System:
    """Where the programs are, and what they are run with."""

    def __init__(self, root: Path, libraries: Path, target: str) -> None:
        self.root = root
        self.prefix = [] if root == Path("/") else ["chroot", str(root)]
        # rocBLAS' and rocSPARSE's programs tell only of tests that fail, unless they are told to.
        self.variables = os.environ | {
            "GTEST_LISTENER": "PASS_LINE_IN_LOG",
            "WAVE_RUNTIME_SYNC": "0",
            _hip.PROCESSOR: target,
            _hip.SEARCHED: f"/{libraries.relative_to(root)}",
        }

    def programs(self, package: str) -> list[str]:
        """The programs of a package, as they are named in the folder."""
        found = sorted((self.root / PACKAGES / package).iterdir())
        return [f"/{path.relative_to(self.root)}" for path in found if path.read_bytes()[:4] == b"\x7fELF"]

    def start(self, command: list[str]) -> subprocess.Popen[bytes]:
        """A process, whose output and errors are one."""
        return subprocess.Popen(
            [*self.prefix, *command],
            env=self.variables,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
        )

    def tests(self, program: str) -> list[tuple[str, str]]:
        """All tests of a program. Ends the run where there are none, since it does not start perhaps."""
        chosen = FILTERS.get(Path(program).name, "*")
        output, _ = self.start([program, "--gtest_list_tests", f"--gtest_filter={chosen}"]).communicate()
        text = output.decode(errors="replace")
        found = list(listed(text))
        if not found:
            sys.exit(f"{program} does not list its tests: {text.strip()[-200:]}")
        return found

    def run(self, program: str, names: list[str], limit: int) -> Iterator[tuple[str, str, str]]:
        """The outcome of each test, and why. A process ends with a test that crashes or takes longer than the limit."""
        left = list(names)
        while left:
            few = left[: LONGEST // max(map(len, left))]
            outcomes = {name: (what, why) for name, what, why in self.run_some(program, few, limit)}
            outcomes = outcomes or dict.fromkeys(few, ("fail", "the program did not run it"))
            yield from ((name, *outcome) for name, outcome in outcomes.items())
            left = [name for name in left if name not in outcomes]

    def run_some(self, program: str, names: list[str], limit: int) -> Iterator[tuple[str, str, str]]:
        """The same of those that one process comes to."""
        running, printed = "", []
        with self.start([program, f"--gtest_filter={':'.join(names)}"]) as process:
            for line in timed_lines(process, limit):
                if line is None:
                    process.kill()
                    if running:
                        yield running, "too long", ""
                    return
                told = TOLD.match(line)
                if told is None:
                    printed.append(line)
                elif told[1] == "RUN":
                    running, printed = told[2], []
                elif told[2] == running:
                    yield running, OUTCOMES[told[1]], cause(printed) if told[1] == "FAILED" else ""
                    running = ""
        if running:
            yield running, "fail", f"status {process.returncode}: {cause(printed)}"


def timed_lines(process: subprocess.Popen[bytes], limit: int) -> Iterator[str | None]:
    """What a process prints, line by line; None where it has been silent for longer than the limit in a test."""
    assert process.stdout is not None
    rest, seconds = "", START
    with selectors.DefaultSelector() as selector:
        selector.register(process.stdout, selectors.EVENT_READ)
        while selector.select(seconds):
            read = os.read(process.stdout.fileno(), 1 << 16).decode(errors="replace")
            if not read:
                return
            *lines, rest = (rest + read).split("\n")
            if any(line.startswith("[ RUN ") for line in lines):
                seconds = limit
            yield from lines
    yield None


def cause(lines: list[str]) -> str:
    """What a test that failed has printed, in short."""
    if fault := next((line for line in lines if "kernel fault: " in line or "HIP emulator: " in line), None):
        return fault[:200]
    return " ".join(line.strip() for line in lines if line.strip())[:300]


def measure(system: System, package: str, options: argparse.Namespace) -> dict[str, Any]:
    """Run a sample of a package's tests."""
    counts: collections.Counter[str] = collections.Counter()
    failures: dict[str, str] = {}
    there = 0
    for program in system.programs(package):
        tests = system.tests(program)
        there += len(tests)
        for name, what, why in system.run(program, sample(tests, options.sample), options.limit):
            counts[what] += 1
            if what in ("fail", "too long"):
                failures[f"{Path(program).name} {name}"] = f"{what}: {why}" if why else what
                print(f"{Path(program).name} {name}: {what} {why}", flush=True)
    return {"there": there, "counts": dict(sorted(counts.items())), "failures": dict(sorted(failures.items()))}


def measure_all(options: argparse.Namespace, libraries: Path, told: dict[str, Any]) -> None:
    """Run what the options say, and write the results where they say."""
    packages = options.packages or sorted(path.name for path in (options.root / PACKAGES).iterdir())
    for package in packages:
        for target in options.targets:
            found = measure(System(options.root, libraries, target), package, options)
            told["packages"].setdefault(package, {})[target] = found
            print(package, target, found["counts"], "of", found["there"], file=sys.stderr, flush=True)
            if options.json:
                options.json.write_text(json.dumps(told, indent=1, sort_keys=True) + "\n")


def main() -> None:
    """Run the tests of the packages that the command line names."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--root", type=Path, default=Path("/"), metavar="FOLDER", help="that debootstrap has filled")
    parser.add_argument("--targets", nargs="*", default=["gfx90a", "gfx1030", "gfx1100"], metavar="PROCESSOR")
    parser.add_argument("--sample", type=int, default=4, metavar="N", help="so many tests of each group")
    parser.add_argument("--limit", type=int, default=60, metavar="SECONDS", help="a test may be silent for so long")
    parser.add_argument("--json", type=Path, help="a file for the results, whose other packages stay as they are")
    parser.add_argument("packages", nargs="*", metavar="PACKAGE", help="by default all that are installed")
    options = parser.parse_intermixed_args()

    folder = options.root / PACKAGES
    if not folder.is_dir():
        sys.exit(f"{folder} is not there: install Debian's packages of tests, such as librocrand1-tests")
    told = json.loads(options.json.read_text()) if options.json and options.json.exists() else {"packages": {}}
    told["machine"] = measured_on.describe() | {"sample": options.sample, "limit": options.limit}
    with tempfile.TemporaryDirectory(dir=options.root / "tmp") as libraries:
        put_libraries(Path(libraries))
        measure_all(options, Path(libraries), told)


if __name__ == "__main__":
    main()
