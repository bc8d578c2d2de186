"""CUDA C++ for NVIDIA GPUs: by nvcc, or by NVRTC, which a torch built for CUDA brings along."""

from __future__ import annotations

import functools
import importlib.util
import os
import shutil
from pathlib import Path

from wave_runtime._compile._names import of_image
from wave_runtime._compile._rtc import Rtc, files_in, open_first
from wave_runtime._compile._unit import Compiled, CompileError, Program, Unit, included, run

_STANDARD = "-std=c++17"


def find_nvcc() -> Program | None:
    """The path of nvcc: what NVCC says, else one in CUDA_HOME, on PATH, or where the toolkit is by default; or None."""
    if named := Program.named_by("NVCC"):
        return named
    homes = (os.environ.get("CUDA_HOME"), os.environ.get("CUDA_PATH"))
    folders = [*(f"{home}/bin" for home in homes if home), *os.get_exec_path(), "/usr/local/cuda/bin"]
    path = shutil.which("nvcc", path=os.pathsep.join(folders))
    return None if path is None else Program.at(path)


def _nvrtc_names() -> list[str]:
    """What to open: libraries of Python packages (torch needs one of them), then the system's; the newest first."""
    spec = importlib.util.find_spec("nvidia")
    folders = (spec and spec.submodule_search_locations) or ()
    return [*files_in(folders, "*/lib/libnvrtc.so.[0-9]*"), "libnvrtc.so.13", "libnvrtc.so.12", "libnvrtc.so"]


@functools.cache
def _nvrtc() -> Rtc | None:
    """The library, opened."""
    return open_first(_nvrtc_names(), "nvrtc", "CUBIN")


def find_nvrtc() -> Program | None:
    """The library that torch brings along, or the system's."""
    nvrtc = _nvrtc()
    return None if nvrtc is None else nvrtc.program()


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
    """Compile for an NVIDIA GPU. Temporary files lie in the folder. Raises CompileError."""
    nvrtc = _nvrtc()
    if nvrtc is not None and program.path == nvrtc.prefix:
        unit.refuse_others("nvcc does, NVRTC does not")
        return _compiled(nvrtc.compile(unit, [f"-arch={unit.target}", _STANDARD]), [])
    options = [_STANDARD, *unit.definitions(), *(f"-I{path}" for path in unit.include_dirs), *unit.options]
    if unit.others:
        options.append("-rdc=true")
    command = [program.path, "-x", "cu", "-cubin", f"-arch={unit.target}", *options]
    sources = [part.in_folder(folder, ".cu", number) for number, part in enumerate(unit.sources)]
    images = [folder / f"part{number}.cubin" for number in range(len(sources))]
    rules = [folder / f"files{number}.d" for number in range(len(sources))]
    parts = zip(images, rules, sources, strict=True)
    run(unit, [[*command, "-MD", "-MF", rule, "-o", image, source] for image, rule, source in parts], folder)
    if unit.others:
        linked = folder / "image.cubin"
        run(unit, [[program.path, "-dlink", "-cubin", f"-arch={unit.target}", *images, "-o", linked]], folder)
        images = [linked]
    files = [path for rule, source in zip(rules, sources, strict=True) for path in included(rule, source)]
    return _compiled(images[0].read_bytes(), files)


def _compiled(image: bytes, files: list[str]) -> Compiled:
    """The image, with the names and types that the symbols tell of kernels that are not extern "C"."""
    return Compiled(image, *of_image(image), files)
