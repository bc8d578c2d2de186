"""A kernel for several devices, built for each when it is asked for, and again once one of its files has changed."""

from __future__ import annotations

import contextlib
import hashlib
import os
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from types import SimpleNamespace
from typing import Any, Literal

import torch

from wave_runtime import _C
from wave_runtime._cache import Dependency
from wave_runtime._compile import LANGUAGES, Language, compile, is_text
from wave_runtime._compile._names import of_symbols
from wave_runtime._device import target_for
from wave_runtime._file import Source, open_images
from wave_runtime._fork import Lock
from wave_runtime._module import Module, Writes
from wave_runtime._spelling import Spellings
from wave_runtime._torch import constant_result

Variant = tuple[tuple[str, Any], ...]  # macros, sorted by name

_SYSTEM = ("/usr/", os.environ.get("ROCM_PATH", "/opt/rocm") + "/", f"{Path(__file__).parent / 'device'}/")


@dataclass(frozen=True)
class Recipe:
    """How to make a kernel: what :func:`load` and :func:`compile` take.

    Attributes:
        source: a path to a source or a binary, a source's text, or a binary's bytes.
        options, include_dirs, language: for sources.
    """

    source: Source
    language: Language | None = None
    options: tuple[str, ...] = ()
    include_dirs: tuple[str | os.PathLike[str], ...] = ()
    signature: str | Mapping[str, str] | None = None
    writes: Writes | Mapping[str, Writes] | None = None
    strides: Literal["contiguous", "any"] = "contiguous"
    strict: bool = False

    @property
    def path(self) -> str | None:
        """The path of the source or binary; None where it was given as text or bytes."""
        if isinstance(self.source, bytes) or is_text(self.source):
            return None
        return os.path.abspath(os.fspath(self.source))

    def fingerprint(self) -> str:
        """A text that changes with the source: operators that use the kernel have it in their fingerprints."""
        contents = hashlib.sha256()
        if self.path is not None:
            with contextlib.suppress(OSError):
                contents.update(Path(self.path).read_bytes())
        return f"{self!r} {contents.hexdigest()}"

    @property
    def is_binary(self) -> bool:
        """Whether there is nothing to compile."""
        if isinstance(self.source, bytes) or self.language is not None:
            return isinstance(self.source, bytes)
        return self.path is not None and os.path.splitext(self.path)[1] not in LANGUAGES

    def load(self, name: str) -> Module:
        """The module of a binary."""
        images = open_images(self.source, None)
        kernels = [kernel for image in images for kernel in image.parsed["kernels"]]
        known, symbols = of_symbols(kernels)
        symbol = Spellings([kernel["name"] for kernel in kernels], symbols).symbol(name) or name
        signature = {symbol: self.signature} if isinstance(self.signature, str) else {**known, **(self.signature or {})}
        writes = self.writes if self.writes is None or isinstance(self.writes, Mapping) else {symbol: self.writes}
        codes = [image.code_object for image in images]
        return Module(codes, signature or None, writes, self.strides, self.strict, symbols)

    def compile(self, name: str, target: str, variant: Variant) -> Module:
        """The module of a source for a target."""
        assert not isinstance(self.source, bytes)
        signature = {name: self.signature} if isinstance(self.signature, str) else self.signature
        writes = self.writes if self.writes is None or isinstance(self.writes, Mapping) else {name: self.writes}
        return compile(
            self.source,
            language=self.language,
            target=target,
            options=self.options,
            defines=dict(variant),
            include_dirs=self.include_dirs,
            signature=signature,
            writes=writes,
            strides=self.strides,
            strict=self.strict,
        )


@dataclass
class _Build:
    name: str  # among the slots
    kernel: _C.Kernel
    files: list[Dependency]

    def is_current(self) -> bool:
        """Whether the files are as they were. Mostly their times and sizes tell, and nothing is read."""
        for index, file in enumerate(self.files):
            now = file.renewed()
            if now is None:
                return False
            self.files[index] = now
        return True


class Builds:
    """A kernel's builds. May be used from several threads."""

    def __init__(self, name: str, recipe_for: Callable[[torch.device], Recipe]) -> None:
        self._name = name
        self._recipe_for = recipe_for
        self._lock = Lock()
        self._built: dict[tuple[str, Variant], _Build] = {}
        self._slots = SimpleNamespace()  # the kernels, as attributes: compiled code is made anew when one changes

        @constant_result
        def slot(device: str, variant: Variant) -> str:
            return self._current(torch.device(device), variant).name

        self._slot = slot

    def kernel(self, device: torch.device, variant: Variant = ()) -> _C.Kernel:
        """The kernel for a device. It is built now if it is not yet, or if its source or a header has changed.

        Headers of the system, of the compiler and of ROCm count as unchanged. Compiled code looks when it is traced.

        Raises:
            OSError, ValueError, CompileError, KeyError: as :func:`compile` and :func:`load` raise them.
        """
        if torch.compiler.is_compiling():
            kernel: _C.Kernel = getattr(self._slots, self._slot(str(device), variant))
            return kernel
        return self._current(device, variant).kernel

    def _current(self, device: torch.device, variant: Variant) -> _Build:
        key = target_for(device), variant
        build = self._built.get(key)
        if build is not None and build.is_current():
            return build
        with self._lock:
            build = self._built.get(key)
            if build is None or not build.is_current():
                name = f"kernel{len(self._built)}" if build is None else build.name
                build = self._built[key] = self._build(name, self._recipe_for(device), *key)
                setattr(self._slots, name, build.kernel)
            return build

    def _build(self, slot: str, recipe: Recipe, target: str, variant: Variant) -> _Build:
        path = recipe.path
        files = [] if path is None else [Dependency.of(path)]  # before it is read: a later change is noticed
        if not recipe.is_binary:
            module = recipe.compile(self._name, target, variant)
        elif variant:
            names = ", ".join(name for name, _ in variant)
            raise TypeError(f"kernel '{self._name}': {path or 'the binary'} is compiled: it is too late for {names}")
        else:
            module = recipe.load(self._name)
        files += [Dependency.of(name) for name in module.files if name != path and not name.startswith(_SYSTEM)]
        return _Build(slot, module[self._name], files)

    def fingerprint(self) -> str:
        """A text that names all builds until now: operators that use the kernel have it in their fingerprints."""
        return " ".join(sorted(build.kernel.handle for build in self._built.values()))


def device_of(arguments: Sequence[Any]) -> torch.device | None:
    """The device of the first tensor among the arguments; None where there is no tensor."""
    for argument in arguments:
        if isinstance(argument, torch.Tensor):
            return argument.device
    return None


def has_addresses(kernel: _C.Kernel, arguments: Sequence[Any]) -> bool:
    """Whether an argument for a pointer is an address, or anything else that is no tensor."""
    for kind, argument in zip(kernel._plan, arguments, strict=False):
        if kind in ("input", "output") and not isinstance(argument, torch.Tensor):
            return True
    return False
