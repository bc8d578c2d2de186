"""A folder in the place of ROCm's, with which clang compiles HIP programs on a machine without ROCm.

It has what compilers look for in ROCm: hipcc, links to the headers and device libraries that the distribution has
packages of, what these lack for newer processors and compilers, and the HIP library over the emulator. Debian 12 has
HIP 5.2, Debian 13 has 5.7. Newer headers come from checkouts of ROCm/HIP and ROCm/clr.
docs/hip_emulator.md says how to compile with it.
"""

from __future__ import annotations

import hashlib
import os
import re
import shlex
import shutil
import subprocess
from pathlib import Path

from wave_emulator import _hip, library
from wave_emulator._cache_folder import cache_folder, keep, new_folder_for

HEADERS = Path("/usr/include/hip")
# Of the distribution's device libraries. Where they lie among a clang's own files, its release is in their path.
BITCODE = ("/usr/lib/x86_64-linux-gnu/amdgcn/bitcode", "/usr/lib/llvm-*/lib/clang/*/amdgcn/bitcode")
OLDEST, NEWEST = 19, 25  # clang: with the clock that all processors have
_PARTS = Path(__file__).with_name("toolchain")
_PACKAGES = " ".join(f"{name}-{OLDEST}" for name in ("clang", "clang-tools", "lld", "llvm"))
_ADVICE_ON_CLANG = f"apt-get install {_PACKAGES}, or name one in CLANG"
_FOR_ANY_GPU = ("-target", "amdgcn-amd-amdhsa", "-nogpulib")
_TOOLS = ("clang-offload-*", "ld.lld", "lld", "llc", "llvm-*", "opt")
_VERSION_OF_PACKAGE = """set(PACKAGE_VERSION {release})
if(NOT PACKAGE_FIND_VERSION VERSION_GREATER PACKAGE_VERSION)
  set(PACKAGE_VERSION_COMPATIBLE TRUE)
endif()
"""
_PROCESSORS = (
    *("gfx90a", "gfx942", "gfx950", "gfx1030", "gfx1031", "gfx1032", "gfx1033", "gfx1034", "gfx1035", "gfx1036"),
    *("gfx1100", "gfx1101", "gfx1102", "gfx1103", "gfx1150", "gfx1151", "gfx1152", "gfx1153", "gfx1200", "gfx1201"),
)
# What the device libraries know a processor by: __oclc_ISA_version (ROCm's device libraries, oclc/). A name ends with
# the minor version and the stepping, each one hexadecimal digit: gfx90a is 9010.
ISA_VERSIONS = {name: int(name[3:-2]) * 1000 + int(name[-2]) * 100 + int(name[-1], 16) for name in _PROCESSORS}
ISA_VERSIONS |= {
    "gfx9-generic": 9000,
    "gfx9-4-generic": 9400,
    "gfx10-3-generic": 10300,
    "gfx11-generic": 11003,
    "gfx12-generic": 12000,
}
# Code objects of version 6, which clang makes from version 22 on, are to these libraries those of version 5. It leaves
# out the file that says whether denormals are zero, too.
ABI_FILE = "oclc_abi_version_600.bc"
ABI = "const __constant int __oclc_ABI_version = 600; const __constant bool __oclc_daz_opt = 0;"
# malloc() in kernels reads the constant clock by an instruction that processors from gfx11 on have not, from functions
# that ask for it: clang removes these there, and their callers never end. A dot product of halves clamps its sum to 0
# and 1 whether it is told to or not: the function that has the instruction is not told, so here it is.
LANGUAGE = "ockl.bc"
DOT = "<2 x half> noundef %0, <2 x half> noundef %1, float noundef %2"
DOT_CALL = "tail call float @llvm.amdgcn.fdot2(<2 x half> %0, <2 x half> %1, float %2, i1 {})"
LANGUAGE_CHANGES = (
    (r"@llvm\.amdgcn\.s\.memrealtime\b", "@llvm.readsteadycounter"),
    (r' "target-features"="\+s-memrealtime"', ""),
    (rf"((?:define internal|tail call) fastcc float @\d+\({DOT})\)", r"\1, i1 noundef %3)"),
    (
        rf"  %4 = {re.escape(DOT_CALL.format('true'))}\n  ret float %4\n",
        f"  %5 = {DOT_CALL.format('true')}\n"
        f"  %6 = {DOT_CALL.format('false')}\n"
        "  %7 = select i1 %3, float %5, float %6\n"
        "  ret float %7\n",
    ),
)


