"""A slow model of typed buffer elements: what FORMAT loads and stores make of bytes, and the other way round.

Written from the MI300 ISA document (chapter "Vector Memory Operations", tables of data and number formats).
"""

from __future__ import annotations

import itertools
from fractions import Fraction

from model.floats import F16, F32, Format, Rounding, Value, number, round_to_integer

# By data format: the sizes of the components as the document's names list them, the highest bits first.
DATA_FORMATS = {
    1: "8", 2: "16", 3: "8_8", 4: "32", 5: "16_16", 6: "10_11_11", 7: "11_11_10", 8: "10_10_10_2", 9: "2_10_10_10",
    10: "8_8_8_8", 11: "32_32", 12: "16_16_16_16", 13: "32_32_32", 14: "32_32_32_32",
}  # fmt: skip
UNORM, SNORM, USCALED, SSCALED, UINT, SINT, FLOAT = 0, 1, 2, 3, 4, 5, 7
INTEGERS = (UINT, SINT)


def sizes(data_format: int) -> list[int]:
    """The bits of the components, x first, which is the lowest."""
    return [int(bits) for bits in DATA_FORMATS[data_format].split("_")][::-1]


def is_defined(data_format: int, number_format: int) -> bool:
    bits = sizes(data_format)
    if number_format == FLOAT:
        return bits[0] in (16, 32) or len(bits) == 3
    return number_format in INTEGERS or bits[0] != 32


FORMATS = [
    (d, n) for d in DATA_FORMATS for n in (UNORM, SNORM, USCALED, SSCALED, UINT, SINT, FLOAT) if is_defined(d, n)
]


def signed(bits: int, size: int) -> int:
    return bits - (bits >> (size - 1) << size)


def float_format(size: int) -> Format:
    """Floats of 10 and 11 bits have five exponent bits, as f16, and no sign: bit ``size`` of these formats is zero."""
    return {32: F32, 16: F16, 11: Format(12, 6), 10: Format(11, 5)}[size]


def decoded(bits: int, size: int, number_format: int) -> Value | int:
    """A component: an integer of the integer formats, otherwise a number."""
    if number_format == UINT:
        return bits
    if number_format == SINT:
        return signed(bits, size)
    if number_format == FLOAT:
        return float_format(size).decode(bits)
    if number_format in (USCALED, SSCALED):
        return number(bits if number_format == USCALED else signed(bits, size))
    if number_format == UNORM:
        return number(Fraction(bits, (1 << size) - 1))
    return number(max(Fraction(-1), Fraction(signed(bits, size), (1 << size - 1) - 1)))


def encoded(value: Value | int, size: int, number_format: int) -> int:
    """The bits of a component. Numbers are rounded to nearest even and limited to what the component holds."""
    mask = (1 << size) - 1
    if isinstance(value, int):
        return value & mask
    if number_format == FLOAT:
        return float_format(size).encode(value)
    if value.nan:
        return 0
    is_signed = number_format in (SNORM, SSCALED)
    high = mask >> 1 if is_signed else mask
    low = {UNORM: 0, USCALED: 0, SNORM: -high, SSCALED: -high - 1}[number_format]
    if value.infinite:
        return (low if value.negative else high) & mask
    scale = high if number_format in (UNORM, SNORM) else 1
    return max(low, min(high, round_to_integer(value.exact * scale, Rounding.NEAREST))) & mask


def to_register(value: Value | int, width: int, *, cuts: bool = False) -> int:
    """The bits of a register, or of half of one, for which only floats of 32 bits are cut off."""
    if isinstance(value, int):
        return value & (1 << width) - 1
    rounding = Rounding.TOWARD_ZERO if cuts else Rounding.NEAREST
    return (F32 if width == 32 else F16).encode(F32.round(value), rounding)


def from_register(bits: int, width: int, number_format: int) -> Value | int:
    if number_format == UINT:
        return bits
    if number_format == SINT:
        return signed(bits, width)
    return (F32 if width == 32 else F16).decode(bits)


def load(element: int | None, data_format: int, number_format: int, selectors: list[int], width: int) -> list[int]:
    """The registers (of ``width`` bits) that an element gives, or None, which is out of range. Selectors: 0, 1, or 4
    and on for the components."""
    bits, result = sizes(data_format), []
    for selector in selectors:
        if selector == 1:
            one: Value | int = 1 if number_format in INTEGERS else number(1)
            result.append(to_register(one, width))
        elif element is None or selector - 4 not in range(len(bits)):
            result.append(0)
        else:
            at, size = sum(bits[: selector - 4]), bits[selector - 4]
            value = decoded(element >> at & (1 << size) - 1, size, number_format)
            result.append(to_register(value, width, cuts=number_format == FLOAT and size == 32))
    return result


def store(registers: list[int], data_format: int, number_format: int, width: int, *, repeats: bool = False) -> int:
    """The element that registers make. A component that they have none of is zero, or ``repeats`` the first."""
    element, at = 0, 0
    missing = registers[0] if repeats else 0
    for bits, size in itertools.zip_longest(registers, sizes(data_format), fillvalue=missing):
        element |= encoded(from_register(bits, width, number_format), size, number_format) << at
        at += size
    return element
