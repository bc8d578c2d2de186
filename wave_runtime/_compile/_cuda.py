"""CUDA C++ for NVIDIA GPUs: by nvcc, or by NVRTC, which a torch built for CUDA brings along."""

from __future__ import annotations

import ctypes
import functools
import importlib.util
import os
import shutil
from collections.abc import Iterator
from pathlib import Path

from wave_runtime._compile._unit import Compiled, CompileError, Program, Unit, included, run

_STANDARD = "-std=c++17"
_NVRTC = "NVRTC"  # a library, not a program with a path


def find_nvcc() -> Program | None:
    """NVCC, else what is in CUDA_HOME, on PATH, or where the toolkit is by default."""
    if named := os.environ.get("NVCC"):
        return Program.at(named)
    homes = (os.environ.get("CUDA_HOME"), os.environ.get("CUDA_PATH"))
    folders = [*(f"{home}/bin" for home in homes if home), *os.get_exec_path(), "/usr/local/cuda/bin"]
    path = shutil.which("nvcc", path=os.pathsep.join(folders))
    return None if path is None else Program.at(path)


def _nvrtc_names() -> Iterator[str]:
    """What to open: libraries of Python packages (torch needs one of them), then the system's; the newest first."""
    spec = importlib.util.find_spec("nvidia")
    for folder in (spec and spec.submodule_search_locations) or ():
        yield from map(str, sorted(Path(folder).glob("*/lib/libnvrtc.so.[0-9]*"), reverse=True))
    yield from ("libnvrtc.so.13", "libnvrtc.so.12", "libnvrtc.so")


@functools.cache
def _nvrtc() -> ctypes.CDLL | None:
    """The library, opened."""
    for name in _nvrtc_names():
        try:
            return ctypes.CDLL(name)
        except OSError:
            continue
    return None


def find_nvrtc() -> Program | None:
    """The library that torch brings along, or the system's."""
    nvrtc = _nvrtc()
    if nvrtc is None:
        return None
    major, minor = ctypes.c_int(), ctypes.c_int()
    nvrtc.nvrtcVersion(ctypes.byref(major), ctypes.byref(minor))
    return Program(_NVRTC, f"{nvrtc._name} {major.value}.{minor.value}")


def find() -> Program:
    """nvcc where there is one, else NVRTC.

    Raises:
        CompileError: there is neither.
    """
    program = find_nvcc() or find_nvrtc()
    if program is None:
        raise CompileError(
            "no compiler for NVIDIA GPUs; looked for nvcc (NVCC, CUDA_HOME, PATH, /usr/local/cuda) and for the "
            f"libraries {', '.join(_nvrtc_names())}. Put nvcc on PATH or name it in NVCC, or install a torch built for "
            "CUDA, which brings NVRTC"
        )
    return program


def compile_unit(unit: Unit, program: Program, folder: Path) -> Compiled:
    """Compile for an NVIDIA GPU, with files for a while in a folder. Raises CompileError."""
    if program.path == _NVRTC:
        return Compiled(_by_nvrtc(unit))
    image, files = folder / "image.cubin", folder / "files.d"
    options = [_STANDARD, *unit.definitions(), *(f"-I{path}" for path in unit.include_dirs), *unit.options]
    source = unit.in_folder(folder, ".cu")
    command = [program.path, "-x", "cu", "-cubin", f"-arch={unit.target}", *options]
    run(unit, [[*command, "-MD", "-MF", files, "-o", image, source]], folder)
    return Compiled(image.read_bytes(), files=included(files, source))


def _by_nvrtc(unit: Unit) -> bytes:
    """The cubin. Headers beside the source and in the folders are found; changes of them are not noticed."""
    nvrtc = _nvrtc()
    assert nvrtc is not None
    program = ctypes.c_void_p()

    def fetch(what: str) -> bytes:
        size = ctypes.c_size_t()
        call(f"nvrtcGet{what}Size", program, ctypes.byref(size))
        data = ctypes.create_string_buffer(size.value)
        call(f"nvrtcGet{what}", program, data)
        return data.raw

    def call(function: str, *arguments: object) -> None:
        if status := getattr(nvrtc, function)(*arguments):
            log = fetch("ProgramLog").rstrip(b"\0").decode() if function == "nvrtcCompileProgram" else ""
            raise CompileError(
                f"{unit.name} does not compile for {unit.target}: {function}: NVRTC error {status}\n{log.rstrip()}\n"
                f"The options were: {' '.join(options)}"
            )

    folders = [str(Path(unit.path).parent)] if unit.path else []
    includes = [f"-I{folder}" for folder in (*folders, *unit.include_dirs)]
    options = [f"-arch={unit.target}", _STANDARD, *unit.definitions(), *includes, *unit.options]
    arguments = (ctypes.c_char_p * len(options))(*(option.encode() for option in options))
    name = Path(unit.path).name if unit.path else "source.cu"
    call("nvrtcCreateProgram", ctypes.byref(program), unit.text, name.encode(), 0, None, None)
    try:
        call("nvrtcCompileProgram", program, len(options), arguments)
        return fetch("CUBIN")
    finally:
        nvrtc.nvrtcDestroyProgram(ctypes.byref(program))
