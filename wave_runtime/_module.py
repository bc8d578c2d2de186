"""Loading code objects."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Literal

from wave_runtime import _C
from wave_runtime._file import Source, open_images

Writes = Sequence[int | str]


class Module:
    """A parsed file and its kernels. Parsing touches no GPU; kernels are looked up when asked for.

    Attributes:
        kernels: the names of its kernels, in the order of the file.
        target: what it was built for, for example ``"gfx942:sramecc+"`` or ``"sm_90a"``; of several the first.
        targets: all that it was built for.
    """

    def __init__(
        self,
        codes: Sequence[_C.CodeObject],
        signature: str | Mapping[str, str] | None,
        writes: Writes | Mapping[str, Writes] | None,
        strides: str,
        strict: bool,
    ) -> None:
        # A library has a code object for each translation unit and target. Templates may be in several, all alike.
        self._codes = {name: code for code in reversed(codes) for name in code.kernels}
        self._signature = signature
        self._writes = writes
        self._strides = strides
        self._strict = strict
        self._made: dict[str, _C.Kernel] = {}
        self.kernels: tuple[str, ...] = tuple(dict.fromkeys(name for code in codes for name in code.kernels))
        self.targets: tuple[str, ...] = tuple(dict.fromkeys(code.target for code in codes))
        self.target: str = self.targets[0]
        for option, value in (("signature", signature), ("writes", writes)):
            if value is None:
                continue
            if isinstance(value, Mapping):
                unknown = sorted(set(value) - set(self.kernels))
                if unknown:
                    raise ValueError(f"{option}= names {unknown}, but the file's kernels are {list(self.kernels)}")
            elif len(self.kernels) != 1:
                raise ValueError(
                    f"{option}= must be a dict from kernel names: the file's kernels are {list(self.kernels)}"
                )

    def __getitem__(self, name: str) -> _C.Kernel:
        """The kernel called ``name``. Raises KeyError that lists the kernels there are."""
        if name not in self._made:
            if name not in self.kernels:
                raise KeyError(f"no kernel '{name}' in the code object; its kernels are {list(self.kernels)}")
            signature = self._signature.get(name) if isinstance(self._signature, Mapping) else self._signature
            writes = self._writes.get(name) if isinstance(self._writes, Mapping) else self._writes
            self._made[name] = _C.make_kernel(
                self._codes[name],
                name,
                signature,
                None if writes is None else list(writes),
                self._strides,
                self._strict,
            )
        return self._made[name]

    def __iter__(self) -> Iterator[str]:
        return iter(self.kernels)

    def __len__(self) -> int:
        return len(self.kernels)

    def __contains__(self, name: object) -> bool:
        return name in self.kernels

    def __repr__(self) -> str:
        return f"<wave_runtime.Module for {', '.join(self.targets)}: {', '.join(self.kernels)}>"


def load(
    source: Source,
    *,
    target: str | None = None,
    signature: str | Mapping[str, str] | None = None,
    writes: Writes | Mapping[str, Writes] | None = None,
    strides: Literal["contiguous", "any"] = "contiguous",
    strict: bool = False,
) -> Module:
    """Load compiled GPU kernels. Parses only: no GPU is touched.

    Args:
        source: path or contents of an AMD code object (``.hsaco``, ``.co``), a clang offload bundle, plain or
            compressed, a cubin, PTX, a CUDA fat binary, or a host object or library with HIP or CUDA fat binaries.
        target: of several entries in a container the one that suits this target best, for example ``"gfx942"`` or
            ``"sm_90"``; by default all.
        signature: the parameters' types, for files whose metadata does not say enough: ``"*f32 const, *f32, i32"``;
            const marks pointers that the kernel only reads. For several kernels a dict by name.
        writes: which pointer arguments the kernel writes, by index or name; the others it only reads. For several
            kernels a dict by name.
        strides: "contiguous" refuses tensors that are not contiguous; "any" passes their storage, never a copy.
        strict: on the emulator, check each launch against the declaration: a written argument that was never written is
            a RuntimeWarning, and a read past the end of an argument is a KernelFault. A store to a const argument is
            one in any case.

    Raises:
        OSError: the file cannot be read.
        ValueError: it is malformed (with offset and reason), has no entry for the target (with those it has), or the
            options do not fit its kernels.
    """
    codes = [_C.CodeObject(image.data) for image in open_images(source, target)]
    return Module(codes, signature, writes, strides, strict)
