"""Builds the code objects of this folder, and the self-test's; needs clang 17 or later and lld (CLANG names one)."""

from __future__ import annotations

import itertools
import os
import shutil
import subprocess
from pathlib import Path

FOLDER = Path(__file__).parent
TARGET = "gfx942"
ANY_HIP = ["-x", "hip", "--offload-device-only", "--no-gpu-bundle-output", "-nogpulib", "-nogpuinc"]
HIP = [*ANY_HIP, f"--offload-arch={TARGET}"]
ASSEMBLY = ["-x", "assembler", "--target=amdgcn-amd-amdhsa", f"-mcpu={TARGET}"]


def selftest(clang: str, output: Path) -> None:
    """Build what wave_runtime/_selftest_cases.py puts instructions into."""
    command = [clang, *ASSEMBLY, "-Wa,--defsym,CASES=512", FOLDER / "machine.s", "-o", output]
    subprocess.run(command, check=True)


def main() -> None:
    """Build everything."""
    clang = os.environ.get("CLANG") or shutil.which("clang-22") or "clang"
    for name in ("probes", "machine"):
        subprocess.run([clang, *ASSEMBLY, FOLDER / f"{name}.s", "-o", FOLDER / f"{name}.hsaco"], check=True)
    machine = (FOLDER / "machine.s").read_text().replace(TARGET, "gfx950")  # the same for another processor
    command = [clang, *ASSEMBLY[:-1], "-mcpu=gfx950", "-", "-o", FOLDER / "machine_gfx950.hsaco"]
    subprocess.run(command, input=machine, text=True, check=True)
    selftest(clang, FOLDER.parents[2] / "wave_runtime/selftest.hsaco")
    for version in (4, 5):  # of DWARF, with paths relative to this folder
        debug = [f"-gdwarf-{version}", "-fdebug-compilation-dir=."]
        command = [clang, *HIP, "-O1", *debug, "lines.hip", "-o", f"lines_dwarf{version}.hsaco"]
        subprocess.run(command, check=True, cwd=FOLDER)
    subprocess.run([clang, *HIP, "-O2", FOLDER / "language.hip", "-o", FOLDER / "language.hsaco"], check=True)
    for target, lanes in itertools.product(("gfx1100", "gfx1201"), (32, 64)):
        options = [f"--offload-arch={target}", f"-DWAVE={lanes}", *(["-mwavefrontsize64"] if lanes == 64 else [])]
        for source, output in (("waves.hip", f"wave{lanes}_{target}"), ("buffers.hip", f"buffers{lanes}_{target}")):
            command = [clang, *ANY_HIP, *options, "-O2", "-ffp-contract=off", source, "-o", f"{output}.hsaco"]
            subprocess.run(command, check=True, cwd=FOLDER)
    for target, is_gfx12 in (("gfx1100", 0), ("gfx1201", 1)):
        options = [*ASSEMBLY[:-1], f"-mcpu={target}", f"-Wa,--defsym,GFX12={is_gfx12}"]
        subprocess.run([clang, *options, "buffers.s", "-o", f"buffers_{target}.hsaco"], check=True, cwd=FOLDER)


if __name__ == "__main__":
    main()
