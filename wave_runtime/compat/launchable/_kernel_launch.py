"""A kernel, and how the arguments of a call become a launch of it: what Launchable and CustomOp launch without IREE."""

from __future__ import annotations

import functools
import os
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import torch

from wave_runtime import _C
from wave_runtime._compile import Language, compile, is_source, is_text
from wave_runtime._device import target_for
from wave_runtime._file import open_images
from wave_runtime._kernel import Dims
from wave_runtime._module import Module, Writes
from wave_runtime.compat.launchable._elements import dense

Binary = str | os.PathLike[str] | bytes
CodeFor = Callable[[str], Module | _C.Kernel]  # by target
Code = Binary | Mapping[str, Binary] | Module | _C.Kernel | CodeFor


class KernelLaunch:
    """A launch of a kernel, described by functions of ``(*arguments, *results)`` of the operator's call.

    Args:
        code: a source's text (a str with a line break or a brace) or path, which is compiled for the device of each
            call; a path to, or the bytes of, what ``wave_runtime.load`` takes; a dict of such by target; a module; a
            kernel; a function that returns the module or kernel for a target.
        name: the kernel's; by default the only one of the code.
        grid: workgroups, or a function of ``(*arguments, *results)`` that returns them. With an extent of 0 nothing is
            launched.
        block, shared_memory: as for a call of a kernel, or such functions.
        arguments: such a function, that returns what the kernel takes; by default the arguments and results, those in
            lists one by one, without None.
        language: of a source; a text is CUDA C++ by default, which is compiled as HIP for AMD's targets.
        signature, writes: as for ``wave_runtime.load``.
        options, defines, include_dirs: for the compiler, as for ``wave_runtime.compile``.

    Attributes:
        code_for: a function that returns the module or kernel for a target.

    Raises:
        OSError, ValueError: a binary cannot be read.
    """

    def __init__(
        self,
        code: Code,
        name: str | None = None,
        *,
        grid: Dims | Callable[..., Dims],
        block: Dims | Callable[..., Dims] | None = None,
        shared_memory: int | Callable[..., int] = 0,
        arguments: Callable[..., Sequence[Any]] | None = None,
        signature: str | None = None,
        writes: Writes | None = None,
        language: Language | None = None,
        options: Sequence[str] = (),
        defines: Mapping[str, object] | None = None,
        include_dirs: Sequence[str | os.PathLike[str]] = (),
    ) -> None:
        self._name = name
        self._geometry = {"grid": grid, "block": block, "shared_memory": shared_memory}
        self._arguments = arguments
        self._kernels: dict[str, _C.Kernel] = {}  # by target
        declared: dict[str, Any] = {
            "signature": signature if name is None or signature is None else {name: signature},
            "writes": writes if name is None or writes is None else {name: writes},
        }
        if isinstance(code, (str, os.PathLike)) and (language is not None or is_source(code)):
            compiled = functools.partial(
                compile,
                code,
                language=language or ("cuda" if is_text(code) else None),
                options=options,
                defines=defines,
                include_dirs=include_dirs,
                **declared,
            )
            self.code_for: CodeFor = lambda target: compiled(target=target)
        elif callable(code) and not isinstance(code, _C.Kernel):
            self.code_for = code
        else:
            found = code if isinstance(code, (Module, _C.Kernel)) else _loaded(code, **declared)
            self.code_for = lambda target: found

    def kernel_for(self, device: torch.device) -> _C.Kernel:
        """The kernel that runs on a device. Raises CompileError, or ValueError where it is not in the code."""
        target = target_for(device)
        if target not in self._kernels:
            code = self.code_for(target)
            if isinstance(code, Module):
                if self._name is None and len(code.kernels) != 1:
                    raise ValueError(f"name the kernel to launch: the code has {list(code.kernels)}")
                code = code[self._name or code.kernels[0]]
            self._kernels[target] = code
        return self._kernels[target]

    def __call__(self, *args: Any) -> None:
        """Launch on the device of the first tensor. Tensors that are only read are made contiguous."""
        given = {key: value for key, value in self._geometry.items() if value is not None}
        geometry: dict[str, Any] = {key: value(*args) if callable(value) else value for key, value in given.items()}
        grid = geometry["grid"]
        if 0 in (grid if isinstance(grid, (tuple, list)) else (grid,)):
            return
        flat = _flat(args)
        device = next((value.device for value in flat if isinstance(value, torch.Tensor)), torch.device("cpu"))
        kernel = self.kernel_for(device)
        values = flat if self._arguments is None else self._arguments(*args)
        kernel(*_readable(kernel, values), **geometry)


def _flat(values: Sequence[Any]) -> list[Any]:
    """The values without None, and with lists replaced by their items."""
    lists = [value if isinstance(value, list) else [value] for value in values]
    return [value for items in lists for value in items if value is not None]


def _loaded(code: Binary | Mapping[str, Binary], **declared: Any) -> Module:
    """The module of a binary, or of several by target."""
    entries: Sequence[tuple[str | None, Binary]] = list(code.items()) if isinstance(code, Mapping) else [(None, code)]
    codes = [image.code_object for target, binary in entries for image in open_images(binary, target)]
    return Module(codes, strides="contiguous", strict=False, **declared)


def _readable(kernel: _C.Kernel, values: Sequence[Any]) -> list[Any]:
    """The values, with contiguous copies in place of those tensors that the kernel only reads and that are not."""
    written = range(len(values)) if kernel.writes is None else kernel.writes
    return [
        dense(value)
        if isinstance(value, torch.Tensor) and kernel.strides == "contiguous" and index not in written
        else value
        for index, value in enumerate(values)
    ]
