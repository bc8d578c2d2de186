"""The same launch on a GPU and on the emulator, element by element."""

from __future__ import annotations

import math
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

import torch
from typing_extensions import Unpack

from wave_runtime import _C
from wave_runtime._device import has_gpu
from wave_runtime._foreign import tensor_over
from wave_runtime._kernel import LaunchOptions
from wave_runtime._run import parameters
from wave_runtime._signature import Parameter

# The integers of a float's size, in which neighbours differ by one.
_BITS = {1: torch.int8, 2: torch.int16, 4: torch.int32, 8: torch.int64}


@dataclass(frozen=True)
class Element:
    """An element that differs: its index, both values, and how many floats lie between them (None: one is a NaN)."""

    index: tuple[int, ...]
    gpu: float | int
    emulator: float | int
    ulps: int | None


@dataclass(frozen=True)
class Difference:
    """How an argument differs.

    Attributes:
        argument: its name, or its index as text.
        elements: how many it has.
        differing: how many of them differ. NaNs are equal, whatever their bits are; +0 and -0 differ by 0 ulps.
        nans: how many of them are a NaN on one side alone.
        ulps: the largest difference of the others in units of the last place; of integers the largest difference.
        absolute: the largest difference as a number.
        first: the first few of them.
    """

    argument: str
    dtype: torch.dtype
    elements: int
    differing: int
    nans: int
    ulps: int
    absolute: float
    first: tuple[Element, ...]

    def __str__(self) -> str:
        unit = "ulps" if self.dtype.is_floating_point else "apart"
        lines = [
            f"{self.argument} ({str(self.dtype).removeprefix('torch.')}): {self.differing} of {self.elements} elements "
            f"differ, by up to {self.ulps} {unit} ({self.absolute:g}); {self.nans} are NaN on one side"
        ]
        for element in self.first:
            ulps = "" if element.ulps is None else f", {element.ulps} {unit}"
            lines.append(f"  {list(element.index)}: GPU {element.gpu}, emulator {element.emulator}{ulps}")
        return "\n".join(lines)


@dataclass(frozen=True)
class Comparison:
    """What :func:`compare` found: the arguments that differ. Printed, it lists them."""

    kernel: str
    device: str
    differences: tuple[Difference, ...]

    @property
    def equal(self) -> bool:
        return not self.differences

    def within(self, ulps: int) -> bool:
        """Whether no element differs by more units in the last place than this, or is a NaN on one side alone."""
        return all(item.ulps <= ulps and item.nans == 0 for item in self.differences)

    def __str__(self) -> str:
        head = f"{_C.kernel_text(self.kernel)} on {self.device} and on the emulator"
        return "\n".join([f"{head}: equal"] if self.equal else [f"{head}:", *map(str, self.differences)])


def compare(
    kernel: _C.Kernel,
    *args: Any,
    device: torch.device | str | None = None,
    examples: int = 5,
    **options: Unpack[LaunchOptions],
) -> Comparison:
    """Make the same launch on a GPU and on the emulator, on copies of the tensors, and compare what they wrote.

    Args:
        kernel: a kernel with builds for the GPU and for a processor that the emulator has.
        args, options: those of ``kernel(...)``. The tensors may be on any device.
        device: the GPU; by default that of the tensors, else the current one. ``"hip"`` gives CPU tensors to the HIP
            library. That must be one that takes them, such as the emulator's (``python -m wave_emulator library``).
        examples: how many of the elements that differ to keep, for each argument.

    Raises:
        RuntimeError: there is no GPU.
        ValueError, TypeError, KernelFault: the launches raise them.
    """
    items = parameters(kernel.signature)
    args = tuple(map(_as_tensor, items, args)) if len(items) == len(args) else args
    place = str(device) if device is not None else _gpu_of(args)
    on_gpu = _copies(args, "cpu" if place == "hip" else place)
    with on_host_driver("hip" if place == "hip" else None):
        kernel(*on_gpu, **options)
    on_emulator = _copies(args, "cpu")
    with on_host_driver("emulator"):
        kernel(*on_emulator, **options)
    found = [
        difference(item.name, gpu.cpu(), emulator, examples)
        for item, gpu, emulator in zip(items, on_gpu, on_emulator, strict=True)
        if isinstance(gpu, torch.Tensor)
    ]
    return Comparison(kernel.name, place, tuple(item for item in found if item is not None))


def _as_tensor(item: Parameter, value: Any) -> Any:
    """An array of another library as a tensor, as a launch takes it; copies are written, so it may be read-only."""
    if not (item.is_pointer or item.type == "b64") or value is None or isinstance(value, int | float | torch.Tensor):
        return value
    tensor = tensor_over(value, f"argument '{item.name}'", is_const=True)
    return value if tensor is None else tensor


