"""Runs programs of several processes."""

from __future__ import annotations

import contextlib
import os
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Sequence
from pathlib import Path
from typing import IO

from requirements import need
from support import ROOT
from warm_python import WarmProcess

PROCESSES = 2
ONE_THREAD = {"OMP_NUM_THREADS": "1"}
SECONDS = 300


def run_ranks(program: Path, *options: object, directory: Path, is_warm: bool = False) -> str:
    """Run a program as two processes of this machine, as torchrun does, and return what they print.

    They meet on the loopback interface: torchrun's workers look for the machine by its name, which a container may
    not resolve. Both are ended where one fails, and after five minutes; then this raises AssertionError. They are warm
    processes where they may have torch already.
    """
    shared = {
        "PYTHONPATH": str(ROOT),
        "PYTHONUNBUFFERED": "1",
        "MASTER_ADDR": "127.0.0.1",
        "MASTER_PORT": str(free_port()),
        "GLOO_SOCKET_IFNAME": "lo",
        "WORLD_SIZE": str(PROCESSES),
        "LOCAL_WORLD_SIZE": str(PROCESSES),
    }
    # Into a file: a pipe would stay open for as long as anything that a rank started lives.
    with (directory / "output.txt").open("w+") as output, contextlib.ExitStack() as running:
        start = _warm if is_warm else _started
        environments = [
            {**os.environ, **shared, "RANK": f"{rank}", "LOCAL_RANK": f"{rank}"} for rank in range(PROCESSES)
        ]
        ranks = [running.enter_context(start([program, *options], each, output)) for each in environments]
        try:
            status = _wait(ranks)
        finally:
            for rank in ranks:
                if rank.poll() is None:
                    os.kill(rank.pid, signal.SIGKILL) if is_warm else os.killpg(rank.pid, signal.SIGKILL)
                    rank.wait()
        output.seek(0)
        printed = output.read()
    assert status == [0] * PROCESSES, f"The ranks ended with {status} (None: not within {SECONDS} seconds):\n{printed}"
    return printed


def _started(command: list[object], environment: dict[str, str], output: IO[str]) -> subprocess.Popen[bytes]:
    return subprocess.Popen(
        [sys.executable, *map(str, command)],
        cwd=ROOT,
        env={**environment, **ONE_THREAD},
        stdin=subprocess.DEVNULL,
        stdout=output,
        stderr=subprocess.STDOUT,
        start_new_session=True,
    )


def _warm(command: list[object], environment: dict[str, str], output: IO[str]) -> WarmProcess:
    return WarmProcess(*command, env=environment, started=ONE_THREAD, output=output)


def free_port() -> int:
    """A port of the loopback interface, where processes can meet; skips the test where there is no such interface."""
    need("loopback")
    with socket.create_server(("127.0.0.1", 0)) as server:
        return int(server.getsockname()[1])


def _wait(ranks: Sequence[subprocess.Popen[bytes] | WarmProcess]) -> list[int | None]:
    """What they return, once all have, or one that is not 0, or the time is over."""
    end = time.monotonic() + SECONDS
    while time.monotonic() < end:
        status = [rank.poll() for rank in ranks]
        if None not in status or any(status):
            break
        time.sleep(0.05)
    return status
