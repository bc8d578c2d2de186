"""Runs a fuzzer, and appends how long it ran and what it found to a file: `make campaign-fuzz`.

    python tools/record_fuzzing.py FILE TARGET -- FUZZER ARGUMENT...

The fuzzer is one of libFuzzer's, run with -print_final_stats=1. Its exit status is this program's.
"""

from __future__ import annotations

import datetime
import json
import re
import subprocess
import sys
import time
from collections.abc import Sequence
from pathlib import Path
from typing import TypedDict

INTERRUPTED = 72  # libFuzzer's exit status where a signal ends it, which finds nothing
EXECUTED = re.compile(r"^stat::number_of_executed_units:\s+(\d+)", re.MULTILINE)


class Run(TypedDict):
    """A run, as the file has it."""

    target: str
    date: str
    seconds: int
    executions: int
    findings: int


def run(target: str, command: Sequence[str]) -> tuple[Run, int]:
    """Run a fuzzer, and show what it says. Returns what is to be recorded, and its exit status."""
    begin = time.monotonic()
    done = subprocess.run(command, stderr=subprocess.PIPE, text=True, errors="replace")
    sys.stderr.write(done.stderr)
    executed = EXECUTED.search(done.stderr)
    record = Run(
        target=target,
        date=datetime.date.today().isoformat(),
        seconds=round(time.monotonic() - begin),
        executions=int(executed[1]) if executed else 0,
        findings=int(done.returncode not in (0, INTERRUPTED)),
    )
    return record, done.returncode


def main(words: Sequence[str]) -> int:
    """Run what the command line says."""
    file, target, separator, *command = words
    assert separator == "--", __doc__
    path = Path(file)
    record, status = run(target, command)
    earlier: list[Run] = json.loads(path.read_text()) if path.exists() else []
    path.write_text(json.dumps([*earlier, record], indent=1) + "\n")
    return status


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
