"""Runs the tests of another project, and writes what came of them into a file: ``make test-triton RECORD=1``.

    python tools/record_suite.py FILE RUN CHECKOUT -- COMMAND ARGUMENT...

FILE is one of benchmarks/results, which names the project's repository, and whose table is then made anew. RUN names
what was run; an earlier result of that name is replaced. The command's last line says how many tests passed, failed and
so on, as pytest's does. Its exit status is this program's.
"""

from __future__ import annotations

import json
import re
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path

ROOT = Path(__file__).absolute().parent.parent
COUNT = re.compile(r"\b(\d+) ([A-Za-z][^,=]*?)(?= in [\d.]+s|,| *=|$)")


def counts_of(output: str) -> dict[str, int]:
    """The numbers of the last line: `= 2 failed, 7 passed, 1 warning in 9.12s =` has two that count."""
    lines = output.strip().splitlines()
    found = COUNT.findall(lines[-1]) if lines else []
    return {what: int(count) for count, what in found if not what.startswith("warning")}


def commit_of(checkout: str) -> str:
    """The commit that is checked out there, shortened."""
    done = subprocess.run(["git", "-C", checkout, "rev-parse", "--short=8", "HEAD"], capture_output=True, text=True)
    return done.stdout.strip() or "an unknown commit"


def run(command: Sequence[str]) -> tuple[str, int]:
    """Run a command, and show what it prints. Returns that, and its exit status."""
    lines = []
    with subprocess.Popen(
        command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, errors="replace"
    ) as process:
        assert process.stdout is not None
        for line in process.stdout:
            sys.stdout.write(line)
            sys.stdout.flush()
            lines.append(line)
    return "".join(lines), process.returncode


def main(words: Sequence[str]) -> int:
    """Run what the command line says."""
    file, name, checkout, separator, *command = words
    assert separator == "--", __doc__
    sys.path.insert(0, str(ROOT / "benchmarks"))
    import measured_on

    described = measured_on.describe()  # before the machine is busy with it
    output, status = run(command)
    results = json.loads(Path(file).read_text())
    results["runs"][name] = {"commit": commit_of(checkout), "machine": described, "counts": counts_of(output)}
    Path(file).write_text(json.dumps(results, indent=1) + "\n")
    if Path(file).absolute().parent == ROOT / "benchmarks" / "results":
        subprocess.run([sys.executable, ROOT / "tools" / "generate_figures.py"], check=True)
    return status


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
