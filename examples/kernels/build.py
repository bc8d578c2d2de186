"""Builds the code objects in binaries/ from sources/, without a GPU.

    python examples/kernels/build.py [--output FOLDER] [NAME...]

A name is that of a binary; without any, all are built. The Wave kernels need what requirements-wave.txt lists
(`make wave`), those in HIP or CUDA C++ clang 17 or later with the AMDGPU target and lld (Debian: clang-22 and lld-22;
CLANG names another).
"""

from __future__ import annotations

import argparse
import importlib
import os
import shutil
import subprocess
import sys
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

FOLDER = Path(__file__).parent
SOURCES = FOLDER / "sources"
TARGET = "gfx942"

WaveBuilder = Callable[[], tuple[Any, dict[str, Any]]]


def build_wave(builder: WaveBuilder, path: Path) -> None:
    """Compile a kernel of the Wave DSL, which comes with its WaveCompileOptions, to the code object at ``path``."""
    from wave_lang.kernel.wave import compile as wave_compiler

    def keep_path(self: Any, options: Any, executable: Any, asm: str, gpu_binary_path: str, *_: Any, **__: Any) -> None:
        self.gpu_binary_path = gpu_binary_path

    kernel, options = builder()
    # A compiled kernel loads itself into the GPU's driver, which a build has no use for.
    wave_compiler.WaveKernel.__init__ = keep_path
    settings = wave_compiler.WaveCompileOptions(canonicalize=True, target=TARGET, wave_runtime=True, **options)
    # Moved, not copied: the compiler takes whatever lies in its folder for the next kernel's binary.
    shutil.move(wave_compiler.wave_compile(settings, kernel).gpu_binary_path, path)


def build_hip(source: Path, path: Path) -> None:
    """Compile a HIP file, or a CUDA file that is HIP as well, to the code object at ``path``."""
    clang = os.environ.get("CLANG") or next(filter(None, map(shutil.which, ("clang-22", "clang-19"))), "clang")
    options = ["--offload-device-only", "--no-gpu-bundle-output", "-nogpulib", "-nogpuinc", "-O2"]
    subprocess.run([clang, "-x", "hip", f"--offload-arch={TARGET}", *options, source, "-o", path], check=True)


def wave_builders() -> dict[str, WaveBuilder]:
    """Those of all modules of sources/, by the binary's name."""
    # Before wave_lang is imported, which reads it then: a hit in the cache leaves no file.
    os.environ["WAVE_CACHE_ON"] = "0"
    if str(FOLDER) not in sys.path:
        sys.path.insert(0, str(FOLDER))
    names = sorted(path.stem for path in SOURCES.glob("[!_]*.py"))
    modules = [importlib.import_module(f"sources.{name}") for name in names]
    return {name: builder for module in modules for name, builder in module.KERNELS.items()}


def main() -> None:
    """Build what the command line names, or everything."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("names", nargs="*", metavar="NAME", help="a binary without .hsaco")
    parser.add_argument("--output", type=Path, default=FOLDER / "binaries", metavar="FOLDER")
    arguments = parser.parse_args()

    builds: dict[str, Callable[[Path], None]] = {
        source.stem: partial(build_hip, source) for suffix in ("hip", "cu") for source in SOURCES.glob(f"*.{suffix}")
    }
    if not arguments.names or set(arguments.names) - builds.keys():
        builds |= {name: partial(build_wave, builder) for name, builder in wave_builders().items()}
    if unknown := set(arguments.names) - builds.keys():
        parser.error(f"no source for {', '.join(sorted(unknown))}; there are {', '.join(sorted(builds))}")
    for name in arguments.names or builds:
        path = arguments.output / f"{name}.hsaco"
        builds[name](path)
        print(path, flush=True)


if __name__ == "__main__":
    main()
