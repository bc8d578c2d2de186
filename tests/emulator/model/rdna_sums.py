"""How RDNA3 and RDNA4 add products of f16, bf16 and FP8, in exact fractions: csrc/emulator/rdna_sums.h says whose rules
these are.

Numbers of f16, bf16 and f32 are finite floats of Python here; codes are theirs.
"""

from __future__ import annotations

import math
import struct
from collections.abc import Sequence
from fractions import Fraction

FRACTION = {"f32": 23, "f16": 10, "bf16": 7}
LEAST = {"f32": -126, "f16": -14, "bf16": -126, "fp8": -6, "bf8": -14}  # exponents of normal numbers
MOST = {"f32": 127, "f16": 15, "bf16": 127}


def number_of(code: int, kind: str) -> float:
    """What a code of f16, bf16 or f32 stands for."""
    packed = {"f16": ("<H", "<e"), "bf16": ("<I", "<f"), "f32": ("<I", "<f")}[kind]
    return float(struct.unpack(packed[1], struct.pack(packed[0], code << 16 if kind == "bf16" else code))[0])


def exponent_of(value: float | Fraction) -> int:
    """Of a number but zero: value = 1.xxx * 2^exponent."""
    top, bottom = abs(Fraction(value)).as_integer_ratio()
    exponent = top.bit_length() - bottom.bit_length()
    return exponent if Fraction(top, bottom) >= Fraction(2) ** exponent else exponent - 1


def code_of(value: Fraction, kind: str, denormals: bool) -> int:
    """Rounded to nearest even. Without denormals what lies below normal numbers, rounded to as many bits, is zero."""
    if value == 0:
        return 0
    fraction, least = FRACTION[kind], LEAST[kind]
    sign = (value < 0) << (16 if kind != "f32" else 32) - 1
    exponent = exponent_of(value)
    if denormals:
        exponent = max(exponent, least)
    units = round(abs(value) / Fraction(2) ** (exponent - fraction))  # to even
    rounded = units * Fraction(2) ** (exponent - fraction)
    if rounded == 0 or (not denormals and exponent_of(rounded) < least):
        return 0
    exponent = max(exponent_of(rounded), least)
    if exponent > MOST[kind]:
        return sign | (MOST[kind] - least + 2) << fraction
    units = int(rounded / Fraction(2) ** (exponent - fraction))
    return sign | units + (exponent - least << fraction)


# NaNs that NaNs among the factors make, and products and sums without a value.
OF_FACTORS = {"f32": 0xFFC00A3D, "f16": 0xFE3D, "bf16": 0xFFFD}
OF_INVALID = {"f32": 0xFFC00000, "f16": 0xFE00, "bf16": 0xFFC0}


def special(result: str, a: Sequence[float], b: Sequence[float], c: float, nan_of_c: int) -> int | None:
    """The code of a NaN or an infinity, where there is one among the terms."""
    if any(map(math.isnan, [*a, *b])):
        return OF_FACTORS[result]
    pairs = [pair for pair in zip(a, b, strict=True) if not all(map(math.isfinite, pair))]
    of_products = sum((left * right for left, right in pairs), 0.0)
    if math.isnan(of_products):
        return OF_INVALID[result]
    if math.isnan(c):
        return nan_of_c
    total = of_products + (0.0 if math.isfinite(c) else c)
    if math.isnan(total):
        return OF_INVALID[result]
    infinity = (MOST[result] - LEAST[result] + 2) << FRACTION[result]
    return None if math.isfinite(total) else infinity | (total < 0) << (31 if result == "f32" else 15)


def add(
    generation: int,
    kinds: tuple[str, str],
    result: str,
    a: Sequence[float],
    b: Sequence[float],
    c: float,
    *,
    ovfl: bool = False,
    nan_of_c: int = 0x7FFFFFFF,
) -> int:
    """The code of c and the products of factors of ``kinds``, as ``result``; ``nan_of_c`` where a NaN as c remains."""
    is_float8 = kinds[0] in ("fp8", "bf8")
    if generation == 11 and kinds[0] == "bf16":
        a, b = ([math.copysign(0.0, x) if abs(x) < 2.0**-126 else x for x in factors] for factors in (a, b))
    if generation == 11 and abs(c) < 2.0**-126:
        c = math.copysign(0.0, c)
    if (code := special(result, a, b, c, nan_of_c)) is not None:
        return OF_FACTORS[result] if is_float8 and code == OF_INVALID[result] else code
    products = [Fraction(left) * Fraction(right) for left, right in zip(a, b, strict=True)]
    signs = [math.copysign(1, left) * math.copysign(1, right) for left, right in zip(a, b, strict=True)]
    places = [
        max(exponent_of(left), LEAST[kinds[0]]) + max(exponent_of(right), LEAST[kinds[1]]) - 24
        if product
        else -math.inf
        for product, left, right in zip(products, a, b, strict=True)
    ]
    least = LEAST["f16"] if result == "f16" else LEAST["f32"]
    top = exponent_of(c) if c else -math.inf
    if generation == 12:
        place = max(*places, max(top, least) - 26)
        unit = Fraction(2) ** int(place)
        lost = abs(Fraction(c)) < unit and place > least
        total = 0 if lost else math.floor(Fraction(c) / unit)
        size = len(products) if is_float8 else 2
        for i in range(0, len(products), size):
            group = products[i : i + size]
            if any(group):
                own = Fraction(2) ** int(max(places[i : i + size]))
                total += math.floor(sum(math.floor(product / own) for product in group) * own / unit)
        value = total * unit
    else:
        tops = [exponent_of(product) for product in products if product]
        if not tops and not c:
            return 0
        place = max(*places, max([*tops, max(top, least) if result == "f16" else top]) - 26)
        unit = Fraction(2) ** int(place)
        frame = math.copysign(1, c)
        total = math.floor(abs(Fraction(c)) / unit)
        for product, sign in zip(products, signs, strict=True):
            units = math.floor(abs(product) / unit)
            total += units if sign == frame else -units - 1
        value = int(frame) * total * unit
    if result == "bf16":
        return code_of(value, "f32", generation == 12) >> 16
    if result == "f16":
        code = code_of(value, "f16", True)
        return code - 1 if ovfl and code & 0x7FFF == 0x7C00 else code
    return code_of(value, "f32", generation == 12)
