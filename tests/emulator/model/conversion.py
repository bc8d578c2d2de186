"""Rules of the instructions that convert between types."""

from __future__ import annotations

from collections.abc import Callable
from fractions import Fraction

from .floats import F16, F32, NAN, Mode, Rounding, Value, add, exponent_of, number, power, round_to_integer
from .rules import Rule, low, rule, saturated

RULES: dict[str, Rule] = {}


def to_integer(kind: str, rounding: Rounding = Rounding.TOWARD_ZERO) -> Callable[[Value], int]:
    """Saturates; a NaN becomes 0."""

    def convert(value: Value) -> int:
        if value.nan:
            return 0
        if value.infinite:
            return saturated(kind, -(1 << 64) if value.negative else 1 << 64)
        return saturated(kind, round_to_integer(value.exact, rounding))

    return convert


def identity(value: Value) -> Value:
    return value


def nearest_half_up(value: Value) -> int:
    """floor(x + 0.5), the sum rounded to f32."""
    return to_integer("i32", Rounding.DOWN)(F32.round(add(value, number(Fraction(1, 2)))))


for real in ("f32", "f64"):
    for integer in ("i32", "u32"):
        RULES[f"v_cvt_{integer}_{real}"] = rule(f"{real} -> b32", to_integer(integer))
        RULES[f"v_cvt_{real}_{integer}"] = rule(f"{integer} -> {real}", number)
for integer in ("i16", "u16"):
    RULES[f"v_cvt_{integer}_f16"] = rule("f16 -> b16", to_integer(integer))
    RULES[f"v_cvt_f16_{integer}"] = rule(f"{integer} -> f16", number)
for position in range(4):
    RULES[f"v_cvt_f32_ubyte{position}"] = rule("b32 -> f32", lambda a, n=position: number(a >> 8 * n & 0xFF))


def normalized(kind: str) -> Callable[[Value], int]:
    """[-1, 1] or [0, 1] to the integers of a type, rounded to nearest."""
    largest = (1 << (15 if kind == "i16" else 16)) - 1
    smallest = -largest if kind == "i16" else 0

    def convert(value: Value) -> int:
        if value.nan:
            return 0
        if value.infinite:
            return smallest if value.negative else largest
        return max(smallest, min(largest, round_to_integer(value.exact * largest, Rounding.NEAREST)))

    return convert


def pack(function: Callable[[Value], int]) -> Callable[[Value, Value], int]:
    return lambda a, b: low(function(b), 16) << 16 | low(function(a), 16)


for integer in ("i16", "u16"):
    RULES[f"v_cvt_norm_{integer}_f16"] = rule("f16 -> b16", normalized(integer))
    for real in ("f16", "f32"):
        RULES[f"v_cvt_pknorm_{integer}_{real}"] = rule(f"{real} {real} -> b32", pack(normalized(integer)))


def pack_toward_zero(mode: Mode, a: Value, b: Value) -> int:
    toward_zero = Mode(mode.bits | Rounding.TOWARD_ZERO << 2)
    return toward_zero.write(F16, b) << 16 | toward_zero.write(F16, a)


def insert_byte(mode: Mode, value: Value, position: int, old: int) -> int:
    at = 8 * (position & 3)
    return old & ~(0xFF << at) | to_integer("u8", mode.rounding(F32))(value) << at


RULES |= {
    "v_cvt_f16_f32": rule("f32 -> f16", identity),
    "v_cvt_f32_f16": rule("f16 -> f32", identity),
    "v_cvt_f32_f64": rule("f64 -> f32", identity),
    "v_cvt_f64_f32": rule("f32 -> f64", identity),
    "v_cvt_rpi_i32_f32": rule("f32 -> b32", nearest_half_up),
    "v_cvt_flr_i32_f32": rule("f32 -> b32", to_integer("i32", Rounding.DOWN)),
    "v_cvt_off_f32_i4": rule("i4 -> f32", lambda a: number(Fraction(a, 16))),
    "v_cvt_pkrtz_f16_f32": rule("mode f32 f32 -> b32", pack_toward_zero),
    "v_cvt_pk_u8_f32": rule("mode f32 b32 b32 -> b32", insert_byte),
    "v_cvt_pkaccum_u8_f32": rule(
        "mode b32 f32 b32 -> b32", lambda mode, old, a, position: insert_byte(mode, a, position, old)
    ),
}


class Eight:
    """The 8-bit formats of gfx942 ("FNUZ"): no infinities, one zero, and 0x80 is the only NaN."""

    def __init__(self, fraction_bits: int) -> None:
        self.fraction_bits = fraction_bits
        self.bias = 1 << (6 - fraction_bits)
        self.largest = self.decode(0x7F).exact

    def decode(self, bits: int) -> Value:
        if bits == 0x80:
            return NAN
        biased, fraction = (bits & 0x7F) >> self.fraction_bits, bits & ((1 << self.fraction_bits) - 1)
        if biased != 0:
            fraction += 1 << self.fraction_bits
        return Value(bool(bits >> 7), fraction * power(max(biased, 1) - self.bias - self.fraction_bits))

    def encode(self, value: Value, overflows_to_largest: bool, rounding: Rounding = Rounding.NEAREST) -> int:
        """What is too large becomes a NaN, or the largest where MODE.FP16_OVFL is set; infinities a NaN always."""
        if value.nan or value.infinite:
            return 0x80
        sign = 0x80 if value.negative else 0
        if value.magnitude == 0:
            return 0
        exponent = max(exponent_of(value.magnitude), 1 - self.bias)
        units = round_to_integer(value.magnitude * power(self.fraction_bits - exponent), rounding)
        bits = (exponent - 1 + self.bias << self.fraction_bits) + units
        if bits > 0x7F:
            return sign | 0x7F if overflows_to_largest else 0x80
        return sign | bits if bits else 0


EIGHT = {"fp8": Eight(3), "bf8": Eight(2)}


def stochastic(name: str) -> Callable[[Mode, Value, int], int]:
    """Adds random bits below the fraction that stays, and truncates: a number of the format stays what it is.

    The text converts the sum rounding to nearest, which would change those numbers.
    """
    format = EIGHT[name]

    def convert(mode: Mode, value: Value, random: int) -> int:
        if not value.nan and not value.infinite and not value.zero:
            last_place = power(exponent_of(value.magnitude) - F32.fraction_bits)
            extra = (random >> (12 if name == "fp8" else 11)) * last_place
            value = value._replace(magnitude=value.magnitude + extra)
        return format.encode(value, mode.fp16_overflow, Rounding.TOWARD_ZERO)

    return convert


for name, format in EIGHT.items():

    def both(mode: Mode, a: Value, b: Value, format: Eight = format) -> int:
        return format.encode(b, mode.fp16_overflow) << 8 | format.encode(a, mode.fp16_overflow)

    def unpack(pair: int, format: Eight = format) -> int:
        return F32.encode(format.decode(pair >> 8)) << 32 | F32.encode(format.decode(pair & 0xFF))

    RULES[f"v_cvt_f32_{name}"] = rule("b8 -> f32", format.decode)
    RULES[f"v_cvt_pk_f32_{name}"] = rule("b16 -> b64", unpack)
    RULES[f"v_cvt_pk_{name}_f32"] = rule("mode f32 f32 -> b16", both)
    RULES[f"v_cvt_sr_{name}_f32"] = rule("mode f32 b32 -> b8", stochastic(name))
