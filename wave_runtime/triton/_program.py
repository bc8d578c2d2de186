"""What a launch of a compiled Triton kernel consists of, whoever makes it: arguments, scratch memory, geometry.

What Triton passes to a kernel: backends/amd/driver.c of Triton 3.9 (`launchKernel`) and driver.py beside it. Constants
are left out, tuples are laid out one element behind the other, and behind the arguments follow the addresses of two
pieces of scratch memory, global and for profiles, whose sizes for one program the metadata say.
"""

from __future__ import annotations

import itertools
import re
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from operator import itemgetter
from typing import Any

import torch
from triton.runtime import _allocation
from triton.runtime import driver as active_driver

from wave_runtime import _C
from wave_runtime._module import Module, load

# Triton's types of scalars, and those of signatures. Pointers are not typed: a tensor may be reinterpreted.
TYPES = {
    **{f"{sign}{bits}": f"{sign}{bits}" for sign in "iu" for bits in (8, 16, 32, 64)},
    **{"i1": "u8", "u1": "u8", "fp16": "f16", "bf16": "bf16", "fp32": "f32", "f32": "f32", "fp64": "f64"},
}
SCRATCH = ("global_scratch", "profile_scratch")


def flatten(signature: Any, values: Any) -> Iterator[Any]:
    """The values that are passed: tuples are laid out, constants left out."""
    for kind, value in zip(signature, values, strict=True):
        if isinstance(kind, tuple):
            yield from flatten(kind, value)
        elif kind != "constexpr":
            yield value


def flat_names(signature: Any, names: Sequence[str]) -> Iterator[tuple[str, str]]:
    """Names and types of what is passed: elements of a tuple "t" are t_0, t_1."""
    for kind, name in zip(signature, names, strict=True):
        if isinstance(kind, tuple):
            yield from flat_names(kind, [f"{name}_{index}" for index in range(len(kind))])
        elif kind != "constexpr":
            yield name, kind


def signature_of(parameters: Sequence[tuple[str, str]], sizes: Sequence[int]) -> str:
    """A signature as wave_runtime.load takes it.

    Args:
        parameters: names and Triton's types, scratch memory among them.
        sizes: the bytes that each has in the binary. That of a truth value is up to the compiler.

    Raises:
        ValueError: there are not as many parameters as the binary has, or a type is unknown.
    """
    if len(parameters) != len(sizes):
        raise ValueError(f"Triton passes {len(parameters)} arguments ({parameters}), the binary takes {len(sizes)}")
    texts: dict[str, str] = {}
    for (name, kind), size in zip(parameters, sizes, strict=True):
        if kind.startswith("*"):
            text = "*"
        elif kind in ("i1", "u1"):
            text = f"u{8 * size}"
        elif kind in TYPES:
            text = TYPES[kind]
        else:
            raise ValueError(f"parameter '{name}': Triton's type {kind} is none that the emulator is passed")
        plain = re.sub(r"[^A-Za-z0-9_]", "_", name)
        numbered = (f"{plain}_{number}" for number in itertools.count(1))  # parts of a descriptor have its name
        texts[plain if plain not in texts else next(other for other in numbered if other not in texts)] = text
    return ", ".join(f"{name}: {text}" for name, text in texts.items())


def check_count(kernel: _C.Kernel, parameters: Sequence[str], args: Sequence[Any]) -> None:
    """Raises TypeError where there are not as many arguments as a call takes."""
    if len(args) != len(parameters):
        raise TypeError(
            f"kernel '{kernel.name}' takes {len(parameters)} arguments ({', '.join(parameters)}), given {len(args)}"
        )


def address_of(value: Any) -> Any:
    """What is launched with for a pointer: a tensor, where there is one behind it, or an address."""
    base = getattr(value, "base", value)  # of TensorWrapper, which reinterprets a tensor
    if isinstance(base, torch.Tensor) or base is None or isinstance(base, int):
        return base
    return base.data_ptr()


@contextmanager
def device_is(target: str) -> Iterator[None]:
    """The emulated device is a processor for a time: its limits are those of kernels that are loaded now."""
    before = _C.emulator_processor()
    _C.choose_emulator_processor(target)
    try:
        yield
    finally:
        _C.choose_emulator_processor(before)


class Program:
    """A compiled kernel.

    Args:
        image: the code object.
        metadata: Triton's.
        signature: Triton's types of the parameters, tensor descriptors expanded.
        names: of the parameters; those of expanded descriptors repeat the descriptor's.
        follows_pointers: whether it accesses addresses that it finds in memory, so that it must be let.
    """

    def __init__(
        self, image: bytes, metadata: Any, signature: Sequence[Any], names: Sequence[str], follows_pointers: bool
    ) -> None:
        module = load(image)
        arguments = module[metadata.name].info["kernarg"]["arguments"]
        sizes = [argument["size"] for argument in arguments if not argument["hidden"]]
        parameters = list(flat_names(signature, names))
        text = signature_of([*parameters, *((name, "*i8") for name in SCRATCH)], sizes)
        self.module: Module = load(image, signature=text, strides="any")
        self.kernel: _C.Kernel = self.module[metadata.name]
        self.names = tuple(name for name, _ in parameters)
        self.pointers = tuple(index for index, (_, kind) in enumerate(parameters) if kind.startswith("*"))
        self.metadata = metadata
        self.values = _chooser(signature)
        self._scratch = any(getattr(metadata, f"{name}_size") > 0 for name in SCRATCH)
        self._options = {
            "block": metadata.num_warps * metadata.warp_size,
            "shared_memory": metadata.shared,
            "cooperative": bool(metadata.launch_cooperative_grid),
            "process_memory": follows_pointers,
            "raw": True,  # as on a GPU: neither autograd nor arguments that share memory are looked at
        }
        with device_is(metadata.arch):
            self.kernel.preload("cpu")

    def launch(self, grid: tuple[int, int, int], stream: Any, values: list[Any]) -> None:
        """Launch with what is passed, but scratch memory. A grid without programs launches nothing."""
        if grid[0] * grid[1] * grid[2] <= 0:
            return
        for index in self.pointers:
            value = values[index]
            if type(value) is not torch.Tensor and value is not None:
                values[index] = address_of(value)
        values += self._allocate(grid, stream) if self._scratch else (None, None)
        self.kernel._launch_addresses(*values, grid=grid, **self._options)

    def _allocate(self, grid: tuple[int, int, int], stream: Any) -> list[Any]:
        """The two pieces of scratch memory, from Triton's allocators."""
        found: list[Any] = []
        for name in SCRATCH:
            size = getattr(self.metadata, f"{name}_size") * grid[0] * grid[1] * grid[2]
            align = getattr(self.metadata, f"{name}_align")
            if size <= 0:
                found.append(None)
            elif name == "profile_scratch" and not _allocation.has_profile_allocator():
                found.append(active_driver.active.allocate_default_profile_scratch(size, align, stream))
            else:
                allocator = _allocation._allocator if name == "global_scratch" else _allocation._profile_allocator
                found.append(address_of(allocator.get()(size, align, stream)))
        return found


def _chooser(signature: Sequence[Any]) -> Callable[[Sequence[Any]], list[Any]]:
    """What picks those arguments that are passed."""
    if any(isinstance(kind, tuple) for kind in signature):
        return lambda arguments: list(flatten(signature, arguments))
    passed = [index for index, kind in enumerate(signature) if kind != "constexpr"]
    if len(passed) < 2:
        return lambda arguments: [arguments[index] for index in passed]
    get = itemgetter(*passed)
    return lambda arguments: list(get(arguments))
