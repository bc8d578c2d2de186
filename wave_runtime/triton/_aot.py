"""Kernels that Triton has compiled ahead of time."""

from __future__ import annotations

import json
import os
from collections.abc import Mapping
from pathlib import Path
from types import SimpleNamespace
from typing import Any

from triton.backends.driver import expand_signature

from wave_runtime import _C
from wave_runtime.triton._driver import MAKES_POINTERS, _expanded_names
from wave_runtime.triton._program import Program, check_count


class TritonKernel:
    """A compiled Triton kernel, called with what it takes at run time. Made by :func:`load`.

    Attributes:
        kernel: the same as a kernel of this package. It takes two more arguments, pointers to scratch memory.
        parameters: the names of the parameters that a call takes.
    """

    def __init__(self, program: Program) -> None:
        self._program = program
        self.kernel: _C.Kernel = program.kernel
        self.parameters = program.names

    def __call__(self, *args: Any, grid: tuple[int, ...]) -> None:
        """Launch on CPU tensors.

        Args:
            args: tensors (or None, or addresses) for pointers, and numbers.
            grid: programs, in one to three dimensions.

        Raises:
            TypeError: there are not as many as parameters, or one does not fit its type.
            KernelFault: the kernel did what it must not.
        """
        check_count(self.kernel, self.parameters, args)
        x, y, z = (*grid, 1, 1)[:3]
        self._program.launch((x, y, z), 0, list(args))

    def __repr__(self) -> str:
        return f"<wave_runtime.triton.TritonKernel {self.kernel.name}({', '.join(self.parameters)})>"


def load(compiled: Any, *, signature: Mapping[str, str] | None = None) -> TritonKernel:
    """Load a kernel that Triton has compiled, to launch it on CPU tensors.

        signature = {"x": "*fp32", "y": "*fp32", "n": "i32", "BLOCK": "constexpr"}
        source = triton.compiler.ASTSource(add, signature, {"BLOCK": 64})
        kernel = wave_runtime.triton.load(triton.compile(source, target=GPUTarget("hip", "gfx942", 64)))
        kernel(x, y, 100, grid=(2,))

    Args:
        compiled: what ``triton.compile`` returned, or the path of a ``.hsaco`` in Triton's cache, beside which there is
            a ``.json`` of the same name.
        signature: Triton's types by the names of the parameters. A file does not have them.

    Raises:
        OSError: a file cannot be read.
        ValueError: the signature is missing, or does not fit the binary.
    """
    if isinstance(compiled, (str, os.PathLike)):
        path = Path(compiled)
        image, metadata = path.read_bytes(), _read_metadata(path.with_suffix(".json"))
        if signature is None:
            raise ValueError(
                f'{path}: Triton\'s metadata do not tell the parameters\' types: pass signature={{"x": "*fp32", ...}}'
            )
        ir = path.with_suffix(".ttir")
        text = ir.read_text() if ir.exists() else ""
    else:
        image, metadata, text = compiled.asm["hsaco"], compiled.metadata, str(compiled.asm.get("ttir", ""))
        signature = signature or compiled.src.signature
    names = _expanded_names([str(name) for name in signature], list(signature.values()))
    expanded = expand_signature(signature.values(), None, "tensordesc")
    return TritonKernel(Program(image, metadata, expanded, names, bool(MAKES_POINTERS.search(text))))


def _read_metadata(path: Path) -> SimpleNamespace:
    metadata = json.loads(path.read_text())
    metadata["target"] = SimpleNamespace(**metadata["target"])
    return SimpleNamespace(**metadata)
