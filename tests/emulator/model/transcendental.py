"""Rules of the instructions whose results are approximate: within one unit of the last place of these.

All round to nearest, whatever MODE says. Those of f32 but sine and cosine take no denormals: a denormal source counts
as zero and a denormal result becomes zero. Of f16 an infinity whose source is finite is a result that overflows, of
which FP16_OVFL makes the largest number (ROCm/rocm-systems, emulation/rocjitsu, tests/valu_fp_mode_test.cpp).
"""

from __future__ import annotations

import math
from collections.abc import Callable
from decimal import Context, Decimal
from fractions import Fraction

from .floating import divide
from .floats import INFINITY, NAN, Value, number, power, signed
from .rules import Rule, rule

RULES: dict[str, Rule] = {}
CONTEXT = Context(prec=50)
LN2 = CONTEXT.ln(Decimal(2))


def decimal(exact: Fraction) -> Decimal:
    return CONTEXT.divide(Decimal(exact.numerator), Decimal(exact.denominator))


def exp2(value: Value) -> Value:
    if value.nan:
        return NAN
    if value.infinite:
        return Value(False) if value.negative else INFINITY
    if abs(value.exact) > 4000:  # beyond all formats
        return number(power(-4000 if value.negative else 4000))
    whole = math.floor(value.exact)
    fraction = CONTEXT.exp(CONTEXT.multiply(decimal(value.exact - whole), LN2))
    return number(Fraction(fraction) * power(whole))


def log2(value: Value) -> Value:
    if value.zero:
        return signed(INFINITY, True)
    if value.nan or value.negative:
        return NAN
    if value.infinite:
        return INFINITY
    exponent = value.magnitude.numerator.bit_length() - value.magnitude.denominator.bit_length()
    fraction = value.magnitude / power(exponent)
    if fraction == 1:
        return number(exponent)
    return number(exponent + Fraction(CONTEXT.divide(CONTEXT.ln(decimal(fraction)), LN2)))


def reciprocal(value: Value) -> Value:
    return divide(number(1), value)


def square_root(value: Value) -> Value:
    """Exact to 200 bits; a rest is marked by one more bit, so that rounding sees it."""
    if value.nan or value.zero or (value.infinite and not value.negative):
        return value
    if value.negative:
        return NAN
    shift = 400 + 2 * max(0, value.magnitude.denominator.bit_length())
    scaled = (value.magnitude.numerator << shift) // value.magnitude.denominator
    root = math.isqrt(scaled)
    exact = root * root * value.magnitude.denominator == value.magnitude.numerator << shift
    return Value(False, Fraction(2 * root + (not exact), 1 << (shift // 2 + 1)))


def reciprocal_root(value: Value) -> Value:
    if value.zero:
        return signed(INFINITY, value.negative)
    return reciprocal(square_root(value))


def turns(function: Callable[[float], float]) -> Callable[[Value], Value]:
    """Sine or cosine of a number of revolutions."""

    def of_turns(value: Value) -> Value:
        if value.nan or value.infinite:
            return NAN
        eighths, rest = divmod(value.magnitude % 1 * 8, 1)
        angle = float(rest) / 8 * 2 * math.pi
        # Reduced to the first octant, where the host's functions lose nothing.
        sine, cosine = math.sin(angle), math.cos(angle)
        half = math.sqrt(0.5)
        for _ in range(int(eighths)):
            sine, cosine = half * (sine + cosine), half * (cosine - sine)
        exact_quarter = rest == 0 and eighths % 2 == 0
        result = (sine, cosine)[function is math.cos]
        result = float(round(result)) if exact_quarter else result
        if function is math.sin and value.negative:
            result = -result
        zero_sign = bool(value.negative) if function is math.sin else False
        return Value(zero_sign) if result == 0 else number(Fraction(result))

    return of_turns


def overflowing(function: Callable[[Value], Value]) -> Callable[[Value], Value]:
    """An infinity is a number beyond all formats, where the source is finite."""

    def convert(value: Value) -> Value:
        result = function(value)
        return Value(result.negative, power(4000)) if result.infinite and not value.infinite else result

    return convert


for name, function in {
    "exp": exp2,
    "log": log2,
    "rcp": reciprocal,
    "rsq": reciprocal_root,
    "sqrt": square_root,
    "sin": turns(math.sin),
    "cos": turns(math.cos),
}.items():
    kinds = "f32 -> n32" if name in ("sin", "cos") else "z32 -> z32"
    RULES[f"v_{name}_f32"] = rule(kinds, function, ulps=1)
    RULES[f"v_{name}_f16"] = rule("f16 -> n16", overflowing(function), ulps=1)
for name in ("exp", "log"):
    RULES[f"v_{name}_legacy_f32"] = RULES[f"v_{name}_f32"]
RULES["v_rcp_iflag_f32"] = RULES["v_rcp_f32"]
for name, function in {"rcp": reciprocal, "rsq": reciprocal_root, "sqrt": square_root}.items():
    RULES[f"v_{name}_f64"] = rule("f64 -> n64", function, ulps=1 << 29)  # the manual promises a seed, not 53 bits
