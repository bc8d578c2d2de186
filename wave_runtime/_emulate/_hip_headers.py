"""Headers of HIP for an extension with kernels: what it and torch's ask for, and a folder of HIP's does not have."""

from __future__ import annotations

import re
import shutil
from pathlib import Path

import wave_emulator
from wave_runtime._emulate import _torch_headers

_OURS = Path(__file__).with_name("torch_hip")
_CONSTANTS = Path("hip", "hip_math_constants.h")  # HIP 5.2 has none, and the one for compile() needs no other header
_TYPES = "R_8I=3 C_8I=7 R_8U=8 C_8U=9 R_32I=10 C_32I=11 R_32U=12 C_32U=13 R_16BF=14 C_16BF=15 R_16I=20 C_16I=21"
_TYPES += " R_16U=22 C_16U=23 R_64I=24 C_64I=25 R_64U=26 C_64U=27"
_MORE_TYPES = "".join(f", HIP_{each}" for each in _TYPES.split())
_MORE = (r"HIP_C_64F = 5\n", f"HIP_C_64F = 5{_MORE_TYPES}\n", 1)
_HALVES = (r"(struct __half2 \{.*?)unsigned short x;(\s*)unsigned short y;", r"\1__half x;\2__half y;", 1)
_RECIPROCALS = (r"(__builtin_amdgcn_rcph)\(x\.([xy])\)", r"\1(x.data.\2)", 2)
# The parts of threadIdx and its like are numbers, and not objects that turn into them, which have no operators.
_PARTS = [
    (
        r"static constexpr __([XYZ]) ([xyz])\{\};",
        r"__declspec(property(get = __get_\2)) R \2; __device__ R __get_\2() const noexcept { return __\1{}; }",
        3,
    ),
    (r"template <typename F>\n(?:[#_][^\n]*\n){3}constexpr typename __HIP_Coordinates<F>[^\n]*\n", "", 3),
    (r"return dim3\(x, y, z\);", "return dim3(__X{}, __Y{}, __Z{});", 1),
]
# What GCC makes of the parts of a vector, too: numbers, and not objects that turn into them.
_NUMBERS = (
    r"#if __HIP_CLANG_ONLY__\n(\s+struct \{[^}]*\};\n)#else\n(?:\s+hip_impl::Scalar_accessor<[^\n]*\n)+#endif\n",
    r"\1",
    3,
)
# Of tiles in cooperative groups, what the headers in for_rocm_5 have.
_VOTES = (
    r"(\(__shfl_xor\(var, laneMask, numThreads\)\);\n  \}\n)\};",
    r"\1\n#include <hip/wave_tile_votes.h>\n};",
    1,
)
_PLACE = (r"(  using tbtBase::thread_rank;\n)\};", r"\1\n#include <hip/wave_tile_place.h>\n};", 1)


def _beside(count: int) -> tuple[str, str, int]:
    """The headers beside one, so that a copy of it finds them."""
    return (r'#include "(\w+\.h)"', r"#include <hip/amd_detail/\1>", count)


# By the release of ROCm 5. As in ROCm 6 and in CUDA there are types of data for libraries, and the parts of a pair of
# halves are halves.
_CHANGES = {
    "2": {
        "hip/library_types.h": [_MORE],
        "hip/amd_detail/amd_hip_fp16.h": [_beside(4), _HALVES],
        "hip/amd_detail/amd_hip_cooperative_groups.h": [_VOTES, _PLACE],
        "hip/amd_detail/amd_hip_runtime.h": _PARTS,
        "hip/amd_detail/amd_hip_vector_types.h": [_NUMBERS],
    },
    "7": {
        "hip/amd_detail/amd_hip_fp16.h": [_beside(6), _HALVES, _RECIPROCALS],
        "hip/amd_detail/amd_hip_cooperative_groups.h": [_VOTES],
        "hip/amd_detail/amd_hip_runtime.h": _PARTS,
    },
}


def complete(include: Path, rocm: Path) -> None:
    """Put into the one folder, in which compilers look first, what the other does not have."""
    stand_ins = _OURS / "stand_ins"
    sources = {path.relative_to(stand_ins): path for path in stand_ins.rglob("*.h")}
    sources[_CONSTANTS] = Path(wave_emulator.__file__).parent / "device" / _CONSTANTS
    for name, path in sources.items():
        if not (rocm / name).is_file():
            (include / name).parent.mkdir(parents=True, exist_ok=True)
            shutil.copy(path, include / name)
    header = rocm / "hip" / "hip_version.h"
    text = header.read_text() if header.is_file() else ""
    release = dict(re.findall(r"#define HIP_VERSION_(MAJOR|MINOR) (\d+)", text))
    if release.get("MAJOR") == "5":
        shutil.copytree(_OURS / "for_rocm_5", include, dirs_exist_ok=True)
        changes = _CHANGES["2" if release["MINOR"] == "2" else "7"]
        _torch_headers.change(include, rocm, changes, f"the HIP of {rocm}")
