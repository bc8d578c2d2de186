"""Builds and runs the HIP programs of HeCBench on the emulator: ``run_hecbench.py SRC --toolchain build/hip``.

SRC is the folder src/ of a checkout of zjin-lcf/HeCBench, which is left as it is. Each program checks itself, and says
PASS or FAIL, or nothing. Its own Makefile builds it and says how it runs, with sizes for a GPU: here the last argument,
which most of them take for a number of repetitions, is 1, and a program that takes longer than the limit is tried again
with its other numbers a quarter as large, and a sixteenth.
"""

from __future__ import annotations

import argparse
import collections
import json
import os
import re
import shutil
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

NUMBER = re.compile(r"[0-9]{3,}")
SMALLER = (1, 4, 16)  # what the numbers are divided by
FAILED = re.compile(r"\bFAIL(?!ures: 0\b)|MISMATCH|\bfailed\b|not correct|incorrect(?! \w+: 0\b)", re.IGNORECASE)
MISSING = re.compile(r"fatal error: '([^']+)' file not found")


def run_in(folder: Path, command: list[str], limit: float) -> subprocess.CompletedProcess[str]:
    """Run a command in a folder, without input. Raises TimeoutExpired."""
    return subprocess.run(
        command, cwd=folder, stdin=subprocess.DEVNULL, capture_output=True, text=True, errors="replace", timeout=limit
    )


def build(folder: Path, compiler: list[str], limit: float) -> str | None:
    """Build a program by its Makefile; what is wrong where it does not build."""
    command = ["make", f"CC={' '.join(compiler)}", f"CXX={' '.join(compiler)}"]
    try:
        done = run_in(folder, command, limit)
    except subprocess.TimeoutExpired:
        return f"not compiled within {limit:.0f} s"
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


def verdict(done: subprocess.CompletedProcess[str]) -> str:
    """What a run says of itself."""
    text = done.stdout + done.stderr
    fault = re.search(r"kernel fault: (.*)", text)
    if fault:
        return f"fault: {fault[1][:200]}"
    if FAILED.search(done.stdout):
        return "FAIL"
    if done.returncode != 0:
        refused = re.search(r"HIP emulator: .*", text)
        return f"exit {done.returncode}: {(refused[0] if refused else text.strip()[-150:])!r}"
    return "PASS" if re.search(r"PASS|correct|success", done.stdout, re.IGNORECASE) else "ended"


def run(folder: Path, command: list[str], limit: float) -> dict[str, Any]:
    """Run with smaller numbers until it ends within the limit."""
    for divisor in SMALLER:
        tried = smaller(command, divisor)
        start = time.monotonic()
        try:
            done = run_in(folder, tried, limit)
        except subprocess.TimeoutExpired:
            continue
        except OSError as error:
            return {"verdict": f"not started: {error}"}
        seconds = round(time.monotonic() - start, 1)
        return {"verdict": verdict(done), "command": " ".join(tried), "seconds": seconds}
    return {"verdict": f"longer than {limit:.0f} s", "command": " ".join(tried)}


def measure(source: Path, compiler: list[str], limit: float) -> dict[str, Any]:
    """Build and run one program, in a copy of its folder beside links to the others, whose files it may use."""
    with tempfile.TemporaryDirectory() as scratch:
        for other in source.parent.iterdir():
            if other != source:
                (Path(scratch) / other.name).symlink_to(other)
        folder = Path(scratch) / source.name
        shutil.copytree(source, folder, symlinks=True)  # some lead to data that are not in the checkout
        if error := build(folder, compiler, 5 * limit):
            return {"verdict": f"not built: {error}"}
        command = run_command(folder)
        return run(folder, command, limit) if command else {"verdict": "has no run"}


def main() -> None:
    """Run the programs that the command line names, and print a table."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("source", type=Path, metavar="SRC")
    parser.add_argument("--toolchain", type=Path, default=Path("build/hip"), help="of `make hip-toolchain`")
    parser.add_argument("--clang", default="clang++-19")
    parser.add_argument("--target", default="gfx942")
    parser.add_argument("--option", action="append", default=[], help="one for the compiler: --option=-I/newer/headers")
    parser.add_argument("--limit", type=float, default=60.0, metavar="SECONDS", help="for each run")
    parser.add_argument("--json", type=Path, help="results, which are taken up again where the file is there")
    parser.add_argument("programs", nargs="*", help="names without -hip; by default all")
    options = parser.parse_intermixed_args()

    library = options.toolchain.absolute() / "lib"
    os.environ["LD_LIBRARY_PATH"] = str(library)
    os.environ["WAVE_RUNTIME_EMULATOR_PROCESSOR"] = options.target
    compiler = [options.clang, "-x", "hip", f"--offload-arch={options.target}", "-w", *options.option]
    compiler += [f"--rocm-path={options.toolchain.absolute()}", f"-L{library}", "-Wl,--no-as-needed", "-lamdhip64"]
    with tempfile.TemporaryDirectory() as scratch:
        wrapper = Path(scratch) / "hipcc"  # objects are linked as objects, other files are HIP
        wrapper.write_text(WRAPPER.format(command=" ".join(compiler), link=" ".join([options.clang, *compiler[-3:]])))
        wrapper.chmod(0o755)
        os.environ["PATH"] = f"{scratch}:{os.environ['PATH']}"  # some Makefiles call hipcc by its name
        results = json.loads(options.json.read_text()) if options.json and options.json.exists() else {}
        names = options.programs or sorted(path.name[: -len("-hip")] for path in options.source.glob("*-hip"))
        for name in names:
            if name not in results:
                results[name] = measure(options.source.absolute() / f"{name}-hip", [str(wrapper)], options.limit)
                print(f"{name}: {results[name]['verdict']}", flush=True)
                if options.json:
                    options.json.write_text(json.dumps(results, indent=1))
    counts = collections.Counter(result["verdict"].split(":")[0] for result in results.values())
    print(*(f"{count} {what}" for what, count in counts.most_common()), sep=", ", file=sys.stderr)


WRAPPER = """#!/bin/sh
case " $* " in
  *" -c "*) ;;
  *.o" "*) exec {link} "$@" -lm ;;
esac
exec {command} "$@"
"""

if __name__ == "__main__":
    main()
