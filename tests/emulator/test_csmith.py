"""Random C programs of Csmith (Yang and others, "Finding and Understanding Bugs in C Compilers", 2011), compiled for a
processor and for the host. Each ends with a checksum of all its variables, which must be the same.

They have what kernels seldom have: pointers to pointers, unions, bit fields, volatile variables, goto, and variables of
the program that point to one another. `python tests/emulator/test_csmith.py 1000 1100` tries the programs of a hundred
seeds, each for three processors, at any level of optimisation.
"""

from __future__ import annotations

import random
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

import pytest
import torch
from random_kernels.harness import CLANG, LANES

import wave_runtime

HEADERS = "/usr/include/csmith"
PROCESSORS = [target for target in LANES if not target.endswith("generic")]
LEVELS = ("-O0", "-O1", "-O2", "-O3", "-Os")
SEMANTICS = ["-w", "-fwrapv", "-fno-strict-aliasing", f"-I{HEADERS}"]  # what Csmith takes for granted
HOST_SECONDS = 0.3  # a program that takes longer is left out: the emulator would take minutes

# Of the C library, which kernels have not, what the programs name.
STUBS = {
    "stdio.h": "#define printf(...) ((void)0)\n",
    "string.h": "static int strcmp(const char* a, const char* b) { return 1; }\n",
    "math.h": "#define fabs __builtin_fabs\n#define fabsf __builtin_fabsf\n",
    "assert.h": "",
    "stdlib.h": "",
    "inttypes.h": "#include <stdint.h>\n",
}
BEFORE = '#include "csmith.h"\n#undef platform_main_end\n#define platform_main_end(sum, print) (wave_sum = (sum))\n'
BEFORE += "unsigned long wave_sum;\n#define main program\n"
BEHIND = "\n__attribute__((amdgpu_kernel)) void run(__attribute__((address_space(1))) unsigned long* out)"
BEHIND += " { program(); *out = wave_sum; }\n"


def checksum(source: Path) -> int | None:
    """What the host computes, if it ends soon enough."""
    program = source.with_suffix(".host")
    subprocess.run(["cc", "-O1", *SEMANTICS, source, "-o", program], check=True)
    try:
        printed = subprocess.run([program], capture_output=True, text=True, timeout=HOST_SECONDS, check=True).stdout
    except subprocess.TimeoutExpired:
        return None
    return int(printed.split()[-1], 16)  # checksum = 176C6DC3


def differs(seed: int, target: str, lanes: int, level: str, folder: Path) -> bool | None:
    """Whether the emulator finds another checksum than the host; None where the host takes too long."""
    folder.mkdir(exist_ok=True)
    for name, text in STUBS.items():
        (folder / name).write_text(text)
    options = (
        f"--seed {seed} --no-argc --concise --max-block-depth 4 --max-funcs {random.Random(seed).choice((2, 4, 8))}"
    )
    command = ["csmith", *options.split()]
    text = subprocess.run(command, cwd=folder, capture_output=True, text=True, check=True).stdout  # it leaves a file
    source, kernel = folder / f"{seed}.c", folder / f"{seed}.kernel.c"
    source.write_text(text)
    kernel.write_text(text.replace('#include "csmith.h"', BEFORE) + BEHIND)
    expected = checksum(source)
    if expected is None:
        return None
    device = ["-target", "amdgcn-amd-amdhsa", f"-mcpu={target}", "-nogpulib", "-ffreestanding", "-isystem", str(folder)]
    waves = [f"-mwavefrontsize{lanes}"] if lanes != LANES[target] else []
    binary = kernel.with_suffix(".hsaco")
    subprocess.run([str(CLANG), *device, *waves, level, *SEMANTICS, kernel, "-o", binary], check=True)
    found = torch.zeros(1, dtype=torch.int64)
    wave_runtime.load(binary, signature={"run": "*i64"})["run"](found, grid=1, block=1)
    return found.item() & 0xFFFFFFFF != expected


@pytest.mark.long
@pytest.mark.needs("clang-22", "csmith")
@pytest.mark.parametrize("level", LEVELS)
@pytest.mark.parametrize("target", PROCESSORS)
def test_programs_end_as_on_the_host(target: str, level: str, tmp_path: Path) -> None:
    lanes = {LANES[target], 64}
    compared = [differs(seed, target, size, level, tmp_path) for seed in range(3) for size in lanes]
    assert True not in compared
    assert False in compared


if __name__ == "__main__":
    if CLANG is None or shutil.which("csmith") is None:
        sys.exit("clang-22 or csmith is not installed")
    tried, different = 0, 0
    for seed in range(*map(int, sys.argv[1:])):
        draw = random.Random(-seed)
        for target in draw.sample(PROCESSORS, 3):
            lanes, level = draw.choice([LANES[target], 64]), draw.choice(LEVELS)
            with tempfile.TemporaryDirectory() as folder:
                found = differs(seed, target, lanes, level, Path(folder))
            tried += found is not None
            if found:
                different += 1
                print(f"seed {seed} differs: {target}, {lanes} lanes, {level}", flush=True)
    print(f"{tried} runs, {different} differ")
    sys.exit(different > 0 or tried == 0)
