"""torch.cuda.FloatTensor and its like, which old programs call, and name where they convert tensors.

Each is a class in the place of torch's, which stands for the CPU's of that name: a call makes a CPU tensor that is on
the emulated GPU, and all tensors of its dtype are instances, as ``Tensor.is_cuda`` is true for all of them.
"""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any

import torch

from wave_runtime._emulate._gpu import names_gpu
from wave_runtime._emulate._patches import Patches
from wave_runtime._emulate._tensors import marked

NAMES = tuple(name for name in torch.cuda.__all__ if name.endswith("Tensor"))
_GPUS = "torch.cuda."


class _Meta(type):
    """The class of these classes, each of which has the CPU's in ``on_cpu``."""

    on_cpu: Any

    def __call__(cls, *args: Any, **options: Any) -> Any:
        if names_gpu(options.get("device")):
            del options["device"]
        return marked(cls.on_cpu(*args, **options))

    def __instancecheck__(cls, instance: object) -> bool:
        return isinstance(instance, cls.on_cpu)


def _class(original: Any, on_cpu: Any) -> _Meta:
    members = {name: getattr(original, name) for name in ("dtype", "layout", "is_cuda", "is_sparse")}
    return _Meta(original.__name__, (), {**members, "on_cpu": on_cpu, "__module__": original.__module__})


def _find(kind: object) -> _Meta | None:
    """One of the classes, which may be given as "torch.cuda.FloatTensor"."""
    if isinstance(kind, str) and kind.startswith(_GPUS):
        kind = getattr(torch.cuda, kind.removeprefix(_GPUS), None)
    return kind if isinstance(kind, _Meta) else None


def _type(original: Callable[..., Any]) -> Callable[..., Any]:
    """What Tensor.type does: one of the classes is where the tensor goes, as well."""

    @functools.wraps(original)
    def type(self: torch.Tensor, dtype: Any = None, non_blocking: bool = False, **options: Any) -> Any:
        if (kind := _find(dtype)) is None:
            return original(self, dtype, non_blocking, **options)
        return self.to("cuda", kind.on_cpu.dtype, non_blocking=non_blocking)

    return type


def _set_default(original: Callable[..., None]) -> Callable[..., None]:
    """What torch.set_default_tensor_type does: later tensors are CPU tensors of the class's dtype."""

    @functools.wraps(original)
    def set_default_tensor_type(t: Any) -> None:
        kind = _find(t)
        original(t if kind is None else kind.on_cpu)

    return set_default_tensor_type


def replace(patches: Patches) -> None:
    """Replace the classes, and the functions that take them."""
    for name in NAMES:
        patches.set(torch.cuda, name, _class(getattr(torch.cuda, name), getattr(torch, name)))
    patches.set(torch.Tensor, "type", _type(torch.Tensor.type))
    patches.set(torch, "set_default_tensor_type", _set_default(torch.set_default_tensor_type))