def compiler() -> str:
    """The clang that makes a folder: that of ``CLANG``, or the oldest that can. Newer ones read what it has made.

    Raises FileNotFoundError where there is none.
    """
    if named := os.environ.get("CLANG"):
        return named
    names = [f"clang-{version}" for version in range(OLDEST, NEWEST + 1)]
    for name in names:
        if (path := shutil.which(name)) is not None:
            return path
    raise FileNotFoundError(f"there is no clang from {OLDEST} to {NEWEST}: {_ADVICE_ON_CLANG}")


def folder_in_cache(clang: str) -> Path:
    """Where a compiler's folder is kept: one for each release of HIP and of this package. It need not be there yet."""
    files = [Path(__file__), *sorted(_PARTS.rglob("*")), HEADERS / "hip_version.h"]
    parts = [str(path).encode() for path in (clang, library("wave_hip_emulator"), *bitcode_folders())]
    parts += [path.read_bytes() for path in files if path.is_file()]
    return cache_folder().absolute() / "hip_toolchain" / hashlib.sha256(b"\0".join(parts)).hexdigest()[:16]


def kept(clang: str) -> Path:
    """The folder in the cache, which is made where it is missing. Raises what make() raises."""
    folder = folder_in_cache(clang)
    if not folder.is_dir():
        with new_folder_for(folder) as made:
            make(made, clang)
            keep(made, folder)
    return folder


def make(folder: Path, clang: str, sources: tuple[Path, Path] | None = None) -> None:
    """Fill a folder; links that are there already stay.

    The headers are the distribution's, or those of two checkouts, of ROCm/HIP and of ROCm/clr.

    Raises:
        FileNotFoundError: a part is not installed.
        ValueError: the compiler is too old, or does not know what a part is written in.
    """
    clangs_version, clangs_folder = _ask(clang)
    bitcode = device_libraries(clangs_version)
    if not sources and not (HEADERS / "hip_runtime.h").is_file():
        raise FileNotFoundError(f"{HEADERS} is missing: apt-get install libamdhip64-dev")
    libraries = folder / "amdgcn" / "bitcode"
    libraries.mkdir(parents=True, exist_ok=True)
    include = folder / "include"
    if sources:
        _link_newer_headers(include / "hip", *sources)
    else:
        include.mkdir(exist_ok=True)
        _link(include / "hip", HEADERS)
    shutil.copy(_PARTS / "wave_hip.h", include)
    made = {f"oclc_isa_version_{name.removeprefix('gfx')}.bc": number for name, number in ISA_VERSIONS.items()}
    for path in bitcode.glob("*.bc"):
        if path.name not in (*made, ABI_FILE, LANGUAGE):
            _link(libraries / path.name, path)
    release = release_of(folder)
    _write(folder / "share" / "hip" / "version", "".join(f"HIP_VERSION_{part}={n}\n" for part, n in release.items()))
    for name, number in made.items():
        compile_for_gpus(clang, (_PARTS / "processor.cl").read_text(), libraries / name, f"-DISA_VERSION={number}")
    compile_for_gpus(clang, ABI, libraries / ABI_FILE)
    _change(clang, bitcode / LANGUAGE, LANGUAGE_CHANGES, libraries / LANGUAGE)
    _link_libraries(folder)
    version = ".".join(release.values())
    _write(folder / ".info" / "version", f"{version}\n")
    for part in (*(_PARTS / "bin").iterdir(), *(_PARTS / "llvm" / "bin").iterdir()):
        name = str(part.relative_to(_PARTS))
        write_program(folder, name, f"COMPILER={shlex.quote(clang)} RELEASE={version}\n")
    _link_tools(folder / "llvm" / "bin", clangs_folder)
    _write_cmake_packages(folder, version)


