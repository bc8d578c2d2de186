"""What torch's functions on tensors do while a GPU is emulated: a tensor that is asked for on it is a CPU tensor.

A tensor that moves to the GPU or back is copied, as it is by a real one, so that the two do not share memory. Which
tensors are on the GPU is known of those that were made there or moved there, and of their views: storages are marked.
Their device is an object of its own, so that ``out.to(x.device)`` is ``out``, as on a GPU, and not a copy that a kernel
then writes in its place. Of a result of other functions it is not known; it is copied.
"""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any

import torch

from wave_runtime import _torch
from wave_runtime._emulate._gpu import CPU, HERE, current, names_gpu
from wave_runtime._emulate._patches import Patches

PLAIN = (torch.Tensor, torch.nn.Parameter)
ON_GPU, PINNED = "_wave_runtime_on_gpu", "_wave_runtime_pinned"  # attributes of storages

before_copying_back: Callable[[torch.Tensor], None] | None = None  # where a graph is captured; raises


def _has_storage(tensor: object) -> bool:
    """Whether a tensor has a storage to mark, which sparse ones and stand-ins of compilers, vmap and grad have not."""
    if type(tensor) not in PLAIN or torch.compiler.is_compiling() or _torch.is_transformed(tensor):
        return False
    return isinstance(tensor, torch.Tensor) and tensor.layout is torch.strided


def _is_marked(tensor: torch.Tensor, mark: str) -> bool:
    return _has_storage(tensor) and hasattr(tensor.untyped_storage(), mark)


def marked(tensor: Any, mark: str = ON_GPU) -> Any:
    """The tensor, whose storage is marked where it has one."""
    if _has_storage(tensor):
        setattr(tensor.untyped_storage(), mark, True)
    return tensor


def _moved(before: torch.Tensor, after: torch.Tensor, to_gpu: bool) -> torch.Tensor:
    """The result of a move, which torch did not have to copy where it shares memory. Compiled code does not copy."""
    if not _has_storage(after):
        return after
    if before_copying_back is not None and not to_gpu:
        before_copying_back(before)
    is_shared = after.untyped_storage().data_ptr() == before.untyped_storage().data_ptr()
    if is_shared and not (to_gpu and _is_marked(before, ON_GPU)):
        after = after.clone()
    return marked(after) if to_gpu else after


def _factory(original: Callable[..., Any]) -> Callable[..., Any]:
    """A function that makes tensors, on the CPU where it is asked for a GPU."""

    @functools.wraps(original)
    def make(*args: Any, **options: Any) -> Any:
        is_pinned = options.get("pin_memory") and not torch.compiler.is_compiling()
        if options.get("pin_memory"):
            options["pin_memory"] = False
        if options.get("device") is not None and names_gpu(options["device"]):
            options["device"] = CPU
            return marked(original(*args, **options))
        made = original(*args, **options)
        if options.get("device") is None and args and _is_marked(args[0], ON_GPU):
            return marked(made)  # it is made where its model is
        return marked(made, PINNED) if is_pinned else made

    return make


def _converter(original: Callable[..., Any]) -> Callable[..., Any]:
    """torch.as_tensor and torch.asarray, which share memory with what they are given where they can."""

    @functools.wraps(original)
    def convert(data: Any, *args: Any, **options: Any) -> Any:
        if options.get("device") is None or not names_gpu(options["device"]):
            return original(data, *args, **options)
        options["device"] = CPU
        made = original(data, *args, **options)
        return _moved(data if isinstance(data, torch.Tensor) else made, made, to_gpu=True)

    return convert


def _names_cpu(device: object) -> bool:
    return device == "cpu" or device == CPU


def _to(original: Callable[..., torch.Tensor]) -> Callable[..., torch.Tensor]:
    """What Tensor.to does, whose first argument may be a device, a tensor that has one, or a dtype."""

    @functools.wraps(original)
    def to(self: torch.Tensor, *args: Any, **options: Any) -> torch.Tensor:
        device = options.get("device", args[0] if args else None)
        if isinstance(device, torch.Tensor):
            after = original(self, *args, **options)
            return _moved(self, after, to_gpu=True) if _is_marked(device, ON_GPU) else after
        to_gpu = names_gpu(device)
        if not to_gpu and not _names_cpu(device):
            return original(self, *args, **options)
        # Under a mode of torch, as torch.device's context is one, the original comes back to this function with it.
        where = HERE if to_gpu else CPU
        if "device" in options:
            options["device"] = where
        else:
            args = (where, *args[1:])
        return _moved(self, original(self, *args, **options), to_gpu)

    return to


def _cuda(self: torch.Tensor, device: Any = None, non_blocking: bool = False, **options: Any) -> torch.Tensor:
    """What Tensor.cuda does."""
    return self.to(torch.device("cuda") if device is None else device, non_blocking=non_blocking, **options)


def _cpu(self: torch.Tensor, **options: Any) -> torch.Tensor:
    """What Tensor.cpu does."""
    return self.to("cpu", **options)


def _pin_memory(self: torch.Tensor, device: Any = None) -> torch.Tensor:
    """What Tensor.pin_memory does."""
    return self if _is_pinned(self) else marked(self.clone(), PINNED)


def _is_pinned(self: torch.Tensor, device: Any = None) -> bool:
    """What Tensor.is_pinned says."""
    return _is_marked(self, PINNED)


def _get_device(original: Callable[..., int], device: Any) -> Callable[..., int]:
    """What Tensor.get_device says; ``device`` is torch's own property, which is faster."""

    def get_device(self: torch.Tensor) -> int:
        return current().thread.index if device.__get__(self).type == "cpu" else original(self)

    return get_device


