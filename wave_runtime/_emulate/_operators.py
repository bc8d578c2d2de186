"""Operators that have a kernel for GPUs and none for CPUs: where a GPU is emulated, its tensors are CPU tensors, and so
a program's kernel stands in for the CPU's, until there is one.

All registrations in Python come to torch.library.Library.impl. What was registered before the emulation began is not
known. Of torch's own operators the products whose sums stay in f32 have stand-ins here.
"""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any

import torch

from wave_runtime import _torch
from wave_runtime._emulate._patches import Patches

_STANDS_FOR = {"CUDA": "CPU", "AutogradCUDA": "AutogradCPU"}
_KEYS = frozenset(_STANDS_FOR.values())
_PRODUCTS = ("mm", "bmm", "addmm", "baddbmm")  # their overloads with out_dtype are for GPUs alone


class _StandIn:
    """A kernel that is registered once more, for another key. It goes with the library that has it, which calls
    destroy()."""

    def __init__(self, register: Callable[[Any], None], namespace: str) -> None:
        self._library: Any = torch.library.Library(namespace, "IMPL")  # type: ignore[no-untyped-call]
        register(self._library)

    def destroy(self) -> None:
        """Take it back, once."""
        library, self._library = self._library, None
        if library is not None:
            _torch.take_back(library)


def _impl(original: Callable[..., None], stand_ins: dict[tuple[str, str], _StandIn]) -> Callable[..., None]:
    @functools.wraps(original)
    def impl(self: Any, op_name: Any, fn: Any, dispatch_key: str = "", **options: Any) -> None:
        key = dispatch_key or self.dispatch_key
        operator = _torch.qualified_name(self, op_name)
        if key in _KEYS and (operator, key) in stand_ins:
            stand_ins.pop((operator, key)).destroy()
        original(self, op_name, fn, dispatch_key, **options)
        other = _STANDS_FOR.get(key)
        if other is None or (_torch.has_kernel(operator, other) and (operator, other) not in stand_ins):
            return
        if (operator, other) in stand_ins:
            stand_ins.pop((operator, other)).destroy()
        keyset = {"with_keyset": options["with_keyset"]} if "with_keyset" in options else {}
        stand_in = _StandIn(lambda library: original(library, operator, fn, other, **keyset), self.ns)
        stand_ins[operator, other] = stand_in
        _torch.goes_with(self, stand_in)

    return impl


def _with_dtype(product: Callable[..., torch.Tensor]) -> Callable[..., torch.Tensor]:
    """A product of tensors of one type in another one."""

    def kernel(*operands: Any, **options: Any) -> torch.Tensor:
        *tensors, dtype = operands
        one, given = (each.dtype for each in tensors[-2:])
        if dtype != given and not (dtype == torch.float32 and given in (torch.float16, torch.bfloat16)):
            raise RuntimeError("out_dtype must be the same as input dtype or fp32 for fp16/bf16 inputs")
        if one != given:
            raise RuntimeError(f"expected both factors to have the same dtype, but got: {one} and {given}")
        return product(*(each.to(dtype) for each in tensors), **options)

    return kernel


def _register_products(library: Any) -> None:
    for name in _PRODUCTS:
        for overload in (f"{name}.dtype", f"{name}.dtype_out"):
            if not _torch.has_kernel(f"aten::{overload}", "CPU"):
                library.impl(overload, _with_dtype(getattr(torch, name)), "CPU")


def replace(patches: Patches) -> None:
    """Have kernels that are registered from now on for GPUs stand in for the CPU's."""
    products = _StandIn(_register_products, "aten")
    patches.call_at_the_end(products.destroy)
    stand_ins: dict[tuple[str, str], _StandIn] = {}

    def end() -> None:
        for stand_in in stand_ins.values():
            stand_in.destroy()

    patches.call_at_the_end(end)
    patches.set(torch.library.Library, "impl", _impl(torch.library.Library.impl, stand_ins))
