"""Compiling, at run time: CUDA source to a cubin, C++ source to a shared library."""

from __future__ import annotations

import ctypes
import shutil
import subprocess
from collections.abc import Sequence
from pathlib import Path

import torch


def command_output(command: Sequence[str | Path]) -> str:
    """Run a command. Raises RuntimeError with what it printed where it fails."""
    done = subprocess.run([str(word) for word in command], capture_output=True, text=True)
    if done.returncode:
        raise RuntimeError(f"{command[0]} failed:\n{done.stdout}{done.stderr}")
    return done.stdout


def nvcc() -> Path | None:
    """CUDA's compiler, where there is one."""
    found = shutil.which("nvcc")
    return Path(found).resolve() if found else None


def shared_library(source: Path, output: Path, *options: str, libraries: Sequence[str] = ()) -> Path:
    """Compile one C++ file."""
    compiler = shutil.which("g++") or shutil.which("c++") or "c++"
    fixed = ("-std=c++20", "-O3", "-shared", "-fPIC", "-pthread")
    command_output([compiler, *fixed, *options, source, "-o", output, *libraries, "-ldl"])
    return output


def cubin(source: str, architecture: str, folder: Path) -> bytes:
    """Compile CUDA C++ for ``architecture`` (``"sm_90"``), by nvcc where there is one, else by torch's NVRTC."""
    if compiler := nvcc():
        file, output = folder / "kernel.cu", folder / "kernel.cubin"
        file.write_text(source)
        command_output([compiler, "-cubin", f"-arch={architecture}", "-o", output, file])
        return output.read_bytes()
    from torch.cuda._utils import _get_gpu_rtc_library

    return nvrtc_cubin(source, architecture, _get_gpu_rtc_library())


def nvrtc_cubin(source: str, architecture: str, nvrtc: ctypes.CDLL) -> bytes:
    """Compile CUDA C++ by the given NVRTC library."""
    nvrtc.nvrtcGetErrorString.restype = ctypes.c_char_p
    program = ctypes.c_void_p()

    def check(result: int) -> None:
        if result:
            raise RuntimeError(f"NVRTC: {nvrtc.nvrtcGetErrorString(result).decode()}\n{text('ProgramLog')}")

    def text(what: str) -> str:
        return content(what).rstrip(b"\0").decode() if program else ""

    def content(what: str) -> bytes:
        size = ctypes.c_size_t()
        getattr(nvrtc, f"nvrtcGet{what}Size")(program, ctypes.byref(size))
        buffer = ctypes.create_string_buffer(size.value)
        getattr(nvrtc, f"nvrtcGet{what}")(program, buffer)
        return buffer.raw

    check(nvrtc.nvrtcCreateProgram(ctypes.byref(program), source.encode(), b"kernel.cu", 0, None, None))
    try:
        options = (ctypes.c_char_p * 1)(f"--gpu-architecture={architecture}".encode())
        check(nvrtc.nvrtcCompileProgram(program, len(options), options))
        return content("CUBIN")
    finally:
        nvrtc.nvrtcDestroyProgram(ctypes.byref(program))


def architecture() -> str:
    """The current GPU's, as nvcc calls it."""
    major, minor = torch.cuda.get_device_capability()
    return f"sm_{major}{minor}"
