"""LLVM's disassembler, called through its C interface in child processes.

LLVM aborts on some words that are no instruction (SDWA selects with the value 7, for one), so every batch is
disassembled in a forked child that reports through shared memory. When it dies, the words it died on count as crashed,
and another child goes on.
"""

import ctypes
import faulthandler
import mmap
import os
import resource
import struct
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path

VERSION = "22.1"
TRIPLE = b"amdgcn-amd-amdhsa"
FEATURES = {"gfx12": b"+real-true16"}  # halves of registers, which LLVM 22 knows there but does not write on its own
WORDS = 3  # of the longest instruction; those of GFX9 have two
SLOT = 512  # bytes a result takes in shared memory: status, length, text
BATCH = 32768

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


def _succeeds(create: Callable[[], object]) -> bool:
    """Whether a call neither aborts nor gives nothing: LLVM aborts for processors that it does not know."""
    child = os.fork()
    if child != 0:
        return os.waitpid(child, 0)[1] == 0
    try:
        faulthandler.disable()
        resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
        os.dup2(os.open(os.devnull, os.O_WRONLY), 2)
        os._exit(0 if create() else 1)
    finally:
        os._exit(1)


class Disassembler:
    """Disassembles words for one processor. Not thread-safe: it forks."""

    def __init__(self, processor: str) -> None:
        library = find_library()
        if library is None:
            raise RuntimeError(f"libLLVM {VERSION} is not installed")
        llvm = ctypes.CDLL(library)
        for part in ("TargetInfo", "TargetMC", "Disassembler"):
            getattr(llvm, f"LLVMInitializeAMDGPU{part}")()
        pointer, text, size = ctypes.c_void_p, ctypes.c_char_p, ctypes.c_size_t
        llvm.LLVMCreateDisasmCPUFeatures.restype = pointer
        llvm.LLVMCreateDisasmCPUFeatures.argtypes = [text, text, text, pointer, ctypes.c_int, pointer, pointer]
        self._disassemble = llvm.LLVMDisasmInstruction
        self._disassemble.restype = size
        self._disassemble.argtypes = [pointer, pointer, ctypes.c_uint64, ctypes.c_uint64, pointer, size]

        features = FEATURES.get(processor[:-2], b"")

        def create() -> object:
            return llvm.LLVMCreateDisasmCPUFeatures(TRIPLE, processor.encode(), features, None, 0, None, None)

        if not _succeeds(create):
            raise RuntimeError(f"{library} does not know the processor {processor}; LLVM_LIBRARY names another LLVM")
        self._context = create()
        self._shared = mmap.mmap(-1, BATCH * SLOT)
        self._address = ctypes.addressof(ctypes.c_char.from_buffer(self._shared))

    def __call__(self, instructions: Iterable[Words]) -> list[Disassembled]:
        """Disassembles each of `instructions`, given as up to WORDS words (missing ones count as zero)."""
        todo = list(instructions)
        results: list[Disassembled] = []
        for begin in range(0, len(todo), BATCH):
            results += self._batch(todo[begin : begin + BATCH])
        return results

    def _batch(self, batch: Sequence[Words]) -> list[Disassembled]:
        data = b"".join(struct.pack("<3I", *words, *(0,) * (WORDS - len(words))) for words in batch)
        for index in range(len(batch)):
            self._shared[index * SLOT] = 0
        begin = 0
        while begin < len(batch):
            if self._run_child(data, begin, len(batch)):
                break
            while self._shared[begin * SLOT] != 0:
                begin += 1
            self._shared[begin * SLOT] = 2
            begin += 1
        return [self._result(index) for index in range(len(batch))]

    def _run_child(self, data: bytes, begin: int, end: int) -> bool:
        child = os.fork()
        if child != 0:
            return os.waitpid(child, 0)[1] == 0
        try:
            faulthandler.disable()  # a crash is a result here
            resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
            source = ctypes.create_string_buffer(data, len(data))
            base = ctypes.addressof(source)
            size = 4 * WORDS
            for index in range(begin, end):
                slot = self._address + index * SLOT
                length = self._disassemble(self._context, base + index * size, size, 0, slot + 2, SLOT - 2)
                self._shared[index * SLOT + 1] = length
                self._shared[index * SLOT] = 1
            os._exit(0)
        finally:
            os._exit(1)

    def _result(self, index: int) -> Disassembled:
        status, length = self._shared[index * SLOT], self._shared[index * SLOT + 1]
        if status == 2:
            return CRASHED
        if length == 0:
            return REJECTED
        raw = self._shared[index * SLOT + 2 : (index + 1) * SLOT]
        return Disassembled(length // 4, normalize(raw[: raw.index(0)].decode()))
