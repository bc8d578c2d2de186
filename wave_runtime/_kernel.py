"""The Python half of Kernel: the call as an operator, which compilers trace, and what the binary says of a kernel."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple, TypedDict

import torch

from wave_runtime import _C

Dims = int | Sequence[int]


class Options(TypedDict, total=False):
    """The keywords of a launch but the grid. See ``Kernel.__call__`` in ``_C.pyi``."""

    block: Dims | None
    shared_memory: int
    cluster: Dims | None
    cooperative: bool
    programmatic: bool
    priority: int | None


class LaunchOptions(Options):
    """The keywords of a launch."""

    grid: Dims


def call_operator(
    self: _C.Kernel,
    *args: Any,
    grid: Dims,
    block: Dims | None = None,
    shared_memory: int = 0,
    cluster: Dims | None = None,
    cooperative: bool = False,
    programmatic: bool = False,
    priority: int | None = None,
) -> None:
    """Call ``torch.ops.wave.launch`` with the arguments of ``kernel(...)``.

    This is what ``kernel(...)`` does where the call must be an operator: with modes, tracers or tensor subclasses, and
    under torch.compile, which finds this function as ``Kernel.__call__`` and traces it. The operator checks the rest.
    """
    plan = self._plan
    if len(args) != len(plan):
        raise TypeError(f"kernel '{self.name}' takes {len(plan)} arguments ({self.signature}), given {len(args)}")
    if block is None:
        block = self.block
    if block is None:
        raise TypeError(f"kernel '{self.name}': block= is missing: the binary fixes no workgroup size")
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
                    f"kernel '{self.name}', argument {index}: expected a tensor, given {type(value).__name__}"
                )
            (inputs if kind == "input" else outputs).append(value)
        elif kind == "float" and with_tensors:
            inputs.append(value if isinstance(value, torch.Tensor) else torch.tensor(value, dtype=torch.float64))
        elif kind == "float":
            floats.append(value)
        elif kind == "bytes":
            ints.extend(_words(value))
        elif kind in ("bits", "word") and isinstance(value, torch.Tensor):
            raise TypeError(
                f"kernel '{self.name}', argument {index}: given a tensor where the binary does not say that there is a "
                f"pointer ({self.signature}): pass signature= to wave_runtime.load()"
            )
        elif isinstance(value, float):
            raise TypeError(
                f"kernel '{self.name}', argument {index}: given a float where the signature ({self.signature}) "
                "does not say f32: pass signature= to wave_runtime.load()"
            )
        elif kind == "word" and value >= 1 << 63:
            ints.append(value - (1 << 64))  # operators have signed integers only
        else:
            ints.append(value)
    torch.ops.wave.launch(
        self.handle,
        inputs,
        outputs,
        ints,
        floats,
        _extents(grid),
        _extents(block),
        shared_memory,
        None if cluster is None else _extents(cluster),
        cooperative,
        programmatic,
        priority,
    )


def _extents(dims: Dims) -> list[int]:
    return list(dims) if isinstance(dims, (tuple, list)) else [dims]  # type: ignore[list-item]


def _words(value: bytes) -> list[int]:
    """Bytes as signed 64-bit words. Not int.from_bytes, which torch.compile traces from torch 2.12 on only."""
    words = [0] * ((len(value) + 7) // 8)
    for i in range(len(value)):
        words[i // 8] |= value[i] << i % 8 * 8
    return [word - (1 << 64) if word >> 63 else word for word in words]


def rebuild(images: list[bytes], name: str, signature: str | None, strides: str, strict: bool) -> _C.Kernel:
    """Make a kernel again from what pickling keeps of it."""
    return _C.make_kernel([_C.CodeObject(image) for image in images], name, signature, None, strides, strict)


def info(image: bytes, name: str) -> dict[str, Any]:
    """What ``kernel.info`` returns: the kernel's part of ``python -m wave_runtime info --json``."""
    from wave_runtime import _info  # not needed to launch

    return next(kernel for kernel in _info.describe(image)["kernels"] if kernel["name"] == name)


class Accesses(NamedTuple):
    """Which pointer arguments a launch wrote and read: by name where the name is unique, else by index.

    ``writes`` is what ``wave_runtime.load(..., writes=)`` takes.
    """

    writes: tuple[int | str, ...]
    reads: tuple[int | str, ...]


def infer_writes(self: _C.Kernel, *args: Any, **options: Any) -> Accesses:
    """Run a launch on the emulator and say which pointer arguments it wrote and read. See ``_C.pyi``."""
    copies: dict[int, torch.UntypedStorage] = {}

    def copy(value: Any) -> Any:
        if not isinstance(value, torch.Tensor) or value.layout is not torch.strided:
            return value
        storage = value.untyped_storage()
        if storage.data_ptr() not in copies:
            copies[storage.data_ptr()] = value.new_empty(0).set_(storage).cpu().clone().untyped_storage()
        same = torch.empty(0, dtype=value.dtype)
        return same.set_(copies[storage.data_ptr()], value.storage_offset(), value.size(), value.stride())

    accesses = self._trace(*map(copy, args), **options)
    names = self._names

    def reference(index: int) -> int | str:
        return names[index] if names[index] and names.count(names[index]) == 1 else index

    return Accesses(
        writes=tuple(reference(index) for index, (_, written) in accesses.items() if written),
        reads=tuple(reference(index) for index, (read, _) in accesses.items() if read),
    )


def as_operator(self: _C.Kernel, name: str, **options: Any) -> torch._ops.OpOverload:
    """Define an operator of this kernel alone. See ``_C.pyi``."""
    self._define_operator(name, **options)
    namespace, _, short_name = name.partition("::")
    overload: torch._ops.OpOverload = getattr(getattr(torch.ops, namespace), short_name).default
    return overload


_C.define_call(_C.Kernel, call_operator)
_C.Kernel.as_operator = as_operator  # type: ignore[method-assign]
_C.Kernel.infer_writes = infer_writes  # type: ignore[method-assign]
