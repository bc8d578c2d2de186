"""Compiles a generated program for a processor that the emulator runs and for the host, runs both on the same memory,
and compares every bit.
"""

from __future__ import annotations

import ctypes
import random
import shutil
import subprocess
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path

import numpy as np
import numpy.typing as npt
import torch

import wave_runtime

from .generate import generate

FOLDER = Path(__file__).parent
CLANG = shutil.which("clang-22")
GROUPS, BLOCK, INPUT_BYTES, COUNTERS = 3, 128, 4096, 26  # kernel.h has the latter three; counters in 64-bit words
ITEMS = GROUPS * BLOCK

# A product and a sum stay two operations, f16 is rounded after each, and signed integers wrap: on both sides.
COMMON = ["-std=c++20", "-w", "-fwrapv", "-ffp-contract=off", f"-I{FOLDER}"]
HOST = ["-x", "c++", "-O0", "-march=x86-64-v3", "-Xclang", "-ffloat16-excess-precision=none"]
HOST += ["-Xclang", "-fbfloat16-excess-precision=none", "-shared", "-fPIC"]
DEVICE = ["-x", "hip", "--offload-device-only", "--no-gpu-bundle-output", "-nogpulib", "-nogpuinc"]
LANES = {
    "gfx9-generic": 64,
    "gfx90a": 64,
    "gfx942": 64,
    "gfx950": 64,
    **dict.fromkeys(("gfx1030", "gfx1031", "gfx1032", "gfx1033", "gfx1034", "gfx1035", "gfx1036"), 32),
    **dict.fromkeys(("gfx1100", "gfx1101", "gfx1102", "gfx1103", "gfx1150", "gfx1151", "gfx1152", "gfx1153"), 32),
    **dict.fromkeys(("gfx1200", "gfx1201"), 32),
}  # of a wave, where the compiler is not told otherwise
# What reaches other parts of the compiler, and so other instructions. Not clang 19's GlobalISel, which keeps values
# that differ between lanes in scalar registers. Not -disable-machine-cse, without whose pass clang 22 leaves copies of
# constants of 64 bits, and its peephole pass makes them s_mov_b64, whose literal has 32: 256.0 becomes 0.0.
VARIANTS: Sequence[Sequence[str]] = (
    ["-O2"],
    ["-O3"],
    ["-O1"],
    ["-Os"],
    ["-O0"],
    ["-O2", "-fno-inline"],
    ["-O2", "-mllvm", "-amdgpu-function-calls=0"],
    ["-O2", "-fno-unroll-loops", "-fno-slp-vectorize", "-mcode-object-version=4"],
    ["-O3", "-mllvm", "-amdgpu-load-store-vectorizer=0", "-mtgsplit"],
    ["-O2", "-mcode-object-version=6"],
)

Words = npt.NDArray[np.uint64]


def waves(target: str, lanes: int | None) -> list[str]:
    """What kernel.h asks of waves."""
    lanes = lanes or LANES[target]
    return [f"-DWAVE={lanes}", *(["-DSPAN=32"] if target.startswith(("gfx10", "gfx11")) else [])]


def compile_host(source: Path, target: str = "gfx942", lanes: int | None = None) -> ctypes.CDLL:
    """The functions for the host, which processors have in common where their waves ask for the same: such a library
    that lies beside the source is taken. Raises CalledProcessError with clang's messages.
    """
    asked = waves(target, lanes)
    library = source.with_name("".join([source.stem, *asked, ".so"]))
    if not library.exists():
        command = [str(CLANG), *HOST, *COMMON, *asked, source, "-o", library, "-lm"]
        subprocess.run(command, check=True, capture_output=True)
    return ctypes.CDLL(str(library))


def compile_device(source: Path, options: Sequence[str], target: str = "gfx942", lanes: int | None = None) -> Path:
    """The code object, likewise."""
    binary = source.with_suffix(".hsaco")
    device = [*DEVICE, f"--offload-arch={target}", *waves(target, lanes)]
    if lanes is not None:
        device.append("-mwavefrontsize64" if lanes == 64 else "-mno-wavefrontsize64")
    form = ["-mcode-object-version=6"] if "generic" in target else []  # older forms have no generic processors
    command = [str(CLANG), *device, *options, *form, *COMMON, source, "-o", binary]
    subprocess.run(command, check=True, capture_output=True)
    return binary


def memory(seed: str, outputs: int) -> tuple[torch.Tensor, torch.Tensor, torch.Tensor]:
    """Input (uint8), output (int64, [outputs, work-items]) and counters (int64) that a kernel starts with."""
    rng = random.Random(seed)
    words = [rng.getrandbits(64) >> rng.choice((0, 0, 8, 32, 48, 60)) for _ in range(INPUT_BYTES // 8)]
    given = torch.from_numpy(np.array(words, dtype=np.uint64).view(np.uint8))
    counters = torch.from_numpy(
        np.array([rng.getrandbits(64) for _ in range(COUNTERS)], dtype=np.uint64).view(np.int64)
    )
    return given, torch.zeros(outputs, ITEMS, dtype=torch.int64), counters


def run_on_host(function: ctypes._NamedFuncPointer, seed: str, outputs: int) -> tuple[Words, Words]:
    """What the function leaves in output and counters."""
    given, out, counters = memory(seed, outputs)
    pointers = [ctypes.c_void_p(tensor.data_ptr()) for tensor in (given, out, counters)]
    function(*pointers, ctypes.c_uint32(GROUPS))
    return out.numpy().view(np.uint64), counters.numpy().view(np.uint64)


def run_on_emulator(binary: Path, name: str, seed: str, outputs: int) -> tuple[Words, Words]:
    """The same of the kernel ``name``."""
    signature = {name: "*u8 const, *i64, *i64, u32"}
    kernel = wave_runtime.load(binary, signature=signature)[name]
    given, out, counters = memory(seed, outputs)
    kernel(given, out, counters, GROUPS, grid=GROUPS, block=BLOCK)
    return out.numpy().view(np.uint64), counters.numpy().view(np.uint64)


def differences(outputs: Mapping[str, Sequence[str]], host: ctypes.CDLL, binary: Path, seed: str) -> Iterator[str]:
    """In which values the emulator's results differ from the host's, in words."""
    for name, values in outputs.items():
        expected, counted = run_on_host(getattr(host, name), seed, len(values))
        found, found_counted = run_on_emulator(binary, name, seed, len(values))
        for i in np.flatnonzero((expected != found).any(axis=1)):
            item = np.flatnonzero(expected[i] != found[i])[0]
            wanted, got = int(expected[i, item]), int(found[i, item])
            yield f"{name}: {values[i]} of work-item {item} must be {wanted:#x}, is {got:#x}"
        for i in np.flatnonzero(counted != found_counted):
            yield f"{name}: counter word {i} must be {int(counted[i]):#x}, is {int(found_counted[i]):#x}"


def check(
    seed: str, folder: Path, variant: Sequence[str] | None = None, target: str = "gfx942", lanes: int | None = None
) -> list[str]:
    """Generates, compiles, runs and compares the program of a seed; the options by the seed, too, unless given."""
    text, outputs = generate(seed)
    source = folder / f"{seed}.cpp"
    if not source.exists() or source.read_text() != text:
        source.write_text(text)
        for library in folder.glob(f"{seed}-*.so"):
            library.unlink()
    host = compile_host(source, target, lanes)
    variants = [options for options in VARIANTS if target == "gfx942" or "-mtgsplit" not in options]
    binary = compile_device(source, variant or random.Random(seed).choice(variants), target, lanes)
    return list(differences(outputs, host, binary, seed))
