"""Rules of operators for torch.vmap."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import torch

VmapRule = Callable[..., tuple[Any, Any]]


def leading_batch(op: Callable[..., Any]) -> VmapRule:
    """The rule of an operator that takes the batch as a further dimension in front of each tensor."""

    def rule(info: Any, in_dims: tuple[Any, ...], *args: Any, **kwargs: Any) -> tuple[Any, Any]:
        moved = [to_front(value, dim, info.batch_size) for value, dim in zip(args, in_dims, strict=True)]
        result = op(*moved, **kwargs)
        return result, front_of(result)

    return rule


def to_front(value: Any, dim: Any, batch_size: int) -> Any:
    """A tensor, or a list of tensors, made contiguous and with the batch as the first dimension."""
    if isinstance(value, (list, tuple)):
        dims = dim if isinstance(dim, (list, tuple)) else [None] * len(value)
        return type(value)(to_front(item, of_item, batch_size) for item, of_item in zip(value, dims, strict=True))
    if not isinstance(value, torch.Tensor):
        return value
    if dim is None:
        return value.expand(batch_size, *value.shape).contiguous()
    return value.movedim(dim, 0).contiguous()


def front_of(result: Any) -> Any:
    """0, the batch dimension, for each tensor of a result."""
    return type(result)(map(front_of, result)) if isinstance(result, (list, tuple)) else 0
