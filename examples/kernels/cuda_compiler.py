"""Compiles the CUDA sources of sources/ for the NVIDIA GPU at hand: by nvcc, or by NVRTC, which torch brings along."""

from __future__ import annotations

import ctypes
import functools
import importlib.util
import os
import shutil
import subprocess
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Literal

Compiler = Literal["nvcc", "nvrtc"]

OPTIONS = ("-std=c++17",)


def find_nvcc() -> str | None:
    """The path of nvcc: NVCC, then that of CUDA_HOME, of PATH, or of the place where the toolkit is by default."""
    if named := os.environ.get("NVCC"):
        return named
    homes = (os.environ.get("CUDA_HOME"), os.environ.get("CUDA_PATH"))
    folders = [*(f"{home}/bin" for home in homes if home), *os.get_exec_path(), "/usr/local/cuda/bin"]
    return shutil.which("nvcc", path=os.pathsep.join(folders))


def _nvrtc_names() -> Iterator[str]:
    """What to open: libraries of Python packages (torch needs one of them), then the system's; the newest first."""
    spec = importlib.util.find_spec("nvidia")
    for folder in (spec and spec.submodule_search_locations) or ():
        yield from map(str, sorted(Path(folder).glob("*/lib/libnvrtc.so.[0-9]*"), reverse=True))
    yield from ("libnvrtc.so.13", "libnvrtc.so.12", "libnvrtc.so")


@functools.cache
def find_nvrtc() -> ctypes.CDLL | None:
    """The library, opened."""
    for name in _nvrtc_names():
        try:
            return ctypes.CDLL(name)
        except OSError:
            continue
    return None


def by_nvcc(nvcc: str, source: Path, architecture: str) -> bytes:
    """The cubin of a source. Raises RuntimeError with nvcc's messages."""
    with tempfile.TemporaryDirectory() as folder:
        cubin = Path(folder) / "kernels.cubin"
        command = [nvcc, "-cubin", f"-arch={architecture}", *OPTIONS, "-o", str(cubin), str(source)]
        done = subprocess.run(command, capture_output=True, text=True)
        if done.returncode != 0:
            raise RuntimeError(f"{' '.join(command)}: exit status {done.returncode}\n{done.stdout}{done.stderr}")
        return cubin.read_bytes()


def by_nvrtc(nvrtc: ctypes.CDLL, source: Path, architecture: str) -> bytes:
    """The cubin of a source. Raises RuntimeError with NVRTC's messages."""
    program = ctypes.c_void_p()

    def call(function: str, *arguments: object) -> None:
        if status := getattr(nvrtc, function)(*arguments):
            raise RuntimeError(f"{function}: NVRTC error {status}\n{log()}")

    def fetch(what: str) -> bytes:
        size = ctypes.c_size_t()
        call(f"nvrtcGet{what}Size", program, ctypes.byref(size))
        data = ctypes.create_string_buffer(size.value)
        call(f"nvrtcGet{what}", program, data)
        return data.raw

    def log() -> str:
        return fetch("ProgramLog").rstrip(b"\0").decode() if program else ""

    options = [f"-arch={architecture}", *OPTIONS, f"-I{source.parent}"]
    arguments = (ctypes.c_char_p * len(options))(*(option.encode() for option in options))
    text, name = source.read_bytes(), source.name.encode()
    call("nvrtcCreateProgram", ctypes.byref(program), text, name, 0, None, None)
    try:
        call("nvrtcCompileProgram", program, len(options), arguments)
        return fetch("CUBIN")
    finally:
        nvrtc.nvrtcDestroyProgram(ctypes.byref(program))


@functools.cache
def compile_cuda(source: Path, architecture: str, compiler: Compiler | None = None) -> bytes:
    """The cubin of a CUDA source.

    Args:
        source: its path; it may include headers beside it.
        architecture: for example ``"sm_90"``.
        compiler: nvcc by default where there is one, else NVRTC.

    Raises:
        RuntimeError: there is no compiler, or it rejects the source (with its messages).
    """
    nvcc = find_nvcc() if compiler != "nvrtc" else None
    if nvcc is not None:
        return by_nvcc(nvcc, source, architecture)
    nvrtc = find_nvrtc() if compiler != "nvcc" else None
    if nvrtc is not None:
        return by_nvrtc(nvrtc, source, architecture)
    raise RuntimeError(
        f"{source.name} cannot be compiled for {architecture}: found no {compiler or 'nvcc and no NVRTC'}. Put nvcc on "
        "PATH or name it in NVCC, or install a torch built for CUDA, which brings NVRTC"
    )
