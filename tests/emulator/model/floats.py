"""Floating-point values as exact numbers, and the formats that they are rounded to."""

from __future__ import annotations

from dataclasses import dataclass
from enum import IntEnum
from fractions import Fraction
from functools import cache, cached_property
from typing import NamedTuple

ZERO = Fraction(0)


class Rounding(IntEnum):
    """As encoded in MODE.FP_ROUND."""

    NEAREST = 0
    UP = 1
    DOWN = 2
    TOWARD_ZERO = 3


class Value(NamedTuple):
    """A number of any precision. The sign of an exact zero sum is None: it depends on the rounding direction."""

    negative: bool | None
    magnitude: Fraction = ZERO
    infinite: bool = False
    nan: bool = False
    signalling: bool = False

    @property
    def exact(self) -> Fraction:
        """The number, which must be finite."""
        assert not self.infinite
        assert not self.nan
        return -self.magnitude if self.negative else self.magnitude

    @property
    def zero(self) -> bool:
        return self.magnitude == 0 and not self.infinite and not self.nan

    def __neg__(self) -> Value:
        return self._replace(negative=not self.negative)

    def __abs__(self) -> Value:
        return self._replace(negative=False)


NAN = Value(False, nan=True)
INFINITY = Value(False, infinite=True)


def number(exact: Fraction | int) -> Value:
    """The value of an exact number; zero is positive."""
    return Value(exact < 0, abs(Fraction(exact)))


def signed(value: Value, negative: bool | None) -> Value:
    return value._replace(negative=negative)


@cache
def power(exponent: int) -> Fraction:
    """2 ** exponent."""
    return Fraction(1 << exponent) if exponent >= 0 else Fraction(1, 1 << -exponent)


def exponent_of(magnitude: Fraction) -> int:
    """The largest e with 2 ** e <= magnitude, which is positive."""
    guess = magnitude.numerator.bit_length() - magnitude.denominator.bit_length()
    return guess if power(guess) <= magnitude else guess - 1


def round_to_integer(exact: Fraction, rounding: Rounding) -> int:
    floor, rest = divmod(exact.numerator, exact.denominator)
    if rest == 0:
        return floor
    if rounding == Rounding.NEAREST:
        half = 2 * rest - exact.denominator
        return floor + (half > 0 or (half == 0 and floor % 2 == 1))
    if rounding == Rounding.TOWARD_ZERO:
        return floor + (exact < 0)
    return floor + (rounding == Rounding.UP)


@dataclass(frozen=True)
class Format:
    """An IEEE 754 binary format."""

    width: int
    fraction_bits: int

    @cached_property
    def bias(self) -> int:
        return (1 << (self.width - self.fraction_bits - 2)) - 1

    @cached_property
    def smallest_exponent(self) -> int:
        """Of normal numbers."""
        return 1 - self.bias

    @cached_property
    def infinity_bits(self) -> int:
        return (2 * self.bias + 1) << self.fraction_bits

    @cached_property
    def sign_bit(self) -> int:
        return 1 << (self.width - 1)

    def decode(self, bits: int) -> Value:
        negative, rest = bool(bits & self.sign_bit), bits & (self.sign_bit - 1)
        biased, fraction = rest >> self.fraction_bits, rest & ((1 << self.fraction_bits) - 1)
        if rest > self.infinity_bits:
            return Value(negative, nan=True, signalling=not fraction >> (self.fraction_bits - 1))
        if rest == self.infinity_bits:
            return Value(negative, infinite=True)
        if biased != 0:
            fraction += 1 << self.fraction_bits
        return Value(negative, fraction * power(max(biased, 1) - self.bias - self.fraction_bits))

    def encode(self, value: Value, rounding: Rounding = Rounding.NEAREST) -> int:
        if value.nan:
            return self.infinity_bits | 1 << (self.fraction_bits - 1)
        negative = rounding == Rounding.DOWN if value.negative is None else value.negative
        sign = self.sign_bit if negative else 0
        if value.infinite:
            return sign | self.infinity_bits
        if value.magnitude == 0:
            return sign
        exponent = max(exponent_of(value.magnitude), self.smallest_exponent)
        units = round_to_integer(value.exact * power(self.fraction_bits - exponent), rounding)
        rest = ((exponent - self.smallest_exponent) << self.fraction_bits) + abs(units)  # a carry moves to the exponent
        if rest >= self.infinity_bits:
            away = {Rounding.NEAREST: True, Rounding.UP: not negative, Rounding.DOWN: negative}.get(rounding, False)
            rest = self.infinity_bits if away else self.infinity_bits - 1
        return sign | rest

    def is_denormal(self, bits: int) -> bool:
        return 0 < bits & (self.sign_bit - 1) < 1 << self.fraction_bits

    def is_nan(self, bits: int) -> bool:
        return bits & (self.sign_bit - 1) > self.infinity_bits

    def round(self, value: Value, rounding: Rounding = Rounding.NEAREST) -> Value:
        return self.decode(self.encode(value, rounding))

    def exponent_field(self, value: Value) -> int:
        """The biased exponent of a value of this format."""
        return (self.encode(value) & (self.sign_bit - 1)) >> self.fraction_bits


