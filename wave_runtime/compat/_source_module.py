"""Kernels of a source file, rebuilt as it changes, and called as PyHIP calls them: see docs/pyhip.md."""

from __future__ import annotations

import functools
import os
import shlex
import sys
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from types import SimpleNamespace
from typing import Any, Literal

import torch

from wave_runtime import _C
from wave_runtime._builds import Builds, Recipe, Variant, device_of, has_addresses
from wave_runtime._compile import LANGUAGES, Language
from wave_runtime._device import has_gpu, target_for
from wave_runtime._kernel import Dims
from wave_runtime._module import Writes
from wave_runtime._torch import constant_result

_SET_ASIDE = 1024  # bytes of shared memory that NVIDIA's GPUs keep for themselves with each workgroup


class SourceKernel:
    """A kernel of a source or binary file, called with grid and block before its arguments. Made by :func:`module`."""

    def __init__(self, name: str, recipe: Recipe) -> None:
        self.__name__ = name
        self._recipe = recipe
        self._builds = Builds(name, lambda device: recipe)
        self._definition = recipe, self._builds  # for the fingerprint of operators

        @constant_result
        def share(device: str, macros: Variant, block: Dims, workgroups: int) -> int:
            kernel = self._builds.kernel(torch.device(device), macros)
            return _share(kernel, device, (block,) if isinstance(block, int) else tuple(block), workgroups)

        self._share = share

    def __call__(
        self, grid: Dims, block: Dims, /, *args: Any, sharedMemBytes: int = 0, force_occupancy: int = 0, **variant: Any
    ) -> None:
        """Launch on the device of the arguments and its current stream: on the CPU, in the emulator.

        Args:
            grid, block: workgroups, and work-items of one: an int or one to three, of which missing ones are 1.
            args: one for each parameter: tensors or addresses for pointers (``tensor.data_ptr()``, None for null), ints
                and floats. An address is of the GPU whose driver knows it, else of the host; there the kernel runs on
                the emulator and may touch whatever the process has mapped.
            sharedMemBytes: dynamic shared memory (LDS).
            force_occupancy: so many workgroups at most on a compute unit, by taking their share of its shared memory.
            variant: keywords that begin with a capital letter: macros that the source is compiled with (``-D``).

        Raises:
            TypeError, ValueError: an argument or option does not fit, before anything runs.
            CompileError: the source, as it is now, does not compile.
            RuntimeError, KernelFault: as a call of a :class:`Kernel`.
        """
        macros = _macros(self.__name__, variant)
        device = device_of(args)
        has_tensors = device is not None
        if device is None:
            kernel = self._builds.kernel(self._default_device(), macros)
            device = kernel._device_of(*args)
        kernel = self._builds.kernel(device, macros)
        if force_occupancy:
            sharedMemBytes = max(sharedMemBytes, self._share(str(device), macros, block, force_occupancy))
        if has_addresses(kernel, args):
            kernel._launch_addresses(*args, grid=grid, block=block, shared_memory=sharedMemBytes)
        elif has_tensors:
            kernel(*args, grid=grid, block=block, shared_memory=sharedMemBytes)
        else:
            kernel(*args, grid=grid, block=block, shared_memory=sharedMemBytes, device=device)

    def on(self, device: torch.device | str | int | None = None, **variant: Any) -> _C.Kernel:
        """The kernel for a device as it is built now: for ``bind``, ``as_operator``, ``info`` and so on.

        Args:
            device: by default the current GPU where torch has one that takes its code, else the CPU.
            variant: macros, as in a call.
        """
        where = self._default_device() if device is None else torch.device(device)
        return self._builds.kernel(where, _macros(self.__name__, variant))

    def _default_device(self) -> torch.device:
        """The device where nothing else tells it. Of the two kinds of GPU, most sources are for one."""
        suffix = os.path.splitext(self._recipe.path or "")[1]
        is_for_any = self._recipe.is_binary or "cuda" in (self._recipe.language, LANGUAGES.get(suffix))
        is_gpu = has_gpu() and (is_for_any or torch.version.hip is not None)
        return torch.device("cuda", torch.cuda.current_device()) if is_gpu else torch.device("cpu")

    def __reduce__(self) -> Any:
        return type(self), (self.__name__, self._recipe)

    def __repr__(self) -> str:
        return f"<SourceKernel {self.__name__} of {self._recipe.path}>"


