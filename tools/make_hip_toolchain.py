"""Makes a folder with which clang compiles HIP programs on a machine without ROCm.

It has the places where clang looks for ROCm's headers and device libraries: links to Debian's (libamdhip64-dev and
rocm-device-libs, both of ROCm 5.2), what these lack for newer processors and compilers, and the HIP library over the
emulator. Newer headers come from checkouts of ROCm/HIP and ROCm/clr. docs/hip_emulator.md says how to compile with it.
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
ISA_VERSIONS = {
    "gfx90a": 9010,
    "gfx942": 9402,
    "gfx950": 9500,
    "gfx1030": 10300,
    "gfx1100": 11000,
    "gfx1101": 11001,
    "gfx1102": 11002,
    "gfx1150": 11500,
    "gfx1151": 11501,
    "gfx1200": 12000,
    "gfx1201": 12001,
    "gfx9-generic": 9000,
    "gfx9-4-generic": 9400,
    "gfx10-3-generic": 10300,
    "gfx11-generic": 11003,
    "gfx12-generic": 12000,
}
# The file that has it has functions, too, that newer headers and compilers than ROCm 5.2's call: for wall_clock64(),
# for printf by a buffer, which begins with the bytes in use and their limit, and for conversions that round to zero,
# down and up: of FP16, and those behind __int2float_rz() and its like.
# The other way round, atomicInc() and atomicDec() of the old headers are intrinsics that newer compilers have no more,
# and __syncthreads() and __threadfence() call what is in hip.bc, which clang links no more from version 22 on.
PER_PROCESSOR = """#pragma OPENCL EXTENSION cl_khr_fp16 : enable
const __constant int __oclc_ISA_version = {version};
extern const __constant int __oclc_ABI_version;

ulong __ockl_steadyctr_u64(void) {{ return __builtin_readsteadycounter(); }}

__global char* __printf_alloc(uint bytes) {{
  __constant ulong* hidden = (__constant ulong*)__builtin_amdgcn_implicitarg_ptr();
  __global uint* head = (__global uint*)hidden[__oclc_ABI_version < 500 ? 3 : 9];
  for (uint used = head[0], found;; used = found) {{
    if (used + bytes > head[1] - 8) return 0;
    found = __sync_val_compare_and_swap(head, used, used + bytes);
    if (found == used) return (__global char*)head + 8 + used;
  }}
}}

half __ocml_cvtrtz_f16_f32(float x) {{ return __builtin_amdgcn_cvt_pkrtz(x, 0)[0]; }}

half __ocml_cvtrtn_f16_f32(float x) {{
  half nearest = (half)x;
  ushort bits = __builtin_bit_cast(ushort, nearest);
  if (!((float)nearest > x)) return nearest;
  if ((bits & 0x7fff) == 0) return __builtin_bit_cast(half, (ushort)0x8001);
  return __builtin_bit_cast(half, (ushort)(bits & 0x8000 ? bits + 1 : bits - 1));
}}

half __ocml_cvtrtp_f16_f32(float x) {{ return -__ocml_cvtrtn_f16_f32(-x); }}

#define BELOW(TO, BITS, SIGN)                                           \\
  static TO below_##TO(TO x) {{                                          \\
    BITS bits = __builtin_bit_cast(BITS, x);                            \\
    if ((bits & ~(SIGN)) == 0) return __builtin_bit_cast(TO, (SIGN) | 1); \\
    return __builtin_bit_cast(TO, bits & (SIGN) ? bits + 1 : bits - 1); \\
  }}
BELOW(float, uint, 0x80000000u)
BELOW(double, ulong, 0x8000000000000000ul)

