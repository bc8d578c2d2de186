"""What Inductor is told of operators that write arguments."""

from __future__ import annotations

from typing import Any

from wave_runtime import _torch


def keep_order(overload: _torch.OpOverload) -> None:
    """Have Inductor read a tensor before an operator writes it, where the program does.

    Inductor is told when the operator is functionalized: if it is used at all, it is loaded by then, and loading it
    takes seconds. Nothing is done for operators that write nothing.
    """
    if any(map(_torch.is_written, _torch.schema(overload).arguments)):

        def functionalize(mode: Any, *args: Any, **keywords: Any) -> Any:
            lower_in_order(overload)
            return _torch.run_in_mode(mode, overload, args, keywords)

        _torch.set_rule(overload, _torch.FunctionalTensorMode, functionalize)


def lower_in_order(overload: _torch.OpOverload) -> None:
    """Give a loaded Inductor a lowering of an operator that writes arguments.

    Torch (2.13) emits the operator, and then what reads the old values of what it writes and is not computed yet:
    `p = w * 3; k(p, w); return p + w` gives k a copy of p, since p must have strides, and computes p after k. Here all
    such values are computed first.
    """
    lowering = _torch.inductor_lowerings()
    if lowering is None or overload in lowering.lowerings:
        return
    fallback = lowering.fallback_handler(overload)

    def lower(*args: Any, **keywords: Any) -> Any:
        for argument, value in _torch.with_arguments(overload, args, keywords):
            tensors = value if isinstance(value, (list, tuple)) else [value]
            for tensor in tensors if _torch.is_written(argument) else []:
                _torch.inductor_graph().mark_buffer_mutated(tensor.realize())
        return fallback(*args, **keywords)

    lowering.register_lowering(overload, type_promotion_kind=None)(lower)
