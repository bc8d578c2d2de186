"""The Python half of Kernel: the call as an operator, which compilers trace, and what the binary says of a kernel."""

from __future__ import annotations

import importlib.abc
import importlib.machinery
import importlib.util
import sys
from collections.abc import Sequence
from types import ModuleType
from typing import Any

import torch

from wave_runtime import _C

Dims = int | Sequence[int]


def call_operator(kernel: _C.Kernel, *args: Any, grid: Dims, block: Dims | None = None, shared_memory: int = 0) -> None:
    """Call ``torch.ops.wave.launch`` with the arguments of ``kernel(...)``.

    This is what ``kernel(...)`` does where the call must be an operator: under torch.compile, which traces this
    function, and with modes, tracers or tensor subclasses. The operator checks the rest.
    """
    plan = kernel._plan
    if len(args) != len(plan):
        raise TypeError(f"kernel '{kernel.name}' takes {len(plan)} arguments ({kernel.signature}), given {len(args)}")
    if block is None:
        block = kernel.block
    if block is None:
        raise TypeError(f"kernel '{kernel.name}': block= is missing: the binary fixes no workgroup size")
    inputs: list[torch.Tensor] = []
    outputs: list[torch.Tensor] = []
    ints: list[int] = []
    floats: list[float] = []
    # A float recompiles for each value, a tensor does not: so floats may be given as zero-dimensional tensors. All of
    # them then travel among the inputs.
    with_tensors = any(
        kind == "float" and isinstance(value, torch.Tensor) for kind, value in zip(plan, args, strict=True)
    )
    for index, (kind, value) in enumerate(zip(plan, args, strict=True)):
        if kind in ("input", "output"):
            if not isinstance(value, torch.Tensor):
                raise TypeError(
                    f"kernel '{kernel.name}', argument {index}: expected a tensor, given {type(value).__name__}"
                )
            (inputs if kind == "input" else outputs).append(value)
        elif kind == "float" and with_tensors:
            inputs.append(value if isinstance(value, torch.Tensor) else torch.tensor(value, dtype=torch.float64))
        elif kind == "float":
            floats.append(value)
        elif kind == "bytes":
            ints.extend(_words(value))
        elif isinstance(value, float):
            raise TypeError(
                f"kernel '{kernel.name}', argument {index}: given a float where the signature ({kernel.signature}) "
                "does not say f32: pass signature= to wave_runtime.load()"
            )
        else:
            ints.append(value)
    torch.ops.wave.launch(kernel.handle, inputs, outputs, ints, floats, _extents(grid), _extents(block), shared_memory)


def _extents(dims: Dims) -> list[int]:
    return list(dims) if isinstance(dims, (tuple, list)) else [dims]  # type: ignore[list-item]


def _words(value: bytes) -> list[int]:
    return [int.from_bytes(value[i : i + 8], "little", signed=True) for i in range(0, len(value), 8)]


def rebuild(image: bytes, name: str, signature: str | None, strides: str) -> _C.Kernel:
    """Make a kernel again from what pickling keeps of it."""
    return _C.make_kernel(_C.CodeObject(image), name, signature, None, strides)


def info(image: bytes, name: str) -> dict[str, Any]:
    """What ``kernel.info`` returns: the kernel's part of ``python -m wave_runtime info --json``."""
    from wave_runtime import _info  # not needed to launch

    return next(kernel for kernel in _info.describe(image)["kernels"] if kernel["name"] == name)


def _teach_dynamo(dynamo: ModuleType) -> None:
    if not hasattr(dynamo, "_wave_runtime_is_known"):  # after a reload of this package it is
        dynamo._wave_runtime_is_known = True  # type: ignore[attr-defined]
        dynamo.substitute_in_graph(_C.Kernel.__call__, skip_signature_check=True)(call_operator)


class _AfterImport(importlib.abc.MetaPathFinder):
    """Calls _teach_dynamo once torch._dynamo is imported: importing it here would add seconds to our own import."""

    def find_spec(self, fullname: str, path: Any, target: Any = None) -> importlib.machinery.ModuleSpec | None:
        if fullname != "torch._dynamo":
            return None
        sys.meta_path.remove(self)
        spec = importlib.util.find_spec(fullname)
        if spec is None or spec.loader is None:
            return spec
        load = spec.loader.exec_module

        def exec_module(module: ModuleType) -> None:
            load(module)
            _teach_dynamo(module)

        spec.loader.exec_module = exec_module  # type: ignore[method-assign]
        return spec


def watch_dynamo() -> None:
    """Make torch.compile trace through ``kernel(...)``."""
    if "torch._dynamo" in sys.modules:
        _teach_dynamo(sys.modules["torch._dynamo"])
    else:
        sys.meta_path.insert(0, _AfterImport())
