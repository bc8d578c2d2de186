"""What CDNA4's own instructions do, lane by lane: from the ISA document ("Small Floats", "VOP3 Instructions") and OCP's
Microscaling Formats (MX) Specification 1.0, by enumerating codes and in exact fractions.

`CONVERSIONS` and `INTEGERS` map an instruction to a function of a lane's sources, each a list of dwords, and OP_SEL; it
returns the dwords of the destination, given those that were there.
"""

from __future__ import annotations

import math
import struct
from bisect import bisect_left, bisect_right
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import cache, cached_property

Words = Sequence[int]
Lane = Callable[[list[Words], Words, int], list[int]]


@dataclass
class Small:
    """A float format of a sign, exponent and mantissa bits. `top` is what the codes of the largest exponent are."""

    exponent: int
    mantissa: int
    top: str = "numbers"  # or "one nan", "ieee"

    @property
    def bits(self) -> int:
        return 1 + self.exponent + self.mantissa

    @property
    def bias(self) -> int:
        return (1 << (self.exponent - 1)) - 1

    @property
    def largest(self) -> int:
        """The magnitude of the largest number."""
        everything = (1 << (self.bits - 1)) - 1
        return everything - {"numbers": 0, "one nan": 1, "ieee": 1 << self.mantissa}[self.top]

    def number(self, magnitude: int) -> Fraction:
        """What a magnitude would be if all codes were numbers."""
        exponent, mantissa = magnitude >> self.mantissa, magnitude & ((1 << self.mantissa) - 1)
        if exponent == 0:
            return Fraction(mantissa) * Fraction(2) ** (1 - self.bias - self.mantissa)
        return Fraction(mantissa + (1 << self.mantissa)) * Fraction(2) ** (exponent - self.bias - self.mantissa)

    @cached_property
    def numbers(self) -> list[Fraction]:
        """Of the magnitudes up to the one behind the largest number's."""
        return [self.number(magnitude) for magnitude in range(self.largest + 2)]

    def value(self, code: int) -> float:
        sign, magnitude = -1.0 if code >> (self.bits - 1) else 1.0, code & ((1 << (self.bits - 1)) - 1)
        if magnitude > self.largest:
            infinite = self.top == "ieee" and magnitude == self.largest + 1
            return math.copysign(math.inf if infinite else math.nan, sign)
        return sign * float(self.number(magnitude))

    def encode(self, value: float, saturates: bool) -> int | None:
        """The nearest code, ties to the even one; None for any NaN."""
        return self._encode(value, saturates, self._nearest)

    def encode_stochastically(self, value: float, seed: int, saturates: bool) -> int | None:
        """The high bits of the seed are added below the last place, of the 23 of an f32, and the rest is cut off."""
        return self._encode(value, saturates, lambda size: self._noisy(size, seed))

    def _encode(self, value: float, saturates: bool, to_magnitude: Callable[[Fraction], int]) -> int | None:
        sign = (1 << (self.bits - 1)) if math.copysign(1, value) < 0 else 0
        keeps = saturates or self.top == "numbers"
        if math.isnan(value):
            return sign | self.largest if self.top == "numbers" else None
        magnitude = self.largest + 1 if math.isinf(value) else to_magnitude(abs(Fraction(value)))
        if magnitude <= self.largest:
            return sign | magnitude
        if keeps:
            return sign | self.largest
        return sign | self.largest + 1 if self.top == "ieee" else None

    def _nearest(self, size: Fraction) -> int:
        above = min(bisect_left(self.numbers, size), self.largest + 1)
        codes = (max(above - 1, 0), above)
        return min(codes, key=lambda code: (abs(self.numbers[code] - size), code % 2))

    def _noisy(self, size: Fraction, seed: int) -> int:
        below = bisect_right(self.numbers, size) - 1
        if below == self.largest + 1:
            return below
        dropped = 23 - self.mantissa
        place = self.numbers[below + 1] - self.numbers[below]
        fixed = math.floor(size / place * 2**dropped) + (seed >> (32 - dropped))
        units = fixed >> dropped
        return next(code for code in (below, below + 1) if self.numbers[code] == units * place)


