"""define_op, the decorator."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from wave_runtime import _C
from wave_runtime._op._operator import Operator


def define_op(
    name: str, *, mutates: Sequence[str] = (), inline: bool = False, kernels: Sequence[_C.Kernel] = ()
) -> Callable[[Callable[..., Any]], Operator]:
    """Make a PyTorch operator of a function that launches kernels.

    The schema comes from the type hints. The function makes its results and calls kernels on plain tensors, and runs on
    tensors without data, too, for compilers: there a launch does nothing, so it may not look at values.

        @wave_runtime.define_op("mylib::add")
        def add(a: Tensor, b: Tensor) -> Tensor:
            c = torch.empty_like(a)
            vector_add(a, b, c, a.numel(), grid=wave_runtime.cdiv(a.numel(), 256), block=256)
            return c

    Args:
        name: ``"namespace::name"``. Defining it again replaces the operator.
        mutates: the parameters that the function writes. It returns new tensors, or nothing, never its arguments.
        inline: whether ``torch.compile`` traces the function, so that it sees the launches, instead of one operator.
        kernels: kernels that the function uses and that the names in its code do not lead to; for the fingerprint.

    Returns:
        A decorator that makes an :class:`Operator`.

    Raises:
        ValueError: a name, or type hints, that no schema can be made of.
    """

    def define(body: Callable[..., Any]) -> Operator:
        return Operator(name, body, mutates=mutates, inline=inline, kernels=kernels)

    return define


def cdiv(a: int, b: int) -> int:
    """Ceiling division: how many blocks of ``b`` cover ``a``. Also of symbolic sizes."""
    return -(-a // b)
