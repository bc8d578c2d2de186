"""Lets wave-lang launch on CPU tensors, and checks what it launches."""

from __future__ import annotations

import functools
import math
import os
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import torch

import wave_runtime
from wave_runtime._emulate._patches import Patches
from wave_runtime._fork import Lock

ARCH, TARGET = "WAVE_DEFAULT_ARCH", "gfx942"


class Enabled:
    """What :func:`enable_cpu` has begun. As a context, or with :meth:`stop`, it ends; wave-lang is as it was then.

    Where several have begun, it ends with the last of them.
    """

    def stop(self) -> None:
        """End it; what has ended stays so."""
        with _lock:
            if self not in _enabled:
                return
            _enabled.remove(self)
            if not _enabled:
                _patches.undo()

    def __enter__(self) -> Enabled:
        return self

    def __exit__(self, *error: object) -> None:
        self.stop()


_lock = Lock()
_patches = Patches()
_enabled: list[Enabled] = []


def enable_cpu() -> Enabled:
    """Let wave-lang's ``WaveCompileOptions(wave_runtime=True)`` kernels run on CPU tensors.

    wave-lang's launches then pass tensors rather than addresses, on any machine, so that they are checked: a tensor
    that is written must be contiguous, the devices must agree, and the emulator bounds every access by the tensor's
    storage. They do not ask torch for a stream. If torch has no GPU, ``WAVE_DEFAULT_ARCH`` is set to gfx942, unless it
    is set already.

    wave-lang writes all binaries of a process into one temporary folder, and takes whichever it finds there for the
    kernel that it has just compiled. So those binaries are removed before each compilation.

    It replaces two functions of ``wave_lang.kernel.wave.compile``, and nothing of torch's. That lasts as long as the
    process or, with ``with enable_cpu():``, as long as the context. It may be called again, before or after wave-lang
    is imported.

    Raises:
        ImportError: wave-lang is not installed.
    """
    from wave_lang.kernel.wave import compile as wave_compile  # only now: it imports a compiler

    enabled = Enabled()
    with _lock:
        if not _enabled:
            if not torch.cuda.is_available() and ARCH not in os.environ:
                _patches.set_item(os.environ, ARCH, TARGET)
            _patches.set(wave_compile, "invoke_with_wave_runtime", invoke)
            _patches.set(wave_compile, "compile_to_vmfb", _keeping_binaries_apart(wave_compile.compile_to_vmfb))
        _enabled.append(enabled)
    return enabled


def _keeping_binaries_apart(compile_to_vmfb: Callable[..., bytes]) -> Callable[..., bytes]:
    from wave_lang.kernel.wave.cache import get_temp_binary_dir

    @functools.wraps(compile_to_vmfb)
    def compile_alone(asm: str, options: Any) -> bytes:
        own = Path(get_temp_binary_dir())  # the user may have named another folder, which is not ours to empty
        if options.dump_binaries and Path(options.dump_binaries) == own:
            for earlier in own.glob("*.hsaco"):
                earlier.unlink()
        return compile_to_vmfb(asm, options)

    return compile_alone


def invoke(
    options: Any,
    inputs: Sequence[torch.Tensor],
    outputs: Sequence[torch.Tensor],
    scalars: list[Any],
    bound_scalars: dict[Any, int],
    dynamic_symbols: Sequence[int],
    gpu_func: int,
) -> None:
    """Launch a kernel as wave-lang's ``invoke_with_wave_runtime`` does, whose place this takes, but with tensors.

    Inputs that are not contiguous are copied, and the copies live as long as the launch. Outputs that are not are
    refused.
    """
    launch = options.kernel_launch_info
    sizes = [scalars[index - len(inputs)] for index in bound_scalars.values()] + [int(size) for size in dynamic_symbols]
    info = wave_runtime.KernelLaunchInfo(
        None,
        gpu_func,
        0,  # the binary declares its LDS; the compiler counted before it shared allocations, and may have counted more
        *grid_of(launch.grid, sizes),
        *launch.blocks,
        *launch.cluster_dims,
    )
    # Autograd's rules are the caller's business here, as they are upstream.
    tensors = [tensor.detach() for tensor in (*inputs, *outputs)]
    takes_strides = getattr(options, "dynamic_strides", False)  # of wave-lang after 3.9
    if not takes_strides or _assumes_dense(options):
        tensors[: len(inputs)] = [tensor.contiguous() for tensor in tensors[: len(inputs)]]
    strides: list[int] = []
    if takes_strides:
        _check_strides(options, tensors, len(inputs))
        strides = [stride for tensor in tensors for stride in tensor.stride()[:-1]]
    wave_runtime.launch(info, tensors, sizes[len(bound_scalars) :], scalars, strides)


def _assumes_dense(options: Any) -> bool:
    """Whether a kernel that is passed strides reads as if there were those of contiguous tensors."""
    return options.linearize_reads and not options.allow_noncontiguous_runtime_buffers


def _check_strides(options: Any, tensors: Sequence[torch.Tensor], inputs: int) -> None:
    """Raise ValueError for a tensor whose elements the kernel looks for elsewhere: the last stride is not passed."""
    for index, tensor in enumerate(tensors):
        is_dense = tensor.is_contiguous()
        if not is_dense and index >= inputs and _assumes_dense(options):
            why = "or compile with allow_noncontiguous_runtime_buffers=True"
        elif tensor.dim() > 0 and tensor.shape[-1] > 1 and tensor.stride(-1) != 1:
            why = "or one whose last dimension is"
        else:
            continue
        name = options.kernel_launch_info.func_name or "kernel"
        raise ValueError(
            f"Wave kernel '{name}', tensor {index}: expected a contiguous tensor, {why}; "
            f"given shape {list(tensor.shape)} with strides {list(tensor.stride())}"
        )


def grid_of(grid: Callable[[list[Any]], Sequence[Any]], sizes: Sequence[Any]) -> list[int]:
    """The workgroups of a launch, which wave-lang writes as a function of the dynamic dimensions."""
    grid.__globals__.setdefault("math", math)  # its code needs this name
    return [int(extent) for extent in grid(list(sizes))]
