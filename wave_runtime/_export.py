"""Exported programs: the code of their kernels travels in them, as constants of wave::launch_embedded."""

from __future__ import annotations

import sys
from collections.abc import Callable
from typing import Any

import torch
from torch._subclasses.functional_tensor import FunctionalTensorMode

from wave_runtime import _C
from wave_runtime._inductor import lower_in_order
from wave_runtime._tracing import constant_result, set_rule


@constant_result
def embedded_code(handle: str) -> torch.Tensor:
    """The code of a kernel, [bytes] of uint8: one tensor for all kernels of a file, so that a program has it once."""
    return _C.embedded_code(handle)


def launch_embedded(handle: str, inputs: list[torch.Tensor], *rest: Any, **keywords: Any) -> None:
    """What ``torch.ops.wave.launch`` does with these arguments, for processes that never loaded the kernel."""
    torch.ops.wave.launch_embedded(handle, [embedded_code(handle), *inputs], *rest, **keywords)


def embed_in_packages(overload: torch._ops.OpOverload, launch: Callable[..., None]) -> None:
    """Have AOTInductor see ``launch`` in place of an operator that finds its kernel in the process.

    For operators that are called as such: ``kernel(...)`` asks :func:`is_exporting`.
    """

    def functionalize(mode: FunctionalTensorMode, *args: Any, **keywords: Any) -> Any:
        if not _is_packaging():
            lower_in_order(overload)
            return mode.__torch_dispatch__(overload, (), args, keywords)
        with mode:
            return launch(*args, **keywords)

    set_rule(overload, FunctionalTensorMode, functionalize)


def _is_packaging() -> bool:
    """Whether AOTInductor compiles. It is not loaded for this question."""
    virtualized = sys.modules.get("torch._inductor.virtualized")
    return virtualized is not None and virtualized.V.aot_compilation


def _functionalize_embedded(mode: FunctionalTensorMode, *args: Any, **keywords: Any) -> Any:
    if _is_packaging():
        _have_inductor_know_storage_offsets()
    lower_in_order(torch.ops.wave.launch_embedded.default)
    return mode.__torch_dispatch__(torch.ops.wave.launch_embedded.default, (), args, keywords)


def _have_inductor_know_storage_offsets() -> None:
    """Give Inductor the lowering of sym_storage_offset, as it has those of sym_size and sym_stride.

    Torch 2.10 to 2.13 lack it: they run the operator on a stand-in for the view, which begins at 0. In AOTInductor's
    packages a launch that writes to a view with a symbolic offset then wrote to the wrong place.
    """
    from torch._inductor import lowering
    from torch._inductor.virtualized import V

    offset = torch.ops.aten.sym_storage_offset.default
    if offset in lowering.lowerings:
        return

    def lower(tensor: Any) -> Any:
        value = V.graph.current_node.meta["val"]
        return value.node.expr if isinstance(value, torch.SymInt) else value

    lowering.register_lowering(offset, type_promotion_kind=None)(lower)


embed_in_packages(torch.ops.wave.launch.default, launch_embedded)
set_rule(torch.ops.wave.launch_embedded.default, FunctionalTensorMode, _functionalize_embedded)
