"""What torch.compile and torch.export are told, and asked, while they trace."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeVar

import torch

T = TypeVar("T", bound=Callable[..., Any])


def constant_result(function: T) -> T:
    """Have torch.compile call a function while it traces and take what it returns as a constant.

    As torch.compiler.assume_constant_result does, which would import the compiler: that takes seconds.
    """
    function._dynamo_marked_constant = True  # type: ignore[attr-defined]
    return function


@constant_result
def is_exporting() -> bool:
    """Whether torch.export traces. Where torch before 2.12 traces torch's own question, the answer is always yes."""
    return torch.compiler.is_exporting()


def set_rule(overload: torch._ops.OpOverload, mode: type, rule: Callable[..., Any]) -> None:
    """Say what an operator does in a mode, in place of what was said before: modules may be imported again."""
    overload.python_key_table.pop(mode, None)
    overload.py_impl(mode)(rule)
