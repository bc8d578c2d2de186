"""The libraries of wave_runtime that need no torch: where they are, and programs that run on them.

    python -m wave_emulator run -- ./program        a HIP program, without a GPU
    find_package(wave_emulator)                     in CMake: wave_emulator::launch, wave_emulator::hip

The import loads nothing.
"""

from __future__ import annotations

from pathlib import Path

from wave_emulator._version import __version__

__all__ = ["__version__", "cmake_dir", "include_dir", "library"]

LIBRARIES = ("wave_emulator", "wave_hip_emulator", "wave_launch")
_FOLDER = Path(__file__).absolute().parent


def library(name: str) -> Path:
    """The file of a library.

    Args:
        name: "wave_emulator", code objects and the emulator; "wave_launch", the C interface of wave_runtime.h;
            "wave_hip_emulator", HIP's interface over the emulator.

    Raises:
        ValueError: there is none of that name.
        ImportError: the package is a source tree that nobody has built.
    """
    if name not in LIBRARIES:
        raise ValueError(f"there is no library {name!r}: there are {', '.join(LIBRARIES)}")
    path = _FOLDER / f"lib{name}.so"
    if not path.exists():
        raise ImportError(
            f"{path.name} is not in {_FOLDER}: build it with `pip install ./emulator` or `make build` in its sources"
        )
    return path


def include_dir() -> Path:
    """The folder of wave_runtime.h, for C, and wave_runtime.hpp, for C++17."""
    return _FOLDER / "include"


def cmake_dir() -> Path:
    """What CMAKE_PREFIX_PATH needs, so that find_package finds the libraries."""
    return _FOLDER / "share" / "cmake"
