"""Rules of vector instructions on floating-point numbers that have an exact result."""

from __future__ import annotations

from collections.abc import Callable
from fractions import Fraction

from .floats import (
    F16,
    F32,
    INFINITY,
    NAN,
    ZERO,
    Format,
    Mode,
    Rounding,
    Value,
    add,
    equal,
    fma,
    larger,
    less,
    multiply,
    number,
    round_to_integer,
    scale,
    signed,
    smaller,
    subtract,
)
from .rules import FORMATS, Rule, low, rule

RULES: dict[str, Rule] = {}


def three(function: Callable[[Mode, Value, Value], Value]) -> Callable[[Mode, Value, Value, Value], Value]:
    return lambda mode, a, b, c: function(mode, function(mode, a, b), c)


def median(mode: Mode, a: Value, b: Value, c: Value) -> Value:
    """Of zeros the one with a sign is the smaller one. The manuals would take it for the other's equal, but AMD
    measured it on a gfx1201 (ROCm/rocm-systems, emulation/rocjitsu, minmax.h)."""
    if a.nan or b.nan or c.nan:
        return three(smaller)(mode, a, b, c)
    return larger(mode, smaller(mode, a, b), smaller(mode, larger(mode, a, b), c))


def integral(rounding: Rounding) -> Callable[[Value], Value]:
    """Rounded to an integer; the sign stays."""

    def convert(value: Value) -> Value:
        if value.nan or value.infinite:
            return value
        return Value(value.negative, Fraction(abs(round_to_integer(value.exact, rounding))))

    return convert


def fract(format: Format) -> Callable[[Value], Value]:
    """x - floor(x), which stays below 1 even when rounded, and is never -0."""

    def convert(value: Value) -> Value:
        if value.nan or value.infinite:
            return NAN
        floor = round_to_integer(value.exact, Rounding.DOWN)
        below_one = format.decode(format.encode(number(1)) - 1)
        fraction = value.exact - floor
        return below_one if fraction > below_one.exact else Value(False, fraction)

    return convert


def frexp_exponent(value: Value) -> int:
    if value.nan or value.infinite or value.zero:
        return 0
    exponent = value.magnitude.numerator.bit_length() - value.magnitude.denominator.bit_length()
    return exponent if scale(value, -exponent).magnitude < 1 else exponent + 1


def frexp_mantissa(value: Value) -> Value:
    return value if value.nan or value.infinite else scale(value, -frexp_exponent(value))


def divide(a: Value, b: Value) -> Value:
    if a.nan or b.nan or (a.zero and b.zero) or (a.infinite and b.infinite):
        return NAN
    negative = a.negative != b.negative
    if b.zero or a.infinite:
        return signed(INFINITY, negative)
    return Value(negative, ZERO if b.infinite else a.magnitude / b.magnitude)


def division_fixup(format: Format) -> Callable[[Value, Value, Value], Value]:
    """The quotient, its denominator and numerator: special cases replace it."""

    def fixup(quotient: Value, denominator: Value, numerator: Value) -> Value:
        special = divide(numerator, denominator)
        if special.nan or special.infinite or special.zero:
            return special
        distance = format.exponent_field(numerator) - format.exponent_field(denominator)
        if format is not F16 and distance < (-150 if format is F32 else -1075):
            return Value(special.negative, Fraction(1, 1 << 5000))  # underflows as MODE rounds
        if quotient.nan or quotient.infinite:  # of a division that overflows, which the text leaves out
            return Value(special.negative, Fraction(1 << 5000))
        return signed(quotient, special.negative)

    return fixup


def division_scale(format: Format) -> Callable[[Value, Value, Value], tuple[Value, bool]]:
    """One of denominator and numerator, scaled so that a division neither over- nor underflows, and whether its
    quotient is to be scaled back.

    The manuals speak of denormal quotients and reciprocals. AMD measured on a gfx1100 and a gfx1201 that exponents
    decide, those of zeros too (ROCm/rocm-systems, emulation/rocjitsu, division.h).
    """
    far, step = (96, 64) if format is F32 else (768, 128)

    def prescale(a: Value, denominator: Value, numerator: Value) -> tuple[Value, bool]:
        below, above = format.exponent_field(denominator), format.exponent_field(numerator)
        is_denominator, quotient_scales = equal(a, denominator), abs(above - below) >= far
        if denominator.zero or numerator.zero:
            return NAN, quotient_scales
        if above - below >= far:
            exponent = step if is_denominator else 0
        elif below == 0:
            exponent = step
        elif below >= 2 * format.bias - 1:  # its reciprocal is denormal
            exponent = 0 if quotient_scales and not is_denominator else -step
        elif quotient_scales:
            exponent = 0 if is_denominator else step
        else:
            exponent = step if above <= format.fraction_bits + 1 else 0
        return scale(a, exponent), quotient_scales

    return prescale