FP8, BF8 = Small(4, 3, "one nan"), Small(5, 2, "ieee")
FP6, BF6, FP4 = Small(2, 3), Small(3, 2), Small(2, 1)
F16, BF16 = Small(5, 10, "ieee"), Small(8, 7, "ieee")
SMALL = {"fp8": FP8, "bf8": BF8, "fp6": FP6, "bf6": BF6, "fp4": FP4}


def f32(word: int) -> float:
    return float(struct.unpack("<f", struct.pack("<I", word))[0])


def f32_bits(value: float) -> int:
    """Rounded once; what is too large becomes infinity."""
    if math.isfinite(value) and abs(value) >= 2.0**128 - 2.0**103:
        value = math.copysign(math.inf, value)
    return int(struct.unpack("<I", struct.pack("<f", value))[0])


@cache
def value16(kind: str, code: int) -> float:
    return F16.value(code) if kind == "f16" else f32(code << 16)


def code16(kind: str, value: float) -> int:
    if math.isnan(value):
        return 0x7E00 if kind == "f16" else 0x7FC0
    if kind == "f16":
        return (
            int(struct.unpack("<H", struct.pack("<e", value))[0])
            if abs(value) < 65520
            else (0x7C00 | (0x8000 if value < 0 else 0))
        )
    bits = f32_bits(value)
    return (bits + 0x7FFF + (bits >> 16 & 1)) >> 16


def scale(word: int) -> float:
    """2^(e - 127) of the exponent of an f32, which is what an E8M0 says."""
    exponent = word >> 23 & 255
    return math.nan if exponent == 255 else 2.0 ** (exponent - 127)


def next_random(number: int) -> int:
    return (number << 1 ^ (197 if number >> 31 else 0)) & 0xFFFFFFFF


def values(kind: str, words: Words) -> list[float]:
    if kind == "f32":
        return [f32(word) for word in words]
    return [value16(kind, word >> at & 0xFFFF) for word in words for at in (0, 16)]


def put(old: int, new: int, at: int, bits: int) -> int:
    mask = ((1 << bits) - 1) << at
    return old & ~mask | new << at & mask