def _gpu_of(args: tuple[Any, ...]) -> str:
    for value in args:
        if isinstance(value, torch.Tensor) and value.device.type != "cpu":
            return str(value.device)
    if not has_gpu():
        raise RuntimeError("there is no GPU to compare the emulator with")
    return f"cuda:{torch.cuda.current_device()}"


def _copies(args: tuple[Any, ...], device: str) -> list[Any]:
    """Copies of the tensors on a device. Tensors that share memory share it there, too."""
    storages: dict[int, torch.UntypedStorage] = {}

    def copy(tensor: torch.Tensor) -> torch.Tensor:
        storage = tensor.untyped_storage()
        if storage.data_ptr() not in storages:
            bytes_ = torch.empty(0, dtype=torch.uint8, device=tensor.device).set_(storage)
            storages[storage.data_ptr()] = bytes_.to(device, copy=True).untyped_storage()
        empty = torch.empty(0, dtype=tensor.dtype, device=device)
        return empty.set_(storages[storage.data_ptr()], tensor.storage_offset(), tensor.shape, tensor.stride())

    return [copy(value.detach()) if isinstance(value, torch.Tensor) else value for value in args]


@contextmanager
def on_host_driver(name: str | None) -> Iterator[None]:
    """Gives CPU tensors to "emulator" or "hip" for a while; None leaves the driver as it is."""
    before = _C.drivers()[0]
    _C.set_host_driver(name or before)
    try:
        yield
    finally:
        _C.set_host_driver(before)


def _ordered(tensor: torch.Tensor) -> torch.Tensor:
    """Numbers as int64 in their order, neighbours one apart; +0 and -0 are one number."""
    if tensor.dtype == torch.uint64:
        return tensor.view(torch.int64) ^ torch.iinfo(torch.int64).min
    if not tensor.dtype.is_floating_point:
        return tensor.to(torch.int64)
    if tensor.dtype == torch.float8_e8m0fnu:  # has no sign
        return tensor.contiguous().view(torch.uint8).to(torch.int64)
    bits = tensor.contiguous().view(_BITS[tensor.element_size()]).to(torch.int64)
    sign = 1 << (8 * tensor.element_size() - 1)
    magnitude = bits & (sign - 1)
    return torch.where(bits < 0, -magnitude, magnitude)


def _distances(gpu: torch.Tensor, emulator: torch.Tensor) -> torch.Tensor:
    """How far elements are apart, in ulps or as integers. It ends at the largest value of int64."""
    a, b = _ordered(gpu), _ordered(emulator)
    distance = torch.maximum(a, b) - torch.minimum(a, b)
    return torch.where(distance < 0, torch.iinfo(torch.int64).max, distance)


def difference(name: str, gpu: torch.Tensor, emulator: torch.Tensor, examples: int = 5) -> Difference | None:
    """How two tensors of one shape and dtype differ; None where they do not."""
    if gpu.dtype == torch.float4_e2m1fn_x2:  # torch has no numbers of it
        gpu, emulator = gpu.view(torch.uint8), emulator.view(torch.uint8)
    shape, a, b = gpu.shape, gpu.flatten(), emulator.flatten()
    x, y = (t.to(torch.float64) if t.dtype.is_floating_point else t for t in (a, b))
    one_nan, any_nan = x.isnan() ^ y.isnan(), x.isnan() | y.isnan()
    differing = (_bytes(a) != _bytes(b)).any(dim=-1) & ~(any_nan & ~one_nan)
    if not bool(differing.any()):
        return None
    distances = torch.where(any_nan, 0, _distances(a, b))
    places = differing.nonzero().flatten()

    def element(place: torch.Tensor) -> Element:
        index = tuple(int(extent) for extent in torch.unravel_index(place, shape))
        ulps = None if bool(one_nan[place]) else int(distances[place])
        return Element(index, _number(x[place]), _number(y[place]), ulps)

    ulps = int(distances.max())
    is_float = a.dtype.is_floating_point
    return Difference(
        argument=name,
        dtype=a.dtype,
        elements=a.numel(),
        differing=places.numel(),
        nans=int(one_nan.sum()),
        ulps=ulps,
        absolute=float((x - y).abs().nan_to_num(0.0, posinf=math.inf).max()) if is_float else float(ulps),
        first=tuple(element(place) for place in places[:examples]),
    )


def _number(element: torch.Tensor) -> float | int:
    value = element.item()
    return value if isinstance(value, float) else int(value)


def _bytes(tensor: torch.Tensor) -> torch.Tensor:
    return tensor.contiguous().view(torch.uint8).reshape(tensor.numel(), -1)