def _ask(clang: str) -> tuple[int, Path]:
    """A compiler's version, and where it is installed: what is called may be a wrapper, such as ccache's.

    Raises FileNotFoundError where there is none, ValueError where it is too old.
    """
    if shutil.which(clang) is None:
        raise FileNotFoundError(f"there is no program {clang}: {_ADVICE_ON_CLANG}")
    printed = subprocess.run([clang, "--version"], capture_output=True, text=True).stdout
    version = re.search(r"clang version ((\d+)\S*)", printed)
    folder = re.search(r"^InstalledDir: (.+)", printed, re.MULTILINE)
    if version is None or folder is None:
        raise ValueError(f"{clang} does not say that it is clang: {_ADVICE_ON_CLANG}")
    if int(version[2]) < OLDEST:
        raise ValueError(f"{clang} is of version {version[1]}, and {OLDEST} is the oldest: {_ADVICE_ON_CLANG}")
    return int(version[2]), Path(folder[1])


def bitcode_folders() -> list[Path]:
    """All device libraries of the distribution's."""
    return [path for pattern in BITCODE for path in sorted(Path("/").glob(pattern[1:]))]


def device_libraries(version: int) -> Path:
    """Those of a clang that is no newer than this one, which can read them. Raises FileNotFoundError."""

    def release(path: Path) -> int:
        found = re.search(r"/llvm-(\d+)/", str(path))
        return int(found[1]) if found else 0

    folders = [path for path in bitcode_folders() if release(path) <= version]
    if not folders:
        raise FileNotFoundError(
            f"there are no device libraries for clang {version} ({' and '.join(BITCODE)}): apt-get install "
            "rocm-device-libs, which in Debian 13 is rocm-device-libs-17"
        )
    return max(folders, key=release)


def _link(path: Path, target: Path) -> None:
    if not path.is_symlink():
        path.symlink_to(target)


def _write(path: Path, text: str) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.unlink(missing_ok=True)  # a link of an earlier version
    path.write_text(text)


def write_program(folder: Path, name: str, given: str = "") -> None:
    """hipcc or another that is asked for in ROCm, by its path there, behind lines that are given to it."""
    path = folder / name
    _write(path, f"#!/bin/sh\n{given}{(_PARTS / name).read_text()}")
    path.chmod(0o755)


def _link_tools(folder: Path, clangs: Path) -> None:
    """Of LLVM, where projects look for them in ROCm: the compiler's own, which lie beside it."""
    for path in (path for pattern in _TOOLS for path in clangs.glob(pattern)):
        _link(folder / path.name, path)


def _write_cmake_packages(folder: Path, release: str) -> None:
    """What CMake's language HIP asks for, and what find_package(hip) finds."""
    for name in ("hip", "hip-lang"):
        config = (_PARTS / "cmake" / f"{name}-config.cmake").read_text()
        write_cmake_package(folder / "lib" / "cmake" / name, name, config, release)


def write_cmake_package(folder: Path, name: str, config: str, release: str) -> None:
    """What find_package() reads of a package, and by which it finds that the package is new enough."""
    _write(folder / f"{name}-config.cmake", config)
    _write(folder / f"{name}-config-version.cmake", _VERSION_OF_PACKAGE.format(release=release))


