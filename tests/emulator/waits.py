"""What the tests of checks share: waits, and compiled kernels without one of their instructions."""

from __future__ import annotations

from collections.abc import Iterator

from machine import encode
from memory_support import BY_NAME

from wave_runtime._disasm import disassemble

NONE = 63


def waitcnt(vm: int = NONE, lgkm: int = 15) -> list[int]:
    return encode(BY_NAME["s_waitcnt"], SIMM16=vm & 15 | 7 << 4 | lgkm << 8 | vm >> 4 << 14)


def nop(states: int) -> list[int]:
    """So many wait states."""
    words = []
    while states > 0:
        words += encode(BY_NAME["s_nop"], SIMM16=min(states, 16) - 1)
        states -= 16
    return words


def without(data: bytes, kernel: str, *names: str) -> Iterator[tuple[bytes, str]]:
    """The file without one of these instructions of a kernel, for each, with the text of it and the one behind it."""
    listing = disassemble(data, kernel).splitlines()[1:]
    lines = [[part.strip() for part in line.split("  ") if part.strip()] for line in listing]
    lines = [line for line in lines if len(line) > 1]  # the others are places in the source
    code = [b"".join(int(word, 16).to_bytes(4, "little") for word in line[1].split()) for line in lines]
    begin = data.index(b"".join(code))
    for i, line in enumerate(lines):
        at = begin + sum(map(len, code[:i]))
        if line[2].startswith(names) and line[2] != "s_nop 0":
            nothing = int.to_bytes(nop(1)[0], 4, "little") * (len(code[i]) // 4)
            yield data[:at] + nothing + data[at + len(code[i]) :], f"{line[2]}; {lines[i + 1][2]}"
