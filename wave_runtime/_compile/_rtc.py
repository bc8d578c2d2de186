"""Compilers that are libraries: NVRTC and hipRTC, which have the same functions under different names."""

from __future__ import annotations

import ctypes
import os
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from wave_runtime._compile._unit import CompileError, Program, Unit


@dataclass(frozen=True)
class Rtc:
    """An opened library.

    Attributes:
        prefix: of its functions.
        code: what they call the result.
    """

    library: ctypes.CDLL
    prefix: str
    code: str

    def program(self) -> Program:
        """The library as a compiler."""
        major, minor = ctypes.c_int(), ctypes.c_int()
        self._function("Version")(ctypes.byref(major), ctypes.byref(minor))
        return Program(self.prefix, f"{self.library._name} {major.value}.{minor.value}")

    def compile(self, unit: Unit, options: Sequence[str], headers: Mapping[str, str] | None = None) -> bytes:
        """A unit's code.

        Headers beside the source and in the folders are found; changes of them are not noticed.

        Args:
            options: before the unit's own.
            headers: their contents by name, beside those of files.

        Raises:
            CompileError: with the compiler's messages, and the options.
        """
        program = ctypes.c_void_p()
        folders = [str(Path(unit.path).parent)] if unit.path else []
        includes = [f"-I{folder}" for folder in (*folders, *unit.include_dirs)]
        words = [*options, *unit.definitions(), *includes, *unit.options]

        def fetch(what: str) -> bytes:
            size = ctypes.c_size_t()
            call(f"Get{what}Size", program, ctypes.byref(size))
            data = ctypes.create_string_buffer(size.value)
            call(f"Get{what}", program, data)
            return data.raw

        def call(function: str, *arguments: object) -> None:
            if status := self._function(function)(*arguments):
                log = fetch("ProgramLog").rstrip(b"\0").decode(errors="replace") if function == "CompileProgram" else ""
                raise CompileError(
                    f"{unit.name} does not compile for {unit.target}: {self.prefix}{function}: error {status}\n"
                    f"{log.rstrip()}\nThe options were: {' '.join(words)}"
                )

        name = Path(unit.path).name if unit.path else f"source.{'cu' if unit.language == 'cuda' else unit.language}"
        texts, names = _array((headers or {}).values()), _array((headers or {}).keys())
        call("CreateProgram", ctypes.byref(program), unit.text, os.fsencode(name), len(headers or {}), texts, names)
        try:
            call("CompileProgram", program, len(words), _array(words))
            return fetch(self.code)
        finally:
            self._function("DestroyProgram")(ctypes.byref(program))

    def _function(self, name: str) -> ctypes._NamedFuncPointer:
        function: ctypes._NamedFuncPointer = getattr(self.library, self.prefix + name)
        return function


def _array(texts: Iterable[str]) -> ctypes.Array[ctypes.c_char_p]:
    encoded = [os.fsencode(text) for text in texts]
    return (ctypes.c_char_p * len(encoded))(*encoded)


def open_first(names: Iterable[str], prefix: str, code: str) -> Rtc | None:
    """The first library that opens and has the functions."""
    for name in names:
        try:
            library = ctypes.CDLL(name)
            getattr(library, f"{prefix}CreateProgram")
        except (OSError, AttributeError):
            continue
        return Rtc(library, prefix, code)
    return None


def files_in(folders: Iterable[str | os.PathLike[str]], pattern: str) -> list[str]:
    """The files of the folders whose names match the pattern; in each folder the newest comes first."""
    return [str(path) for folder in folders for path in sorted(Path(folder).glob(pattern), reverse=True)]
