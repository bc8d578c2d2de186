"""Runs HIP's own tests on the emulator: ``run_hip_tests.py SOURCE BUILD``.

SOURCE is a checkout of ROCm/hip-tests, and BUILD the folder where its own CMake files have built it. Each test case
runs in a process of its own, as under ctest. Those that AMD itself disables for the processor are left out.
"""

from __future__ import annotations

import argparse
import collections
import json
import os
import re
import signal
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import measured_on
from run_hecbench import run_in

# Fewer values and rounds than a GPU would try: the options of the tests' own main function.
SMALLER = ["--accuracy-iterations", "20000", "--accuracy-max-memory", "1", "--cg-iterations", "1"]
MOST_WAITING = 6  # seconds for each of processor time
REFUSED = re.compile(r"\b801 ==|hipErrorNotSupported|operation not supported", re.IGNORECASE)


def programs_of(build: Path, folder: str) -> list[Path]:
    """The programs of the tests of a folder of catch/unit."""
    found = (build / "catch_tests" / "unit" / folder).glob("*")
    return sorted(path for path in found if path.is_file() and os.access(path, os.X_OK) and is_of_catch(path))


def is_of_catch(program: Path) -> bool:
    """Whether a file is a program of tests, and no program that a test runs."""
    text = program.read_bytes()
    return text[:4] == b"\x7fELF" and b"list-test-names-only" in text


def disabled(source: Path, target: str) -> re.Pattern[str]:
    """The tests that AMD disables on Linux, for a processor."""
    config = source / "catch" / "hipTestMain" / "config" / "config_amd_linux"
    command = ["cpp", "-P", f"-D{target}", '-DGITHASH=""', "-undef", "-w", str(config)]
    done = subprocess.run(command, capture_output=True, text=True)
    names = re.findall(r'"(Unit_[^"]*)"', done.stdout)
    if not names:
        raise RuntimeError(f"{config} lists no test: {done.stderr}")
    return re.compile("|".join(re.escape(name).replace(r"\*", ".*") for name in names))


def outcome(done: subprocess.CompletedProcess[str]) -> tuple[str, str]:
    """What a test case's run was, and why."""
    text = re.sub(r"/\S+/(?=catch/)", "", done.stdout + done.stderr)  # not where the checkout is
    if done.returncode == 0:
        return ("skipped" if "HIP_SKIP_THIS_TEST" in text else "pass"), ""
    if REFUSED.search(text):
        reasons = re.findall(r"HIP emulator: (.*)", text)
        return "refused", (reasons or ["hipErrorNotSupported"])[-1][:160]
    if done.returncode in (-signal.SIGXCPU, -signal.SIGKILL):
        return "too long", ""
    if done.returncode < 0:
        return "fail", f"signal {-done.returncode}: {text.strip()[-200:]}"
    if fault := re.search(r"kernel fault: .*", text):
        return "fail", fault[0][:200]
    lines = [line.strip() for line in text.splitlines()]
    found = [" ".join(lines[at : at + 6]) for at, line in enumerate(lines) if "FAILED:" in line]
    return "fail", (found or [text.strip()[-200:]])[0][:300]


def run_case(program: Path, name: str, limit: int) -> dict[str, Any]:
    """Run one test case, which may take so many seconds of processor time: what else the machine does is no matter."""
    start = time.monotonic()
    quoted = re.sub(r"([\\,\[])", r"\\\1", name)  # what Catch's names of tests mean something else by
    try:
        limited = ["sh", "-c", f'ulimit -t {limit}; exec "$@"', "sh"]
        what, why = outcome(run_in(program.parent, [*limited, str(program), quoted, *SMALLER], MOST_WAITING * limit))
    except subprocess.TimeoutExpired:
        what, why = "too long", ""
    return {"is": what, "seconds": round(time.monotonic() - start, 1)} | ({"why": why} if why else {})


def cases(program: Path) -> list[str]:
    """The names of a program's tests. Ends the run where it does not start, for want of libamdhip64.so perhaps."""
    done = run_in(program.parent, [str(program), "--list-test-names-only"], 60)
    found = [line.strip() for line in done.stdout.splitlines() if line.strip() and not line.startswith("Log")]
    if not found and done.returncode != 0:
        sys.exit(f"{program} does not list its tests: {done.stderr.strip()[-200:]}")
    return found


