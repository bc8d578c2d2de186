"""Launches of kernels that take a matrix row by row."""

from __future__ import annotations

from collections.abc import Callable

import torch

from .base import cdiv, load

F16_EPS = torch.finfo(torch.float16).eps
BF16_EPS = torch.finfo(torch.bfloat16).eps


def by_row(
    binary: str,
    signature: str,
    *,
    columns: int = 256,
    output: Callable[[torch.Tensor], torch.Tensor] = torch.empty_like,
) -> Callable[..., torch.Tensor]:
    """A function that launches a kernel over the rows of its first argument, of shape [M, N].

    Args:
        binary: what to load.
        signature: its tensors, the output last, then any numbers, and M and N as i64 where the kernel takes them.
        columns: how many columns a workgroup takes.
        output: makes the output from the first argument.
    """
    kernel = load(binary, signature)
    sizes = signature.count("i64")
    pointers = signature.count("*")

    def run(a: torch.Tensor, *others: torch.Tensor | int) -> torch.Tensor:
        b = output(a)
        tensors, numbers = others[: pointers - 2], others[pointers - 2 :]
        kernel(a, *tensors, b, *numbers, *a.shape[:sizes], grid=(cdiv(a.shape[1], columns), a.shape[0]))
        return b

    return run
