"""A kernel with code for several vendors, which runs where its tensors are."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any, Literal

import torch
from typing_extensions import Unpack

from wave_runtime import _C, _torch
from wave_runtime._builds import Builds, Recipe, device_of
from wave_runtime._compile import LANGUAGES, Language, is_text
from wave_runtime._device import has_gpu, target_for
from wave_runtime._file import Source
from wave_runtime._kernel import Attributes, Dims, LaunchOptions, Options
from wave_runtime._module import Writes
from wave_runtime.compat.vendors import _apple, _intel
from wave_runtime.compat.vendors._parameters import Signature

Code = Source | Mapping[str, Source]
_ANY = ""  # what a vendor's code is for that is given without a target
_LANGUAGE: dict[str, Language] = {"amd": "hip", "nvidia": "cuda"}


class PortableKernel:
    """A kernel that has code for several vendors. Made by :func:`kernel`.

    Launches on Intel's and Apple's GPUs are experimental: they have never run on one. Code for Intel runs on CPU
    tensors, too.

    Attributes:
        name: the kernel's name, which is the same in all of its sources.
        vendors: the vendors that it has code for.
    """

    def __init__(self, name: str, codes: Mapping[str, Code], shared: Recipe) -> None:
        self.name = name
        self.vendors: tuple[str, ...] = tuple(codes)
        self._made_of = name, dict(codes), shared
        self._recipes = {vendor: _recipes(vendor, code, shared) for vendor, code in codes.items()}
        self._signature = shared.signature
        self._builds = Builds(name, self._recipe_for)
        self._definition = self._recipes, self._builds  # for the fingerprint of operators

    def __call__(
        self,
        *args: Any,
        grid: Dims,
        block: Dims | None = None,
        shared_memory: int = 0,
        device: torch.device | str | int | None = None,
        **attributes: Unpack[Attributes],
    ) -> None:
        """Launch on the device of the tensors and its current stream: on CPU tensors the code for AMD, emulated, or
        where there is none that for Intel.

        Args and errors are those of a :class:`Kernel`'s call. Intel's and Apple's code takes grid and block only, and
        compiled code has no such launches.
        """
        where = device_of(args)
        if where is None and device is None:
            raise ValueError(
                f"kernel '{self.name}': no tensor among the arguments, so there is no device to launch on: "
                'say it, as in device="cpu"'
            )
        if where is None:
            where = torch.device(device)  # type: ignore[arg-type]
        vendor = self._vendor_for(where)
        if vendor in ("intel", "apple"):
            return self._launch_outside(vendor, where, args, grid, block, shared_memory, attributes)
        kernel = self._builds.kernel(where)
        if device is None:
            kernel(*args, grid=grid, block=block, shared_memory=shared_memory, **attributes)
        else:
            kernel(*args, grid=grid, block=block, shared_memory=shared_memory, device=device, **attributes)

    def on(self, device: torch.device | str | int | None = None) -> _C.Kernel:
        """The kernel for one device, by default the current GPU or, if there is none, the CPU.

        Raises:
            ValueError: there is no code for it, or the device is neither the CPU nor a GPU of AMD's or NVIDIA's.
            CompileError: it does not compile.
        """
        if device is None:
            device = torch.cuda.current_device() if has_gpu() else "cpu"
        return self._builds.kernel(torch.device(device))

    def combined(self) -> _C.Kernel:
        """One kernel with the builds for the CPU and for the current GPU, if they can be made here.

        Its operators run on either. The builds must take the same arguments: ``signature=`` says so, else those of the
        first.

        Raises:
            ValueError, CompileError: there is no build.
        """
        kernels, errors = [], []
        for device in ["cpu", *(["cuda"] if has_gpu() else [])]:
            try:
                kernels.append(self.on(device))
            except (ValueError, RuntimeError) as error:
                errors.append(error)
        if not kernels:
            raise errors[0]
        first = kernels[0]
        codes = {code.data: code for found in kernels for code in found._codes}
        return _C.make_kernel(list(codes.values()), first.name, first.signature, None, first.strides, first.strict)

    def as_operator(self, name: str, **options: Unpack[Options]) -> _torch.OpOverload:
        """Define an operator of this kernel alone: see :meth:`Kernel.as_operator`."""
        return self.combined().as_operator(name, **options)

    def bind(self, *args: Any, **options: Unpack[LaunchOptions]) -> _C.BoundLaunch:
        """A launch that can be repeated, on the device of the tensors: see :meth:`Kernel.bind`."""
        return self.on(device_of(args)).bind(*args, **options)

    def _vendor_for(self, device: torch.device) -> str:
        vendor = vendor_of(device)
        return "intel" if device.type == "cpu" and vendor not in self._recipes and "intel" in self._recipes else vendor

    def _recipes_of(self, vendor: str, device: torch.device) -> dict[str, Recipe]:
        if vendor not in self._recipes:
            raise ValueError(
                f"kernel '{self.name}' has code for {', '.join(self.vendors)}, and none for tensors on {device}: "
                f"pass {vendor}="
            )
        return self._recipes[vendor]

    def _recipe_for(self, device: torch.device) -> Recipe:
        vendor = vendor_of(device)
        recipes = self._recipes_of(vendor, device)
        if _ANY in recipes:
            return recipes[_ANY]
        target = target_for(device)
        for name, recipe in recipes.items():
            if _C.target_runs_on(name, target):
                return recipe
        raise ValueError(f"kernel '{self.name}' has {vendor}= for {', '.join(recipes)}, and {device} is {target}")

    def _launch_outside(
        self,
        vendor: str,
        device: torch.device,
        args: tuple[Any, ...],
        grid: Dims,
        block: Dims | None,
        shared_memory: int,
        attributes: Attributes,
    ) -> None:
        """A launch that is no operator: of Intel's or Apple's code."""
        if torch.compiler.is_compiling():
            raise RuntimeError(f"kernel '{self.name}': launches on {device} are no operators, and cannot be compiled")
        if shared_memory or any(attributes.values()) or block is None:
            raise ValueError(
                f"kernel '{self.name}' on {device}: there are grid= and block=, both needed, and no others"
            )
        if not isinstance(self._signature, str):
            raise ValueError(f"kernel '{self.name}': pass signature=: code for {vendor} does not say what it takes")
        recipe = self._recipes_of(vendor, device)[_ANY]
        source = str(recipe.source) if recipe.path is None else Path(recipe.path).read_text()
        signature = Signature.parse(self.name, self._signature)
        dims = extents(self.name, "grid", grid), extents(self.name, "block", block)
        if vendor == "apple":
            _apple.launch(signature, source, args, *dims, device)
        else:
            _intel.launch(signature, source, recipe.path, args, *dims, device)

    def __reduce__(self) -> Any:
        return type(self), self._made_of

    def __repr__(self) -> str:
        return f"<PortableKernel {self.name} for {', '.join(self.vendors)}>"


def kernel(
    name: str,
    *,
    amd: Code | None = None,
    nvidia: Code | None = None,
    intel: Source | None = None,
    apple: Source | None = None,
    signature: str | None = None,
    writes: Writes | None = None,
    strides: Literal["contiguous", "any"] = "contiguous",
    strict: bool = False,
    options: Sequence[str] = (),
    include_dirs: Sequence[str | os.PathLike[str]] = (),
) -> PortableKernel:
    """Make a kernel with code for several vendors. A call runs on the device of its tensors.

    Code is compiled or loaded for a device when the first tensors on it arrive, and again when its file has changed.

    Args:
        name: the kernel's name, which must be the same in all codes.
        amd, nvidia: a path to a source or a binary, a source's text, or a binary's bytes, as :func:`compile` and
            :func:`load` take them; or such by target, ``{"gfx942": ..., "gfx90a": ...}``. CPU tensors take AMD's for
            gfx942.
        intel: SYCL, as a path or text, with a function ``void NAME(sycl::nd_item<3> item, ...)``. For tensors on
            ``"xpu"``, experimental: it has never run on a GPU of Intel's; and for CPU tensors, on Intel's device for
            CPUs, where there is no code for AMD.
        apple: experimental: it has never run on a GPU of Apple's. Metal, as a path or text, whose kernel takes what the
            signature says as buffers 0, 1, ..., for tensors on ``"mps"``.
        signature: what the kernel takes, of whatever vendor. For HIP C++ the compiler knows it; Intel's and Apple's
            codes need it, and so do NVIDIA's for all that :func:`load` needs it for.
        writes, strides, strict: as for :func:`load`.
        options, include_dirs: for the compilers of AMD's and NVIDIA's code.

    Raises:
        ValueError: there is no code.
    """
    given = {"amd": amd, "nvidia": nvidia, "intel": intel, "apple": apple}
    codes = {vendor: code for vendor, code in given.items() if code is not None}
    if not codes:
        raise ValueError(f"kernel '{name}': no code: pass {', '.join(f'{vendor}=' for vendor in given)}")
    shared = Recipe(
        b"",
        options=tuple(options),
        include_dirs=tuple(include_dirs),
        signature=signature,
        writes=writes,
        strides=strides,
        strict=strict,
    )
    return PortableKernel(name, codes, shared)


def _recipes(vendor: str, code: Code, shared: Recipe) -> dict[str, Recipe]:
    """How the code of a vendor is compiled or loaded, by target."""
    sources = code if isinstance(code, Mapping) else {_ANY: code}
    if not sources:
        raise ValueError(f"{vendor}= has no code")
    return {
        target: replace(shared, source=source, language=_language(vendor, source)) for target, source in sources.items()
    }


def _language(vendor: str, source: Source) -> Language | None:
    """The language of a source: texts and files of C++ are in the vendor's, and suffixes tell of others."""
    if isinstance(source, bytes):
        if vendor not in _LANGUAGE:
            raise ValueError(f"{vendor}= is a source or its path, given bytes")
        return None
    is_cpp = LANGUAGES.get(os.path.splitext(source)[1]) in ("hip", "cuda")
    return _LANGUAGE.get(vendor) if is_cpp or is_text(source) else None


def vendor_of(device: torch.device) -> str:
    """The vendor whose code runs on a device. Raises ValueError where there is none."""
    vendors = {"cpu": "amd", "meta": "amd", "xpu": "intel", "mps": "apple"}
    vendors["cuda"] = "amd" if torch.version.hip else "nvidia"
    if device.type not in vendors:
        raise ValueError(f"no vendor's kernels run on {device}: there are {', '.join(vendors)}")
    return vendors[device.type]


def extents(name: str, what: str, dims: Dims) -> tuple[int, int, int]:
    """Three extents; missing ones are 1."""
    given = (dims,) if isinstance(dims, int) else tuple(dims)
    if not 1 <= len(given) <= 3 or any(extent < 1 for extent in given):
        raise ValueError(f"kernel '{name}': {what} must be one to three ints from 1 on, given {given}")
    x, y, z = (*given, 1, 1)[:3]
    return x, y, z
