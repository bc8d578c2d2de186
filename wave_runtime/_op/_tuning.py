"""Measuring launches, and the times that earlier processes measured."""

from __future__ import annotations

import copy
import hashlib
import json
import math
import warnings
from collections.abc import Callable
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import torch

from wave_emulator._cache_folder import cache_folder
from wave_runtime._bench import do_bench
from wave_runtime._cache import write_atomically
from wave_runtime._device import target_of
from wave_runtime._foreign import tensor_over

SECONDS = 0.02  # of measuring a launch, where it is not longer


def tensor_of(value: Any) -> torch.Tensor | None:
    """The tensor that a value is, or that shares an array's memory; None for what is neither."""
    if isinstance(value, torch.Tensor):
        return value
    if value is None or isinstance(value, (int, float, str, torch.dtype)):  # most of what is no array
        return None
    return tensor_over(value, "variants", is_const=True)


def with_tensors(value: Any) -> Any:
    """A value with tensors over the memory of arrays in their places."""
    if isinstance(value, (list, tuple)):
        return [with_tensors(item) for item in value]
    tensor = tensor_of(value)
    return value if tensor is None else tensor


def shape_class(*args: Any, **kwargs: Any) -> tuple[object, ...]:
    """The class of arguments that one choice serves, where the caller does not say."""
    return tuple(_class_of(value) for value in (*args, *kwargs.values()))


def _class_of(value: Any) -> object:
    tensor = tensor_of(value)
    if tensor is not None:
        return str(tensor.dtype), tuple(map(_round_up, tensor.shape)), tensor.is_contiguous()
    if isinstance(value, (list, tuple)):
        return tuple(map(_class_of, value))
    if isinstance(value, float):
        return "float"
    return _round_up(value) if isinstance(value, int) and not isinstance(value, bool) else str(value)


def _round_up(size: int) -> int:
    """The next power of two."""
    return 1 << (size - 1).bit_length() if size > 0 else size


def device_text(device: torch.device) -> str:
    """The kind of a device: a text that is the same for all devices of a kind."""
    if device.type != "cuda":
        return device.type
    return f"{torch.cuda.get_device_name(device)}, {target_of(device)}"


def measure(launch: Callable[..., Any], args: tuple[Any, ...], kwargs: dict[str, Any], device: torch.device) -> float:
    """Milliseconds of a launch, the least of several. It gets copies of the tensors, which it may write."""
    args, kwargs = _copy(args), {name: _copy(value) for name, value in kwargs.items()}
    return do_bench(lambda: launch(*args, **kwargs), device=device, seconds=SECONDS, statistic="min")


def _copy(value: Any) -> Any:
    """Tensors with the same strides over memory of their own; arrays as their libraries copy them."""
    if isinstance(value, (list, tuple)):
        return type(value)(map(_copy, value))
    if not isinstance(value, torch.Tensor):
        return copy.deepcopy(value) if tensor_of(value) is not None else value
    if value.numel() == 0:
        return value
    value = value.detach()
    length = 1 + sum((size - 1) * stride for size, stride in zip(value.shape, value.stride(), strict=True))
    return value.as_strided((length,), (1,)).clone().as_strided(value.shape, value.stride(), 0)


@dataclass(frozen=True)
class Entry:
    """The time of one launch for a class of arguments on a kind of device, and the file that keeps it."""

    device: str
    key: str
    launch: str
    definition: str

    @property
    def _path(self) -> Path:
        digest = hashlib.sha256(json.dumps(asdict(self)).encode()).hexdigest()[:32]
        return cache_folder() / "variants" / f"{digest}.json"

    def read(self) -> float | None:
        """The milliseconds that are kept; None where nothing is kept, or something that is no time."""
        try:
            found = json.loads(self._path.read_text())
        except (OSError, ValueError, RecursionError):
            return None
        match found:
            case {"milliseconds": float(milliseconds)} if 0 <= milliseconds < math.inf:
                return milliseconds
        return None

    def write(self, milliseconds: float) -> None:
        """Keep the time. Warns where that is not possible."""
        text = json.dumps({"of": asdict(self), "milliseconds": milliseconds}, indent=1)
        try:
            write_atomically(self._path, text.encode())
        except OSError as error:
            warnings.warn(f"times of launches are not kept for other processes: {error}", RuntimeWarning, stacklevel=2)