def division_fma(format: Format) -> Callable[[int, Value, Value, Value], Value]:
    """Undoes the scaling, in the direction that the addend's size tells."""
    step = 64 if format is F32 else 128

    def scaled(scales: int, a: Value, b: Value, c: Value) -> Value:
        result = fma(a, b, c)
        return scale(result, step if format.exponent_field(c) > format.bias else -step) if scales else result

    return scaled


for kind in ("f16", "f32", "f64"):
    format = FORMATS[kind]
    two, three_sources = f"{kind} {kind} -> {kind}", f"{kind} {kind} {kind} -> {kind}"
    RULES |= {
        f"v_add_{kind}": rule(two, add),
        f"v_sub_{kind}": rule(two, subtract),
        f"v_subrev_{kind}": rule(two, lambda a, b: subtract(b, a)),
        f"v_mul_{kind}": rule(two, multiply),
        f"v_min_{kind}": rule(f"mode {two}", smaller),
        f"v_max_{kind}": rule(f"mode {two}", larger),
        f"v_min3_{kind}": rule(f"mode {three_sources}", three(smaller)),
        f"v_max3_{kind}": rule(f"mode {three_sources}", three(larger)),
        f"v_med3_{kind}": rule(f"mode {three_sources}", median),
        f"v_fma_{kind}": rule(three_sources, fma),
        f"v_fmac_{kind}": rule(three_sources, lambda c, a, b: fma(a, b, c)),
        f"v_trunc_{kind}": rule(f"{kind} -> {kind}", integral(Rounding.TOWARD_ZERO)),
        f"v_ceil_{kind}": rule(f"{kind} -> {kind}", integral(Rounding.UP)),
        f"v_floor_{kind}": rule(f"{kind} -> {kind}", integral(Rounding.DOWN)),
        f"v_rndne_{kind}": rule(f"{kind} -> {kind}", integral(Rounding.NEAREST)),
        f"v_fract_{kind}": rule(f"{kind} -> {kind}", fract(format)),
        f"v_ldexp_{kind}": rule(f"{kind} {'i16' if kind == 'f16' else 'i32'} -> {kind}", scale),
        f"v_frexp_mant_{kind}": rule(f"{kind} -> {kind}", frexp_mantissa),
        f"v_frexp_exp_{'i16' if kind == 'f16' else 'i32'}_{kind}": rule(
            f"{kind} -> {'b16' if kind == 'f16' else 'b32'}", frexp_exponent
        ),
        f"v_div_fixup_{kind}": rule(three_sources, division_fixup(format)),
    }
    if kind != "f16":
        RULES[f"v_div_scale_{kind}"] = rule(f"{kind} {kind} {kind} -> {kind} bit", division_scale(format))
        RULES[f"v_div_fmas_{kind}"] = rule(f"vcc {kind} {kind} {kind} -> {kind}", division_fma(format))


def mad_f16(mode: Mode, a: Value, b: Value, c: Value) -> Value:
    """Not fused: the product is rounded."""
    return add(F16.decode(mode.write(F16, multiply(a, b))), c)


def mixed_to_half(mode: Mode, a: Value, b: Value, c: Value) -> Value:
    """Rounded to f32 first: compilers select it for the conversion of an f32 result."""
    return F32.decode(mode.write(F32, fma(a, b, c)))


def legacy_multiply(a: Value, b: Value) -> Value:
    return Value(False) if a.zero or b.zero else multiply(a, b)


def pack_halves(mode: Mode, a: Value, b: Value) -> int:
    """Denormals are flushed as MODE says: compilers select it for canonical numbers only."""
    return mode.write(F16, b) << 16 | mode.write(F16, a)


def cube_axis(x: Value, y: Value, z: Value) -> int:
    if not less(abs(z), abs(x)) and not less(abs(z), abs(y)) and not (x.nan or y.nan or z.nan):
        return 2
    return 1 if not less(abs(y), abs(x)) and not (x.nan or y.nan) else 0


def below_zero(value: Value) -> bool:
    return less(value, Value(False))


def cube_face(x: Value, y: Value, z: Value) -> Value:
    axis = cube_axis(x, y, z)
    return number(2 * axis + below_zero((x, y, z)[axis]))


def cube_s(x: Value, y: Value, z: Value) -> Value:
    axis = cube_axis(x, y, z)
    if axis == 1:
        return x
    if axis == 2:
        return -x if below_zero(z) else x
    return z if below_zero(x) else -z


def cube_t(x: Value, y: Value, z: Value) -> Value:
    if cube_axis(x, y, z) != 1:
        return -y
    return -z if below_zero(y) else z


