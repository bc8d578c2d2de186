"""What an instruction does, as a typed function of its operands: "v_add_f32" is `rule("f32 f32 -> f32", add)`.

Types of sources and results:
    u5, i24, u32, b64, ...  the lowest bits of the operand, as an unsigned or signed number, or as it is
    f16, f32, f64           a Value: denormals are flushed as MODE says, results rounded, and modified by OMOD and CLAMP
    z32                     f32 whose denormals are flushed always, and that is rounded to nearest whatever MODE says
    n16, n32, n64           f16, f32 and f64 that are rounded to nearest whatever MODE says
    bit                     this lane's bit of a mask; a result is a whole mask, with zeros for inactive lanes
Sources that are no operands: mode, modebits (the whole register), clamp (whether CLAMP is set), lane (its number), vcc
(this lane's bit), scc, exec, m0. Results that are no operands: scc, exec, m0, modebits.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any

from .floats import F16, F32, F64, Format

FORMATS: dict[str, Format] = {"f16": F16, "f32": F32, "f64": F64, "z32": F32, "n16": F16, "n32": F32, "n64": F64}
NO_OPERAND = frozenset({"mode", "modebits", "clamp", "lane", "vcc", "scc", "exec", "m0"})


@dataclass(frozen=True)
class Rule:
    """The meaning of an instruction.

    Attributes:
        sources: types of the arguments of `function`, in the order of the row's operands that are read.
        results: types of what it returns: one thing, or a tuple.
        saturates: CLAMP keeps integer results within their type.
        ulps: how far from the exact result a float may be, in units of its last place.
    """

    sources: tuple[str, ...]
    results: tuple[str, ...]
    function: Callable[..., Any]
    saturates: bool = False
    ulps: int = 0

    def with_result(self, *results: str) -> Rule:
        return replace(self, results=results)


def rule(signature: str, function: Callable[..., Any], *, saturates: bool = False, ulps: int = 0) -> Rule:
    sources, results = signature.split("->")
    return Rule(tuple(sources.split()), tuple(results.split()), function, saturates, ulps)


def bits_of(kind: str) -> int:
    return int(kind[1:])


def low(value: int, width: int) -> int:
    """The lowest bits, as an unsigned number."""
    return value & ((1 << width) - 1)


def signed_low(value: int, width: int) -> int:
    """The lowest bits, as a signed number; 0 for none."""
    if width == 0:
        return 0
    value = low(value, width)
    return value - (value >> (width - 1) << width)


def saturated(kind: str, value: int) -> int:
    """The number of an integer type that is nearest to `value`."""
    width = bits_of(kind)
    smallest, largest = (-(1 << (width - 1)), (1 << (width - 1)) - 1) if kind[0] == "i" else (0, (1 << width) - 1)
    return max(smallest, min(largest, value))
