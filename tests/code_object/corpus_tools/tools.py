"""Running LLVM's tools, and the few binary formats that the corpus is edited in."""

from __future__ import annotations

import struct
import subprocess
from pathlib import Path
from typing import Any

CLANG = "clang-19"
MC = "llvm-mc-19"
MC_FOR_V3 = "llvm-mc-14"  # the last releases that write code object v3 and v4 alike; newer ones refuse v3
LLD = "ld.lld-19"
OBJCOPY = "llvm-objcopy-19"
BUNDLER = "clang-offload-bundler-19"
READOBJ = "llvm-readobj-19"
OBJDUMP = "llvm-objdump-19"


def run(*command: str | Path, input_text: str | None = None) -> str:
    """Runs a tool and gives what it printed."""
    result = subprocess.run(
        [str(word) for word in command], input=input_text, capture_output=True, text=True, check=False
    )
    if result.returncode != 0:
        raise SystemExit(f"{' '.join(map(str, command))}\n{result.stderr}")
    return result.stdout


def link(object_file: Path, output: Path) -> None:
    run(LLD, "-shared", "--build-id=none", "-z", "max-page-size=4096", object_file, "-o", output)


def msgpack(value: Any) -> bytes:
    """MessagePack of None, booleans, integers, strings, lists and dictionaries."""
    if value is None:
        return b"\xc0"
    if isinstance(value, bool):
        return b"\xc3" if value else b"\xc2"
    if isinstance(value, int):
        return _msgpack_int(value)
    if isinstance(value, str):
        data = value.encode()
        return (bytes([0xA0 | len(data)]) if len(data) < 32 else b"\xda" + struct.pack(">H", len(data))) + data
    if isinstance(value, list):
        head = bytes([0x90 | len(value)]) if len(value) < 16 else b"\xdc" + struct.pack(">H", len(value))
        return head + b"".join(map(msgpack, value))
    head = bytes([0x80 | len(value)]) if len(value) < 16 else b"\xde" + struct.pack(">H", len(value))
    return head + b"".join(msgpack(key) + msgpack(item) for key, item in value.items())


def _msgpack_int(value: int) -> bytes:
    if -32 <= value < 128:
        return struct.pack("b", value)
    if value < 0:
        return b"\xd3" + struct.pack(">q", value)
    for mark, form, limit in ((b"\xcc", ">B", 8), (b"\xcd", ">H", 16), (b"\xce", ">I", 32), (b"\xcf", ">Q", 64)):
        if value < 1 << limit:
            return mark + struct.pack(form, value)
    raise ValueError(value)


class ElfEditor:
    """Changes an ELF64 file in place, without moving anything."""

    def __init__(self, data: bytes) -> None:
        self.data = bytearray(data)

    def put(self, form: str, offset: int, *values: int) -> ElfEditor:
        struct.pack_into("<" + form, self.data, offset, *values)
        return self

    def get(self, form: str, offset: int) -> int:
        return int(struct.unpack_from("<" + form, self.data, offset)[0])

    def flags(self, value: int) -> ElfEditor:
        return self.put("I", 48, value)

    def section(self, name: str) -> int:
        """The offset of a section's header."""
        table, names_index = self.get("Q", 40), self.get("H", 62)
        names = self.get("Q", table + 64 * names_index + 24)
        for i in range(self.get("H", 60)):
            at = table + 64 * i
            start = names + self.get("I", at)
            if self.data[start : self.data.index(0, start)] == name.encode():
                return at
        raise KeyError(name)

    def contents(self, name: str) -> int:
        """The file offset of a section's bytes."""
        return self.get("Q", self.section(name) + 24)

    def segments(self, kind: int) -> list[int]:
        """The offsets of the program headers of a type."""
        table = self.get("Q", 32)
        return [table + 56 * i for i in range(self.get("H", 56)) if self.get("I", table + 56 * i) == kind]

    def bytes(self) -> bytes:
        return bytes(self.data)
