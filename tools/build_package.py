"""Builds the packages in place, and shows how far it is: which file of how many of each part.

    python tools/build_package.py LOG

First with CMake what needs no torch, then what does. What the compiler says goes to LOG, and here, too, where the build
fails. On a terminal a line counts; elsewhere there is one for each part.
"""

from __future__ import annotations

import os
import re
import subprocess
import sys
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import TextIO

LIBRARY = re.compile(r"building '(?:\w+\.)*(\w+)' extension")
# Not what ninja does before: it looks whether there are new files, and may run CMake again.
STEP = re.compile(r"\[(\d+)/(\d+)\] (?!Re-(?:checking|running) )")
EMULATOR = "build/emulator"  # where CMake builds


def commands(root: Path) -> list[list[str]]:
    """What builds the packages in a tree."""
    programs = Path(sys.executable).parent  # pip's cmake and ninja lie beside its Python
    ninja = [f"-DCMAKE_MAKE_PROGRAM={programs}/ninja"] if (programs / "ninja").exists() else []
    cmake = str(programs / "cmake") if (programs / "cmake").exists() else "cmake"
    output = f"-DCMAKE_LIBRARY_OUTPUT_DIRECTORY={root}/wave_emulator"
    return [
        [cmake, "-G", "Ninja", "-S", "emulator", "-B", EMULATOR, *ninja, output],
        [cmake, "--build", EMULATOR],
        [sys.executable, "-u", "setup.py", "build_ext", "--inplace"],
    ]


def steps(lines: Iterable[str]) -> Iterator[tuple[str, int, int]]:
    """The part, how many of its files are compiled, and how many there are, for each file; of what ninja prints."""
    library = "wave_emulator"
    for line in lines:
        if match := LIBRARY.search(line):
            library = match[1]
        elif match := STEP.match(line):
            yield library, int(match[1]), int(match[2])


def show(progress: Iterable[tuple[str, int, int]], out: TextIO) -> None:
    """Writes a line for each part, and on a terminal one that counts."""
    last = ""
    for library, done, count in progress:
        if out.isatty():
            out.write(f"\r  {library}: {done} of {count} files " + ("\n" if done == count else ""))
        elif library != last:
            out.write(f"  {library}: {count} files\n")
        last = library
        out.flush()


def run(command: Sequence[str], log: TextIO) -> bool:
    """Run a command, and show how far it is. Returns whether it succeeded."""
    environment = {**os.environ, "NINJA_STATUS": "[%f/%t] "}
    with subprocess.Popen(
        command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, env=environment
    ) as process:
        assert process.stdout is not None

        def logged(lines: Iterable[str]) -> Iterator[str]:
            for line in lines:
                log.write(line)
                yield line

        show(steps(logged(process.stdout)), sys.stdout)
    return process.returncode == 0


def main() -> None:
    """Run all commands."""
    path = Path(sys.argv[1])
    path.parent.mkdir(parents=True, exist_ok=True)
    print(f"Building, on two cores in about four minutes where nothing is built yet ({path})", flush=True)
    with path.open("w", buffering=1) as log:  # a line at once, for who looks on
        succeeded = all(run(command, log) for command in commands(Path.cwd()))
    if not succeeded:
        raise SystemExit(path.read_text())


if __name__ == "__main__":
    main()
