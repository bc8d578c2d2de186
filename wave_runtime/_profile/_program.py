"""``python -m wave_runtime profile``: a program, and the processes that it starts, under the profiler."""

from __future__ import annotations

import json
import sys
import tempfile
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

from wave_runtime import _processes
from wave_runtime._files import check_writable, write_file
from wave_runtime._profile import VARIABLE, _text, writer_for
from wave_runtime._profile._counts import described

LOG = "WAVE_RUNTIME_PROFILE_LOG"


def run(program: Sequence[str], output: str) -> int:
    """Run the program to its end, and write what its launches did to a file, and as a table to stderr.

    A Python program that imports wave_runtime writes its own, and what other programs did that it started goes to
    another file, beside that one.

    Returns:
        Its exit status; 128 and the signal's number where a signal ended it.

    Raises:
        ValueError: the file's suffix says nothing.
        OSError: there is no such program, or the file cannot be written.
    """
    writer, path = writer_for(output), Path(output).absolute()
    check_writable(path)
    before = _changed(path)
    with tempfile.TemporaryDirectory(prefix="wave-profile-") as log:
        status = _processes.run(program, {VARIABLE: str(path), LOG: log})
        kernels = [described(raw) for raw in _read(Path(log))]
    is_written = _changed(path) != before
    if kernels:
        write_file(path.with_stem(f"{path.stem}-others") if is_written else path, writer(kernels, []).encode())
        print(_text.table(kernels, [], "kernel", 20), file=sys.stderr)
    elif not is_written:
        text = f"no launch of the program came to its end on the emulator, so there is no {output}"
        print(text, file=sys.stderr)
    return status


def _changed(path: Path) -> int | None:
    """When the file was written."""
    return path.stat().st_mtime_ns if path.exists() else None


def _read(log: Path) -> Iterator[dict[str, Any]]:
    """What csrc/base/profile_log.cpp has written, as a session has it."""
    for path in sorted(log.glob("*.jsonl")):
        with path.open(encoding="utf-8") as lines:
            for line in lines:
                raw = json.loads(line)
                code = {address: tuple(counts) for address, *counts in raw["code"]}
                yield {**raw, "image": (log / raw["image"]).read_bytes(), "code": code}
