"""PyHIP's names: ``from wave_runtime import pyhip`` in the place of ``import pyhip``. See docs/pyhip.md.

``jit`` and ``JIT`` are those of the installed PyHIP, whose generator of assembly compiles and launches by this package
then: without ROCm, on CPU tensors, too.
"""

from __future__ import annotations

import functools
import importlib
import importlib.util
import os
import sys
from types import ModuleType
from typing import Any

import torch

from wave_runtime._builds import Recipe
from wave_runtime._device import emulated, has_gpu, target_of
from wave_runtime.compat._source_module import SourceKernel, SourceModule, module, recipe_of

__all__ = ["JIT", "SourceKernel", "SourceModule", "jit", "module"]  # noqa: F822  jit and JIT when they are asked for

_SHADOW = "wave_runtime._pyhip"
_LAYOUTS = (("core.hiptools", "core.asmjit"), ("runtime.hiptools", "codegen.asm.asmjit"))  # by PyHIP's version


def __getattr__(name: str) -> Any:
    if name in ("jit", "JIT"):
        return getattr(_generator(), name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")


@functools.cache
def _generator() -> ModuleType:
    """PyHIP's module ``asmjit``, imported as part of another package, in which ``hiptools`` is ours.

    PyHIP's own package is not imported: it may ask for ROCm and for other packages.
    """
    spec = importlib.util.find_spec("pyhip")
    for root in (spec and spec.submodule_search_locations) or ():
        for tools, generator in _LAYOUTS:
            if os.path.isfile(os.path.join(root, *generator.split(".")) + ".py"):
                package, hiptools = ModuleType(_SHADOW), ModuleType(f"{_SHADOW}.{tools}")
                package.__path__ = [root]
                hiptools.module, hiptools.amdgpu_arch = _GeneratedFile, _processor  # type: ignore[attr-defined]
                sys.modules.update({_SHADOW: package, hiptools.__name__: hiptools})
                return importlib.import_module(f"{_SHADOW}.{generator}")
    raise ImportError(
        "jit needs PyHIP's generator of assembly, and PyHIP is not installed: "
        "pip install --no-deps git+https://github.com/tingqli/pyhip.git, and filelock"
    )


class _GeneratedKernel(SourceKernel):
    def build(self) -> None:
        """Compile now."""
        self.on()


class _GeneratedFile:
    """What the generator makes of a file that it has written."""

    def __init__(self, path: str, options: str = "") -> None:
        self._recipe: Recipe = recipe_of(path, options)

    def __getattr__(self, name: str) -> _GeneratedKernel:
        return _GeneratedKernel(name, self._recipe)


def _processor() -> str:
    """The processor that code is generated for: that of the current AMD GPU, else the emulator's."""
    if torch.version.hip is None or not has_gpu():
        return emulated()
    return target_of(torch.cuda.current_device()).split(":")[0]
