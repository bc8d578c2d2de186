"""``python -m wave_runtime env``: which drivers launches can use here, and why the others cannot be used."""

from __future__ import annotations

import difflib
import os
import platform
from typing import Any

import torch

from wave_runtime import _C
from wave_runtime._version import __version__
from wave_runtime.compat.vendors import _sycl

# The environment variables that the product reads, and what for. docs/environment.md says it at length.
VARIABLES = {
    "WAVE_RUNTIME_DRIVER": "the driver of GPU tensors: hip or cuda",
    "WAVE_RUNTIME_CPU_DRIVER": "the driver of CPU tensors: emulator or hip",
    "WAVE_RUNTIME_LIBHIP": "the HIP library to open",
    "WAVE_RUNTIME_LIBCUDA": "the CUDA driver library to open",
    "ROCM_PATH": "where ROCm is installed",
    "WAVE_RUNTIME_SYNC": "1: wait for each launch, and name the one that fails",
    "WAVE_RUNTIME_TIME_LIMIT": "seconds after which the emulator stops a launch",
    "WAVE_RUNTIME_MAX_INSTRUCTIONS": "how many instructions a wave on the emulator may run",
    "WAVE_RUNTIME_DETERMINISTIC": "1: the emulator's launches repeat exactly, on one thread",
    "WAVE_RUNTIME_CHECK": "hazards, races or both: the emulator looks for missing waits, or for races in LDS",
    "WAVE_RUNTIME_SANITIZE": "all, or a list of tools: look for mistakes of kernels on the emulator",
    "WAVE_RUNTIME_SANITIZE_OVER_READS": "1: reads up to 512 bytes past an end are reported, too",
    "WAVE_RUNTIME_SANITIZE_DENORMALS": "1: results that denormals change by counting as zeros are reported, too",
    "WAVE_RUNTIME_SANITIZE_DEAD_REGISTERS": "1: reads without a wait whose result nobody uses are reported, too",
    "WAVE_RUNTIME_SANITIZE_LOG": "a folder for the sanitizer's findings, instead of stderr",
    "WAVE_RUNTIME_PROFILE": "a file for the counts of launches on the emulator: .html, .json or .csv",
    "WAVE_RUNTIME_PROFILE_LOG": "a folder for the counts of programs that are not in Python",
    "WAVE_RUNTIME_STATS": "1: the emulator counts instructions, bytes and bank conflicts",
    "WAVE_RUNTIME_TRACE": "a file to which the emulator appends a line for each instruction",
    "WAVE_RUNTIME_TRACE_KERNEL": "what the names of kernels have that are traced",
    "WAVE_RUNTIME_TRACE_ONLY": "the workgroup, or the wave of it, to trace",
    "WAVE_RUNTIME_DUMP": "a folder to which launches that fail on the emulator are written",
    "WAVE_RUNTIME_AUTOTUNE": "0: variants and autotune do not measure",
    "WAVE_RUNTIME_CACHE_DIR": "a folder for what was compiled and measured",
    "WAVE_RUNTIME_CACHE_SIZE": "how much compiled code that folder may hold: 500M, 2G",
    "CLANG": "the compiler of HIP C++, assembly and LLVM IR",
    "NVCC": "the compiler of CUDA C++",
    "CUDA_HOME": "where the CUDA toolkit is installed",
    "CUDA_PATH": "where the CUDA toolkit is installed, too",
    "IREE_COMPILE": "the compiler of MLIR",
    "WAVE_RUNTIME_LIBHIPRTC": "the file of the HIP run-time compiler",
    "CMPLR_ROOT": "where oneAPI's SYCL is, if intel-sycl-rt is not installed",
    "CXX": "the compiler of what calls SYCL",
    "XDG_CACHE_HOME": "the user's cache folder, if WAVE_RUNTIME_CACHE_DIR is not set",
    "WAVE_RUNTIME_EMULATOR_PROCESSOR": "the emulated processor: gfx90a, gfx942, gfx950, gfx1030 to gfx1201",
    "WAVE_RUNTIME_EMULATE": "a processor: programs find a GPU of this kind, which is emulated",
    "WAVE_RUNTIME_EMULATE_INDUCTOR": "1: torch.compile makes Triton kernels for the emulated GPU",
    "WAVE_RUNTIME_SIMD": "the emulator's vector instructions: portable, avx2 or avx512",
    "WAVE_RUNTIME_PROGRESS": "seconds until a launch on the emulator shows on a terminal how far it is: 2; 0: never",
    "WAVE_RUNTIME_MFMA": "exact: matrix instructions of the emulator add as the hardware is believed to; or fast",
    "WAVE_RUNTIME_EMULATOR_THREADS": "threads of the HIP library on the emulator",
    "WAVE_RUNTIME_EMULATOR_BOUNDS": "exact: kernels of HIP programs may touch only what HIP allocated; or process",
    "WAVE_RUNTIME_EMULATOR_DEVICES": "how many devices the HIP library on the emulator has",
}

