"""What Inductor is told of operators that write arguments."""

from __future__ import annotations

import sys
from typing import Any

import torch
from torch._subclasses.functional_tensor import FunctionalTensorMode

from wave_runtime._tracing import is_written, set_rule


def keep_order(overload: torch._ops.OpOverload) -> None:
    """Have Inductor read a tensor before an operator writes it, where the program does.

    Asked when the operator is functionalized, which comes before Inductor's part, and when that is loaded: it takes
    seconds, and other backends do without. Nothing is done for operators that write nothing.
    """
    if any(map(is_written, overload._schema.arguments)):

        def functionalize(mode: FunctionalTensorMode, *args: Any, **keywords: Any) -> Any:
            lower_in_order(overload)
            return mode.__torch_dispatch__(overload, (), args, keywords)

        set_rule(overload, FunctionalTensorMode, functionalize)


def lower_in_order(overload: torch._ops.OpOverload) -> None:
    """Give a loaded Inductor a lowering of an operator that writes arguments.

    Torch (2.13) emits the operator, and then what reads the old values of what it writes and is not computed yet:
    `p = w * 3; k(p, w); return p + w` gives k a copy of p, since p must have strides, and computes p after k. Here all
    such values are computed first.
    """
    lowering: Any = sys.modules.get("torch._inductor.lowering")
    if lowering is None or overload in lowering.lowerings:
        return
    from torch._inductor.virtualized import V

    fallback = lowering.fallback_handler(overload)

    def lower(*args: Any, **keywords: Any) -> Any:
        for argument, value in torch._library.utils.zip_schema(overload._schema, args, keywords):
            for tensor in (value if isinstance(value, (list, tuple)) else [value]) if is_written(argument) else []:
                V.graph.mark_buffer_mutated(tensor.realize())
        return fallback(*args, **keywords)

    lowering.register_lowering(overload, type_promotion_kind=None)(lower)
