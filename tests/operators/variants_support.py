"""Launches of one kernel in several ways, for tests of variants, also in processes of their own."""

from __future__ import annotations

import torch
from operators_support import vector_add
from torch import Tensor

from wave_runtime import cdiv


def once(a: Tensor, b: Tensor, c: Tensor) -> None:
    vector_add(a, b, c, a.numel(), grid=cdiv(a.numel(), 256), block=256)


def often(a: Tensor, b: Tensor, c: Tensor) -> None:
    for _ in range(50):
        vector_add(a, b, c, a.numel(), grid=cdiv(a.numel(), 64), block=64)


def twice(a: Tensor, b: Tensor, c: Tensor) -> None:
    for _ in range(2):
        vector_add(a, b, c, a.numel(), grid=cdiv(a.numel(), 128), block=128)


def too_large(a: Tensor, b: Tensor, c: Tensor) -> None:
    vector_add(a, b, c, a.numel(), grid=cdiv(a.numel(), 2048), block=2048)


def tensors(n: int = 500) -> tuple[Tensor, Tensor, Tensor]:
    return torch.randn(n), torch.randn(n), torch.zeros(n)