# Vendors on whose GPUs nothing has run: torch's name of such devices, and how kernels get there.
EXPERIMENTAL = {
    "intel": ("xpu", "SYCL, compiled by its runtime, on torch's queue"),
    "apple": ("mps", "Metal, compiled by torch.mps.compile_shader"),
}


def describe() -> dict[str, Any]:
    """Versions, drivers and their devices, and the environment. Opens the drivers' libraries.

    Returns:
        ``versions``; ``drivers``, for each of hip, cuda and emulator ``library``, ``devices`` and ``error``;
        ``used``, the drivers of CPU and GPU tensors; ``sycl``, the folder of the runtime that launches Intel's code on
        CPU tensors, or None; ``experimental``, for intel and apple ``how`` and whether torch sees such a GPU as
        ``available``; ``variables``, those that are set; ``unknown``, those that are set and that nothing reads,
        though they have such a name; ``loaded`` code objects.
    """
    host, gpu = _C.drivers()
    folder = _sycl.find_cpu()
    return {
        "versions": {
            "wave_runtime": __version__,
            "torch": torch.__version__,
            "torch's CUDA": torch.version.cuda,
            "torch's ROCm": torch.version.hip,
            "python": platform.python_version(),
            "platform": platform.platform(),
        },
        "drivers": {name: {"library": None, **_C.describe_driver(name)} for name in ("hip", "cuda", "emulator")},
        "used": {"cpu": host, "gpu": gpu},
        "sycl": folder and str(folder),
        "experimental": {
            vendor: {"how": how, "available": getattr(torch, kind).is_available()}
            for vendor, (kind, how) in EXPERIMENTAL.items()
        },
        "variables": {name: os.environ[name] for name in VARIABLES if name in os.environ},
        "unknown": {
            name: value
            for name, value in os.environ.items()
            if name.startswith("WAVE_RUNTIME_") and name not in VARIABLES
        },
        "loaded": _C.loaded(),
    }


def _driver_lines(name: str, driver: dict[str, Any]) -> list[str]:
    if driver["error"] is not None:
        reason = driver["error"].replace("\n  ", "\n             ")  # a line for each path that was tried
        return [f"  {name:9}  not available: {reason}"]
    lines = [f"  {name:9}  {driver['library']}"]
    for index, device in enumerate(driver["devices"]):
        lines.append(
            f"             {index}: {device['name']}, {device['target']}, {device['multiprocessors']} multiprocessors, "
            f"{device['shared_memory'] // 1024} KiB of shared memory"
        )
    return lines if driver["devices"] else [*lines, "             no devices"]


def render(description: dict[str, Any]) -> str:
    """The description as text."""
    lines = [f"{name:12}  {value}" for name, value in description["versions"].items() if value is not None]
    lines += ["", "drivers"]
    for name, driver in description["drivers"].items():
        lines += _driver_lines(name, driver)
    used = description["used"]
    lines += [f"  CPU tensors are launched by {used['cpu']}, GPU tensors by {used['gpu']}", ""]
    lines += ["SYCL: Intel's code", f"  CPU tensors: {description['sycl'] or _sycl.missing()}", ""]
    lines += ["experimental: has never run on a GPU of this vendor"]
    for vendor, item in description["experimental"].items():
        seen = "torch sees such a GPU here" if item["available"] else "torch sees no such GPU here"
        lines.append(f"  {vendor:9}  {item['how']}; {seen}")
    lines += ["", "environment"]
    lines += [f"  {name}={value}" for name, value in description["variables"].items()]
    for name, value in description["unknown"].items():
        similar = difflib.get_close_matches(name, VARIABLES, n=1, cutoff=0.8)
        lines.append(f"  {name}={value}  nothing reads it{f': is {similar[0]} meant?' if similar else ''}")
    unset = [name for name in VARIABLES if name not in description["variables"]]
    lines += [f"  {name:29}  not set ({VARIABLES[name]})" for name in unset]
    lines += ["", "loaded code objects"]
    for item in description["loaded"]:
        lines.append(
            f"  {item['device']} ({item['driver']})  {item['target']}  {item['sha256'][:16]}  {item['kernels']}"
        )
    return "\n".join(lines if description["loaded"] else [*lines, "  none"])
