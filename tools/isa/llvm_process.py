"""The process that calls LLVM's disassembler: python -I -S llvm_process.py library processor features fd

`llvm.py` starts it. It imports nothing but the standard library, so that only a word on which LLVM aborts can end it.
Standard input gives lines "begin end", the indices of instructions in the file of `fd`, which both processes map; each
line is answered by one when their results stand there. The first line comes when LLVM knows the processor.
"""

import ctypes
import mmap
import resource
import sys

TRIPLE = b"amdgcn-amd-amdhsa"
WORDS = 4  # of the longest instruction, which gfx950 has
BATCH = 32768  # instructions that fit in the shared file
SLOT = 512  # bytes of one of them: its words, then the result's status, its length in bytes, its text
STATUS = 4 * WORDS
TEXT = STATUS + 2
DONE = 1


def _open(library: str, processor: str, features: str) -> tuple[ctypes.CDLL, int | None]:
    llvm = ctypes.CDLL(library)
    for part in ("TargetInfo", "TargetMC", "Disassembler"):
        getattr(llvm, f"LLVMInitializeAMDGPU{part}")()
    pointer, text, size = ctypes.c_void_p, ctypes.c_char_p, ctypes.c_size_t
    llvm.LLVMCreateDisasmCPUFeatures.restype = pointer
    llvm.LLVMCreateDisasmCPUFeatures.argtypes = [text, text, text, pointer, ctypes.c_int, pointer, pointer]
    llvm.LLVMDisasmInstruction.restype = size
    llvm.LLVMDisasmInstruction.argtypes = [pointer, pointer, ctypes.c_uint64, ctypes.c_uint64, pointer, size]
    return llvm, llvm.LLVMCreateDisasmCPUFeatures(TRIPLE, processor.encode(), features.encode(), None, 0, None, None)


def main() -> None:
    """Answers lines until standard input ends."""
    library, processor, features, file = sys.argv[1:]
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))  # aborts are results here
    llvm, context = _open(library, processor, features)
    if context is None:
        sys.exit(1)
    shared = mmap.mmap(int(file), BATCH * SLOT)
    base = ctypes.addressof(ctypes.c_char.from_buffer(shared))
    print(flush=True)
    for line in sys.stdin:
        for index in range(*map(int, line.split())):
            slot = base + index * SLOT
            shared[index * SLOT + STATUS + 1] = llvm.LLVMDisasmInstruction(
                context, slot, 4 * WORDS, 0, slot + TEXT, SLOT - TEXT
            )
            shared[index * SLOT + STATUS] = DONE
        print(flush=True)


if __name__ == "__main__":
    main()
