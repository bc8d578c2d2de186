"""Makes the code objects in this folder: a kernel as Triton 3.9 compiles it, whose LLVM writes the new form of triples.

    pip install triton==3.9.0
    python tests/code_object/made_by_triton/make.py

Needs no GPU. The outputs are committed, so that tests need no Triton.
"""

from __future__ import annotations

import os
import tempfile
from pathlib import Path

os.environ["TRITON_DISABLE_LINE_INFO"] = "1"  # the folder's path would be in it

import triton
import triton.language as tl
from triton.backends.compiler import GPUTarget
from triton.compiler import ASTSource

FOLDER = Path(__file__).resolve().parent
LANES = {"gfx90a": 64, "gfx942": 64, "gfx950": 64, "gfx1100": 32, "gfx1201": 32, "gfx1250": 32}
TYPES = {"a": "*fp32", "b": "*fp32", "out": "*fp32", "factor": "fp32", "n": "i32"}


@triton.jit
def scale_add(a, b, out, factor, n, BLOCK: tl.constexpr):
    i = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    inside = i < n
    tl.store(out + i, factor * tl.load(a + i, mask=inside) + tl.load(b + i, mask=inside), mask=inside)


def main() -> None:
    with tempfile.TemporaryDirectory() as cache:
        os.environ["TRITON_CACHE_DIR"] = cache
        for processor, lanes in LANES.items():
            source = ASTSource(scale_add, TYPES, {"BLOCK": 256})
            compiled = triton.compile(source, target=GPUTarget("hip", processor, lanes), options={"num_warps": 4})
            (FOLDER / f"{processor}.hsaco").write_bytes(compiled.asm["hsaco"])


if __name__ == "__main__":
    main()
