"""Triton kernels that print and assert, for triton_print.hsaco and triton_assert.hsaco: the text comes by way of ROCm's
device libraries, which Triton links in. Made by `python triton_printing.py FOLDER` with Triton 3.9.0 from PyPI, which
needs no GPU for that; the path of this file is part of what they print.
"""

from __future__ import annotations

import sys
from pathlib import Path

import triton
import triton.language as tl
from triton.backends.compiler import GPUTarget
from triton.compiler import ASTSource


@triton.jit
def print_kernel(x, n, BLOCK: tl.constexpr):
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    value = tl.load(x + at, mask=at < n, other=0.0)
    tl.device_print("value", value)
    tl.device_print("program", tl.program_id(0), hex=True)


@triton.jit
def assert_kernel(x, n, BLOCK: tl.constexpr):
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    value = tl.load(x + at, mask=at < n, other=0.0)
    tl.device_assert(value < 100.0, "value is too large")
    tl.store(x + at, value + 1, mask=at < n)


def main() -> None:
    """Compile both for gfx942."""
    for kernel in (print_kernel, assert_kernel):
        source = ASTSource(
            fn=kernel, signature={"x": "*fp32", "n": "i32", "BLOCK": "constexpr"}, constexprs={"BLOCK": 64}
        )
        options = {"num_warps": 1, "debug": True}
        compiled = triton.compile(source, target=GPUTarget("hip", "gfx942", 64), options=options)
        name = f"triton_{kernel.fn.__name__.removesuffix('_kernel')}.hsaco"
        (Path(sys.argv[1]) / name).write_bytes(compiled.asm["hsaco"])


if __name__ == "__main__":
    main()
