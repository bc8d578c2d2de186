"""Runs programs of several processes."""

from __future__ import annotations

import os
import signal
import socket
import subprocess
import sys
import time
from pathlib import Path

from requirements import need
from support import ROOT

PROCESSES = 2
SECONDS = 300


def run_ranks(program: Path, *options: object, directory: Path) -> str:
    """Run a program as two processes of this machine, as torchrun does, and return what they print.

    They meet on the loopback interface: torchrun's workers look for the machine by its name, which a container may
    not resolve. Both are ended where one fails, and after five minutes; then this raises AssertionError.
    """
    command = [sys.executable, program, *options]
    shared = {
        "PYTHONPATH": str(ROOT),
        "PYTHONUNBUFFERED": "1",
        "OMP_NUM_THREADS": "1",
        "MASTER_ADDR": "127.0.0.1",
        "MASTER_PORT": str(free_port()),
        "GLOO_SOCKET_IFNAME": "lo",
        "WORLD_SIZE": str(PROCESSES),
        "LOCAL_WORLD_SIZE": str(PROCESSES),
    }
    # Into a file: a pipe would stay open for as long as anything that a rank started lives.
    with (directory / "output.txt").open("w+") as output:
        ranks = [
            subprocess.Popen(
                list(map(str, command)),
                cwd=ROOT,
                env={**os.environ, **shared, "RANK": str(rank), "LOCAL_RANK": str(rank)},
                stdin=subprocess.DEVNULL,
                stdout=output,
                stderr=subprocess.STDOUT,
                start_new_session=True,
            )
            for rank in range(PROCESSES)
        ]
        try:
            status = _wait(ranks)
        finally:
            for rank in ranks:
                if rank.poll() is None:
                    os.killpg(rank.pid, signal.SIGKILL)
                    rank.wait()
        output.seek(0)
        printed = output.read()
    assert status == [0] * PROCESSES, f"The ranks ended with {status} (None: not within {SECONDS} seconds):\n{printed}"
    return printed


def free_port() -> int:
    """A port of the loopback interface, where processes can meet; skips the test where there is no such interface."""
    need("loopback")
    with socket.create_server(("127.0.0.1", 0)) as server:
        return int(server.getsockname()[1])


def _wait(ranks: list[subprocess.Popen[bytes]]) -> list[int | None]:
    """What they return, once all have, or one that is not 0, or the time is over."""
    end = time.monotonic() + SECONDS
    while time.monotonic() < end:
        status = [rank.poll() for rank in ranks]
        if None not in status or any(status):
            break
        time.sleep(0.05)
    return status