def measure(folder: str, options: argparse.Namespace, kept: dict[str, Any]) -> dict[str, Any]:
    """Run the tests of a folder, but those whose results are kept."""
    everything = {name: program for program in programs_of(options.build, folder) for name in cases(program)}
    skip = disabled(options.source, options.target)
    tests = dict(kept)
    for name, program in everything.items():
        before = tests.get(name)
        if skip.fullmatch(name):
            tests[name] = {"is": "disabled"}
        elif before is None or before["is"] in options.again or re.search(options.only, name):
            tests[name] = run_case(program, name, options.limit)
            print(f"{folder} {name}: {tests[name]['is']} {tests[name].get('why', '')}", flush=True)
    return tests


def tell_units(build: Path, count: int) -> None:
    """Have programs told of so many compute units: grids of many tests grow with them."""
    library = build / "fewer_units.so"
    source = Path(__file__).with_name("fewer_units.c")
    subprocess.run(["cc", "-shared", "-fPIC", "-O1", str(source), "-o", str(library), "-ldl"], check=True)
    os.environ["HIP_TESTS_UNITS"] = str(count)
    os.environ["LD_PRELOAD"] = str(library.absolute())


def summary(tests: dict[str, Any]) -> dict[str, Any]:
    """A folder's results without the names of the tests that pass."""
    counts = collections.Counter(test["is"] for test in tests.values())
    others: dict[str, dict[str, str]] = {what: {} for what in ("fail", "refused", "too long")}
    for name, test in sorted(tests.items()):
        if test["is"] in others:
            others[test["is"]][name] = test.get("why", "")
    return {"counts": dict(sorted(counts.items())), "tests": others}


def main() -> None:
    """Run the folders that the command line names."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("source", type=Path, metavar="SOURCE")
    parser.add_argument("build", type=Path, metavar="BUILD")
    parser.add_argument("--target", default="gfx942", help="the processor that they are built for")
    parser.add_argument("--devices", default="2")
    parser.add_argument("--units", type=int, help="tell programs of so few compute units, for smaller grids")
    parser.add_argument("--limit", type=int, default=30, metavar="SECONDS", help="of processor time for each test case")
    parser.add_argument("--again", nargs="*", default=[], help="of kept results, run these again: fail, refused, ...")
    parser.add_argument("--only", default="^$", metavar="EXPRESSION", help="and run again tests of these names")
    parser.add_argument("--json", type=Path, help="a file for the results, whose other folders stay as they are")
    parser.add_argument("folders", nargs="*", help="of catch/unit; by default all that were built")
    options = parser.parse_intermixed_args()

    unit = options.build / "catch_tests" / "unit"
    if not unit.is_dir():
        sys.exit(f"{options.build} is no folder in which ROCm/hip-tests was built: it has no catch_tests/unit")
    os.environ["WAVE_RUNTIME_EMULATOR_PROCESSOR"] = options.target
    os.environ["WAVE_RUNTIME_EMULATOR_DEVICES"] = options.devices
    if options.units is not None:
        tell_units(options.build, options.units)
    kept = options.build / "results.json"
    results = json.loads(kept.read_text()) if kept.exists() else {}
    told = json.loads(options.json.read_text()) if options.json and options.json.exists() else {"folders": {}}
    git = ["git", "-C", str(options.source), "rev-parse", "HEAD"]
    told["commit"] = subprocess.run(git, capture_output=True, text=True).stdout.strip()
    told["machine"] = measured_on.describe() | {"target": options.target, "devices": options.devices}
    for folder in options.folders or sorted(path.name for path in unit.iterdir() if path.is_dir()):
        results[folder] = measure(folder, options, results.get(folder, {}))
        told["folders"][folder] = summary(results[folder]) | ({"units": options.units} if options.units else {})
        print(folder, told["folders"][folder]["counts"], file=sys.stderr)
        kept.write_text(json.dumps(results, indent=1) + "\n")
        if options.json:
            options.json.write_text(json.dumps(told, indent=1, sort_keys=True) + "\n")


if __name__ == "__main__":
    main()
