"""Metal on Apple's GPUs, by torch.mps.compile_shader.

Experimental: it has never run on such a GPU.
"""

from __future__ import annotations

import functools
from typing import Any

import torch

from wave_runtime._compile import CompileError
from wave_runtime.compat.vendors._parameters import Signature, mark_written

# What torch makes of a Python number for a parameter; by default a float of 32 bits and an integer of 64. Unsigned
# numbers have the bits of signed ones.
_CASTS = {
    "i8": "int8",
    "u8": "uint8",
    "bool": "uint8",
    "i16": "int16",
    "u16": "int16",
    "i32": "int32",
    "u32": "int32",
    "f16": "fp16",
    "bf16": "bf16",
}


@functools.lru_cache(256)
def _library(name: str, source: str) -> Any:
    try:
        return torch.mps.compile_shader(source)
    except (RuntimeError, SyntaxError) as error:
        raise CompileError(f"kernel '{name}': the Metal source does not compile:\n{error}") from error


def launch(
    signature: Signature,
    source: str,
    arguments: tuple[Any, ...],
    grid: tuple[int, int, int],
    block: tuple[int, int, int],
    device: torch.device,
) -> None:
    """Enqueue a launch on torch's stream for MPS.

    Args:
        source: Metal; the kernel's parameters are buffers 0, 1, ... in the order of the signature, numbers among them.
        grid: threadgroups.
        block: threads of one.

    Raises:
        TypeError, ValueError: an argument does not fit; Metal has no f64.
        CompileError: torch's messages.
    """
    if any(parameter.type == "f64" for parameter in signature.parameters):
        raise ValueError(f"kernel '{signature.kernel}': Metal has no f64 ({signature.text})")
    values = signature.check(arguments, device)
    function = getattr(_library(signature.kernel, source), signature.kernel)
    casts = {
        index: _CASTS[parameter.type]
        for index, parameter in enumerate(signature.parameters)
        if not parameter.is_pointer and parameter.type in _CASTS
    }
    mark_written(signature, values)
    threads = [workgroups * size for workgroups, size in zip(grid, block, strict=True)]
    function(*values, threads=threads, group_size=list(block), arg_casts=casts)
