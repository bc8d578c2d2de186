"""What a measurement was made with."""

from __future__ import annotations

import datetime
import importlib.metadata
import os
import platform
import subprocess
from pathlib import Path

import torch

PEERS = ("triton", "apache-tvm-ffi", "cuda-core", "cupy-cuda13x", "cupy-cuda12x", "wave-lang")


def processor_name() -> str:
    """What Linux calls the processor."""
    names = [line for line in Path("/proc/cpuinfo").read_text().splitlines() if line.startswith("model name")]
    return names[0].split(":")[1].strip() if names else platform.machine()


def driver_version() -> str:
    """The NVIDIA driver's, or "unknown"."""
    command = ["nvidia-smi", "--query-gpu=driver_version", "--format=csv,noheader"]
    try:
        return subprocess.run(command, capture_output=True, text=True, check=True).stdout.split()[0]
    except (OSError, subprocess.CalledProcessError, IndexError):
        return "unknown"


def describe() -> dict[str, str]:
    """The machine, how busy it is now, and the versions of all that takes part. To be called before measuring."""
    import wave_runtime

    parts = {
        "date": datetime.date.today().isoformat(),
        "cpu": processor_name(),
        "cores": str(len(os.sched_getaffinity(0))),
        "load": f"{os.getloadavg()[0]:.1f}",
        "system": f"{platform.system()} {platform.release()}",
        "python": platform.python_version(),
        "torch": torch.__version__,
        "wave_runtime": wave_runtime.__version__,
    }
    if os.sched_getscheduler(0) in (os.SCHED_FIFO, os.SCHED_RR):
        parts["scheduling"] = "real-time"
    if torch.cuda.is_available():
        parts |= {
            "gpu": torch.cuda.get_device_name(),
            "driver": driver_version(),
            "cuda": torch.version.cuda or "none",
        }
    for name in PEERS:
        try:
            parts[name] = importlib.metadata.version(name)
        except importlib.metadata.PackageNotFoundError:
            continue
    return parts
