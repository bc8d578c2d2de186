"""Exported programs: the code of their kernels travels in them, as constants of wave::launch_embedded."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import torch

from wave_runtime import _C, _torch
from wave_runtime._inductor import lower_in_order


@_torch.constant_result
def embedded_code(handle: str) -> torch.Tensor:
    """The code of a kernel, [bytes] of uint8: one tensor for all kernels of a file, so that a program has it once."""
    return _C.embedded_code(handle)


def launch_embedded(
    handle: str, inputs: list[torch.Tensor], outputs: list[torch.Tensor], ints: list[int], *rest: Any, **keywords: Any
) -> None:
    """What ``torch.ops.wave.launch`` does with these arguments, for processes that never loaded the kernel.

    Packages of AOTInductor (torch 2.13) pass no list where there are no ints: a 0 stands there instead.
    """
    code = embedded_code(handle)
    torch.ops.wave.launch_embedded(handle, [code, *inputs], outputs, ints or [0], *rest, **keywords)


def embed_in_packages(overload: _torch.OpOverload, launch: Callable[..., None]) -> None:
    """Have AOTInductor see ``launch`` in place of an operator that finds its kernel in the process.

    For operators that are called as such: ``kernel(...)`` asks :func:`is_exporting`.
    """

    def functionalize(mode: Any, *args: Any, **keywords: Any) -> Any:
        if not _torch.is_packaging():
            lower_in_order(overload)
            return _torch.run_in_mode(mode, overload, args, keywords)
        with mode:
            return launch(*args, **keywords)

    _torch.set_rule(overload, _torch.FunctionalTensorMode, functionalize)


def _functionalize_embedded(mode: Any, *args: Any, **keywords: Any) -> Any:
    lower_in_order(torch.ops.wave.launch_embedded.default, load=_torch.is_packaging())
    return _torch.run_in_mode(mode, torch.ops.wave.launch_embedded.default, args, keywords)


embed_in_packages(torch.ops.wave.launch.default, launch_embedded)
_torch.set_rule(torch.ops.wave.launch_embedded.default, _torch.FunctionalTensorMode, _functionalize_embedded)
