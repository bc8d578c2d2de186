"""Programs for IREE's VM: compiled, kept in a folder, loaded, called."""

from __future__ import annotations

import hashlib
import logging
import os
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import torch

from wave_runtime._cache import write_atomically
from wave_runtime.compat.launchable import _elements
from wave_runtime.compat.launchable._device import Device
from wave_runtime.compat.launchable._errors import require

logger = logging.getLogger("wave_runtime.launchable")

NamedModule = tuple[str, Any]  # the entry point, and a VmModule
Loader = Callable[[Device], NamedModule | None]


def source_of(program: Any) -> bytes:
    """A program in MLIR: a text, bytecode, a path, or a module of ``iree.compiler.ir``. Raises TypeError, OSError."""
    if isinstance(program, os.PathLike):
        return Path(program).read_bytes()
    if isinstance(program, str):
        return program.encode()
    if isinstance(program, (bytes, bytearray, memoryview)):
        return bytes(program)
    if hasattr(program, "get_asm"):
        return str(program.get_asm()).encode()
    raise TypeError(
        f"expected MLIR as str, bytes, a path or a module of iree.compiler.ir, given {type(program).__name__}"
    )


def compile_program(source: bytes, flags: Sequence[str]) -> bytes:
    """The VMFB of a program in MLIR.

    Raises:
        ModuleNotFoundError: iree-base-compiler is not installed.
        RuntimeError: it does not compile, with the compiler's messages.
    """
    tools = require("iree.compiler.tools")
    try:
        compiled: bytes = tools.compile_str(source, extra_args=list(flags))
    except tools.CompilerToolError as error:
        raise RuntimeError(f"JIT compilation failed. See diagnostics.\n{error}") from None
    return compiled


def jit_loader(source: bytes, entry_point: str, folder: Path | None) -> Loader:
    """Compiles for a device. A folder keeps what was compiled, which is taken where the source is the same."""

    def load(device: Device) -> NamedModule:
        if folder is None:
            return entry_point, _module(device, compile_program(source, device.compile_target_flags))
        path = _path_in(folder, device)
        made_of = path.with_suffix(".source")  # hashes, without which another program's file would be taken
        if path.is_file() and made_of.is_file():
            vmfb = path.read_bytes()
            if made_of.read_text() == _hashes(source, vmfb):
                logger.debug("Loading vmfb from cache: %s", path)
                return entry_point, _module(device, vmfb)
        vmfb = compile_program(source, device.compile_target_flags)
        logger.debug("Writing vmfb to cache: %s", path)
        write_atomically(path, vmfb)
        write_atomically(made_of, _hashes(source, vmfb).encode())
        return entry_point, _module(device, vmfb)

    return load


def _hashes(source: bytes, vmfb: bytes) -> str:
    return f"{hashlib.sha256(source).hexdigest()} {hashlib.sha256(vmfb).hexdigest()}"


def file_loader(entry_point: str, folder: Path) -> Loader:
    """Takes what a folder has for a device. Raises RuntimeError where it has nothing."""

    def load(device: Device) -> NamedModule:
        path = _path_in(folder, device)
        return entry_point, _module(device, read_kept(path, "vmfb"))

    return load


def read_kept(path: Path, what: str) -> bytes:
    """A file of a ``file_cache_dir``. Raises RuntimeError where it is missing."""
    if not path.is_file():
        raise RuntimeError(
            f"No {what} found at {path}. Please try running with jit compilation enabled, or verify {path.parent} is "
            "the correct cache directory to use."
        )
    logger.debug("Loading %s from cache: %s", what, path)
    return path.read_bytes()


def _path_in(folder: Path, device: Device) -> Path:
    return folder / f"{device.get_type_key_hash()}.vmfb"


def _module(device: Device, vmfb: bytes) -> Any:
    return require("iree.runtime").VmModule.copy_buffer(device.vm_instance, vmfb)


def as_variants(device: Device, values: Sequence[Any]) -> Any:
    """Arguments as a ``VmVariantList``. Raises TypeError for what is no tensor, int or float."""
    variants = require("iree.runtime").VmVariantList(len(values))
    for index, value in enumerate(values):
        if isinstance(value, torch.Tensor):
            variants.push_ref(device.import_torch_tensor(value))
        elif isinstance(value, int):
            variants.push_int(value)
        elif isinstance(value, float):
            variants.push_float(value)
        else:
            raise TypeError(f"argument {index}: expected a tensor, int or float, given {type(value).__name__}")
    return variants


def as_results(device: Device, variants: Any, arguments: Sequence[Any]) -> list[Any]:
    """What a ``VmVariantList`` holds: tensors, none of which shares memory with an argument, and numbers."""
    runtime = require("iree.runtime")
    taken = {value.untyped_storage().data_ptr() for value in arguments if isinstance(value, torch.Tensor)}
    results = []
    for index in range(len(variants)):
        value = variants.get_variant(index)
        if not isinstance(value, runtime.VmRef):
            results.append(value)
            continue
        view = value.deref(runtime.HalBufferView)
        like = torch.empty(view.shape, dtype=_elements.dtype_of(view.element_type), device="meta")
        tensor = device.export_torch_tensor(view, like)
        results.append(tensor.clone() if tensor.untyped_storage().data_ptr() in taken else tensor)
    return results
