"""SYCL on Intel's GPUs, on torch's queue, and on Intel's device for CPUs, whose kernels use CPU tensors in place.

On such a GPU it has never run.
"""

from __future__ import annotations

import ctypes
import functools
import os
from typing import Any

import torch

from wave_runtime._compile import CompileError
from wave_runtime.compat.vendors import _sycl
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

_KERNEL = "wave_runtime_kernel"
_PROGRAM = """
#include <cstddef>
#include <cstdint>
#include <sycl/sycl.hpp>
#include "{file}"
extern "C" SYCL_EXT_ONEAPI_FUNCTION_PROPERTY((sycl::ext::oneapi::experimental::nd_range_kernel<3>))
void {entry}({parameters}) {{
  {name}(sycl::ext::oneapi::this_work_item::get_nd_item<3>(){names});
}}
"""


def program(signature: Signature, file: str) -> str:
    """A kernel that the runtime can launch, which calls the function of a file."""
    parameters = []
    for index, parameter in enumerate(signature.parameters):
        const, star = "const " * parameter.is_const, "*" * parameter.is_pointer
        parameters.append(f"{const}{_C_TYPES[parameter.type]}{star} a{index}")
    names = "".join(f", a{index}" for index in range(len(parameters)))
    return _PROGRAM.format(
        file=file, entry=_KERNEL, parameters=", ".join(parameters), name=signature.kernel, names=names
    )


@functools.lru_cache(256)
def _kernel(signature: Signature, source: str, path: str | None, queue: int) -> int:
    """The address of a compiled kernel, which stays loaded."""
    file = path or "source.cpp"
    folders = [os.path.dirname(path)] if path else []
    try:
        return _sycl.runtime().compile(queue, program(signature, file), _KERNEL, {file: source}, folders)
    except RuntimeError as error:
        what = path or "the SYCL source"
        raise CompileError(f"kernel '{signature.kernel}': {what} does not compile:\n{error}") from error


def launch(
    signature: Signature,
    source: str,
    path: str | None,
    arguments: tuple[Any, ...],
    grid: tuple[int, int, int],
    block: tuple[int, int, int],
    device: torch.device,
) -> None:
    """Launch on the CPU, and wait; or enqueue a launch on torch's queue for a GPU.

    Args:
        source: SYCL, with a function of the kernel's name: ``void NAME(sycl::nd_item<3> item, ...)``.
        path: where it comes from, for what it includes.
        grid: work-groups.
        block: work-items of one.

    Raises:
        TypeError, ValueError: an argument does not fit.
        CompileError: there is no SYCL runtime, or it rejects the source.
        RuntimeError: SYCL's message.
    """
    if any(not p.is_pointer and p.type not in _NUMBERS for p in signature.parameters):
        raise ValueError(f"kernel '{signature.kernel}': f16 and bf16 are passed in tensors only ({signature.text})")
    values = signature.check(arguments, device)
    runtime = _sycl.runtime()
    is_cpu = device.type == "cpu"
    queue = runtime.cpu if is_cpu else torch.xpu.current_stream(device).sycl_queue
    kernel = _kernel(signature, source, path, queue)
    slots = [
        ctypes.c_void_p(value.data_ptr()) if parameter.is_pointer else _NUMBERS[parameter.type](value)
        for parameter, value in zip(signature.parameters, values, strict=True)
    ]
    count = len(slots)
    pointers = (ctypes.c_void_p * count)(*map(ctypes.addressof, slots))
    sizes = (ctypes.c_size_t * count)(
        *(
            0 if parameter.is_pointer else ctypes.sizeof(slot)
            for parameter, slot in zip(signature.parameters, slots, strict=True)
        )
    )
    extents = ctypes.c_size_t * 3
    mark_written(signature, values)
    error = runtime.launch(queue, kernel, extents(*grid), extents(*block), pointers, sizes, count, is_cpu)
    if error is not None:
        raise RuntimeError(f"kernel '{signature.kernel}' on {device}: SYCL: {error.decode(errors='replace')}")
