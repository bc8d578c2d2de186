"""CUDA sources as cubins, by a compiler that a test names or the one that compile() takes."""

from __future__ import annotations

import functools
import tempfile
from pathlib import Path
from typing import Literal

from requirements import need

import wave_runtime
from wave_runtime._compile import _cuda
from wave_runtime._compile._unit import Program, Unit

Compiler = Literal["nvcc", "nvrtc"]


def program(compiler: Compiler) -> Program:
    """nvcc or NVRTC; skips the test where it is not installed."""
    found: Program = need(compiler)
    return found


def compile_by(compiler: Compiler, source: Path, target: str) -> bytes:
    """The cubin of a source."""
    unit = Unit(source.read_bytes(), str(source), "cuda", target, (), (), ())
    with tempfile.TemporaryDirectory() as folder:
        return _cuda.compile_unit(unit, program(compiler), Path(folder)).image


@functools.cache
def compile_cuda(source: Path, target: str) -> bytes:
    """The same by the compiler that there is."""
    return wave_runtime.compile(source, target=target).images[target]
