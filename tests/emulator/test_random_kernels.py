"""Generated kernels (random_kernels), compiled for gfx942 and for the host: all results are the same, in every bit.

`python tests/emulator/test_random_kernels.py --seconds 600` tries new ones for ten minutes; with `--first 7 --count 1
--keep build` one again, whose source stays in build/.
"""

from __future__ import annotations

import argparse
import hashlib
import itertools
import json
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import pytest
from random_kernels import harness
from random_kernels.generate import KERNELS

import wave_runtime

COMMITTED = harness.FOLDER / "committed.hsaco"  # with what the host computed, for machines without clang
EXPECTED = COMMITTED.with_suffix(".json")
COMMITTED_SEED = "committed"


@pytest.mark.needs("clang-22")
@pytest.mark.parametrize("number", range(len(harness.VARIANTS)))
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


def campaign(
    first: int,
    count: int | None,
    seconds: float,
    keep: Path | None,
    target: str,
    lanes: int | None,
    results: Path | None,
) -> int:
    """Tries programs until the count or the time is over, and prints those that differ, also to a file of results."""
    begin, tried, refused = time.monotonic(), 0, 0
    different: list[int] = []
    for seed in itertools.count(first):
        if time.monotonic() - begin > seconds or tried + refused == count:
            break
        with tempfile.TemporaryDirectory() as folder:
            try:
                found = harness.check(str(seed), keep or Path(folder), target=target, lanes=lanes)
            except subprocess.CalledProcessError as error:
                refused += 1
                print(f"seed {seed}: clang: {error.stderr.decode().splitlines()[0]}", flush=True)
                continue
            except wave_runtime.KernelFault as fault:
                found = [str(fault)]
        tried += 1
        if found:
            different.append(seed)
            print(f"seed {seed}: {len(found)} differ; {found[0]}", flush=True)
    if results is not None:
        known = json.loads(results.read_text()) if results.exists() else {}
        known[f"{target}, {lanes or harness.LANES[target]} lanes"] = {
            "date": time.strftime("%Y-%m-%d"),
            "clang": subprocess.run([str(harness.CLANG), "--version"], capture_output=True, text=True).stdout.split(
                "\n"
            )[0],
            "first seed": first,
            "programs": tried,
            "not compiled": refused,
            "different": different,
        }
        results.write_text(json.dumps(dict(sorted(known.items())), indent=1) + "\n")
    words = f"{tried} programs of {KERNELS} kernels, {len(different)} differ; clang failed to compile {refused} more"
    print(f"{words}; {time.monotonic() - begin:.0f} s", flush=True)
    return int(bool(different) or tried == 0)


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--first", type=int, default=int(time.time()), help="the first seed")
    parser.add_argument("--count", type=int)
    parser.add_argument("--seconds", type=float, default=float("inf"))
    parser.add_argument("--keep", type=Path, help="where to leave sources and binaries")
    parser.add_argument("--target", default="gfx942", choices=list(harness.LANES))
    parser.add_argument("--lanes", type=int, choices=(32, 64), help="of a wave; by default as the compiler chooses")
    parser.add_argument("--json", type=Path, metavar="FILE", help="a file of results, to which these are added")
    parser.add_argument("--commit", action="store_true", help="make the committed files anew")
    arguments = parser.parse_args()
    if arguments.commit:
        sys.exit(commit())
    if harness.CLANG is None:
        sys.exit("clang-22 is not installed")
    options = (arguments.keep, arguments.target, arguments.lanes, arguments.json)
    sys.exit(campaign(arguments.first, arguments.count, arguments.seconds, *options))
