"""Makes a folder with which clang compiles HIP programs on a machine without ROCm.

It has the places where clang looks for ROCm's headers and device libraries: links to Debian's (libamdhip64-dev and
rocm-device-libs, both of ROCm 5.2), the one file that they lack for each newer processor, and the HIP library over the
emulator. docs/hip_emulator.md says how to compile with it.
"""

from __future__ import annotations

import argparse
import re
import shutil
import subprocess
from pathlib import Path

from wave_emulator import _hip

HEADERS = Path("/usr/include/hip")
BITCODE = Path("/usr/lib/x86_64-linux-gnu/amdgcn/bitcode")
# What the device libraries know a processor by: __oclc_ISA_version (ROCm's device libraries, oclc/).
ISA_VERSIONS = {"gfx942": 9402, "gfx950": 9500, "gfx1100": 11000, "gfx1201": 12001}


def make(folder: Path, clang: str) -> None:
    """Fill a folder; links that are there already stay. Raises FileNotFoundError where a part is not installed."""
    for path, package in ((HEADERS, "libamdhip64-dev"), (BITCODE, "rocm-device-libs")):
        if not path.is_dir():
            raise FileNotFoundError(f"{path} is missing: apt-get install {package}")
    if shutil.which(clang) is None:
        raise FileNotFoundError(f"there is no program {clang}: apt-get install {clang.replace('++', '')}")
    libraries = folder / "amdgcn" / "bitcode"
    libraries.mkdir(parents=True, exist_ok=True)
    (folder / "include").mkdir(exist_ok=True)
    _link(folder / "include" / "hip", HEADERS)
    for path in BITCODE.glob("*.bc"):
        _link(libraries / path.name, path)
    _write_version(folder / "share" / "hip" / "version")
    for processor, version in ISA_VERSIONS.items():
        path = libraries / f"oclc_isa_version_{processor.removeprefix('gfx')}.bc"
        if not path.exists():
            _compile_constant(clang, f"const __constant int __oclc_ISA_version = {version};\n", path)
    _hip.link(folder / "lib")


def _link(path: Path, target: Path) -> None:
    if not path.is_symlink():
        path.symlink_to(target)


def _write_version(path: Path) -> None:
    """Where clang looks for the headers' version: without it, it leaves out what the language has beside them."""
    text = (HEADERS / "hip_version.h").read_text()
    parts = dict(re.findall(r"#define HIP_VERSION_(MAJOR|MINOR|PATCH) (\d+)", text))
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text("".join(f"HIP_VERSION_{part}={number}\n" for part, number in parts.items()))


def _compile_constant(clang: str, source: str, path: Path) -> None:
    """For any version of the code object, which each program chooses."""
    options = ["-x", "cl", "-target", "amdgcn-amd-amdhsa", "-nogpulib", "-Xclang", "-mcode-object-version=none"]
    command = [clang, *options, "-emit-llvm", "-c", "-", "-o", str(path)]
    subprocess.run(command, input=source, text=True, check=True)


def main() -> None:
    """Make the folder that the command line names."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else None)
    parser.add_argument("folder", type=Path)
    parser.add_argument("--clang", default="clang++-19", help="the compiler of the device library's constants")
    options = parser.parse_args()
    make(options.folder.absolute(), options.clang)


if __name__ == "__main__":
    main()
