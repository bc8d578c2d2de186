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
GENERATIONS = {"gfx1030": 10, "gfx1100": 11, "gfx1150": 11, "gfx1201": 12}
ASSEMBLY = ["-x", "assembler", "--target=amdgcn-amd-amdhsa", "-I", str(FOLDER), f"-mcpu={TARGET}"]


def machine(clang: str, processor: str, output: Path, *options: str) -> None:
    """Build machine.s, for another processor, too, than it names. gfx90a's waves are told where their scratch is."""
    source = (FOLDER / "machine.s").read_text().replace(TARGET, processor)
    if processor == "gfx90a":
        source = source.replace("enable_private_segment", "system_sgpr_private_segment_wavefront_offset")
    command = [clang, *ASSEMBLY[:-1], f"-mcpu={processor}", *options, "-", "-o", output]
    subprocess.run(command, input=source, text=True, check=True)


def machine_of_rdna(clang: str, processor: str, generation: int, lanes: int) -> None:
    """Build machine_rdna.s."""
    source = (FOLDER / "machine_rdna.s").read_text().replace("wavefront_size: 32", f"wavefront_size: {lanes}")
    options = [f"-mcpu={processor}", f"-Wa,--defsym,GENERATION={generation}", f"-Wa,--defsym,LANES={lanes}"]
    options += ["-mwavefrontsize64"] if lanes == 64 else []
    command = [clang, *ASSEMBLY[:-1], *options, "-", "-o", FOLDER / f"machine{lanes}_{processor}.hsaco"]
    subprocess.run(command, input=source, text=True, check=True)


def selftest(clang: str, processor: str, output: Path) -> None:
    """Build what wave_runtime/_selftest_cases.py puts instructions into."""
    if processor not in GENERATIONS:
        machine(clang, processor, output, "-Wa,--defsym,CASES=512")
        return
    options = [f"-mcpu={processor}", "-Wa,--defsym,CASES=512", f"-Wa,--defsym,GENERATION={GENERATIONS[processor]}"]
    command = [clang, *ASSEMBLY[:-1], *options, FOLDER / "selftest_rdna.s", "-o", output]
    subprocess.run(command, check=True)


def main() -> None:
    """Build everything."""
    clang = os.environ.get("CLANG") or shutil.which("clang-22") or "clang"
    subprocess.run([clang, *ASSEMBLY, FOLDER / "probes.s", "-o", FOLDER / "probes.hsaco"], check=True)
    machine(clang, "gfx942", FOLDER / "machine.hsaco")
    for processor in ("gfx90a", "gfx950"):
        machine(clang, processor, FOLDER / f"machine_{processor}.hsaco")
    for (processor, generation), lanes in itertools.product(GENERATIONS.items(), (32, 64)):
        machine_of_rdna(clang, processor, generation, lanes)
    for processor in ("gfx90a", "gfx942", "gfx950", *GENERATIONS):
        selftest(clang, processor, FOLDER.parents[2] / f"wave_runtime/selftest_{processor}.hsaco")
    for version in (4, 5):  # of DWARF, with paths relative to this folder
        debug = [f"-gdwarf-{version}", "-fdebug-compilation-dir=."]
        command = [clang, *HIP, "-O1", *debug, "lines.hip", "-o", f"lines_dwarf{version}.hsaco"]
        subprocess.run(command, check=True, cwd=FOLDER)
    for target in ("gfx942", "gfx950", "gfx90a", "gfx1030", "gfx1100", "gfx1201"):
        options = [f"--offload-arch={target}", "-O1", "-g", "-fdebug-compilation-dir=."]
        for source in ("mistakes", "unwritten"):
            command = [clang, *ANY_HIP, *options, f"{source}.hip", "-o", f"{source}_{target}.hsaco"]
            subprocess.run(command, check=True, cwd=FOLDER)
    subprocess.run([clang, *HIP, "-O2", FOLDER / "language.hip", "-o", FOLDER / "language.hsaco"], check=True)
    subprocess.run([clang, *HIP, "-O1", FOLDER / "accesses.hip", "-o", FOLDER / "accesses.hsaco"], check=True)
    for target, lanes in itertools.product(("gfx1030", "gfx1100", "gfx1201"), (32, 64)):
        options = [f"--offload-arch={target}", f"-DWAVE={lanes}", *(["-mwavefrontsize64"] if lanes == 64 else [])]
        for source, output in (("waves.hip", f"wave{lanes}_{target}"), ("buffers.hip", f"buffers{lanes}_{target}")):
            command = [clang, *ANY_HIP, *options, "-O2", "-ffp-contract=off", source, "-o", f"{output}.hsaco"]
            subprocess.run(command, check=True, cwd=FOLDER)
    for target, generation in (("gfx1030", 10), ("gfx1100", 11), ("gfx1201", 12)):
        options = [*ASSEMBLY[:-1], f"-mcpu={target}", f"-Wa,--defsym,GENERATION={generation}"]
        subprocess.run([clang, *options, "buffers.s", "-o", f"buffers_{target}.hsaco"], check=True, cwd=FOLDER)


if __name__ == "__main__":
    main()
