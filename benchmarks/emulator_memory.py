"""What memory the emulator takes: of a launch, of code objects, and over many launches."""

from __future__ import annotations

import gc
import tempfile
from pathlib import Path

from catalog import BINARIES, CATALOG, convolution

CODE_OBJECTS, LAUNCHES = 1000, 10_000


def status_bytes(name: str) -> int:
    """A line of /proc/self/status: VmRSS (memory in use) or VmHWM (the most that was)."""
    lines = Path("/proc/self/status").read_text().splitlines()
    return int(next(line.split()[1] for line in lines if line.startswith(f"{name}:"))) * 1024


def peak_of_launch() -> int:
    """Bytes that the process takes at most while matmul_tiled runs on all cores, over what it has with its tensors."""
    example = next(example for example in CATALOG if example.name == "matmul_tiled")
    inputs = example.inputs(256)
    example.run(*example.inputs(32))
    before = status_bytes("VmRSS")
    Path("/proc/self/clear_refs").write_text("5")  # VmHWM begins anew
    example.run(*inputs)
    return max(status_bytes("VmHWM") - before, 0)


def of_many_code_objects() -> dict[str, float]:
    """Of 1,000 different code objects with 12 KB of code, which are launched ten times each."""
    example = next(example for example in CATALOG if example.name == "conv2d_3x3")
    inputs = example.inputs(1, 3, 3)
    example.run(*inputs)
    binary = (BINARIES / "conv2d_3x3.hsaco").read_bytes()
    with tempfile.TemporaryDirectory() as folder:
        before, kernels = status_bytes("VmRSS"), []
        for i in range(CODE_OBJECTS):
            path = Path(folder) / f"copy{i}.hsaco"
            path.write_bytes(binary + i.to_bytes(4, "little"))
            kernels.append(convolution.conv2d(str(path.with_suffix("")), stride=1))
            kernels[-1](*inputs)
        loaded = status_bytes("VmRSS")
        for _ in range(LAUNCHES // CODE_OBJECTS - 1):
            for kernel in kernels:
                kernel(*inputs)
        gc.collect()
        launched = status_bytes("VmRSS")
    return {
        "code_object_bytes": (loaded - before) / CODE_OBJECTS,
        "growth_bytes": (launched - loaded) / (LAUNCHES - CODE_OBJECTS),
    }


def measure() -> dict[str, float]:
    """All of it, in bytes."""
    return {"peak_of_launch_bytes": peak_of_launch(), **of_many_code_objects()}