class SourceModule:
    """A source or binary file whose kernels are attributes, ``kernels.scale``, or items, ``kernels["fill<float>"]``.

    As a decorator it gives the kernel that has the name of a function, which says no more: :func:`module`.
    """

    def __init__(self, recipe: Recipe) -> None:
        self._recipe = recipe
        self._kernels = SimpleNamespace()

        @constant_result
        def make(name: str) -> None:
            vars(self._kernels).setdefault(name, SourceKernel(name, recipe))

        self._make = make

    def __call__(self, stub: Callable[..., Any]) -> SourceKernel:
        """The kernel that has the function's name. The function itself is never called."""
        kernel = SourceKernel(stub.__name__, self._recipe)
        functools.update_wrapper(kernel, stub)
        return kernel

    def __getitem__(self, name: str) -> SourceKernel:
        """The kernel of this name. Its first call raises KeyError where the file has no such kernel."""
        if not hasattr(self._kernels, name):
            self._make(name)
        kernel: SourceKernel = getattr(self._kernels, name)
        return kernel

    def __getattr__(self, name: str) -> SourceKernel:
        if name.startswith("__"):
            raise AttributeError(name)
        return self[name]

    def __reduce__(self) -> Any:
        return type(self), (self._recipe,)

    def __repr__(self) -> str:
        return f"<SourceModule {self._recipe.path}>"


def module(
    path: str | os.PathLike[str],
    options: str | Sequence[str] = (),
    *,
    language: Language | None = None,
    include_dirs: Sequence[str | os.PathLike[str]] = (),
    signature: str | Mapping[str, str] | None = None,
    writes: Writes | Mapping[str, Writes] | None = None,
    strides: Literal["contiguous", "any"] = "contiguous",
    strict: bool = False,
) -> SourceModule:
    """The kernels of a file. They are compiled for the device of a call, and again when the file has changed.

        @pyhip.module("scale.cpp")
        def scale(a, b, factor, n): ...

        scale([4], [256], a, b, 2.0, 1000)

    Nothing is read before a kernel is called. Each call looks at the times of the file and of the headers that it
    includes, and compiles again if one has changed. The result is kept as :func:`compile` keeps it.

    Args:
        path: of HIP or CUDA C++ (C++20), assembly, LLVM IR, or anything that :func:`load` takes; relative to the
            caller's file. Assembly that a compiler has written from C++ keeps its kernels' names and types.
        options: for the compiler: text as in a shell, or a list.
        language, include_dirs, signature, writes, strides, strict: as for :func:`compile`.
    """
    file = os.path.join(_folder_of(sys._getframe(1).f_code.co_filename), path)
    recipe = recipe_of(file, options, language)
    recipe = replace(recipe, include_dirs=tuple(include_dirs), signature=signature, writes=writes)
    return SourceModule(replace(recipe, strides=strides, strict=strict))


def recipe_of(path: str, options: str | Sequence[str] = (), language: Language | None = None) -> Recipe:
    """How a file is compiled that :func:`module` is given."""
    chosen = language or LANGUAGES.get(os.path.splitext(path)[1])
    words = shlex.split(options) if isinstance(options, str) else list(options)
    standard = ["-std=c++20"] if chosen in ("hip", "cuda") else []
    return Recipe(path, language=language, options=(*standard, *words))


def _folder_of(file: str) -> str:
    """The folder of a program's file. Where code was typed, or is in a notebook, it is the current folder."""
    return os.path.dirname(os.path.abspath(file)) if os.path.isfile(file) else os.getcwd()


def _macros(name: str, variant: Mapping[str, Any]) -> Variant:
    for keyword in variant:
        if not keyword[0].isupper():
            raise TypeError(
                f"kernel '{name}': no keyword {keyword}=: there are sharedMemBytes= and force_occupancy=, and those "
                "that begin with a capital letter are macros"
            )
    return tuple([(key, int(value) if isinstance(value, bool) else value) for key, value in sorted(variant.items())])


@functools.lru_cache(256)
def _share(kernel: _C.Kernel, device: str, block: tuple[int, ...], workgroups: int) -> int:
    """The dynamic shared memory of a workgroup with which so many fit on a compute unit, and no more.

    It is given out in granules, so that an equal share may be rounded up to more than there is for all.
    """
    if workgroups < 1:
        raise ValueError(f"{kernel._text}: force_occupancy must be at least 1, given {workgroups}")
    resources = kernel.resources(device)
    equal = resources["max_shared_memory"] // workgroups
    facts = _C.processor_facts(target_for(torch.device(device)).partition(":")[0]) or {}
    granule = facts.get("lds_granularity") or _SET_ASIDE
    dynamic = equal - equal % granule - resources["shared_memory"]
    if dynamic >= 0 and kernel.occupancy(device, block=block, shared_memory=dynamic) == workgroups:
        return dynamic
    return max(0, equal - resources["shared_memory"])
