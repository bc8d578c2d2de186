"""Addresses that the loader puts into a module."""

from __future__ import annotations

from pathlib import Path

import pytest
import torch
from requirements import need

import wave_runtime


def test_a_weak_symbol_that_nobody_defines_is_null(tmp_path: Path) -> None:
    need("clang")
    source = tmp_path / "weak.hip"
    source.write_text(
        "#include <hip/hip_runtime.h>\n"
        'extern "C" __attribute__((weak, visibility("default"))) __device__ int nowhere;\n'
        "__device__ int here = 5;\n"
        'extern "C" __global__ void ask(long* out) {\n'
        "  out[0] = reinterpret_cast<long>(&nowhere); out[1] = here; out[2] = &nowhere == nullptr;\n"
        "}\n"
    )
    out = torch.full((3,), -1)
    module = wave_runtime.compile(source, target="gfx942")
    module["ask"](out, grid=1, block=1)
    assert out.tolist() == [0, 5, 1]
    with pytest.raises(ValueError, match="no variable 'nowhere' in the module"):
        module.symbol("nowhere", device="cpu")