def _device(original: Any) -> property:
    def device(self: torch.Tensor) -> torch.device:
        where: torch.device = original.__get__(self)
        return HERE if where == CPU and _is_marked(self, ON_GPU) else where

    return property(device)


def _is_cuda(original: Any, device: Any) -> property:
    return property(lambda self: device.__get__(self).type == "cpu" or original.__get__(self))


def _generator(original: type) -> type:
    """torch.Generator, of which objects are still instances."""

    class Meta(type):
        def __instancecheck__(cls, instance: object) -> bool:
            return isinstance(instance, original)

    class Generator(metaclass=Meta):
        def __new__(cls, device: Any = "cpu") -> Any:
            return original(CPU if names_gpu(device) else device)

    Generator.__doc__ = original.__doc__
    return Generator


def _load(original: Callable[..., Any]) -> Callable[..., Any]:
    """torch.load: what was saved on a GPU, or is wanted there, goes to the CPU."""

    @functools.wraps(original)
    def load(f: Any, map_location: Any = None, *args: Any, **options: Any) -> Any:
        if map_location is None or names_gpu(map_location):
            wanted = map_location
            map_location = lambda storage, location: storage if wanted or names_gpu(location) else None  # noqa: E731
        elif isinstance(map_location, dict):
            map_location = {key: "cpu" if names_gpu(value) else value for key, value in map_location.items()}
        return original(f, map_location, *args, **options)

    return load


def _one_device(original: Callable[..., None]) -> Callable[..., None]:
    """DataParallel's __init__: with a list of devices that is empty, it calls its module."""

    @functools.wraps(original)
    def init(self: Any, *args: Any, **options: Any) -> None:
        original(self, *args, **options)
        self.device_ids = []

    return init


def _storage_to(original: Callable[..., Any]) -> Callable[..., Any]:
    """What UntypedStorage.to does, and by it .cuda()."""

    @functools.wraps(original)
    def to(self: Any, *, device: Any, non_blocking: bool = False) -> Any:
        if not names_gpu(device):
            return original(self, device=device, non_blocking=non_blocking)
        copy = self if hasattr(self, ON_GPU) else self.clone()
        setattr(copy, ON_GPU, True)
        return copy

    return to


def _storage_cpu(self: Any) -> Any:
    """What UntypedStorage.cpu does."""
    return self.clone() if hasattr(self, ON_GPU) else self


def _on_cpu_first(original: Callable[..., None], position: int, name: str, cpu: Any) -> Callable[..., None]:
    """An __init__ whose argument says a device or its kind."""

    @functools.wraps(original)
    def init(self: Any, *args: Any, **options: Any) -> None:
        if name in options and names_gpu(options[name]):
            options[name] = cpu
        elif len(args) > position and names_gpu(args[position]):
            args = (*args[:position], cpu, *args[position + 1 :])
        original(self, *args, **options)

    return init


def _module_to(original: Callable[..., Any]) -> Callable[..., Any]:
    """What Module.to does, which asks torch for an accelerator where a device is a number."""

    @functools.wraps(original)
    def to(self: Any, *args: Any, **options: Any) -> Any:
        if args and names_gpu(args[0]):
            args = (torch.device("cuda"), *args[1:])
        elif names_gpu(options.get("device")):
            options["device"] = torch.device("cuda")
        return original(self, *args, **options)

    return to


def replace(patches: Patches) -> None:
    """Replace torch's functions."""
    scripted = _torch.scripted_functions()
    for home, name in _torch.device_constructors():
        wrap = _converter if name in ("as_tensor", "asarray") else _factory
        original = getattr(home, name)
        patches.set(home, name, wrap(original))
        if (operator := scripted.get(id(original))) is not None:
            patches.set_item(scripted, id(getattr(home, name)), operator)
    tensor = torch.Tensor
    for name in ("new_empty", "new_empty_strided", "new_full", "new_ones", "new_tensor", "new_zeros"):
        patches.set(tensor, name, _factory(getattr(tensor, name)))
    patches.set(tensor, "to", _to(tensor.to))
    patches.set(tensor, "cuda", _cuda)
    patches.set(tensor, "cpu", _cpu)
    patches.set(tensor, "pin_memory", _pin_memory)
    patches.set(tensor, "is_pinned", _is_pinned)
    patches.set(tensor, "record_stream", lambda self, stream: None)
    device = tensor.device
    patches.set(tensor, "get_device", _get_device(tensor.get_device, device))
    patches.set(tensor, "is_cuda", _is_cuda(tensor.is_cuda, device))
    patches.set(tensor, "device", _device(device))
    patches.set(torch.UntypedStorage, "to", _storage_to(torch.UntypedStorage.to))
    patches.set(torch.UntypedStorage, "cpu", _storage_cpu)
    patches.set(torch.nn.DataParallel, "__init__", _one_device(torch.nn.DataParallel.__init__))
    patches.set(torch.nn.Module, "to", _module_to(torch.nn.Module.to))
    patches.set(torch, "Generator", _generator(torch.Generator))
    patches.set(torch, "load", _load(torch.load))
    context = _torch.DeviceContext
    patches.set(context, "__init__", _on_cpu_first(context.__init__, 0, "device", CPU))
    autocast = torch.amp.autocast_mode.autocast
    patches.set(autocast, "__init__", _on_cpu_first(autocast.__init__, 0, "device_type", "cpu"))