def dot2(mode: Mode, a: int, b: int, c: int) -> int:
    """Denormals of f32 count as zero whatever MODE says, and so does its rounding."""
    flushing = Mode(mode.bits & ~0xFF)
    total = flushing.read(F32, c)
    for at in (0, 16):
        product = multiply(mode.read(F16, low(a >> at, 16)), mode.read(F16, low(b >> at, 16)))
        total = F32.round(add(total, product))
    return flushing.write(F32, total)


def mad_f32(mode: Mode, a: int, b: int, c: int, zero_wins: bool = False) -> Value:
    """Product and sum are rounded; denormals count as zero whatever MODE says."""
    flushing = Mode(mode.bits & ~0xF0)
    first, second, third = (flushing.read(F32, bits) for bits in (a, b, c))
    is_zero = zero_wins and (first.zero or second.zero)
    product = 0 if is_zero else flushing.write(F32, multiply(first, second))
    return flushing.read(F32, flushing.write(F32, add(flushing.read(F32, product), third)))


def two_over_pi(bits: int) -> int:
    """The first bits after the binary point of 2 / pi, by Machin's formula."""
    one = 1 << bits + 32

    def inverse_tangent(n: int) -> int:
        term, total, k = one // n, 0, 1
        while term:
            total += term // k if k % 4 == 1 else -(term // k)
            term //= n * n
            k += 2
        return total

    pi = 4 * (4 * inverse_tangent(5) - inverse_tangent(239))
    return (2 * one << bits) // pi


TWO_OVER_PI = two_over_pi(1201)


def trig_preop(bits: int, segment: int) -> Value:
    """53 bits of 2 / pi, farther right for a larger segment and for a larger number."""
    exponent = bits >> 52 & 0x7FF
    shift = 53 * segment + max(0, exponent - 1077)
    part = low(TWO_OVER_PI << shift + 53 >> 1201, 53)
    return scale(number(part), -53 - shift + (128 if exponent >= 1968 else 0))


RULES |= {
    "v_trig_preop_f64": rule("b64 u5 -> f64", trig_preop),
    "v_fmamk_f32": rule("f32 f32 f32 -> f32", lambda a, k, b: fma(a, k, b)),
    "v_fmaak_f32": rule("f32 f32 f32 -> f32", fma),
    "v_mad_f32": rule("mode b32 b32 b32 -> f32", mad_f32),
    "v_mac_f32": rule("mode b32 b32 b32 -> f32", lambda mode, c, a, b: mad_f32(mode, a, b, c)),
    "v_madmk_f32": rule("mode b32 b32 b32 -> f32", lambda mode, a, k, b: mad_f32(mode, a, k, b)),
    "v_madak_f32": rule("mode b32 b32 b32 -> f32", mad_f32),
    "v_mad_legacy_f32": rule("mode b32 b32 b32 -> f32", lambda mode, a, b, c: mad_f32(mode, a, b, c, zero_wins=True)),
    "v_mad_f16": rule("mode f16 f16 f16 -> f16", mad_f16),
    "v_mad_legacy_f16": rule("mode f16 f16 f16 -> f16", mad_f16),
    "v_mac_f16": rule("mode f16 f16 f16 -> f16", lambda mode, c, a, b: mad_f16(mode, a, b, c)),
    "v_madmk_f16": rule("mode f16 f16 f16 -> f16", lambda mode, a, k, b: mad_f16(mode, a, k, b)),
    "v_madak_f16": rule("mode f16 f16 f16 -> f16", mad_f16),
    "v_fma_legacy_f16": RULES["v_fma_f16"],
    "v_div_fixup_legacy_f16": RULES["v_div_fixup_f16"],
    "v_mul_legacy_f32": rule("f32 f32 -> f32", legacy_multiply),
    "v_cubeid_f32": rule("f32 f32 f32 -> f32", cube_face),
    "v_cubesc_f32": rule("f32 f32 f32 -> f32", cube_s),
    "v_cubetc_f32": rule("f32 f32 f32 -> f32", cube_t),
    "v_cubema_f32": rule("f32 f32 f32 -> f32", lambda x, y, z: scale((x, y, z)[cube_axis(x, y, z)], 1)),
    "v_pack_b32_f16": rule("mode f16 f16 -> b32", pack_halves),
    "v_fma_mix_f32": rule("f32 f32 f32 -> f32", fma),
    "v_fma_mixlo_f16": rule("mode f32 f32 f32 -> f16", mixed_to_half),
    "v_fma_mixhi_f16": rule("mode f32 f32 f32 -> f16", mixed_to_half),
    "v_dot2_f32_f16": rule("mode b32 b32 b32 -> b32", dot2),
    "v_dot2c_f32_f16": rule("mode b32 b32 b32 -> b32", lambda mode, c, a, b: dot2(mode, a, b, c)),
}
