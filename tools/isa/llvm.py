"""LLVM's disassembler, called through its C interface in a process of its own.

LLVM aborts on some words that are no instruction (SDWA selects with the value 7, for one), and calls exit() for a
processor that it does not know. When the process dies, the words it died on count as crashed, and another goes on. It
is a fresh interpreter, not a fork of this one: there, exit() would run the destructors of all that this one has
loaded, which may wait for threads that a fork does not have.
"""

import ctypes
import mmap
import os
import struct
import subprocess
import sys
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path

from . import llvm_process
from .llvm_process import BATCH, DONE, SLOT, STATUS, TEXT, WORDS

VERSION = "22.1"
FEATURES = {"gfx12": "+real-true16"}  # halves of registers, which LLVM 22 knows there but does not write on its own

Words = tuple[int, ...]


@dataclass(frozen=True, slots=True)
class Disassembled:
    """What LLVM says of some words. A rejected or crashing instruction has no length."""

    dwords: int
    text: str
    crashed: bool = False

    @property
    def accepted(self) -> bool:
        """Whether LLVM takes the words for an instruction and finds nothing invalid in it."""
        return self.dwords > 0 and "/*" not in self.text


REJECTED = Disassembled(0, "")
CRASHED = Disassembled(0, "", crashed=True)


def find_library() -> str | None:
    """The path or name of libLLVM: what LLVM_LIBRARY names, else version 22, or None where it is not installed."""
    if chosen := os.environ.get("LLVM_LIBRARY"):
        return chosen
    try:
        ctypes.CDLL(name := f"libLLVM.so.{VERSION}")
    except OSError:
        path = Path(f"/usr/lib/llvm-{VERSION.partition('.')[0]}/lib/libLLVM.so.1")
        return str(path) if path.exists() else None
    return name


def normalize(text: str) -> str:
    """The text without comments on the line, its white space reduced to single spaces.

    LLVM writes the implicit VCC of v_cndmask_b32_dpp within the bars of the operand before it.
    """
    return " ".join(text.partition("; ")[0].split()).replace(", vcc_lo|", "|, vcc_lo")


class Disassembler:
    """Disassembles words for one processor. Not thread-safe: its process answers one batch at a time."""

    def __init__(self, processor: str) -> None:
        library = find_library()
        if library is None:
            raise RuntimeError(f"libLLVM {VERSION} is not installed")
        self._command = [sys.executable, "-I", "-S", llvm_process.__file__]
        self._command += [library, processor, FEATURES.get(processor[:-2], "")]
        file = os.memfd_create("instructions")
        os.ftruncate(file, BATCH * SLOT)
        self._shared = mmap.mmap(file, BATCH * SLOT)
        self._file = file
        self._start()
        if not self._answered():
            self.close()
            raise RuntimeError(f"{library} does not know the processor {processor}; LLVM_LIBRARY names another LLVM")

    def __call__(self, instructions: Iterable[Words]) -> list[Disassembled]:
        """Disassembles each of `instructions`, given as up to WORDS words (missing ones count as zero)."""
        todo = list(instructions)
        results: list[Disassembled] = []
        for begin in range(0, len(todo), BATCH):
            results += self._batch(todo[begin : begin + BATCH])
        return results

    def close(self) -> None:
        """Ends the process. Nothing can be disassembled after that."""
        if self._file >= 0:
            self._process.communicate()
            os.close(self._file)
            self._file = -1

    def __del__(self) -> None:
        if hasattr(self, "_process"):
            self.close()

    def _start(self) -> None:
        self._process = subprocess.Popen(
            [*self._command, str(self._file)],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            pass_fds=[self._file],
        )

    def _answered(self) -> bool:
        """Whether the process answered the last line, or else has died."""
        assert self._process.stdout is not None
        return self._process.stdout.readline() != b""

    def _batch(self, batch: Sequence[Words]) -> list[Disassembled]:
        for index, words in enumerate(batch):
            struct.pack_into(f"<{WORDS}IB", self._shared, index * SLOT, *words, *(0,) * (WORDS - len(words)), 0)
        crashed = set()
        begin = 0
        while begin < len(batch):
            if self._disassemble(begin, len(batch)):
                break
            while self._shared[begin * SLOT + STATUS] == DONE:
                begin += 1
            crashed.add(begin)
            begin += 1
            self._process.communicate()
            self._start()
            if not self._answered():
                raise RuntimeError(f"{self._command} ended: {self._process.returncode}")
        return [CRASHED if index in crashed else self._result(index) for index in range(len(batch))]

    def _disassemble(self, begin: int, end: int) -> bool:
        assert self._process.stdin is not None
        self._process.stdin.write(f"{begin} {end}\n".encode())
        self._process.stdin.flush()
        return self._answered()

    def _result(self, index: int) -> Disassembled:
        length = self._shared[index * SLOT + STATUS + 1]
        if length == 0:
            return REJECTED
        raw = self._shared[index * SLOT + TEXT : (index + 1) * SLOT]
        return Disassembled(length // 4, normalize(raw[: raw.index(0)].decode()))