def stream(codes: Sequence[int], bits: int) -> list[int]:
    """Codes one behind the other, the first in the lowest bits."""
    number = sum(code << bits * index for index, code in enumerate(codes))
    return [number >> 32 * index & 0xFFFFFFFF for index in range((len(codes) * bits + 31) // 32)]


def unstream(words: Words, bits: int, count: int) -> list[int]:
    number = sum(word << 32 * index for index, word in enumerate(words))
    return [number >> bits * index & ((1 << bits) - 1) for index in range(count)]


NAN_CODES = {"fp8": 0x7F, "bf8": 0x7F}


def narrow(kind: str, found: Sequence[float], by: float, saturates: bool, seed: int | None = None) -> list[int]:
    """Codes of values divided by a scale; stochastic ones have the next random number each."""
    codes = []
    for value in found:
        scaled = value / by
        if seed is None:
            code = SMALL[kind].encode(scaled, saturates)
        else:
            code = SMALL[kind].encode_stochastically(scaled, seed, saturates)
            seed = next_random(seed)
        codes.append(NAN_CODES[kind] | (0x80 if math.copysign(1, scaled) < 0 else 0) if code is None else code)
    return codes


def widen(to: str, found: Sequence[float], by: float) -> list[int]:
    scaled = [value * by for value in found]
    if to == "f32":
        return [f32_bits(value) for value in scaled]
    return stream([code16(to, value) for value in scaled], 16)


def _narrowing(kind: str, source: str) -> Lane:
    def lane(sources: list[Words], old: Words, op_sel: int) -> list[int]:
        two = source == "f32"
        found = values(source, [sources[0][0], sources[1][0]] if two else sources[0])
        packed = stream(narrow(kind, found, scale(sources[2 if two else 1][0]), False), SMALL[kind].bits)[0]
        return [put(old[0], packed, *((8 * (op_sel >> 2), 8) if kind == "fp4" else (16 * (op_sel >> 3), 16)))]

    return lane


def _stochastic(kind: str, source: str) -> Lane:
    def lane(sources: list[Words], old: Words, op_sel: int) -> list[int]:
        found = values(source, sources[0])[: 2 if kind == "fp4" else 1]
        codes = narrow(kind, found, scale(sources[2][0]), False, sources[1][0])
        return [put(old[0], stream(codes, SMALL[kind].bits)[0], 8 * (op_sel >> 2), 8)]

    return lane


def _widening(kind: str, to: str) -> Lane:
    def lane(sources: list[Words], old: Words, op_sel: int) -> list[int]:
        first = 2 * (op_sel & 3 if kind == "fp4" else op_sel & 1)
        codes = unstream(sources[0], SMALL[kind].bits, 8)[first : first + 2]
        return widen(to, [SMALL[kind].value(code) for code in codes], scale(sources[1][0]))

    return lane


def _single(kind: str, to: str) -> Lane:
    def lane(sources: list[Words], old: Words, op_sel: int) -> list[int]:
        code = unstream(sources[0], 8, 4)[op_sel & 3]
        word = widen(to, [SMALL[kind].value(code)], scale(sources[1][0]))[0]
        return [word] if to == "f32" else [put(old[0], word, 16 * (op_sel >> 3), 16)]

    return lane


def _narrowing32(kind: str, source: str) -> Lane:
    def lane(sources: list[Words], old: Words, op_sel: int) -> list[int]:
        if source == "f32":  # two sources in turn
            found = [
                value for pair in zip(*(values("f32", words) for words in sources[:2]), strict=True) for value in pair
            ]
        else:
            found = values(source, sources[0])
        return stream(narrow(kind, found, scale(sources[-1][0]), True), 6)

    return lane


def _stochastic32(kind: str, source: str) -> Lane:
    def lane(sources: list[Words], old: Words, op_sel: int) -> list[int]:
        return stream(narrow(kind, values(source, sources[0]), scale(sources[2][0]), True, sources[1][0]), 6)

    return lane


def _widening32(kind: str, to: str) -> Lane:
    def lane(sources: list[Words], old: Words, op_sel: int) -> list[int]:
        found = [SMALL[kind].value(code) for code in unstream(sources[0], 6, 32)]
        return widen(to, found, scale(sources[1][0]))

    return lane


CONVERSIONS: dict[str, Lane] = {}
for _wide in ("f32", "f16", "bf16"):
    for _kind in ("fp8", "bf8", "fp4"):
        CONVERSIONS[f"v_cvt_scalef32_pk_{_kind}_{_wide}"] = _narrowing(_kind, _wide)
        CONVERSIONS[f"v_cvt_scalef32_pk_{_wide}_{_kind}"] = _widening(_kind, _wide)
        CONVERSIONS[f"v_cvt_scalef32_sr_{'pk_' if _kind == 'fp4' else ''}{_kind}_{_wide}"] = _stochastic(_kind, _wide)
        if _kind != "fp4" and _wide != "bf16":
            CONVERSIONS[f"v_cvt_scalef32_{_wide}_{_kind}"] = _single(_kind, _wide)
    for _kind in ("fp6", "bf6"):
        _name = f"2xpk16_{_kind}" if _wide == "f32" else f"pk32_{_kind}"
        CONVERSIONS[f"v_cvt_scalef32_{_name}_{_wide}"] = _narrowing32(_kind, _wide)
        CONVERSIONS[f"v_cvt_scalef32_sr_pk32_{_kind}_{_wide}"] = _stochastic32(_kind, _wide)
        CONVERSIONS[f"v_cvt_scalef32_pk32_{_wide}_{_kind}"] = _widening32(_kind, _wide)


def _plain8(kind: str, stochastic: bool) -> Lane:
    def lane(sources: list[Words], old: Words, op_sel: int) -> list[int]:
        if stochastic:
            code = narrow(kind, [f32(sources[0][0])], 1.0, False, sources[1][0])[0]
            return [put(old[0], code, 8 * (op_sel >> 2), 8)]
        codes = narrow(kind, [f32(sources[0][0]), f32(sources[1][0])], 1.0, False)
        return [put(old[0], stream(codes, 8)[0], 16 * (op_sel >> 3), 16)]

    return lane


def _from8(kind: str, count: int) -> Lane:
    def lane(sources: list[Words], old: Words, op_sel: int) -> list[int]:
        return [f32_bits(SMALL[kind].value(code)) for code in unstream(sources[0], 8, count)]

    return lane


for _kind in ("fp8", "bf8"):
    CONVERSIONS[f"v_cvt_pk_{_kind}_f32"], CONVERSIONS[f"v_cvt_sr_{_kind}_f32"] = (
        _plain8(_kind, False),
        _plain8(_kind, True),
    )
    CONVERSIONS[f"v_cvt_f32_{_kind}"], CONVERSIONS[f"v_cvt_pk_f32_{_kind}"] = _from8(_kind, 1), _from8(_kind, 2)


def _noisy16(kind: Small, bits: int) -> Lane:
    def lane(sources: list[Words], old: Words, op_sel: int) -> list[int]:
        value = f32(sources[0][0])
        if math.isnan(value):
            code = 0x7E00 if kind is F16 else 0x7FC0
        elif kind is F16:
            found = kind.encode_stochastically(value, sources[1][0], False)
            assert found is not None
            code = found
        elif math.isinf(value):
            code = sources[0][0] >> 16
        else:
            code = sources[0][0] + (sources[1][0] >> 16) >> 16
        return [put(old[0], code, 16 * (op_sel >> 3), bits)]

    return lane


CONVERSIONS["v_cvt_sr_f16_f32"], CONVERSIONS["v_cvt_sr_bf16_f32"] = _noisy16(F16, 16), _noisy16(BF16, 16)
CONVERSIONS["v_cvt_pk_f16_f32"] = lambda sources, old, op_sel: widen("f16", [f32(sources[i][0]) for i in (0, 1)], 1.0)
CONVERSIONS["v_cvt_pk_bf16_f32"] = lambda sources, old, op_sel: widen("bf16", [f32(sources[i][0]) for i in (0, 1)], 1.0)
CONVERSIONS["v_cvt_f32_bf16"] = lambda sources, old, op_sel: [(sources[0][0] & 0xFFFF) << 16]


def bitop3(sources: list[Words], table: int, bits: int) -> int:
    result = 0
    for bit in range(bits):
        a, b, c = (words[0] >> bit & 1 for words in sources)
        result |= (table >> (4 * a + 2 * b + c) & 1) << bit
    return result


def ashr_pk(low: int, high: int) -> Lane:
    def lane(sources: list[Words], old: Words, op_sel: int) -> list[int]:
        def byte(word: int) -> int:
            shifted = (word - (word >> 31 << 32)) >> (sources[2][0] & 31)
            return max(low, min(high, shifted)) & 255

        return [put(old[0], byte(sources[0][0]) | byte(sources[1][0]) << 8, 16 * (op_sel >> 3), 16)]

    return lane


INTEGERS: dict[str, Lane] = {
    "v_prng_b32": lambda sources, old, op_sel: [next_random(sources[0][0])],
    "v_ashr_pk_i8_i32": ashr_pk(-128, 127),
    "v_ashr_pk_u8_i32": ashr_pk(0, 255),
}
