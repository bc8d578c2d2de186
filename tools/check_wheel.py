"""Installs the wheels into empty environments and runs them there: a HIP program with wave-emulator and no torch, then
the import, README's example, and a part of the tests with both.

    python tools/check_wheel.py [--json FILE] FOLDER PYTHON=TORCH ...
    python tools/check_wheel.py [--json FILE] FOLDER here

for instance python3.10=2.10.0 python3.13=newest. It prints a line for each environment, and exits with 1 where one
failed. --json writes into a file what each environment has and what came of it, in the place of an earlier result for
the same Python and torch. The environments stay in build/wheel_check, since installing torch takes minutes; the wheels
are installed anew. With `here` they are installed into a folder beside what the Python that runs this has.
"""

from __future__ import annotations

import argparse
import datetime
import functools
import json
import os
import re
import shlex
import shutil
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import TypedDict

ROOT = Path(__file__).absolute().parent.parent
# What runs on the emulator and needs no compiler but g++, and nm of its binutils. PYTHONPATH is the copy of the tests,
# beside which lies no package.
TESTS = (
    "tests/conformance",
    "tests/test_binding.py",
    "tests/test_operator.py",
    "tests/test_arguments.py",
    "tests/test_emulate.py",
    "tests/test_emulate_operators.py",
    "tests/test_emulate_tensors.py",
)
PACKAGES = (
    "pytest",
    "pytest-timeout",
    "pytest-xdist",
    "hypothesis",
    "numpy",
    "mpmath",
    "abi3audit==0.0.26",
    "setuptools",
)


class Result(TypedDict):
    """What came of the wheels in an environment, as the file has it."""

    date: str
    python: str
    torch: str
    tests: str


def run(command: Sequence[str | Path], folder: Path, path: Path | None = None) -> subprocess.CompletedProcess[str]:
    """Run a command apart from the sources, with a folder of packages where one is given; return what it prints."""
    environment = {name: value for name, value in os.environ.items() if name not in ("PYTHONPATH", "VIRTUAL_ENV")}
    if path is not None:
        environment["PYTHONPATH"] = str(path)
    return subprocess.run(list(map(str, command)), cwd=folder, env=environment, capture_output=True, text=True)


def wheels_in(folder: Path) -> list[Path]:
    """The wheels of wave-emulator and of wave-runtime. Raises ValueError where there is not one of each."""
    found = [list(folder.glob(f"{name}-*.whl")) for name in ("wave_emulator", "wave_runtime")]
    if any(len(wheels) != 1 for wheels in found):
        raise ValueError(f"{folder} must have one wheel of wave_emulator and one of wave_runtime")
    return [wheel.absolute() for (wheel,) in found]


def hip_example() -> str:
    """The program in Python that docs/hip_emulator.md shows."""
    found = re.search(r"```python\n(import ctypes.*?)```", (ROOT / "docs" / "hip_emulator.md").read_text(), re.DOTALL)
    assert found is not None
    return found[1].replace('b"examples/', f'b"{ROOT}/examples/')


def check_alone(wheel: Path) -> None:
    """Run a HIP program with wave-emulator and without torch, or anything else. Raises RuntimeError."""
    folder = ROOT / "build" / "wheel_check" / "emulator"
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir(parents=True)
    program = folder / "program.py"
    program.write_text(hip_example())
    without = [sys.executable, "-S"]  # the packages of this environment
    commands: list[list[str | Path]] = [
        [sys.executable, "-m", "pip", "install", "--quiet", "--no-deps", "--target", folder, wheel],
        [*without, "-c", f"import wave_emulator; assert wave_emulator.__file__.startswith({str(folder)!r})"],
        [*without, "-c", f"open({str(folder / 'wave_emulator' / 'toolchain' / 'bin' / 'hipcc')!r})"],
        [*without, "-m", "wave_emulator", "run", "--", *without, program],
    ]
    for command in commands:
        done = run(command, folder, folder)
        if done.returncode != 0:
            raise RuntimeError(f"{shlex.join(map(str, command))}\n{done.stdout[-3000:]}{done.stderr[-3000:]}")


def example() -> str:
    """The README's first example in Python, up to the launch that is to fail."""
    found = re.search(r"```python\n(import torch\n.*?)```", (ROOT / "README.md").read_text(), re.DOTALL)
    assert found is not None
    lines = [line for line in found[1].splitlines() if "KernelFault" not in line]
    return "\n".join(lines).replace('"examples/', f'"{ROOT}/examples/')


