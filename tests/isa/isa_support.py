"""What the tests of the instruction tables share."""

from __future__ import annotations

import functools
import struct
from pathlib import Path
from typing import Any

from wave_runtime import _C

ROOT = Path(__file__).resolve().parents[2]
PROCESSOR = "gfx942"  # the one that the emulator runs
# Those with a table, one of each family first.
PROCESSORS = ("gfx942", "gfx1030", "gfx1100", "gfx1201", "gfx90a", "gfx950", "gfx1150")


@functools.cache
def rows(processor: str = PROCESSOR) -> list[dict[str, Any]]:
    """The rows of the table, as dictionaries, which tests only read."""
    found: list[dict[str, Any]] = _C.isa_rows(processor)
    return found


def pack(*words: int) -> bytes:
    return struct.pack(f"<{len(words)}I", *words)


def text(*words: int, processor: str = PROCESSOR) -> str:
    """The text of the first instruction in `words`."""
    line: str = _C.disassemble(processor, pack(*words))[0][2]
    return line


def decode(*words: int, processor: str = PROCESSOR) -> dict[str, Any] | None:
    decoded: dict[str, Any] | None = _C.decode(processor, pack(*words))
    return decoded


def sweep(data: bytes, processor: str = PROCESSOR) -> list[tuple[tuple[int, ...], str]]:
    """Words and text of each instruction."""
    lines: list[tuple[int, bytes, str]] = _C.disassemble(processor, data)
    return [(struct.unpack(f"<{len(piece) // 4}I", piece), line) for _, piece, line in lines]
