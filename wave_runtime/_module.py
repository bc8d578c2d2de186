"""Loading code objects."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any, Literal, NamedTuple

import torch

from wave_runtime import _C
from wave_runtime._file import Source, open_images
from wave_runtime._signature import parse
from wave_runtime._spelling import Spellings

Writes = Sequence[int | str]
STRIDES = ("contiguous", "any")
FROM_A_SOURCE = (
    "; of a source these are its functions that are __global__, and the instances of templates that it asks for, as in "
    "template __global__ void fill<float>(float*);"
)


class Module:
    """A parsed file and its kernels, which are found by name: ``module["scale"]``. Parsing touches no GPU.

    Attributes:
        kernels: the names of the kernels, in the order of the file.
        target: what the file was built for, for example ``"gfx942:sramecc+"`` or ``"sm_90a"``; the first of several.
        targets: everything that the file was built for.
        files: the paths of the source and the headers, if it was compiled here.
    """

    def __init__(
        self,
        codes: Sequence[_C.CodeObject],
        signature: str | Mapping[str, str] | None,
        writes: Writes | Mapping[str, Writes] | None,
        strides: str,
        strict: bool,
        symbols: Mapping[str, str] | None = None,
        files: Iterable[str] = (),
    ) -> None:
        self._codes = list(codes)
        self._symbols = dict(symbols or {})  # by the kernels' names in the source
        self._strides = strides
        self._strict = strict
        self._made: dict[str, _C.Kernel] = {}
        self.kernels: tuple[str, ...] = tuple(dict.fromkeys(name for code in codes for name in code.kernels))
        self._spellings = Spellings(self.kernels, self._symbols)
        self.targets: tuple[str, ...] = tuple(dict.fromkeys(code.target for code in codes))
        self.target: str = self.targets[0]
        self.files: tuple[str, ...] = tuple(files)
        if strides not in STRIDES:
            raise ValueError(f'strides= must be "contiguous" or "any", given "{strides}"')
        if signature is not None and not isinstance(signature, (str, Mapping)):
            raise TypeError(f"signature= must be a str, or a dict from kernel names, given {type(signature).__name__}")
        by_symbol = self._spellings.by_symbol
        self._signature = by_symbol(signature) if isinstance(signature, Mapping) else signature
        self._writes = by_symbol(writes) if isinstance(writes, Mapping) else writes
        for option, value in (("signature", self._signature), ("writes", self._writes)):
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
        """The kernel called ``name``. If there is none, a KeyError lists the kernels that there are."""
        if not isinstance(name, str):
            raise TypeError(
                f"expected the name of a kernel, given {type(name).__name__}; the kernels are {list(self.kernels)}"
            )
        if name not in self._made:
            symbol = self._spellings.symbol(name)
            if symbol is None:
                known = list(self.names_in_source().values())
                may_be_missing = not known or "<" in name
                raise KeyError(
                    f"no kernel '{name}' in the code object; its kernels are {known}"
                    f"{FROM_A_SOURCE if may_be_missing else ''}"
                )
            name = symbol
        if name not in self._made:
            signature = self._signature.get(name) if isinstance(self._signature, Mapping) else self._signature
            writes = self._writes.get(name) if isinstance(self._writes, Mapping) else self._writes
            if writes is not None and (isinstance(writes, str) or not isinstance(writes, Iterable)):
                raise TypeError(
                    f"kernel '{name}': writes= must be a list of indices and names, given {type(writes).__name__}"
                )
            self._made[name] = _C.make_kernel(
                self._variants(name),
                name,
                signature,
                None if writes is None else list(writes),
                self._strides,
                self._strict,
            )
        return self._made[name]

    def names_in_source(self) -> dict[str, str]:
        """What the kernels are called in the source, ``"fill<float>"``, by the names of the file; else those."""
        names = {symbol: source for source, symbol in self._symbols.items()}
        return {kernel: names.get(kernel, kernel) for kernel in self.kernels}

    def check(self, *options: object) -> None:
        """Make the kernels that signature= and writes= are for, so that those which do not fit raise ValueError now."""
        for option in options:
            for name in self.kernels if option is not None and not isinstance(option, Mapping) else option or ():
                self[name]
                names = [parameter.name for parameter in parse(self[name].signature) if parameter.name]
                if twice := sorted({name for name in names if names.count(name) > 1}):
                    raise ValueError(f"kernel '{name}': signature= has the name '{twice[0]}' twice")

    def _variants(self, name: str) -> list[_C.CodeObject]:
        """A kernel's builds, one for each target and format: a cubin and PTX of one target run on different devices.

        Templates may be in several translation units, all alike.
        """
        variants: dict[tuple[str, str], _C.CodeObject] = {}
        for code in self._codes:
            if name in code.kernels:
                variants.setdefault((code.format, code.target), code)
        return list(variants.values())

    @property
    def images(self) -> dict[str, bytes]:
        """The compiled code for each target, as it would be in a file; the first one, if there are several."""
        return {code.target: code.data for code in reversed(self._codes)}

    def disassemble(self, kernel: str | None = None) -> str:
        """The instructions of the AMD builds as text, as ``python -m wave_runtime disasm`` prints them.

        Args:
            kernel: show this kernel only; by default all functions.

        Raises:
            ValueError: there is no such kernel, there is no build for an AMD GPU, or a build is for a processor whose
                instructions are not known.
        """
        from wave_runtime import _disasm, _file  # not needed to launch

        images = [_file.Image(code) for code in self._codes]
        return _disasm.text_of_all(_file.amd_images(images, "disassembling"), kernel)

    def symbol(
        self, name: str, *, device: torch.device | str | int | None = None, dtype: torch.dtype = torch.uint8
    ) -> torch.Tensor:
        """A global variable of the code on a device, as a tensor that shares its memory.

        Args:
            name: the symbol of a ``__device__`` or ``__constant__`` variable.
            device: by default the current GPU, if its driver takes the module's kind of code, else the CPU (the
                emulator). The module is loaded there if it is not yet.
            dtype: the type of the tensor's elements.

        Returns:
            A tensor with one dimension that covers the whole variable. As long as it lives, the module stays loaded.

        Raises:
            ValueError: there is no such variable, or its size is not a multiple of the dtype's.
        """
        data: torch.Tensor = _C.symbol(self._codes, name, device)
        if data.numel() % dtype.itemsize:
            raise ValueError(f"symbol '{name}' has {data.numel()} bytes, no multiple of {dtype}'s {dtype.itemsize}")
        return data.view(dtype)

    def unload(self) -> int:
        """Unload the code from all devices, except those where a captured graph or a symbol's tensor may hold it.

        It waits for launches that are being enqueued. The next launch loads the code again.

        Returns:
            From how many devices the code was unloaded.
        """
        return _C.unload(self._codes)

    def __reduce__(self) -> tuple[Any, ...]:
        """A module is pickled and copied with its code, as kernels are: its file need not be there any more."""
        images = [code.data for code in self._codes]
        options = self._signature, self._writes, self._strides, self._strict
        return _rebuild, (images, *options, self._symbols, self.files)

    def __iter__(self) -> Iterator[str]:
        return iter(self.kernels)

    def __len__(self) -> int:
        return len(self.kernels)

    def __contains__(self, name: object) -> bool:
        return isinstance(name, str) and self._spellings.symbol(name) is not None

    def __repr__(self) -> str:
        return f"<wave_runtime.Module for {', '.join(self.targets)}: {', '.join(self.names_in_source().values())}>"


def _rebuild(images: Sequence[bytes], *rest: Any) -> Module:
    """Make a module again from what pickling keeps of it."""
    return Module([_C.CodeObject(image) for image in images], *rest)


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
        source: the path or the contents of an AMD code object (``.hsaco``, ``.co``), a clang offload bundle (plain or
            compressed), a cubin, PTX, a CUDA fat binary, or a host object or library with HIP or CUDA fat binaries.
        target: take only the code that suits this target best, for example ``"gfx942"`` or ``"sm_90"``. By default all
            code of the file is taken, and each launch uses what suits its device.
        signature: the parameters' types, for files whose metadata does not say enough: ``"*f32 const, *f32, i32"``. A
            pointer that the kernel only reads is ``const``. If the file has several kernels, a dict by their names.
        writes: which pointer arguments the kernel writes, by index or name. It only reads the others. If the file has
            several kernels, a dict by their names.
        strides: "contiguous" refuses tensors that are not contiguous. "any" passes them; they are never copied.
        strict: check each launch on the emulator against the declaration. It is a RuntimeWarning if an argument that is
            declared as written is not, and a KernelFault if the kernel reads past the end of an argument. A store to a
            const argument is a KernelFault in any case.

    Raises:
        OSError: the file cannot be read.
        ValueError: the file is malformed (the message has the offset and the reason), it has no code for the target
            (the message says what it has), or the options do not fit its kernels.
        TypeError: an option is of another type.
    """
    codes = [image.code_object for image in open_images(source, target)]
    module = Module(codes, signature, writes, strides, strict)
    module.check(signature, writes)
    return module


class Loaded(NamedTuple):
    """A code object that is loaded on a device.

    Attributes:
        device: where it is loaded: "cuda:0", "cpu".
        driver: "hip", "cuda" or "emulator".
        target: what it was built for.
        sha256: the hash of its contents.
        kernels: the names of those of its kernels that have been used there.
        pinned: whether a captured graph may use it, so that it stays loaded until the process ends.
    """

    device: str
    driver: str
    target: str
    sha256: str
    kernels: tuple[str, ...]
    pinned: bool


def loaded() -> list[Loaded]:
    """List the code objects that are loaded on devices now. The emulator counts as a device."""
    return [Loaded(**item) for item in _C.loaded()]
