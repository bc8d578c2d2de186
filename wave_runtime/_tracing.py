"""What torch.compile and torch.export are told, and asked, while they trace."""

from __future__ import annotations

import functools
import sys
from collections.abc import Callable
from typing import Any, TypeVar

import torch
from torch._compile import _disable_dynamo

T = TypeVar("T", bound=Callable[..., Any])


def constant_result(function: T) -> T:
    """Have torch.compile call a function while it traces and take what it returns as a constant.

    As torch.compiler.assume_constant_result does, which would import the compiler: that takes seconds.
    """
    function._dynamo_marked_constant = True  # type: ignore[attr-defined]
    return function


def not_traced(function: T) -> T:
    """Have torch.compile break its graph at a function's calls, as torch.compiler.disable does.

    Calls import the compiler only where it is imported anyway.
    """
    disabled = _disable_dynamo(function)

    @functools.wraps(function)
    def call(*args: Any) -> Any:
        return disabled(*args) if "torch._dynamo" in sys.modules else function(*args)

    return call  # type: ignore[return-value]


@constant_result
def is_exporting() -> bool:
    """Whether torch.export traces. Where torch before 2.12 traces torch's own question, the answer is always yes."""
    return torch.compiler.is_exporting()


def is_written(argument: Any) -> bool:
    """Whether a schema says so of an argument."""
    return argument.alias_info is not None and argument.alias_info.is_write


def set_rule(overload: torch._ops.OpOverload, mode: type, rule: Callable[..., Any]) -> None:
    """Say what an operator does in a mode, in place of what was said before: modules may be imported again."""
    overload.python_key_table.pop(mode, None)
    overload.py_impl(mode)(rule)
