"""MLIR for AMD GPUs, as Wave's compiler makes it: by IREE's compiler, where iree-base-compiler is installed."""

from __future__ import annotations

import importlib.util
import os
import shutil
from pathlib import Path

from wave_runtime._compile._unit import Compiled, CompileError, Program, Unit, run


def find() -> Program:
    """iree-compile: ``IREE_COMPILE``, that of iree-base-compiler, or on PATH.

    Raises:
        CompileError: there is none, or none where the variable says.
    """
    if named := Program.named_by("IREE_COMPILE"):
        return named
    path = _of_package() or shutil.which("iree-compile")
    if path is None:
        raise CompileError(
            "no compiler for MLIR; looked for iree-compile (IREE_COMPILE, the package iree-base-compiler, PATH): "
            "pip install iree-base-compiler"
        )
    return Program.at(path)


def _of_package() -> str | None:
    try:
        spec = importlib.util.find_spec("iree.compiler")
    except ModuleNotFoundError:
        return None
    for folder in (spec and spec.submodule_search_locations) or ():
        path = os.path.join(folder, "_mlir_libs", "iree-compile")
        if os.path.isfile(path):
            return path
    return None


def compile_unit(unit: Unit, program: Program, folder: Path) -> Compiled:
    """The code object of a program's only executable. Raises CompileError."""
    unit.refuse_others("one is mlir; HIP C++ and LLVM IR are")
    if unit.defines or unit.include_dirs:
        raise CompileError(f"{unit.name}: MLIR has neither macros nor includes: leave out defines= and include_dirs=")
    binaries = folder / "binaries"
    binaries.mkdir()
    options = [
        "--iree-hal-target-device=hip",
        f"--iree-hip-target={unit.target}",
        f"--iree-hal-dump-executable-binaries-to={binaries}",
    ]
    source = unit.in_folder(folder, ".mlir")
    run(unit, [[program.path, source, *options, *unit.options, "-o", folder / "program"]], folder)
    found = sorted(binaries.glob("*.hsaco"))
    if len(found) != 1:
        names = ", ".join(path.stem for path in found) or "none"
        raise CompileError(
            f"{unit.name}: expected an MLIR program with one executable, as Wave's compiler makes, given {len(found)}: "
            f"{names}. What IREE makes of other programs needs IREE's runtime"
        )
    return Compiled(found[0].read_bytes())
