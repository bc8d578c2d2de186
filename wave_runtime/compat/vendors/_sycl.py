"""SYCL's runtime, which compiles kernels itself: PyPI's intel-sycl-rt, which torch for Intel GPUs brings, or oneAPI's.

It has an interface in C++ only. So sycl.cpp is compiled for it, once, and kept as other results of compilers are.
"""

from __future__ import annotations

import contextlib
import ctypes
import functools
import hashlib
import importlib.metadata
import json
import os
import shlex
import shutil
import tempfile
from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path

from wave_emulator._cache_folder import cache_folder
from wave_runtime._cache import Cache
from wave_runtime._compile import CompileError
from wave_runtime._compile._unit import Program, Unit, run

_SOURCE = Path(__file__).with_name("sycl.cpp")
_ONEAPI = "/opt/intel/oneapi/compiler/latest"
_CPU_DRIVER = "libintelocl.so"


def find() -> Path | None:
    """The folder with SYCL's include/ and lib/: that of intel-sycl-rt, ``CMPLR_ROOT``, /opt/intel/oneapi; or None."""
    folders = [os.environ.get("CMPLR_ROOT"), _ONEAPI]
    with contextlib.suppress(importlib.metadata.PackageNotFoundError):
        package = importlib.metadata.distribution("intel-sycl-rt")
        headers = next((file for file in package.files or () if file.match("include/sycl/sycl.hpp")), None)
        if headers is not None:
            folders.insert(0, os.path.abspath(str(package.locate_file(headers.parents[2]))))
    for folder in (Path(name) for name in folders if name):
        if (folder / "include/sycl/sycl.hpp").exists() and (folder / "lib/libsycl.so").exists():
            return folder
    return None


def find_cpu() -> Path | None:
    """That folder, where it has Intel's driver for CPUs, too: intel-opencl-rt; or None."""
    folder = find()
    return folder if folder and (folder / "lib" / _CPU_DRIVER).exists() else None


def missing() -> str:
    """What to install, where :func:`find` or :func:`find_cpu` is None."""
    return (
        f"no SYCL runtime; looked for intel-sycl-rt, in CMPLR_ROOT and in {_ONEAPI}: pip install intel-sycl-rt, and "
        "intel-opencl-rt for CPU tensors"
    )


class Runtime:
    """The runtime, by the library that is made of sycl.cpp."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        library = _load(folder)
        for function in (
            cpu := library.wave_runtime_sycl_cpu,
            compile := library.wave_runtime_sycl_compile,
            launch := library.wave_runtime_sycl_launch,
        ):
            function.restype = ctypes.c_char_p
        pointer, size = ctypes.c_void_p, ctypes.c_size_t
        compile.argtypes = [pointer, ctypes.c_char_p, ctypes.c_char_p, pointer, size, pointer, size, pointer]
        launch.argtypes = [pointer, pointer, pointer, pointer, pointer, pointer, size, ctypes.c_bool]
        self._cpu, self._compile, self.launch = cpu, compile, launch
        # PyPI's wheels of 2025 lack the libraries of device code, without which most kernels do.
        lacks = (folder / "lib/libsycl.so.8").exists() and not (folder / "lib/libsycl-crt.bc").exists()
        self._options = ["-fno-sycl-device-lib=all"] if lacks else []

    @functools.cached_property
    def cpu(self) -> int:
        """The address of a queue for the CPU. Raises RuntimeError where there is no such device."""
        queue = ctypes.c_void_p()
        with _driver_named(self._folder / "lib" / _CPU_DRIVER):
            error = self._cpu(ctypes.byref(queue))
        if error is not None:
            raise RuntimeError(f"no SYCL device for CPU tensors: {error.decode(errors='replace')}; {missing()}")
        return queue.value or 0

    def compile(self, queue: int, source: str, name: str, files: Mapping[str, str], folders: Sequence[str]) -> int:
        """The address of a kernel.

        Args:
            source: what has the kernel of that name.
            files: texts that it includes, by their names there.
            folders: where other files are.

        Raises:
            RuntimeError: with the compiler's messages.
        """
        kernel = ctypes.c_void_p()
        options = _texts([*self._options, *(f"-I{folder}" for folder in folders)])
        included = _texts(text for item in files.items() for text in item)
        error = self._compile(
            queue, source.encode(), name.encode(), options, len(options), included, len(files), ctypes.byref(kernel)
        )
        if error is not None:
            raise RuntimeError(error.decode(errors="replace"))
        return kernel.value or 0


def _texts(texts: Iterable[str]) -> ctypes.Array[ctypes.c_char_p]:
    encoded = [os.fsencode(text) for text in texts]
    return (ctypes.c_char_p * len(encoded))(*encoded)


@functools.cache
def runtime() -> Runtime:
    """The runtime, loaded once. Raises CompileError where there is none, or no compiler of C++."""
    folder = find()
    if folder is None:
        raise CompileError(missing())
    return Runtime(folder)


@contextlib.contextmanager
def _driver_named(path: Path) -> Iterator[None]:
    """OpenCL's loader finds the driver for CPUs: the wheel's own file names it in a folder of whoever built that."""
    variable = "OCL_ICD_FILENAMES"
    if variable in os.environ or not path.exists():
        yield
        return
    os.environ[variable] = str(path)
    try:
        yield
    finally:
        os.environ.pop(variable, None)


def _load(folder: Path) -> ctypes.CDLL:
    words = shlex.split(os.environ.get("CXX", "")) or ["g++"]
    compiler = shutil.which(words[0])
    if compiler is None:
        raise CompileError(f"no compiler of C++ for {_SOURCE.name}, which calls SYCL: {words[0]} (CXX) is not on PATH")
    text = _SOURCE.read_bytes()
    unit = Unit(text, str(_SOURCE), "cpp", f"the SYCL runtime in {folder}", (), (), ())
    library = folder / "lib" / "libsycl.so"
    words = [*words, "-std=c++17", "-O2", "-w", "-shared", "-fPIC", "-isystem", str(folder / "include"), str(_SOURCE)]
    words += [str(library), f"-Wl,-rpath,{library.parent}"]

    def build() -> tuple[bytes, list[str]]:
        with tempfile.TemporaryDirectory() as temporary:
            image = Path(temporary) / "sycl.so"
            run(unit, [[*words, "-o", image]], Path(temporary))
            return image.read_bytes(), []

    programs = [Program.at(compiler).identity, Program.at(str(library)).identity]
    key = json.dumps(["sycl", 2, programs, words, hashlib.sha256(text).hexdigest()])
    kept = Cache(cache_folder()).get(hashlib.sha256(key.encode()).hexdigest(), build, bytes)
    with tempfile.NamedTemporaryFile(suffix=".so") as file:
        file.write(kept.value)
        file.flush()
        return ctypes.CDLL(file.name)
