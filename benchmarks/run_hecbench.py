"""Builds and runs the HIP programs of HeCBench on the emulator: ``run_hecbench.py SRC``.

SRC is the folder src/ of a checkout of zjin-lcf/HeCBench, which is left as it is. Each program checks itself, and says
PASS or FAIL, or nothing. Its own Makefile builds it and says how it runs, with sizes for a GPU: here the last argument,
which most of them take for a number of repetitions, is 1. A program runs with a 64th of its other numbers first, then
with a 16th, a quarter and all of them, while it takes less than a fortieth of the limit or does not say PASS.
hecbench_sizes.json has those for which that is not enough: the arguments that they are given, values of constants in
their sources, and texts of their sources that are replaced.
"""

from __future__ import annotations

import argparse
import collections
import json
import math
import os
import re
import shlex
import shutil
import subprocess
import sys
import tempfile
import time
from multiprocessing.pool import ThreadPool
from pathlib import Path
from typing import Any

import hecbench_data

from wave_emulator import _toolchain

NUMBER = re.compile(r"[0-9]{3,}")
SIZES = json.loads((Path(__file__).parent / "hecbench_sizes.json").read_text())
DIVISORS = (64, 16, 4, 1)  # of the numbers
BUILD_LIMIT = 300.0  # seconds
OUTPUT = 20_000  # characters that are kept of what a program without a verdict prints
FAILED = re.compile(
    r"(?<!\b0 )\bFAIL(?!ures: 0\b)|MISMATCH(?!ed \(count)|not correct|incorrect(?! \w+: 0\b)", re.IGNORECASE
)
PASSED = re.compile(r"\bpass(ed)?\b(?! \d)|\bcorrect|success|\b(results )?match(es)?\b", re.IGNORECASE)
NO_DATA = re.compile(
    r"(cannot|could not|unable to|failed to|error|not) (be )?(open|read|load|stat)|no such f(ile|older)|not found",
    re.IGNORECASE,
)
A_NUMBER = re.compile(r"(?<![\w.])[-+]?(?:\d+\.?\d*|\.\d+)(?:[eE][-+]?\d+)?(?![\w.])")
OF_THE_MACHINE = re.compile(
    r"time|elapsed|second|\b[munμ]?s(ec)?\b|[GM]B/s|bandwidth|FLOP|speed|throughput|\brate|per sec|clock|cycle",
    re.IGNORECASE,
)
MISSING = re.compile(r"fatal error: '([^']+)' file not found")


def run_in(folder: Path, command: list[str], limit: float) -> subprocess.CompletedProcess[str]:
    """Run a command in a folder, without input. Raises TimeoutExpired."""
    return subprocess.run(
        command, cwd=folder, stdin=subprocess.DEVNULL, capture_output=True, text=True, errors="replace", timeout=limit
    )


def make_by(compiler: str, *variables: str) -> list[str]:
    """The command that builds a program by its Makefile."""
    return ["make", f"CC={compiler}", f"CXX={compiler}", *variables]


def build(folder: Path, command: list[str]) -> str | None:
    """Build a program; what is wrong where it does not build."""
    try:
        done = run_in(folder, command, BUILD_LIMIT)
    except subprocess.TimeoutExpired:
        return f"not compiled within {BUILD_LIMIT:.0f} s"
    if done.returncode == 0:
        return None
    if missing := MISSING.search(done.stderr):
        return f"needs {missing[1]}"
    errors = [line for line in done.stderr.splitlines() if "error" in line]
    return (errors or ["make failed"])[0][:200]


def run_command(folder: Path) -> list[str] | None:
    """The first command of `make run`, without what would build."""
    done = subprocess.run(["make", "-n", "run"], cwd=folder, capture_output=True, text=True)
    lines = [line.split() for line in done.stdout.replace("\\\n", " ").splitlines() if re.match(r"\s*\./\w+", line)]
    return lines[0] if lines else None


