"""Rules of the comparisons: v_cmp and v_cmpx, which writes its result to EXEC as well."""

from __future__ import annotations

import operator
from collections.abc import Callable

from .floats import Value, equal, less
from .rules import FORMATS, Rule, rule

RULES: dict[str, Rule] = {}


def ordered(a: Value, b: Value) -> bool:
    return not a.nan and not b.nan


def below(a: Value, b: Value) -> bool:
    return less(a, b)


def at_most(a: Value, b: Value) -> bool:
    return less(a, b) or equal(a, b)


def different(a: Value, b: Value) -> bool:
    """Ordered and not equal."""
    return less(a, b) or less(b, a)


FLOATS: dict[str, Callable[[Value, Value], bool]] = {
    "f": lambda a, b: False,
    "lt": below,
    "eq": equal,
    "le": at_most,
    "gt": lambda a, b: below(b, a),
    "lg": different,
    "ge": lambda a, b: at_most(b, a),
    "o": ordered,
    "u": lambda a, b: not ordered(a, b),
    "nge": lambda a, b: not at_most(b, a),
    "nlg": lambda a, b: not different(a, b),
    "ngt": lambda a, b: not below(b, a),
    "nle": lambda a, b: not at_most(a, b),
    "neq": lambda a, b: not equal(a, b),
    "nlt": lambda a, b: not below(a, b),
    "tru": lambda a, b: True,
}

INTEGERS: dict[str, Callable[[int, int], bool]] = {
    "f": lambda a, b: False,
    "lt": operator.lt,
    "eq": operator.eq,
    "le": operator.le,
    "gt": operator.gt,
    "ne": operator.ne,
    "ge": operator.ge,
    "t": lambda a, b: True,
}


def classify(kind: str) -> Callable[[int, int], bool]:
    """Whether the class of a float, denormal whatever MODE says, is among those in a mask."""
    format = FORMATS[kind]

    def is_among(bits: int, mask: int) -> bool:
        value = format.decode(bits)
        if value.nan:
            position = 0 if value.signalling else 1
        else:
            kind_of_number = 3 if value.zero else 2 if format.is_denormal(bits) else 0 if value.infinite else 1
            position = 2 + kind_of_number if value.negative else 9 - kind_of_number
        return bool(mask >> position & 1)

    return is_among


for prefix, results in (("v_cmp", "bit"), ("v_cmpx", "bit exec")):
    copies = prefix == "v_cmpx"

    def wrapped(function: Callable[..., bool], copies: bool = copies) -> Callable[..., object]:
        return (lambda a, b: (function(a, b), function(a, b))) if copies else function

    for kind in ("f16", "f32", "f64"):
        for name, compare in FLOATS.items():
            RULES[f"{prefix}_{name}_{kind}"] = rule(f"{kind} {kind} -> {results}", wrapped(compare))
        # The mask has 10 bits, but that of f16 is a 16-bit operand.
        mask = "b16" if kind == "f16" else "b32"
        RULES[f"{prefix}_class_{kind}"] = rule(f"b{kind[1:]} {mask} -> {results}", wrapped(classify(kind)))
    for width in (16, 32, 64):
        for sign in ("i", "u"):
            kind = f"{sign}{width}"
            for name, compare_integers in INTEGERS.items():
                RULES[f"{prefix}_{name}_{kind}"] = rule(f"{kind} {kind} -> {results}", wrapped(compare_integers))