F16, F32, F64 = Format(16, 10), Format(32, 23), Format(64, 52)

SCALES_ALWAYS = 1 << 31  # stands in MODE's bits for what gfx1201 does without being told: OMOD counts always


@dataclass(frozen=True)
class Mode:
    """The fields of the MODE register that arithmetic depends on."""

    bits: int

    def rounding(self, format: Format) -> Rounding:
        return Rounding(self.bits >> (0 if format is F32 else 2) & 3)

    def flushes_inputs(self, format: Format) -> bool:
        return not self.bits >> (4 if format is F32 else 6) & 1

    def flushes_outputs(self, format: Format) -> bool:
        return not self.bits >> (5 if format is F32 else 7) & 1

    @property
    def dx10_clamp(self) -> bool:
        return bool(self.bits >> 8 & 1)

    @property
    def ieee(self) -> bool:
        return bool(self.bits >> 9 & 1)

    @property
    def fp16_overflow(self) -> bool:
        return bool(self.bits >> 23 & 1)

    def read(self, format: Format, bits: int) -> Value:
        """A source operand."""
        if self.flushes_inputs(format) and format.is_denormal(bits):
            bits &= format.sign_bit
        return format.decode(bits)

    def rounded(self, format: Format, value: Value) -> int:
        """A number in a format: what is too large for F16 becomes its largest number where FP16_OVFL is set."""
        bits = format.encode(value, self.rounding(format))
        overflows = bits & (format.sign_bit - 1) == format.infinity_bits and not value.infinite and not value.nan
        return bits - 1 if format is F16 and self.fp16_overflow and overflows else bits

    def scales(self, format: Format) -> bool:
        """Whether OMOD counts: only where denormals are flushed, but on gfx1201 always."""
        return bool(self.bits & SCALES_ALWAYS) or (not self.ieee and self.flushes_outputs(format))

    def write(self, format: Format, value: Value, omod: int = 0, clamp: bool = False) -> int:
        """A result, after output modifiers. OMOD makes +0 of what is no normal number; what it makes denormal itself
        keeps its sign."""
        bits = self.rounded(format, value)
        if self.flushes_outputs(format) and format.is_denormal(bits):
            bits &= format.sign_bit
        if omod and self.scales(format):
            result = format.decode(bits)
            scaled = result._replace(magnitude=result.magnitude * (0, 2, 4, Fraction(1, 2))[omod])
            if result.zero or format.is_denormal(bits):
                bits = 0
            elif not result.nan and not result.infinite and scaled.magnitude < power(format.smallest_exponent):
                bits &= format.sign_bit
            else:
                bits = self.rounded(format, scaled)
        if clamp:
            result = format.decode(bits)
            if result.nan:
                return 0 if self.dx10_clamp else bits
            if result.negative:
                return 0
            if result.infinite or result.magnitude > 1:
                return format.encode(number(1))
        return bits


def add(a: Value, b: Value) -> Value:
    if a.nan or b.nan or (a.infinite and b.infinite and a.negative != b.negative):
        return NAN
    if a.infinite or b.infinite:
        return a if a.infinite else b
    total = a.exact + b.exact
    if total == 0:
        return Value(a.negative if a.zero and b.zero and a.negative == b.negative else None)
    return number(total)


def subtract(a: Value, b: Value) -> Value:
    return add(a, -b)


def multiply(a: Value, b: Value) -> Value:
    if a.nan or b.nan or (a.infinite and b.zero) or (a.zero and b.infinite):
        return NAN
    return Value(a.negative != b.negative, a.magnitude * b.magnitude, a.infinite or b.infinite)


def fma(a: Value, b: Value, c: Value) -> Value:
    return add(multiply(a, b), c)


def scale(a: Value, exponent: int) -> Value:
    """a * 2 ** exponent. Exponents beyond those of any format are cut, which rounding does not notice."""
    return a._replace(magnitude=a.magnitude * power(max(-5000, min(5000, exponent))))


def less(a: Value, b: Value) -> bool:
    """Whether a < b: false where one is a NaN. Zeros are equal."""
    if a.nan or b.nan:
        return False
    if a.infinite or b.infinite:
        return (a.infinite and bool(a.negative) and not (b.infinite and b.negative)) or (
            b.infinite and not b.negative and not (a.infinite and not a.negative)
        )
    return a.exact < b.exact


def equal(a: Value, b: Value) -> bool:
    return not a.nan and not b.nan and not less(a, b) and not less(b, a)


def smaller(mode: Mode, a: Value, b: Value) -> Value:
    """v_min: a NaN loses, unless it signals and MODE.IEEE is set; -0 is less than +0."""
    if mode.ieee and (a.signalling or b.signalling):
        return NAN
    if a.nan or b.nan:
        return b if a.nan else a
    if a.zero and b.zero:
        return a if a.negative else b
    return a if less(a, b) else b


def larger(mode: Mode, a: Value, b: Value) -> Value:
    return -smaller(mode, -a, -b)
