"""Headers of HIP for an extension with kernels: what it and torch's ask for, and a folder of HIP's does not have."""

from __future__ import annotations

import shutil
from pathlib import Path

from wave_runtime._emulate import _torch_headers

_OURS = Path(__file__).with_name("torch_hip")
# Of a pair of halves the parts are halves, as in ROCm 6 and in CUDA.
_CHANGES_FOR_ROCM_5 = {
    "hip/amd_detail/amd_hip_fp16.h": [
        (r'#include "(\w+\.h)"', r"#include <hip/amd_detail/\1>", 4),
        (r"(struct __half2 \{.*?)unsigned short x;(\s*)unsigned short y;", r"\1__half x;\2__half y;", 1),
    ],
}


def complete(include: Path, rocm: Path) -> None:
    """Put into the one folder, in which compilers look first, what the other does not have."""
    stand_ins = _OURS / "stand_ins"
    for path in stand_ins.rglob("*.h"):
        name = path.relative_to(stand_ins)
        if not (rocm / name).is_file():
            (include / name).parent.mkdir(parents=True, exist_ok=True)
            shutil.copy(path, include / name)
    version = rocm / "hip" / "hip_version.h"
    if version.is_file() and "#define HIP_VERSION_MAJOR 5\n" in version.read_text():
        shutil.copytree(_OURS / "for_rocm_5", include, dirs_exist_ok=True)
        _torch_headers.change(include, rocm, _CHANGES_FOR_ROCM_5, f"the HIP of {rocm}")
