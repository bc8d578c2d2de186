"""What torch.autocast does to the arguments of an operator."""

from __future__ import annotations

from typing import Any

import torch


def cast(value: Any, device_type: str, dtype: torch.dtype) -> Any:
    """The value, with its floating-point tensors on a device cast to a dtype. Those of f64 stay as they are."""
    if isinstance(value, torch.Tensor):
        takes_part = value.is_floating_point() and value.device.type == device_type and value.dtype != torch.float64
        return value.to(dtype) if takes_part else value
    if isinstance(value, (list, tuple)):
        return type(value)(cast(item, device_type, dtype) for item in value)
    return value