// The nearest is exact in EXACT, unless it is END, which is beyond all x.
#define ROUNDED(TO, FROM, NAMES, EXACT, END)                                                                   \\
  TO __ocml_cvtrtn_##NAMES(FROM x) {{                                                                           \\
    TO nearest = (TO)x;                                                                                        \\
    return nearest >= END || (EXACT)nearest > (EXACT)x ? below_##TO(nearest) : nearest;                        \\
  }}                                                                                                            \\
  TO __ocml_cvtrtp_##NAMES(FROM x) {{                                                                           \\
    TO nearest = (TO)x;                                                                                        \\
    return nearest < END && (EXACT)nearest < (EXACT)x ? -below_##TO(-nearest) : nearest;                       \\
  }}                                                                                                            \\
  TO __ocml_cvtrtz_##NAMES(FROM x) {{ return x < 0 ? __ocml_cvtrtp_##NAMES(x) : __ocml_cvtrtn_##NAMES(x); }}
ROUNDED(float, int, f32_s32, long, 0x1p63f)
ROUNDED(float, uint, f32_u32, long, 0x1p63f)
ROUNDED(float, long, f32_s64, long, 0x1p63f)
ROUNDED(float, ulong, f32_u64, ulong, 0x1p64f)
ROUNDED(double, long, f64_s64, long, 0x1p63)
ROUNDED(double, ulong, f64_u64, ulong, 0x1p64)

float __ocml_cvtrtn_f32_f64(double x) {{
  float nearest = (float)x;
  return (double)nearest > x ? below_float(nearest) : nearest;
}}

float __ocml_cvtrtp_f32_f64(double x) {{ return -__ocml_cvtrtn_f32_f64(-x); }}
float __ocml_cvtrtz_f32_f64(double x) {{ return x < 0 ? __ocml_cvtrtp_f32_f64(x) : __ocml_cvtrtn_f32_f64(x); }}

