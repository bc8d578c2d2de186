"""Emulates a GPU in a Python process that begins with WAVE_RUNTIME_EMULATE, from its import of torch on.

wave_runtime.emulate() and ``python -m wave_runtime emulate`` put this file's folder on PYTHONPATH. Processes that do
not import torch pay nothing. Another sitecustomize.py, which this one hides, runs as well.
"""

from __future__ import annotations

import importlib
import importlib.util
import os
import sys
from collections.abc import Sequence
from importlib.machinery import ModuleSpec
from types import ModuleType
from typing import Any


class _AfterTorch:
    """Finds torch as others do, and has wave_runtime imported behind it, which reads the variable.

    It stays until torch is imported: programs may ask whether torch is there before.
    """

    def __init__(self) -> None:
        self._is_asking = False

    def find_spec(self, name: str, path: Sequence[str] | None = None, target: ModuleType | None = None) -> Any:
        if name != "torch" or self._is_asking:
            return None
        self._is_asking = True
        try:
            spec = importlib.util.find_spec(name)
        finally:
            self._is_asking = False
        if spec is not None and spec.loader is not None:
            self._import_behind(spec)
        return spec

    def _import_behind(self, spec: ModuleSpec) -> None:
        loader: Any = spec.loader
        execute = loader.exec_module

        def execute_both(module: ModuleType) -> None:
            if self in sys.meta_path:
                sys.meta_path.remove(self)
            execute(module)
            _import_wave_runtime()

        loader.exec_module = execute_both


def _import_wave_runtime() -> None:
    """Import the packages that Python finds or, where it runs from a tree that nobody has installed, this file's."""
    for name in ("wave_emulator", "wave_runtime"):
        found: Any = importlib.util.find_spec(name)
        if found is None or found.submodule_search_locations is None:  # there is none, or upstream's, a single file
            folder = os.path.abspath(f"{__file__}/../../../../{name}")
            found = importlib.util.spec_from_file_location(
                name, os.path.join(folder, "__init__.py"), submodule_search_locations=[folder]
            )
            sys.modules[name] = importlib.util.module_from_spec(found)
            found.loader.exec_module(sys.modules[name])
    importlib.import_module("wave_runtime")


def _run_hidden() -> None:
    """Run the sitecustomize.py that Python would have taken without this one."""
    here = os.path.dirname(os.path.abspath(__file__))
    sys.path[:] = [folder for folder in sys.path if os.path.abspath(folder) != here]
    own = sys.modules.pop("sitecustomize", None)
    try:
        importlib.import_module("sitecustomize")
    except ModuleNotFoundError as error:
        if error.name != "sitecustomize":
            raise
        if own is not None:
            sys.modules["sitecustomize"] = own


if os.environ.get("WAVE_RUNTIME_EMULATE"):
    sys.meta_path.insert(0, _AfterTorch())
_run_hidden()