def make_environment(folder: Path, interpreter: str, torch: str) -> None:
    """Make an environment with torch and what the tests use, where there is none. Raises RuntimeError."""
    if (folder / "bin" / "python").exists():
        return
    made = run([interpreter, "-m", "venv", folder], ROOT)
    if made.returncode == 0:
        pip: list[str | Path] = [folder / "bin" / "python", "-m", "pip", "install", "--quiet"]
        made = run([*pip, "torch" if torch == "newest" else f"torch=={torch}", *PACKAGES], ROOT)
    if made.returncode != 0:
        shutil.rmtree(folder, ignore_errors=True)
        raise RuntimeError(made.stderr)


def environment_of(name: str) -> tuple[Path, Path, Path | None]:
    """An environment: its folder, its Python, and where the wheels lie if not in it. Raises RuntimeError."""
    folder = ROOT / "build" / "wheel_check" / re.sub(r"\W+", "-", name).strip("-")
    if name == "here":
        shutil.rmtree(folder / "packages", ignore_errors=True)
        return folder, Path(sys.executable), folder / "packages"
    make_environment(folder, *name.split("="))
    return folder, folder / "bin" / "python", None


def check(wheels: Sequence[Path], folder: Path, python: Path, target: Path | None) -> str:
    """What the tests say of the wheels in an environment. Raises RuntimeError."""
    tree = folder / "tree"  # the tests without the package
    shutil.rmtree(tree, ignore_errors=True)
    tree.mkdir(parents=True)
    for name in ("tests", "examples", "pyproject.toml", "README.md", "csrc"):
        (tree / name).symlink_to(ROOT / name)
    install: list[str | Path] = [python, "-m", "pip", "install", "--quiet", "--no-deps", "--force-reinstall", *wheels]
    into: list[str | Path] = ["--target", target] if target else []
    commands: list[list[str | Path]] = [
        [*install, *into],
        [python, "-m", "pip", "check"],
        [python, "-c", f"import wave_runtime; assert wave_runtime.__file__.startswith({str(target or folder)!r})"],
        [python, "-c", example()],
        [python, "-m", "wave_runtime", "env"],
        [python, "-m", "pytest", "-q", "--wave-sanitize", "--rootdir", tree, "-p", "no:cacheprovider", TESTS[2]],
        [python, "-m", "pytest", "-q", "-n", "2", "--rootdir", tree, "-p", "no:cacheprovider", *TESTS],
    ]
    for command in commands:
        done = run(command, tree, target)
        if done.returncode != 0:
            raise RuntimeError(f"{shlex.join(map(str, command))}\n{done.stdout[-3000:]}{done.stderr[-3000:]}")
    return done.stdout.splitlines()[-1]


@functools.cache
def versions(python: Path) -> list[str]:
    """Of an environment's Python and torch."""
    asked = "import platform, torch; print(platform.python_version(), torch.__version__)"
    return run([python, "-c", asked], ROOT).stdout.split()


def result(python: Path, summary: str) -> Result:
    """What is to be kept: the versions that an environment has, and how many tests passed and failed."""
    version, torch = versions(python)
    last = re.findall(r"^.* in [\d.]+s\b.*$", summary, re.MULTILINE)[-1:]
    counts = re.findall(r"\d+ (?:passed|failed|skipped|errors?)\b", "".join(last))
    date = datetime.date.today().isoformat()
    return Result(date=date, python=version, torch=torch, tests=", ".join(counts) or "failed before the tests")


def keep(file: Path, found: Result) -> None:
    """Write a result into a file, which has one for each minor version of Python and each torch."""
    results: dict[str, Result] = json.loads(file.read_text()) if file.exists() else {}
    results[f"Python {'.'.join(found['python'].split('.')[:2])}, torch {found['torch']}"] = found
    file.write_text(json.dumps(dict(sorted(results.items())), indent=1) + "\n")


def main() -> None:
    """Check the wheels in each environment."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("folder", type=Path)
    parser.add_argument("environments", nargs="+", metavar="PYTHON=TORCH")
    parser.add_argument("--json", type=Path)
    options = parser.parse_args()
    failed = False
    wheels = wheels_in(options.folder)
    check_alone(wheels[0])
    print(f"{wheels[0].name}: a HIP program runs without torch", flush=True)
    for environment in options.environments:
        try:
            folder, python, target = environment_of(environment)
        except RuntimeError as error:
            print(f"{environment}: NOT MADE\n{error}", flush=True)
            failed = True
            continue
        try:
            summary = check(wheels, folder, python, target)
            print(f"{environment}: {summary}", flush=True)
        except RuntimeError as error:
            summary = str(error)
            print(f"{environment}: FAILED\n{summary}", flush=True)
            failed = True
        if options.json is not None:
            keep(options.json, result(python, summary))
    sys.exit(failed)


if __name__ == "__main__":
    main()
