"""Generated kernels (random_kernels), compiled for gfx942 and for the host: all results are the same, in every bit.

`python tests/emulator/test_random_kernels.py --seconds 600` tries new ones for ten minutes; with `--first 7 --count 1
--keep build` one again, whose source stays in build/.
"""

from __future__ import annotations

import argparse
import collections
import concurrent.futures
import hashlib
import itertools
import json
import multiprocessing
import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

import pytest
from random_kernels import harness
from random_kernels.generate import KERNELS
from support import first_or_long

import wave_runtime

COMMITTED = harness.FOLDER / "committed.hsaco"  # with what the host computed, for machines without clang
EXPECTED = COMMITTED.with_suffix(".json")
COMMITTED_SEED = "committed"


@pytest.mark.needs("clang-22")
@pytest.mark.parametrize("number", first_or_long(range(len(harness.VARIANTS)), 5))
def test_same_as_host(number: int, tmp_path: Path) -> None:
    assert harness.check(f"test{number}", tmp_path, harness.VARIANTS[number]) == []


def digest(words: harness.Words) -> str:
    return hashlib.sha256(words.tobytes()).hexdigest()[:16]


@pytest.mark.parametrize("name", ["k0", "k1"])
def test_committed(name: str) -> None:
    expected = json.loads(EXPECTED.read_text())[name]
    out, counters = harness.run_on_emulator(COMMITTED, name, COMMITTED_SEED, len(expected["outputs"]))
    found = {value: digest(row) for value, row in zip(expected["outputs"], out, strict=True)}
    assert found == expected["outputs"]
    assert digest(counters) == expected["counters"]


def commit() -> None:
    """Makes the committed files."""
    text, outputs = harness.generate(COMMITTED_SEED, kernels=2)
    with tempfile.TemporaryDirectory() as folder:
        source = Path(folder) / "source.cpp"
        source.write_text(text)
        COMMITTED.write_bytes(harness.compile_device(source, ["-O2"]).read_bytes())
        host = harness.compile_host(source)
        expected = {}
        for name, values in outputs.items():
            out, counters = harness.run_on_host(getattr(host, name), COMMITTED_SEED, len(values))
            digests = {value: digest(row) for value, row in zip(values, out, strict=True)}
            expected[name] = {"outputs": digests, "counters": digest(counters)}
    EXPECTED.write_text(json.dumps(expected, indent=1) + "\n")


def try_seed(seed: int, rows: Sequence[tuple[str, int]], keep: Path | None) -> list[tuple[bool, list[str]]]:
    """For each row, whether clang compiled the seed's program, and what differs, or clang's first message."""
    found: list[tuple[bool, list[str]]] = []
    with tempfile.TemporaryDirectory() as folder:
        for target, lanes in rows:
            try:
                found.append((True, harness.check(str(seed), keep or Path(folder), target=target, lanes=lanes)))
            except subprocess.CalledProcessError as error:
                found.append((False, error.stderr.decode().splitlines()[:1]))
            except wave_runtime.KernelFault as fault:
                found.append((True, [str(fault)]))
    return found


class Row:
    """What became of the programs for one processor and size of a wave."""

    def __init__(self) -> None:
        self.tried = 0
        self.refused = 0
        self.different: list[int] = []

    def results(self, first: int, earlier: Mapping[str, Any] | None) -> dict[str, object]:
        """What a file of results has of it, with an earlier run's where this one went on from that one's last seed."""
        version = subprocess.run([str(harness.CLANG), "--version"], capture_output=True, text=True).stdout
        words = {"date": time.strftime("%Y-%m-%d"), "clang": version.split("\n")[0]}
        counts: dict[str, Any] = {"programs": self.tried, "not compiled": self.refused, "different": self.different}
        if earlier and earlier["first seed"] + earlier["programs"] + earlier["not compiled"] == first:
            first = earlier["first seed"]
            counts = {name: earlier[name] + count for name, count in counts.items()}
        return {**words, "first seed": first, **counts}


def campaign(rows: Sequence[tuple[str, int]], seeds: Iterable[int], keep: Path | None, processes: int) -> list[Row]:
    """Tries the program of each seed for each row, and prints which differ."""
    os.environ.setdefault("WAVE_RUNTIME_EMULATOR_THREADS", "1")  # of each process: there are enough of these
    found = [Row() for _ in rows]
    pending: collections.deque[tuple[int, concurrent.futures.Future[list[tuple[bool, list[str]]]]]] = (
        collections.deque()
    )

    def take() -> None:
        seed, future = pending.popleft()
        for (target, lanes), row, (compiled, messages) in zip(rows, found, future.result(), strict=True):
            row.tried += compiled
            row.refused += not compiled
            if compiled and messages:
                row.different.append(seed)
            if messages:
                words = f"{len(messages)} differ; {messages[0]}" if compiled else f"clang: {messages[0]}"
                print(f"seed {seed}, {target}, {lanes} lanes: {words}", flush=True)

    with concurrent.futures.ProcessPoolExecutor(processes, multiprocessing.get_context("spawn")) as pool:
        for seed in seeds:
            pending.append((seed, pool.submit(try_seed, seed, rows, keep)))
            if len(pending) == 2 * processes:
                take()
        while pending:
            take()
    return found


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--first", type=int, default=int(time.time()), help="the first seed")
    parser.add_argument("--count", type=int)
    parser.add_argument("--seconds", type=float, default=float("inf"))
    parser.add_argument("--keep", type=Path, help="where to leave sources and binaries")
    parser.add_argument(
        "--target",
        nargs="+",
        default=["gfx942"],
        choices=[*harness.LANES, "all"],
        help="all: each, RDNA's in waves of either size",
    )
    parser.add_argument("--lanes", type=int, choices=(32, 64), help="of a wave; by default as the compiler chooses")
    parser.add_argument("--processes", type=int, default=1, help="that try programs side by side")
    parser.add_argument("--json", type=Path, metavar="FILE", help="a file of results, to which these are added")
    parser.add_argument("--commit", action="store_true", help="make the committed files anew")
    arguments = parser.parse_args()
    if arguments.commit:
        sys.exit(commit())
    if harness.CLANG is None:
        sys.exit("clang-22 is not installed")
    begin = time.monotonic()
    if "all" in arguments.target:
        rows = [(target, lanes) for target, usual in harness.LANES.items() for lanes in sorted({usual, 64})]
    else:
        rows = [(target, arguments.lanes or harness.LANES[target]) for target in arguments.target]
    last = sys.maxsize if arguments.count is None else arguments.first + arguments.count
    seeds = itertools.takewhile(lambda _: time.monotonic() - begin < arguments.seconds, range(arguments.first, last))
    found = campaign(rows, seeds, arguments.keep, arguments.processes)
    if arguments.json is not None:
        known = json.loads(arguments.json.read_text()) if arguments.json.exists() else {}
        for (target, lanes), row in zip(rows, found, strict=True):
            name = f"{target}, {lanes} lanes"
            known[name] = row.results(arguments.first, known.get(name))
        arguments.json.write_text(json.dumps(dict(sorted(known.items())), indent=1) + "\n")
    tried, different = sum(row.tried for row in found), sum(len(row.different) for row in found)
    words = f"{tried} programs of {KERNELS} kernels, {different} differ"
    refused = sum(row.refused for row in found)
    print(f"{words}; clang failed to compile {refused} more; {time.monotonic() - begin:.0f} s", flush=True)
    sys.exit(int(different > 0 or tried == 0))
