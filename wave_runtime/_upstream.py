"""The functions of upstream's wave_runtime, which wave-lang calls: see docs/upstream.md."""

from __future__ import annotations

import os
from typing import Any

from wave_runtime import _C
from wave_runtime._device import has_gpu
from wave_runtime._module import Module


def load_hip_functions() -> None:
    """Open the HIP library where launches will go to HIP. May be called again.

    You need not call it. It is here because callers of upstream's module call it first.

    Raises:
        RuntimeError: ``Failed to load libamdhip64.so: ...``, with every file tried.
    """
    cpu, gpu = _C.drivers()
    is_used = cpu == "hip" or (gpu == "hip" and has_gpu())
    if is_used and (error := _C.describe_driver("hip")["error"]):
        raise RuntimeError(f"Failed to load libamdhip64.so: {error}")


def load_binary(path: str | os.PathLike[str], name: str) -> tuple[Any, int]:
    """Load a kernel for :func:`launch`; on a machine with a GPU, on the current one.

    Args:
        path: of a code object, or another file that :func:`load` takes.
        name: the kernel's.

    Returns:
        A capsule, which keeps the code loaded, and the kernel for ``KernelLaunchInfo(gpu_func=)``. Without the capsule
        the kernel may still be launched; it is loaded again then.

    Raises:
        RuntimeError: the file cannot be read, it is no code object, or it has no such kernel for this device. The texts
            are upstream's.
    """
    path = os.fspath(path)
    data = _read(path)
    try:
        codes = _C.code_objects(data)
    except ValueError as error:
        raise _error(200, "hipErrorInvalidImage", path, name, error) from error
    module = Module(codes, None, None, "any", False)
    if name not in module:
        raise _error(500, "hipErrorNotFound", path, name, f"no kernel '{name}'; its kernels are {list(module.kernels)}")
    try:
        return _C.load_raw(module._variants(name), name)
    except ValueError as error:
        raise _error(209, "hipErrorNoBinaryForGpu", path, name, error) from error


def _read(path: str) -> bytes:
    try:
        size = os.stat(path).st_size
    except OSError as error:
        raise RuntimeError(f"Unable to get file size: {path} - {error.strerror}") from error
    try:
        with open(path, "rb") as file:
            data = file.read()
    except OSError as error:
        raise RuntimeError(f"Unable to open file: {path}: {error.strerror}") from error
    if len(data) != size:
        raise RuntimeError(f"Failed to read entire file: {path}: {len(data)} of {size} bytes")
    return data


def _error(code: int, name: str, path: str, kernel: str, message: object) -> RuntimeError:
    """A driver's error in the words of upstream. It is raised before any driver is asked."""
    return RuntimeError(f"Error {code}({name}) {__file__}: \nload_binary({path!r}, {kernel!r})\n{message}\n")
