"""The headers that each source in HIP C++ begins with, as clang has read them: to read them again is half of a build.

They are kept beside what was compiled, by the compiler and its options, with the files that they were made of; nobody
reads what is damaged, or what others may have written.
"""

from __future__ import annotations

import hashlib
import json
import os
import re
import tempfile
from pathlib import Path

from wave_runtime._cache import Cache, Kept
from wave_runtime._compile._unit import CompileError, Program, Unit, environment, included, run

# Options that many sources share. What others make of the headers, macros above all, is rarely asked for twice.
_SHARED = re.compile(r"-O[0-3]|-std=c\+\+\d\d|-W[a-z][a-z+=-]*|-mwavefrontsize64")
_refused: set[str] = set()  # requests that the compiler has failed


def precompiled(unit: Unit, store: Cache | None, program: Program, command: list[str]) -> Kept[bytes] | None:
    """The headers that a command names, as the same compiler takes them with -include-pch.

    None where they are not kept: for macros, folders and options that few sources share, or if the compiler fails.
    """
    if store is None or not store.usable or unit.verbose or unit.defines or unit.include_dirs:
        return None
    if not all(map(_SHARED.fullmatch, unit.options)):
        return None
    request = _request(program, command)
    if request in _refused:
        return None

    def build() -> tuple[bytes, list[str]]:
        with tempfile.TemporaryDirectory() as name:
            file, rule = Path(name, "headers.pch"), Path(name, "headers.d")
            # clang would refuse it once a header is touched. The cache compares the headers' contents.
            make = ["-c", "-emit-llvm", "-Xclang", "-emit-pch", "-Xclang", "-fno-pch-timestamp", *rule_in(rule)]
            run(unit, [[*command, *make, "-", "-o", file]], Path(name))
            return file.read_bytes(), included(rule, Path(os.devnull))

    try:
        return store.get(request, build, bytes)
    except CompileError:
        _refused.add(request)
        return None


def refuse(program: Program, command: list[str]) -> None:
    """Take those headers no more in this process: a source compiles without them, and with them does not."""
    _refused.add(_request(program, command))


def _request(program: Program, command: list[str]) -> str:
    return hashlib.sha256(json.dumps(["headers", program.identity, environment(), *command]).encode()).hexdigest()


def rule_in(file: Path) -> list[str]:
    """What -MD -MF FILE stands for, which the driver of clang 22 does not pass on for HIP."""
    words = ["-sys-header-deps", "-dependency-file", str(file), "-MT", "image"]
    return [part for word in words for part in ("-Xclang", word)]
