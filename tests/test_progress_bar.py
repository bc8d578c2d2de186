"""What a long launch shows on a terminal."""

import os
import pty
import subprocess
import sys
from pathlib import Path

import pytest

BINARY = Path(__file__).parent.parent / "examples" / "kernels" / "binaries" / "basics.hsaco"
LAUNCH = f"""
import torch, wave_runtime
kernel = wave_runtime.load({str(BINARY)!r}, signature={{"collatz": "*i32 const, *i32, i32"}})["collatz"]
start = torch.full((1 << 22,), 2**31 - 1, dtype=torch.int32)
kernel(start, torch.empty_like(start), start.numel(), grid=start.numel() // 256, block=256)
"""


def shown(command: list[str], **variables: str) -> str:
    """What a program writes to a terminal."""
    terminal, its_end = pty.openpty()
    try:
        process = subprocess.Popen(command, stderr=its_end, env={**os.environ, **variables})
        os.close(its_end)
        output = b""
        while True:
            try:
                chunk = os.read(terminal, 4096)
            except OSError:  # nobody has the other end any more
                break
            if not chunk:
                break
            output += chunk
        assert process.wait() == 0, output.decode()
        return output.decode()
    finally:
        os.close(terminal)


def check_shown(output: str) -> None:
    """Lines about collatz in 16,384 workgroups, the last of which was wiped."""
    assert output.endswith("\r\x1b[K")
    lines = output.split("\r\x1b[K")[1:-1]
    assert all(line.startswith("collatz [") and "of 16384 workgroups" in line for line in lines)
    assert lines[-1].endswith("left")


@pytest.mark.parametrize("seconds", ["0.1", "0"])
def test_a_launch_shows_how_far_it_is(seconds: str) -> None:
    output = shown([sys.executable, "-c", LAUNCH], WAVE_RUNTIME_PROGRESS=seconds, OMP_NUM_THREADS="1")
    if seconds == "0":
        assert output == ""
    else:
        check_shown(output)


def test_nothing_is_shown_without_a_terminal() -> None:
    variables = {**os.environ, "WAVE_RUNTIME_PROGRESS": "0.1"}
    finished = subprocess.run([sys.executable, "-c", LAUNCH], env=variables, capture_output=True, check=True)
    assert finished.stderr == b""
