"""HIP C++ by hipRTC, which a torch built for ROCm brings along: for where there is no clang."""

from __future__ import annotations

import functools
import os
from pathlib import Path

import torch

from wave_runtime._compile._names import of_image
from wave_runtime._compile._rtc import Rtc, files_in, open_first
from wave_runtime._compile._unit import Compiled, Program, Unit
from wave_runtime._device import has_gpu, target_of

# What hipRTC has in itself, and sources include by habit.
_HEADERS = dict.fromkeys(("hip/hip_runtime.h", "hip/hip_fp16.h", "hip/hip_bf16.h", "hip/hip_fp8.h"), "\n")


def _names() -> list[str]:
    """What to open: ``WAVE_RUNTIME_LIBHIPRTC``, torch's own, ROCm's, the system's; before ROCm 6 it is part of HIP."""
    if named := os.environ.get("WAVE_RUNTIME_LIBHIPRTC"):
        return [named]
    folders = [Path(torch.__file__).parent / "lib", Path(os.environ.get("ROCM_PATH", "/opt/rocm")) / "lib"]
    sonames = [f"lib{name}.so{end}" for name in ("hiprtc", "amdhip64") for end in ("", ".7", ".6", ".5")]
    return [*files_in(folders, "libhiprtc.so*"), *files_in(folders, "libamdhip64.so*"), *sonames]


@functools.cache
def _library() -> Rtc | None:
    return open_first(_names(), "hiprtc", "Code")


def find(target: str) -> Program | None:
    """The library, for the target of the current GPU only: releases crash over processors that they do not know."""
    is_here = torch.version.hip is not None and has_gpu()
    if not is_here or target != target_of(torch.cuda.current_device()):
        return None
    library = _library()
    return None if library is None else library.program()


def compile_unit(unit: Unit, program: Program, folder: Path) -> Compiled:
    """Compile for an AMD GPU. The types are those that the kernels' symbols tell. Raises CompileError."""
    unit.refuse_others("clang does, hipRTC does not")
    library = _library()
    assert library is not None
    data = library.compile(unit, [f"--offload-arch={unit.target}", "-std=c++17", "-O3"], _HEADERS)
    return Compiled(data, *of_image(data))
