"""SYCL on Intel's GPUs, compiled by icpx to a library that launches on torch's queue.

Experimental: it has never run on such a GPU.
"""

from __future__ import annotations

import ctypes
import functools
import hashlib
import json
import os
import shutil
import tempfile
from pathlib import Path
from typing import Any

import torch

from wave_emulator._cache_folder import cache_folder
from wave_runtime._cache import Cache
from wave_runtime._compile import CompileError
from wave_runtime._compile._unit import Program, Unit, included, run
from wave_runtime.compat.vendors._parameters import Signature, mark_written

_C_TYPES = {
    "i8": "std::int8_t",
    "i16": "std::int16_t",
    "i32": "std::int32_t",
    "i64": "std::int64_t",
    "u8": "std::uint8_t",
    "u16": "std::uint16_t",
    "u32": "std::uint32_t",
    "u64": "std::uint64_t",
    "bool": "bool",
    "f16": "sycl::half",
    "bf16": "sycl::ext::oneapi::bfloat16",
    "f32": "float",
    "f64": "double",
}
_NUMBERS: dict[str, Any] = {
    "i8": ctypes.c_int8,
    "i16": ctypes.c_int16,
    "i32": ctypes.c_int32,
    "i64": ctypes.c_int64,
    "u8": ctypes.c_uint8,
    "u16": ctypes.c_uint16,
    "u32": ctypes.c_uint32,
    "u64": ctypes.c_uint64,
    "bool": ctypes.c_bool,
    "f32": ctypes.c_float,
    "f64": ctypes.c_double,
}

# SYCL counts the dimension that varies fastest last.
_ENTRY = """
extern "C" const char* wave_runtime_launch(void* queue, const std::size_t* grid, const std::size_t* block,
                                           void** arguments) {{
  try {{
{reads}
    const sycl::range<3> local(block[2], block[1], block[0]);
    const sycl::range<3> global(grid[2] * block[2], grid[1] * block[1], grid[0] * block[0]);
    static_cast<sycl::queue*>(queue)->parallel_for(
        sycl::nd_range<3>(global, local), [=](sycl::nd_item<3> item) {{ {name}(item{names}); }});
    return nullptr;
  }} catch (const std::exception& error) {{
    static thread_local std::string text;
    text = error.what();
    return text.c_str();
  }}
}}
"""
_HEADERS = ("cstddef", "cstdint", "exception", "string", "sycl/sycl.hpp")


def _find() -> Program:
    """The compiler: ``ICPX``, or icpx on PATH or where oneAPI is installed. Raises CompileError."""
    folders = [*os.get_exec_path(), "/opt/intel/oneapi/compiler/latest/bin"]
    path = os.environ.get("ICPX") or shutil.which("icpx", path=os.pathsep.join(folders))
    if path is None:
        raise CompileError(
            "no compiler for Intel GPUs; looked for icpx (ICPX, PATH, /opt/intel/oneapi). Install Intel oneAPI's DPC++ "
            "compiler (intel-oneapi-compiler-dpcpp-cpp), or name an icpx in ICPX"
        )
    return Program.at(path)


def library_source(signature: Signature, source: str) -> str:
    """The source with what launches its kernel: a function with C's interface."""
    reads = []
    for index, parameter in enumerate(signature.parameters):
        const, star = "const " * parameter.is_const, "*" * parameter.is_pointer
        type = f"{const}{_C_TYPES[parameter.type]}{star}"
        reads.append(f"    {type} const a{index} = *static_cast<{type}*>(arguments[{index}]);")
    names = "".join(f", a{index}" for index in range(len(signature.parameters)))
    includes = "".join(f"#include <{name}>\n" for name in _HEADERS)
    return includes + source + _ENTRY.format(reads="\n".join(reads), name=signature.kernel, names=names)


@functools.lru_cache(256)
def _entry(signature: Signature, source: str, path: str | None) -> Any:
    """The function of a compiled library, which stays loaded."""
    program = _find()
    text = library_source(signature, source).encode()
    folders = (os.path.dirname(path),) if path else ()
    unit = Unit(text, None, "sycl", "an Intel GPU", (), (), folders)

    def build() -> tuple[bytes, list[str]]:
        with tempfile.TemporaryDirectory() as folder:
            image, rule = Path(folder) / "kernel.so", Path(folder) / "files.d"
            file = unit.in_folder(Path(folder), ".cpp")
            options = ["-fsycl", "-O3", "-std=c++17", "-shared", "-fPIC", *(f"-I{name}" for name in folders)]
            run(unit, [[program.path, *options, "-MD", "-MF", rule, file, "-o", image]], Path(folder))
            return image.read_bytes(), included(rule, file)

    key = json.dumps(["sycl", 1, program.identity, folders, hashlib.sha256(text).hexdigest()])
    kept = Cache(cache_folder()).get(hashlib.sha256(key.encode()).hexdigest(), build, bytes)
    with tempfile.NamedTemporaryFile(suffix=".so") as file:
        file.write(kept.value)
        file.flush()
        library = ctypes.CDLL(file.name)
    function = library.wave_runtime_launch
    function.restype = ctypes.c_char_p
    function.argtypes = [ctypes.c_void_p] * 4
    return function


def launch(
    signature: Signature,
    source: str,
    path: str | None,
    arguments: tuple[Any, ...],
    grid: tuple[int, int, int],
    block: tuple[int, int, int],
    device: torch.device,
    queue: int,
) -> None:
    """Enqueue a launch on a queue of SYCL's.

    Args:
        source: SYCL, with a function of the kernel's name: ``void NAME(sycl::nd_item<3> item, ...)``.
        path: where it comes from, for what it includes.
        grid: work-groups.
        block: work-items of one.
        queue: the address of a ``sycl::queue``.

    Raises:
        TypeError, ValueError: an argument does not fit.
        CompileError: there is no icpx, or it rejects the source.
        RuntimeError: SYCL's message.
    """
    if any(not p.is_pointer and p.type not in _NUMBERS for p in signature.parameters):
        raise ValueError(f"kernel '{signature.kernel}': f16 and bf16 are passed in tensors only ({signature.text})")
    values = signature.check(arguments, device)
    function = _entry(signature, source, path)
    slots = [
        ctypes.c_void_p(value.data_ptr()) if parameter.is_pointer else _NUMBERS[parameter.type](value)
        for parameter, value in zip(signature.parameters, values, strict=True)
    ]
    pointers = (ctypes.c_void_p * max(len(slots), 1))(*map(ctypes.addressof, slots))
    mark_written(signature, values)
    size = ctypes.c_size_t * 3
    error = function(queue, ctypes.byref(size(*grid)), ctypes.byref(size(*block)), ctypes.byref(pointers))
    if error is not None:
        raise RuntimeError(f"kernel '{signature.kernel}' on {device}: SYCL: {error.decode(errors='replace')}")