def _link_newer_headers(folder: Path, hip: Path, clr: Path) -> None:
    """Of ROCm 6 or later: ROCm's build joins the two repositories so, and writes the version beside them."""
    details = clr / "hipamd" / "include" / "hip" / "amd_detail"
    headers = [*(hip / "include" / "hip").glob("*.h"), details]
    if len(headers) == 1 or not details.is_dir():
        raise FileNotFoundError(f"{hip} and {clr} are no checkouts of ROCm/HIP and ROCm/clr")
    folder.mkdir(parents=True, exist_ok=True)
    for path in headers:
        _link(folder / path.name, path.absolute())
    parts = dict(
        re.findall(r"^#(HIP_VERSION_(?:MAJOR|MINOR|PATCH))\n(\d+)$", (hip / "VERSION").read_text(), re.MULTILINE)
    )
    number = "(HIP_VERSION_MAJOR * 10000000 + HIP_VERSION_MINOR * 100000 + HIP_VERSION_PATCH)"
    lines = [*(f"#define {name} {value}" for name, value in parts.items()), f"#define HIP_VERSION {number}"]
    (folder / "hip_version.h").write_text("#pragma once\n" + "".join(f"{line}\n" for line in lines))


def _link_libraries(folder: Path) -> None:
    """Programs linked with -lamdhip64 ask for the library by its release's name, as they do where AMD's is linked.

    By that name it knows which numbers the headers give to kinds of memory and of nodes. What stands under the names
    without a release are scripts for linkers, since no link can tell them another name. hipRTC's is the same library,
    which a program that asks for both loads once, under the name that it asks for first.
    """
    scripts = [folder / "lib" / f"lib{name}.so" for name in ("amdhip64", "hiprtc")]
    for script in scripts:
        script.unlink(missing_ok=True)
    _hip.link(folder / "lib")
    for script in scripts:
        script.unlink()
        script.write_text(f"INPUT(-l:{script.name}.{library_release(folder)})\n")


def release_of(folder: Path) -> dict[str, str]:
    """The numbers of HIP's release: MAJOR, MINOR and PATCH."""
    header = folder / "include" / "hip" / "hip_version.h"
    return dict(re.findall(r"#define HIP_VERSION_(MAJOR|MINOR|PATCH) (\d+)", header.read_text()))


def library_release(folder: Path) -> str:
    """What the HIP library's name ends in for programs with these headers (csrc/hip_emulator/release.h)."""
    release = release_of(folder)
    return "5.7" if (release["MAJOR"], release["MINOR"]) == ("5", "7") else release["MAJOR"]


def compile_for_gpus(clang: str, source: str, path: Path, *options: str) -> None:
    """For any version of the code object, which each program chooses."""
    language = ["-x", "cl", "-cl-std=CL2.0", *_FOR_ANY_GPU, "-Xclang", "-mcode-object-version=none", *options]
    path.unlink(missing_ok=True)  # a link of an earlier version
    _run([clang, *language, "-emit-llvm", "-c", "-", "-o", str(path)], source)


def _change(clang: str, given: Path, changes: tuple[tuple[str, str], ...], path: Path) -> None:
    """Bitcode with changes of its text, each of which finds something to change."""
    options = ["-x", "ir", *_FOR_ANY_GPU, "-Xclang", "-disable-llvm-passes", "-emit-llvm"]
    text = _run([clang, *options, "-S", str(given), "-o", "-"])
    for old, new in changes:
        text, count = re.subn(old, new, text)
        if count == 0:
            raise ValueError(f"{given} has no {old}: it is neither of ROCm 5.2 nor of 6.0, which are known")
    path.unlink(missing_ok=True)
    _run([clang, *options, "-c", "-", "-o", str(path)], text)


def _run(command: list[str], given: str | None = None) -> str:
    """What a compiler prints. Raises ValueError where it fails."""
    done = subprocess.run(command, input=given, capture_output=True, text=True)
    if done.returncode != 0:
        raise ValueError(f"{shlex.join(command)} failed:\n{done.stderr}")
    return done.stdout