def smaller(command: list[str], divisor: int) -> list[str]:
    """The same with one repetition, and smaller numbers before."""
    program, *arguments = command
    is_an_options = len(arguments) > 1 and arguments[-2].startswith("-")
    if arguments and arguments[-1].isdigit() and not is_an_options:
        arguments[-1] = "1"
    return [program] + [str(max(1, int(a) // divisor)) if NUMBER.fullmatch(a) else a for a in arguments]


def verdict(done: subprocess.CompletedProcess[str], wants_fault: str | None = None) -> str:
    """What a run says of itself. It may want its fault: then it says so in words of its own."""
    text = done.stdout + done.stderr
    if wants_fault and wants_fault in done.stdout and done.returncode == 0:
        return "PASS"
    fault = re.search(r"kernel fault: (.*)", text)
    if fault:
        return f"fault: {fault[1][:200]}"
    if (done.returncode != 0 or FAILED.search(done.stdout)) and (missing := NO_DATA.search(text)):
        return f"no data: {text[max(0, missing.start() - 40) : missing.end() + 80]!r}"
    if FAILED.search(done.stdout):
        return "FAIL"
    if done.returncode != 0:
        refused = re.search(r"HIP emulator: .*", text)
        return f"exit: {done.returncode}, {(refused[0] if refused else text.strip()[-150:])!r}"
    return "PASS" if PASSED.search(done.stdout) else "ended"


def sizes_of(folder: Path) -> dict[str, Any]:
    """What hecbench_sizes.json has for a program."""
    sizes: dict[str, Any] = SIZES.get(re.sub("-(hip|cuda)$", "", folder.name), {})
    return sizes


def run_once(folder: Path, command: list[str], limit: float) -> dict[str, Any]:
    """Run a program, and say what came of it."""
    start = time.monotonic()
    try:
        done = run_in(folder, command, limit)
    except subprocess.TimeoutExpired:
        return {"verdict": f"longer than {limit:.0f} s", "command": " ".join(command)}
    except OSError as error:
        return {"verdict": f"not started: {error}"}
    seconds = round(time.monotonic() - start, 1)
    said = verdict(done, sizes_of(folder).get("wants fault"))
    output = {"output": done.stdout[:OUTPUT]} if said == "ended" else {}
    return {"verdict": said, "command": " ".join(command), "seconds": seconds, **output}


def run(folder: Path, command: list[str], limit: float) -> dict[str, Any]:
    """Run with the smallest numbers, then with larger ones, which may end within the limit or be what it needs."""
    own = sizes_of(folder)
    if "arguments" in own:
        return run_once(folder, [command[0], *own["arguments"].split()], limit)
    result: dict[str, Any] = {}
    for tried in dict.fromkeys(tuple(smaller(command, divisor)) for divisor in DIVISORS):
        found = run_once(folder, list(tried), limit)
        if result and "seconds" not in found:
            break
        result = found
        if result.get("seconds", limit) * 40 > limit and result["verdict"] in ("PASS", "ended"):
            break
    return result


def link_all(source: Path, place: Path) -> None:
    """Links to the programs' folders, which use each other's files."""
    place.mkdir(parents=True, exist_ok=True)
    for folder in source.iterdir():
        if not (place / folder.name).exists():
            (place / folder.name).symlink_to(folder)


def write_anew(file: Path, text: str) -> None:
    """Write a source in its place, where a link may lead into the checkout."""
    file.unlink()
    file.write_text(text, errors="surrogateescape")


def set_values(file: Path, values: dict[str, str]) -> None:
    """Give constants of a source other values: those of `#define NAME value` and of `NAME = value`.

    NAME is a regular expression: `n(?= = 1e6)` is the one of two that is 1e6 so far. Raises ValueError where the source
    has no such constant.
    """
    text = file.read_text(errors="surrogateescape")
    for name, value in values.items():
        constant = re.compile(rf"(#\s*define\s+{name}[ \t]+|\b{name}\s*=\s*)[^;,\n]+")
        text, count = constant.subn(rf"\g<1>{value}", text, count=1)
        if not count:
            raise ValueError(f"{file} has no constant {name}")
    write_anew(file, text)


def replace_texts(file: Path, texts: dict[str, str]) -> None:
    """Replace texts of a source. Raises ValueError where the source has no such text."""
    text = file.read_text(errors="surrogateescape")
    for old, new in texts.items():
        if old not in text:
            raise ValueError(f"{file} has no text {old!r}")
        text = text.replace(old, new)
    write_anew(file, text)


def copy_of(source: Path, place: Path) -> Path:
    """A copy of a program's folder in the place of the link to it, changed as hecbench_sizes.json says."""
    folder = place / source.name
    if folder.is_symlink():
        folder.unlink()
        shutil.copytree(source, folder, symlinks=True)  # some lead to data that are not in the checkout
    for kind, change in (("values", set_values), ("texts", replace_texts)):
        for file, changes in sizes_of(folder).get(kind, {}).items():
            # the file may be one of another program, whose folder is a link into the checkout
            change(hecbench_data.place(place, os.path.normpath(f"{folder.name}/{file}")), changes)
    return folder


def build_once(source: Path, place: Path, make: list[str]) -> dict[str, Any]:
    """Build a program, and find out how it runs, unless that was done."""
    known = place / f"{source.name}.json"
    if not known.exists():
        folder = copy_of(source, place)
        error = build(folder, make)
        program = sizes_of(source).get("program")
        command = [program] if program else run_command(folder)
        known.write_text(json.dumps({"error": error} if error else {"command": command}))
    built: dict[str, Any] = json.loads(known.read_text())
    return built


def measure(source: Path, place: Path, make: list[str], limit: float) -> dict[str, Any]:
    """Build and run one program."""
    built = build_once(source, place, make)
    if "error" in built:
        return {"verdict": f"not built: {built['error']}"}
    if not built["command"]:
        return {"verdict": "has no run"}
    return run(place / source.name, built["command"], limit) if limit else {"verdict": "built"}


def numbers_that_repeat(output: str) -> list[float]:
    """The numbers that a program prints but on lines about times and rates."""
    lines = [line for line in output.splitlines() if not OF_THE_MACHINE.search(line)]
    return [float(number) for line in lines for number in A_NUMBER.findall(line)]


def compare_with_nvidia(source: Path, place: Path, result: dict[str, Any], limit: float, architecture: str) -> str:
    """Build the CUDA program of the same name, run it with the same arguments on an NVIDIA GPU, and compare."""
    cuda = source.with_name(source.name.removesuffix("-hip") + "-cuda")
    if not cuda.exists():
        return "no CUDA program"
    try:
        folder = copy_of(cuda, place)
    except (OSError, ValueError) as missing:
        return f"not built: {missing}"
    if error := build(folder, make_by("nvcc", f"ARCH={architecture}")):
        return f"not built: {error}"
    found = run_once(folder, result["command"].split(), limit)
    if "output" not in found:
        return f"not compared: {found['verdict']}"
    ours, theirs = numbers_that_repeat(result["output"]), numbers_that_repeat(found["output"])
    if not ours or len(ours) != len(theirs):
        return f"not compared: {len(ours)} numbers here, {len(theirs)} there"
    pairs = zip(ours, theirs, strict=True)
    differ = [f"{a:g} here, {b:g} there" for a, b in pairs if not math.isclose(a, b, rel_tol=1e-3)]
    return f"{len(differ)} of {len(ours)} numbers differ: {'; '.join(differ[:3])}" if differ else "the same"


def main() -> None:
    """Run the programs that the command line names, and print a table."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("source", type=Path, metavar="SRC")
    parser.add_argument("--toolchain", type=Path, metavar="FOLDER", help="of `python -m wave_emulator toolchain`")
    parser.add_argument("--clang", default="clang++-19")
    parser.add_argument("--target", default="gfx942")
    parser.add_argument("--option", action="append", default=[], help="one for the compiler: --option=-I/newer/headers")
    parser.add_argument("--limit", type=float, default=60.0, metavar="SECONDS", help="for each run; 0 only builds")
    parser.add_argument("--jobs", type=int, default=1, help="programs that are built and run at a time")
    parser.add_argument("--keep", type=Path, metavar="FOLDER", help="build there, and use again what was built there")
    parser.add_argument("--json", type=Path, help="results, which are taken up again where the file is there")
    parser.add_argument("--nvidia", metavar="SM", help="compare results without a verdict with a GPU's: --nvidia sm_90")
    parser.add_argument("programs", nargs="*", help="names without -hip; by default all")
    options = parser.parse_intermixed_args()

    toolchain = options.toolchain.absolute() if options.toolchain else _toolchain.kept(options.clang)
    os.environ |= {"WAVE_RUNTIME_EMULATOR_PROCESSOR": options.target, "CLANG": options.clang}
    with tempfile.TemporaryDirectory() as scratch:
        wrapper = Path(scratch) / "hipcc"
        words = [str(toolchain / "bin" / "hipcc"), "-w", "-Wl,--no-as-needed", *options.option]
        wrapper.write_text(f'#!/bin/sh\nexec {shlex.join(words)} "$@"\n')
        wrapper.chmod(0o755)
        os.environ["PATH"] = f"{scratch}:{os.environ['PATH']}"  # some Makefiles call hipcc by its name
        results = json.loads(options.json.read_text()) if options.json and options.json.exists() else {}
        names = options.programs or sorted(path.name[: -len("-hip")] for path in options.source.glob("*-hip"))
        source, place = options.source.absolute(), (options.keep or Path(scratch) / "src").absolute()
        link_all(source, place)

        # logprob's Makefile asks how many lanes a wave has
        make = make_by(str(wrapper), f"WAVEFRONT={64 if options.target.startswith('gfx9') else 32}")

        def measure_named(name: str) -> None:
            folder = source / f"{name}-hip"
            if options.nvidia:
                results[name]["nvidia"] = compare_with_nvidia(
                    folder, place, results[name], options.limit, options.nvidia
                )
                print(f"{name}: {results[name]['nvidia']}", flush=True)
            else:
                results[name] = measure(folder, place, make, options.limit)
                print(f"{name}: {results[name]['verdict']}", flush=True)

        if options.nvidia:
            names = [name for name, result in results.items() if "output" in result and "nvidia" not in result]
        else:
            names = [name for name in names if name not in results]
        hecbench_data.make(place, [name for name in names if not (place / f"{name}-hip.json").exists()])
        with ThreadPool(options.jobs) as pool:
            for _ in pool.imap_unordered(measure_named, names):
                if options.json:
                    options.json.write_text(json.dumps(dict(results), indent=1))
    counts = collections.Counter(result["verdict"].split(":")[0] for result in results.values())
    print(*(f"{count} {what}" for what, count in counts.most_common()), sep=", ", file=sys.stderr)


if __name__ == "__main__":
    main()
