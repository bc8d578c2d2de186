"""The corpus, and code objects made on the spot."""

from __future__ import annotations

import json
import struct
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from hypothesis import HealthCheck, settings

from wave_runtime import _C

# The first examples build Hypothesis's tables, and machines that run tests are busy.
relaxed = settings(deadline=None, suppress_health_check=[HealthCheck.too_slow])

FOLDER = Path(__file__).resolve().parent
CORPUS = FOLDER / "corpus"


def golden(name: str) -> dict[str, Any]:
    """What LLVM said when make_corpus.py ran."""
    return dict(json.loads((FOLDER / "golden" / name).read_text()))


def corpus_file(name: str) -> bytes:
    return (CORPUS / name).read_bytes()


def images(data: bytes, target: str | None = None) -> list[bytes]:
    """The images of the code objects in a file."""
    return [code.data for code in _C.code_objects(data, target)]


def damaged_file(name: str) -> bytes:
    """A file that must be refused: a file of its own, or another one with a few bytes changed."""
    entry = golden("errors.json")[name]
    if "base" not in entry:
        return corpus_file(name)
    data = bytearray(corpus_file(entry["base"]))
    for offset, value in entry["bytes"].items():
        data[int(offset)] = value
    return bytes(data)


@dataclass
class Kernel:
    """The kernel descriptor of a kernel that only ends."""

    name: str = "kernel"
    rsrc1: int = 0
    rsrc2: int = 0
    rsrc3: int = 0
    properties: int = 0
    kernarg_size: int = 0
    private_size: int = 0
    preload: int = 0

    def descriptor(self, entry_offset: int) -> bytes:
        return struct.pack(
            "<III4xq20xIIIHH4x",
            0,
            self.private_size,
            self.kernarg_size,
            entry_offset,
            self.rsrc3,
            self.rsrc1,
            self.rsrc2,
            self.properties,
            self.preload,
        )


@dataclass
class Variable:
    """A symbol that names bytes of the file, which are also others'."""

    name: str
    address: int
    size: int = 4
    is_local: bool = False


@dataclass
class CodeObject:
    """An ELF with one segment for data, one for code, a dynamic symbol table and, if wanted, a metadata note."""

    flags: int = 0x54C  # gfx942
    abi_version: int = 3  # code object v5
    kernels: list[Kernel] = field(default_factory=lambda: [Kernel()])
    metadata: bytes | None = None
    variables: list[Variable] = field(default_factory=list)  # in front of the kernels' symbols

    def build(self) -> bytes:
        names, symbols = b"\0", bytes(24)
        descriptors_at = 256
        symbols_at = descriptors_at + 64 * len(self.kernels)
        name_bytes = b"\0" + b"".join(f"{k.name}\0{k.name}.kd\0".encode() for k in self.kernels)
        name_bytes += b"".join(f"{variable.name}\0".encode() for variable in self.variables)
        names_at = symbols_at + 24 * (1 + 2 * len(self.kernels) + len(self.variables))
        note = b"" if self.metadata is None else self._note(self.metadata)
        note_at = -(-(names_at + len(name_bytes)) // 4) * 4
        code_at = -(-(note_at + len(note)) // 256) * 256
        descriptors = b""
        for variable in self.variables:
            binding = 0x01 if variable.is_local else 0x11
            symbols += struct.pack("<IBBHQQ", len(names), binding, 3, 1, variable.address, variable.size)
            names += variable.name.encode() + b"\0"
        for i, kernel in enumerate(self.kernels):
            at, entry = descriptors_at + 64 * i, code_at + 256 * i
            descriptors += kernel.descriptor(entry - at)
            symbols += struct.pack("<IBBHQQ", len(names), 0x12, 3, 1, entry, 4)
            names += kernel.name.encode() + b"\0"
            symbols += struct.pack("<IBBHQQ", len(names), 0x11, 3, 1, at, 64)
            names += f"{kernel.name}.kd\0".encode()
        code = (b"\0\0\x81\xbf" + bytes(252)) * len(self.kernels)  # s_endpgm
        sections_at = code_at + len(code)
        head = self._header(sections_at) + self._segments(code_at, len(code), note_at, len(note))
        body = head.ljust(descriptors_at, b"\0") + descriptors + symbols + names
        body = body.ljust(note_at, b"\0") + note
        return body.ljust(code_at, b"\0") + code + self._sections(symbols_at, len(symbols), names_at, len(names))

    def _header(self, sections_at: int) -> bytes:
        ident = b"\x7fELF\x02\x01\x01\x40" + bytes([self.abi_version]) + bytes(7)
        return ident + struct.pack("<HHIQQQIHHHHHH", 3, 224, 1, 0, 64, sections_at, self.flags, 64, 56, 3, 64, 3, 0)

    def _segments(self, code_at: int, code_size: int, note_at: int, note_size: int) -> bytes:
        def segment(kind: int, flags: int, at: int, size: int) -> bytes:
            return struct.pack("<IIQQQQQQ", kind, flags, at, at, at, size, size, 4)

        return segment(1, 4, 0, code_at) + segment(1, 5, code_at, code_size) + segment(4, 4, note_at, note_size)

    def _sections(self, symbols_at: int, symbols_size: int, names_at: int, names_size: int) -> bytes:
        def section(kind: int, at: int, size: int, link: int) -> bytes:
            return struct.pack("<IIQQQQIIQQ", 0, kind, 2, at, at, size, link, 0, 1, 24)

        return bytes(64) + section(11, symbols_at, symbols_size, 2) + section(3, names_at, names_size, 0)

    def _note(self, metadata: bytes) -> bytes:
        padding = bytes(-len(metadata) % 4)
        return struct.pack("<III", 7, len(metadata), 32) + b"AMDGPU\0\0" + metadata + padding
