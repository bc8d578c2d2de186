"""Builds the package in place, and shows how far it is: which file of how many of each library.

    python tools/build_package.py LOG

What the compiler says goes to LOG, and here, too, where the build fails. On a terminal a line counts; elsewhere there
is one for each library.
"""

from __future__ import annotations

import re
import subprocess
import sys
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import TextIO

LIBRARY = re.compile(r"building '(?:\w+\.)*(\w+)' extension")
STEP = re.compile(r"\[(\d+)/(\d+)\]")


def steps(lines: Iterable[str]) -> Iterator[tuple[str, int, int]]:
    """The library, how many of its files are compiled, and how many there are, for each file; of setup.py's output."""
    library = ""
    for line in lines:
        if match := LIBRARY.search(line):
            library = match[1]
        elif match := STEP.match(line):
            yield library, int(match[1]), int(match[2])


def show(progress: Iterable[tuple[str, int, int]], out: TextIO) -> None:
    """Writes a line for each library, and on a terminal one that counts."""
    last = ""
    for library, done, count in progress:
        if out.isatty():
            out.write(f"\r  {library}: {done} of {count} files " + ("\n" if done == count else ""))
        elif library != last:
            out.write(f"  {library}: {count} files\n")
        last = library
        out.flush()


def main() -> None:
    """Run setup.py."""
    log = Path(sys.argv[1])
    log.parent.mkdir(parents=True, exist_ok=True)
    print(f"Building, on two cores in about three minutes where nothing is built yet ({log})", flush=True)
    command = [sys.executable, "-u", "setup.py", "build_ext", "--inplace"]
    with (
        log.open("w") as file,
        subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True) as process,
    ):
        assert process.stdout is not None

        def logged(lines: Iterable[str]) -> Iterator[str]:
            for line in lines:
                file.write(line)
                yield line

        show(steps(logged(process.stdout)), sys.stdout)
    if process.returncode != 0:
        raise SystemExit(log.read_text())


if __name__ == "__main__":
    main()