#define ATOMIC(name)                                                                                 \\
  uint __wave_atomic_##name(uint* address, uint last, uint order, uint scope, bool is_volatile) {{    \\
    return __builtin_amdgcn_atomic_##name##32(address, last, __ATOMIC_RELAXED, "agent");             \\
  }}                                                                                                  \\
  uint name(uint* address, uint last, uint order, uint scope, bool is_volatile)                      \\
      __asm("llvm.amdgcn.atomic." #name ".i32.p0i32") __attribute__((alias("__wave_atomic_" #name)));
ATOMIC(inc)
ATOMIC(dec)

#define FENCE(order, scope) \\
  case order: __builtin_amdgcn_fence(order, scope); return;
#define FENCES(number, scope)                                              \\
  case number:                                                             \\
    switch (order) {{                                                       \\
      FENCE(__ATOMIC_ACQUIRE, scope) FENCE(__ATOMIC_RELEASE, scope)        \\
      FENCE(__ATOMIC_ACQ_REL, scope) FENCE(__ATOMIC_SEQ_CST, scope)        \\
    }}                                                                      \\
    return;
void __atomic_work_item_fence(uint flags, uint order, uint scope) {{
  switch (scope) {{
    FENCES(1, "workgroup")
    FENCES(2, "agent")
    FENCES(3, "")
    FENCES(4, "wavefront")
  }}
}}
"""
# Code objects of version 6, which clang makes from version 22 on, are to these libraries those of version 5. It leaves
# out the file that says whether denormals are zero, too.
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


def make(folder: Path, clang: str, sources: tuple[Path, Path] | None = None) -> None:
    """Fill a folder; links that are there already stay. Raises FileNotFoundError where a part is not installed.

    The headers are Debian's, or those of two checkouts, of ROCm/HIP and of ROCm/clr.
    """
    for path, package in ((HEADERS, "libamdhip64-dev"), (BITCODE, "rocm-device-libs")):
        if not path.is_dir():
            raise FileNotFoundError(f"{path} is missing: apt-get install {package}")
    if shutil.which(clang) is None:
        raise FileNotFoundError(f"there is no program {clang}: apt-get install {clang.replace('++', '')}")
    libraries = folder / "amdgcn" / "bitcode"
    libraries.mkdir(parents=True, exist_ok=True)
    if sources:
        _link_newer_headers(folder / "include" / "hip", *sources)
    else:
        (folder / "include").mkdir(exist_ok=True)
        _link(folder / "include" / "hip", HEADERS)
    made = {"oclc_abi_version_600.bc": ABI}
    for processor, version in ISA_VERSIONS.items():
        made[f"oclc_isa_version_{processor.removeprefix('gfx')}.bc"] = PER_PROCESSOR.format(version=version)
    for path in BITCODE.glob("*.bc"):
        if path.name not in (*made, LANGUAGE):
            _link(libraries / path.name, path)
    _write_version(folder / "include" / "hip" / "hip_version.h", folder / "share" / "hip" / "version")
    for name, text in made.items():
        (libraries / name).unlink(missing_ok=True)  # a link of an earlier version of this tool
        _compile(clang, text, libraries / name)
    (libraries / LANGUAGE).unlink(missing_ok=True)
    _change(clang, BITCODE / LANGUAGE, LANGUAGE_CHANGES, libraries / LANGUAGE)
    _link_libraries(folder)
    _write_compiler(folder / "llvm" / "bin" / "clang", clang, folder / "include")


def _link(path: Path, target: Path) -> None:
    if not path.is_symlink():
        path.symlink_to(target)


def _write_compiler(path: Path, clang: str, headers: Path) -> None:
    """Where hipRTC looks for ROCm's compiler, in the folder that ROCM_PATH names. What it is told comes first."""
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(f'#!/bin/sh\nexec {clang} "$@" -isystem "{headers}"\n')
    path.chmod(0o755)


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
    version = (folder / "include" / "hip" / "hip_version.h").read_text()
    (major,) = re.findall(r"#define HIP_VERSION_MAJOR (\d+)", version)
    scripts = [folder / "lib" / f"lib{name}.so" for name in ("amdhip64", "hiprtc")]
    for script in scripts:
        script.unlink(missing_ok=True)
    _hip.link(folder / "lib")
    for script in scripts:
        script.unlink()
        script.write_text(f"INPUT(-l:{script.name}.{major})\n")


def _write_version(header: Path, path: Path) -> None:
    """Where clang looks for the headers' version: without it, it leaves out what the language has beside them."""
    text = header.read_text()
    parts = dict(re.findall(r"#define HIP_VERSION_(MAJOR|MINOR|PATCH) (\d+)", text))
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text("".join(f"HIP_VERSION_{part}={number}\n" for part, number in parts.items()))


def _compile(clang: str, source: str, path: Path) -> None:
    """For any version of the code object, which each program chooses."""
    language = ["-x", "cl", "-cl-std=CL2.0", "-target", "amdgcn-amd-amdhsa", "-nogpulib"]
    options = [*language, "-Xclang", "-mcode-object-version=none"]
    command = [clang, *options, "-emit-llvm", "-c", "-", "-o", str(path)]
    subprocess.run(command, input=source, text=True, check=True)


def _change(clang: str, given: Path, changes: tuple[tuple[str, str], ...], path: Path) -> None:
    """Bitcode with changes of its text, each of which finds something to change."""
    options = ["-x", "ir", "-target", "amdgcn-amd-amdhsa", "-nogpulib", "-Xclang", "-disable-llvm-passes", "-emit-llvm"]
    read = [clang, *options, "-S", str(given), "-o", "-"]
    text = subprocess.run(read, capture_output=True, text=True, check=True).stdout
    for old, new in changes:
        text, count = re.subn(old, new, text)
        if count == 0:
            raise ValueError(f"{given} has no {old}: it is not of ROCm 5.2")
    subprocess.run([clang, *options, "-c", "-", "-o", str(path)], input=text, text=True, check=True)


def main() -> None:
    """Make the folder that the command line names."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else None)
    parser.add_argument("folder", type=Path)
    parser.add_argument("--clang", default="clang++-19", help="the compiler of the device library's constants")
    parser.add_argument("--headers", type=Path, nargs=2, metavar=("HIP", "CLR"), help="checkouts with newer headers")
    options = parser.parse_args()
    make(options.folder.absolute(), options.clang, options.headers and tuple(options.headers))


if __name__ == "__main__":
    main()
