"""What was counted of kernels, by instruction and by line."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Iterable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from wave_runtime import _C, _disasm
from wave_runtime._file import Image

# The fields of Counts, in the order in which the session has them.
COUNTS = ("count", "lanes", "bytes", "moved", "lds_cycles", "lds_conflict_cycles", "operations")


@dataclass
class Counts:
    """Of an instruction, or of several together.

    Attributes:
        count: times that waves executed it.
        lanes: that were enabled then, all together.
        bytes: that enabled lanes asked for.
        moved: bytes of the cache lines (of 128 bytes) that each access of a vector instruction touched: as many as
            ``bytes`` where lanes lie side by side, up to 32 times as many where they do not.
        lds_cycles: that LDS takes, if each bank gives a dword in each.
        lds_conflict_cycles: of these, those because several lanes want one bank.
        operations: multiplications and additions of matrix instructions.
    """

    count: int = 0
    lanes: int = 0
    bytes: int = 0
    moved: int = 0
    lds_cycles: int = 0
    lds_conflict_cycles: int = 0
    operations: int = 0

    def add(self, other: Counts) -> None:
        """Add those of another."""
        for name in COUNTS:
            setattr(self, name, getattr(self, name) + getattr(other, name))


@dataclass
class Instruction(Counts):
    """One instruction of the code.

    Attributes:
        address: in the file.
        text: as LLVM writes it.
        kind: "vector ALU", "LDS", ...; empty where it was not executed.
        file: of the source that it comes from; empty where the code object has no line table.
        line: from 1 on; 0 where it is not known.
    """

    address: int = 0
    text: str = ""
    kind: str = ""
    file: str = ""
    line: int = 0


@dataclass
class Line(Counts):
    """One line of the source."""

    file: str = ""
    line: int = 0
    text: str = ""


@dataclass(frozen=True)
class Launch:
    """A launch on the emulator.

    Attributes:
        grid, block: workgroups, and work-items of one, in x, y and z.
        shared_memory: bytes of LDS of a workgroup, static and dynamic.
        instructions: that waves executed.
        waves, workgroups: how many there were.
        seconds: that the emulator took, which says nothing of a GPU.
    """

    grid: tuple[int, int, int]
    block: tuple[int, int, int]
    shared_memory: int
    instructions: int
    waves: int
    workgroups: int
    seconds: float


@dataclass(frozen=True)
class GpuLaunch:
    """A launch on a GPU.

    Attributes:
        kernel: its name.
        device: "cuda:0".
        grid, block: workgroups, and work-items of one, in x, y and z.
        milliseconds: between two events around it; None where a graph was captured.
    """

    kernel: str
    device: str
    grid: tuple[int, int, int]
    block: tuple[int, int, int]
    milliseconds: float | None


@dataclass
class KernelProfile(Counts):
    """A kernel, and the sum of its launches on the emulator.

    Attributes:
        name: of the kernel.
        target: what the code was built for.
        info: what the binary says of it, as ``kernel.info``: registers, LDS, scratch, spills, occupancy.
        launches: each of them.
        kinds: instructions by kind.
        traffic: bytes by what moved them: "global loaded", "LDS stored".
        matrix_operations: operations of matrix instructions by the type of their elements.
        vector_instructions: those that lanes carry out.
        wave_lanes: lanes of a wave.
        touched: bytes of the cache lines that each launch touched at all, each once.
        waves: instructions of each of the first waves of the first launch, in their order.
        instructions: all of its code that was executed, and what lies beside it, by address.
    """

    name: str = ""
    target: str = ""
    info: dict[str, Any] = field(default_factory=dict)
    launches: list[Launch] = field(default_factory=list)
    kinds: dict[str, int] = field(default_factory=dict)
    traffic: dict[str, int] = field(default_factory=dict)
    matrix_operations: dict[str, int] = field(default_factory=dict)
    vector_instructions: int = 0
    wave_lanes: int = 0
    touched: int = 0
    waves: list[int] = field(default_factory=list)
    instructions: list[Instruction] = field(default_factory=list)

    @property
    def lane_share(self) -> float:
        """Of the lanes of vector instructions, the share that was enabled: less than 1 where waves diverge or end."""
        return self.lanes / (self.vector_instructions * self.wave_lanes) if self.vector_instructions else 0.0

    @property
    def asked(self) -> int:
        """Bytes that lanes asked memory for, to be compared with ``moved``; without LDS, scratch and scalar loads."""
        return sum(item.bytes for item in self.instructions if item.kind == "vector memory")

    @property
    def lines(self) -> list[Line]:
        """The lines of the source, those with most instructions first; none without a line table (``-g``)."""
        found: dict[tuple[str, int], Line] = {}
        texts: dict[str, list[str]] = {}
        for instruction in self.instructions:
            if instruction.line and instruction.count:
                key = instruction.file, instruction.line
                line = found.setdefault(key, Line(file=key[0], line=key[1], text=_text_of(texts, *key)))
                line.add(instruction)
        return sorted(found.values(), key=lambda line: -line.count)


def _text_of(texts: dict[str, list[str]], file: str, line: int) -> str:
    """A line of a file, where that is still there."""
    if file not in texts:
        try:
            texts[file] = Path(file).read_text(encoding="utf-8", errors="replace").splitlines()
        except OSError:
            texts[file] = []
    return texts[file][line - 1].strip() if 0 < line <= len(texts[file]) else ""


def described(raw: dict[str, Any]) -> KernelProfile:
    """What the session has of a kernel, with its code as text and the lines that it comes from."""
    image = Image(_C.CodeObject(raw["image"]))
    kernel = next(kernel for kernel in image.parsed["kernels"] if kernel["name"] == raw["name"])
    profile = KernelProfile(
        name=raw["name"],
        target=raw["target"],
        info=kernel,
        launches=[
            Launch(**{**launch, "grid": tuple(launch["grid"]), "block": tuple(launch["block"])})
            for launch in raw["launches"]
        ],
        kinds=raw["kinds"],
        traffic=raw["bytes"],
        matrix_operations=raw["operations"],
        vector_instructions=raw["vector_instructions"],
        wave_lanes=raw["wave_lanes"],
        touched=raw["touched"],
        waves=raw["waves"],
        instructions=list(_instructions(image, raw["code"])),
    )
    for instruction in profile.instructions:
        profile.add(instruction)
    profile.lanes = raw["lanes"]  # of vector instructions alone
    return profile


def _instructions(image: Image, code: dict[int, tuple[Any, ...]]) -> Iterable[Instruction]:
    """The functions of which something was executed, whole."""
    files, rows = _C.line_table(image.data)
    rows.sort()
    starts = [address for address, _, _ in rows]
    executed = sorted(code)
    for function in _disasm.functions(image.parsed):
        first = bisect_right(executed, function.address - 1)
        if first == len(executed) or executed[first] not in function:
            continue
        words = image.code(function.name, function.address, function.size)
        lanes = image.lanes(function.address)
        for address, _, text in _C.disassemble(image.processor, words, function.address, lanes):
            instruction = Instruction(address=address, text=text)
            if address in code:
                instruction.kind, *counts = code[address]
                for name, count in zip(COUNTS, counts, strict=True):
                    setattr(instruction, name, count)
            at = bisect_right(starts, address) - 1
            _, line, file = rows[at] if at >= 0 else (0, 0, 0)
            if line:
                instruction.file, instruction.line = files[file], line
            yield instruction
