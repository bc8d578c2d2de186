"""Loads the extension module, ``wave_runtime._C``: that of the folder for the release of torch that is installed.

Raises ImportError where there is none. One for another release would crash, since torch's C++ interface changes from
each release to the next, and does not say so.
"""

from __future__ import annotations

import ctypes
import importlib.util
import sys
from pathlib import Path

import torch

from wave_runtime._version import __version__

try:
    import wave_emulator
except ModuleNotFoundError:
    raise ImportError(
        f"wave-runtime needs wave-emulator {__version__}, which is not installed here: `pip install ./emulator` in its "
        "sources, or install the wheel that came with wave-runtime's"
    ) from None

_PACKAGE = Path(__file__).parent
_NAME = "wave_runtime._C"


def release(version: str) -> str:
    """The part of a version that names a release with one binary interface: "2.13"."""
    return ".".join(version.split(".")[:2])


def built() -> list[str]:
    """The releases of torch that there are libraries for, in their order."""
    found = [folder.parent.name.removeprefix("torch_").split("_") for folder in _PACKAGE.glob("torch_*/_C.abi3.so")]
    return [".".join(parts) for parts in sorted(found, key=lambda parts: [int(part) for part in parts])]


def folder() -> Path:
    """Where the libraries for the torch that is installed are."""
    here = str(torch.__version__)
    releases = built()
    if release(here) in releases:
        return _PACKAGE / f"torch_{release(here).replace('.', '_')}"
    build = "`pip install --no-build-isolation --no-deps --force-reinstall .` (or `make build`) in its sources"
    if not releases:
        raise ImportError(f"wave_runtime is not built here: build it by {build}")
    raise ImportError(
        f"wave_runtime was built for torch {', '.join(releases)}, and torch {here} is installed here: build it again, "
        f"by {build}, or install torch=={releases[-1]}.*"
    )


def load() -> None:
    """Import the extension module under its name. Needs the interpreter to be one with the lock."""
    if _NAME in sys.modules:  # the package is imported anew, the libraries cannot be
        sys.modules["wave_runtime"]._C = sys.modules[_NAME]  # type: ignore[attr-defined]
        return
    if not getattr(sys, "_is_gil_enabled", lambda: True)():
        raise ImportError(
            "wave_runtime does not support free-threaded Python: use a build of Python with the global interpreter lock"
        )
    if wave_emulator.__version__ != __version__:
        raise ImportError(
            f"wave-runtime {__version__} needs wave-emulator {__version__}, and {wave_emulator.__version__} is "
            f"installed ({Path(wave_emulator.__file__).parent}): install both from the same sources, or from wheels "
            "that were made together"
        )
    spec = importlib.util.spec_from_file_location(_NAME, folder() / "_C.abi3.so")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules[_NAME] = module
    sys.modules["wave_runtime"]._C = module  # type: ignore[attr-defined]
    try:
        # The two packages may lie in different folders, where an environment uses the system's packages, too.
        ctypes.CDLL(str(wave_emulator.library("wave_launch")))
        spec.loader.exec_module(module)
    except BaseException:
        del sys.modules[_NAME]
        raise


load()
