"""Builds the code objects of this folder from their sources, without a GPU.

    python examples/kernels/build.py [OUTPUT_FOLDER]

The Wave kernels need what requirements-wave.txt lists (`make wave`), the HIP kernels clang 17 or later with the AMDGPU
target and lld (Debian: clang-19 and lld-19; CLANG names another).
"""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

FOLDER = Path(__file__).parent
TARGET = "gfx942"

# File name -> (matrix instruction, shape or None for dynamic sizes).
WAVE_GEMMS: dict[str, tuple[str, tuple[int, int, int] | None]] = {
    "wave_gemm_f16_16x16x16_128x512x256": ("16x16x16", (128, 512, 256)),
    "wave_gemm_f16_32x32x8_128x256x512": ("32x32x8", (128, 256, 512)),
    "wave_gemm_f16_16x16x16_256x256x256": ("16x16x16", (256, 256, 256)),
    "wave_gemm_f16_16x16x16": ("16x16x16", None),
    "wave_gemm_f16_32x32x8": ("32x32x8", None),
}


def build_wave(name: str, output: Path) -> Path:
    """Compile one of WAVE_GEMMS to ``output``/``name``.hsaco and return that path."""
    os.environ["WAVE_CACHE_ON"] = "0"
    from wave_gemm import gemm
    from wave_lang.kernel.wave import compile as wave_compiler

    def keep_path(self: Any, options: Any, executable: Any, asm: str, gpu_binary_path: str, *_: Any, **__: Any) -> None:
        self.gpu_binary_path = gpu_binary_path

    # A compiled kernel loads itself into the GPU's driver, which a build has no use for.
    wave_compiler.WaveKernel.__init__ = keep_path
    kernel, options = gemm(*WAVE_GEMMS[name])
    settings = wave_compiler.WaveCompileOptions(canonicalize=True, target=TARGET, wave_runtime=True, **options)
    path = output / f"{name}.hsaco"
    # Moved, not copied: the compiler takes whatever lies in its folder for the next kernel's binary.
    shutil.move(wave_compiler.wave_compile(settings, kernel).gpu_binary_path, path)
    return path


def build_hip(source: str, output: Path) -> Path:
    """Compile a HIP file of this folder and return the path of the code object."""
    clang = os.environ.get("CLANG") or shutil.which("clang-19") or shutil.which("clang") or "clang"
    path = output / Path(source).with_suffix(".hsaco")
    options = ["--offload-device-only", "--no-gpu-bundle-output", "-nogpulib", "-nogpuinc", "-O2"]
    subprocess.run([clang, "-x", "hip", f"--offload-arch={TARGET}", *options, FOLDER / source, "-o", path], check=True)
    return path


def main() -> None:
    """Build everything."""
    output = Path(sys.argv[1]) if len(sys.argv) > 1 else FOLDER
    print(build_hip("basics.hip", output))
    for name in WAVE_GEMMS:
        print(build_wave(name, output))


if __name__ == "__main__":
    main()
