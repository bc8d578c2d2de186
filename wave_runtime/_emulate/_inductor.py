"""Inductor makes Triton kernels for the emulated GPU of what it finds on CPU tensors, as torch for ROCm does for a GPU.

Inductor has that way for a CPU that Triton compiles for (its setting ``cpu_backend``). Here its kernels are told that
the device is a HIP one, so that it chooses its configurations and options as for an AMD GPU.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping
from contextlib import nullcontext
from pathlib import Path
from typing import Any

from wave_runtime import _torch
from wave_runtime._emulate import _cuda
from wave_runtime._emulate._gpu import Gpu
from wave_runtime._emulate._patches import Patches

FOLDER, TRITON_FOLDER = "TORCHINDUCTOR_CACHE_DIR", "TRITON_CACHE_DIR"

# Inductor's settings; those that a release of torch does not have are left out.
SETTINGS = {
    "cpu_backend": "triton",
    "compile_threads": 1,  # its processes that compile might have begun before the GPU was emulated
    "use_static_triton_launcher": False,  # it launches by HIP itself
    "use_static_cuda_launcher": False,  # the same, before torch 2.11
}

# What Inductor asks torch.cuda, under the names that it has for it.
QUESTIONS = (
    *("current_device", "current_stream", "device_count", "get_device_properties", "is_bf16_supported"),
    *("memory_allocated", "set_device", "set_stream", "stream", "synchronize"),
)


def folders(target: str) -> dict[str, str]:
    """The variables that say where Inductor keeps its files: what it compiles for one processor is not another's."""
    base = Path(os.environ.get(FOLDER) or _torch.inductor_folder())
    if base.parent.name == "wave_runtime":  # of an emulation around this one
        base = base.parents[1]
    folder = base / "wave_runtime" / target
    return {
        FOLDER: str(folder),
        TRITON_FOLDER: os.environ.get(TRITON_FOLDER) or str(folder / "triton"),
    }


def replace(patches: Patches, gpu: Gpu) -> None:
    """Have Inductor compile for a GPU, whose driver is Triton's, until undone."""
    parts = _torch.inductor_parts()
    for name, value in SETTINGS.items():
        if name in parts.settings:
            patches.set(parts.settings[name], "default", value)
    patches.set(parts.properties, "create", staticmethod(lambda device: _properties(parts.properties, gpu)))
    for name in QUESTIONS:
        patches.set(parts.gpu, name, staticmethod(getattr(_cuda, name)))
    patches.set(parts.gpu, "get_raw_stream", staticmethod(lambda index: 0))
    for name in ("exchange_device", "maybe_exchange_device"):
        patches.set(parts.gpu, name, staticmethod(_exchange_device))
    patches.set(parts.cpu, "device", lambda device: nullcontext())  # there is none, and templates ask for it
    # The line that it has is indented twice, in the code that times templates.
    patches.set(parts.wording, "import_get_raw_stream_as", lambda self, name: f"{name} = lambda index: 0")
    for name in ("benchmark", "benchmark_cpu", "benchmark_gpu"):
        patches.set(parts.benchmarker, name, benchmark)
    _take_for_gpu(patches, parts.flex_attention)


def _take_for_gpu(patches: Patches, lowering: Any) -> None:
    """Have a function that asks for tensors of "cpu", and has a template in C++ for them, find none.

    Nothing beside its code says so, and a tensor's device must stay what it is.
    """
    before = lowering.__code__
    patches.call_at_the_end(lambda: setattr(lowering, "__code__", before))
    lowering.__code__ = before.replace(co_consts=tuple("none" if one == "cpu" else one for one in before.co_consts))


def _properties(kind: Any, gpu: Gpu) -> Any:
    """What Inductor's kernels are told of their device."""
    figures = _cuda.get_device_properties()
    told = {
        "type": "hip",
        "index": _cuda.current_device(),
        "cc": gpu.figures["code"],
        **{name: getattr(figures, name) for name in kind._fields if hasattr(figures, name)},
    }
    return kind(**{name: value for name, value in told.items() if name in kind._fields})


def _exchange_device(index: int) -> int:
    """Make a device the current one. The one that was."""
    before = _cuda.current_device()
    _cuda.set_device(index)
    return before


def benchmark(
    fn: Callable[..., object],
    fn_args: tuple[Any, ...] | None = None,
    fn_kwargs: Mapping[str, Any] | None = None,
    **options: Any,
) -> float:
    """What Inductor takes for the time of a call, in milliseconds: that of autotuning, see EmulatorDriver.benchmark.

    A call that launches nothing, as of torch's own operators, is one of the CPU: it is chosen where nothing else is.
    """
    from triton.runtime import driver

    time: float = driver.active.benchmark(lambda: fn(*(fn_args or ()), **(fn_kwargs or {})))
    return time or float("inf")
