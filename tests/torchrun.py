"""Runs programs of several processes."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from pathlib import Path

from support import ROOT

PROCESSES = 2
SECONDS = 240


def torchrun(program: Path, *options: object) -> str:
    """Run a program as two processes of this machine, and return what they print.

    Raises AssertionError with that where one fails, or where they are not done after four minutes: then all are ended.
    """
    command = [sys.executable, "-m", "torch.distributed.run", "--standalone", f"--nproc-per-node={PROCESSES}", program]
    environment = {**os.environ, "PYTHONPATH": str(ROOT), "OMP_NUM_THREADS": "1"}
    with subprocess.Popen(
        [*map(str, command), *map(str, options)],
        cwd=ROOT,
        env=environment,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        start_new_session=True,
    ) as process:
        try:
            output, _ = process.communicate(timeout=SECONDS)
        except subprocess.TimeoutExpired:
            os.killpg(process.pid, signal.SIGKILL)
            output, _ = process.communicate()
            raise AssertionError(f"not done after {SECONDS} seconds:\n{output}") from None
    assert process.returncode == 0, output
    return output
