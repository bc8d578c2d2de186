"""Rules of vector instructions on integers and bits."""

from __future__ import annotations

import operator
from collections.abc import Callable

from .rules import Rule, low, rule, saturated, signed_low
from .scalar import bit_reverse, find, sign_run

RULES: dict[str, Rule] = {}


def three(function: Callable[[int, int], int]) -> Callable[[int, int, int], int]:
    return lambda a, b, c: function(function(a, b), c)


def median(a: int, b: int, c: int) -> int:
    return sorted((a, b, c))[1]


for width in (16, 32):
    for sign in ("i", "u"):
        t = f"{sign}{width}"
        RULES[f"v_min_{t}"] = rule(f"{t} {t} -> {t}", min)
        RULES[f"v_max_{t}"] = rule(f"{t} {t} -> {t}", max)
        RULES[f"v_min3_{t}"] = rule(f"{t} {t} {t} -> {t}", min)
        RULES[f"v_max3_{t}"] = rule(f"{t} {t} {t} -> {t}", max)
        RULES[f"v_med3_{t}"] = rule(f"{t} {t} {t} -> {t}", median)
        RULES[f"v_add_{t}"] = rule(f"{t} {t} -> {t}", operator.add, saturates=True)
        RULES[f"v_sub_{t}"] = rule(f"{t} {t} -> {t}", operator.sub, saturates=True)
    t, amount = f"u{width}", "u4" if width == 16 else "u5"
    RULES[f"v_subrev_{t}"] = rule(f"{t} {t} -> {t}", lambda a, b: b - a, saturates=True)
    RULES[f"v_lshlrev_b{width}"] = rule(f"{amount} {t} -> b{width}", lambda n, a: a << n)
    RULES[f"v_lshrrev_b{width}"] = rule(f"{amount} {t} -> b{width}", lambda n, a: a >> n)
    RULES[f"v_ashrrev_i{width}"] = rule(f"{amount} i{width} -> b{width}", lambda n, a: a >> n)
    RULES[f"v_not_b{width}"] = rule(f"{t} -> b{width}", operator.invert)
RULES["v_lshlrev_b64"] = rule("u6 u64 -> b64", lambda n, a: a << n)
RULES["v_lshrrev_b64"] = rule("u6 u64 -> b64", lambda n, a: a >> n)
RULES["v_ashrrev_i64"] = rule("u6 i64 -> b64", lambda n, a: a >> n)

for sign in ("i", "u"):
    t = f"{sign}16"
    for name in (f"v_mad_{t}", f"v_mad_legacy_{t}"):
        RULES[name] = rule(f"{t} {t} {t} -> {t}", lambda a, b, c: a * b + c, saturates=True)
    t32, t24 = f"{sign}32", f"{sign}24"
    RULES[f"v_mad_{t32}_{t}"] = rule(f"{t} {t} {t32} -> {t32}", lambda a, b, c: a * b + c, saturates=True)
    RULES[f"v_mad_{t32}_{t24}"] = rule(f"{t24} {t24} {t32} -> {t32}", lambda a, b, c: a * b + c, saturates=True)
    RULES[f"v_mul_{t32}_{t24}"] = rule(f"{t24} {t24} -> {t32}", operator.mul, saturates=True)
    RULES[f"v_mul_hi_{t32}_{t24}"] = rule(f"{t24} {t24} -> {t32}", lambda a, b: a * b >> 32)
    RULES[f"v_mul_hi_{t32}"] = rule(f"{t32} {t32} -> {t32}", lambda a, b: a * b >> 32)


def carries(function: Callable[..., int]) -> Callable[..., tuple[int, bool]]:
    def both(*sources: int) -> tuple[int, bool]:
        result = function(*sources)
        return result, not 0 <= result < 1 << 32

    return both


for name, function in {"add": operator.add, "sub": operator.sub, "subrev": lambda a, b: b - a}.items():
    RULES[f"v_{name}_co_u32"] = rule("u32 u32 -> u32 bit", carries(function), saturates=True)
for name, carrying in {
    "addc": lambda a, b, c: a + b + c,
    "subb": lambda a, b, c: a - b - c,
    "subbrev": lambda a, b, c: b - a - c,
}.items():
    RULES[f"v_{name}_co_u32"] = rule("u32 u32 bit -> u32 bit", carries(carrying), saturates=True)


def wide_mad(kind: str) -> Callable[[int, int, int], tuple[int, bool]]:
    """The sum's 65th bit is the carry."""

    def mad(a: int, b: int, c: int) -> tuple[int, bool]:
        total = a * b + c
        return total, bool(total >> 64 & 1)

    return mad


RULES["v_mad_u64_u32"] = rule("u32 u32 u64 -> u64 bit", wide_mad("u64"), saturates=True)
RULES["v_mad_i64_i32"] = rule("i32 i32 i64 -> i64 bit", wide_mad("i64"), saturates=True)


def byte_permute(a: int, b: int, selectors: int) -> int:
    data = a << 32 | b

    def pick(selector: int) -> int:
        if selector >= 13:
            return 0xFF
        if selector == 12:
            return 0
        if selector >= 8:  # the sign of one of the four words
            return 0xFF if data >> (16 * (selector - 8) + 15) & 1 else 0
        return data >> 8 * selector & 0xFF

    return sum(pick(selectors >> 8 * i & 0xFF) << 8 * i for i in range(4))


def byte(value: int, index: int) -> int:
    return value >> 8 * index & 0xFF


def sum_of_differences(a: int, b: int, total: int) -> int:
    return total + sum(abs(byte(a, i) - byte(b, i)) for i in range(4))


def masked_sum(a: int, b: int, total: int) -> int:
    return total + sum(abs(byte(a, i) - byte(b, i)) for i in range(4) if byte(b, i))


def sliding(function: Callable[[int, int, int], int], width: int) -> Callable[[bool, int, int, int], int]:
    """Four sums, each over the four bytes from another one on, packed."""

    def four(clamp: bool, a: int, b: int, totals: int) -> int:
        sums = (function(low(a >> 8 * i, 32), b, low(totals >> width * i, width)) for i in range(4))
        parts = (saturated(f"u{width}", total) if clamp else low(total, width) for total in sums)
        return sum(part << width * i for i, part in enumerate(parts))

    return four


def average(a: int, b: int, rounding: int) -> int:
    return sum((byte(a, i) + byte(b, i) + (byte(rounding, i) & 1) >> 1) << 8 * i for i in range(4))


def count_below(first: int) -> Callable[[int, int, int], int]:
    """v_mbcnt counts the bits of lanes before this one; the mask's lowest bit is that of lane `first`."""
    return lambda lane, mask, base: base + low(mask, max(0, min(32, lane - first))).bit_count()


def dot(width: int, kind: str) -> Callable[[int, int, int], int]:
    read = signed_low if kind == "i" else low

    def sum_of_products(a: int, b: int, c: int) -> int:
        return c + sum(read(a >> at, width) * read(b >> at, width) for at in range(0, 32, width))

    return sum_of_products


for count, width in ((2, 16), (4, 8), (8, 4)):
    for sign in ("i", "u"):
        signature = f"b32 b32 {sign}32 -> {sign}32"
        RULES[f"v_dot{count}_{sign}32_{sign}{width}"] = rule(signature, dot(width, sign), saturates=True)
    accumulate = dot(width, "i")
    RULES[f"v_dot{count}c_i32_i{width}"] = rule(
        "i32 b32 b32 -> i32", lambda c, a, b, f=accumulate: f(a, b, c), saturates=True
    )

RULES |= {
    "v_nop": rule("->", lambda: ()),
    "v_clrexcp": rule("->", lambda: ()),
    "v_mov_b32": rule("b32 -> b32", lambda a: a),
    "v_mov_b64": rule("b64 -> b64", lambda a: a),
    "v_accvgpr_read_b32": rule("b32 -> b32", lambda a: a),
    "v_accvgpr_write_b32": rule("b32 -> b32", lambda a: a),
    "v_accvgpr_mov_b32": rule("b32 -> b32", lambda a: a),
    "v_pk_mov_b32": rule("b32 b32 -> b64", lambda a, b: b << 32 | a),
    "v_swap_b32": rule("b32 b32 -> b32 b32", lambda d, a: (a, d)),
    "v_cndmask_b32": rule("b32 b32 bit -> b32", lambda a, b, bit: b if bit else a),
    "v_bfrev_b32": rule("b32 -> b32", lambda a: bit_reverse(a, 32)),
    "v_ffbh_u32": rule("b32 -> b32", lambda a: find(a, 32, 1, from_top=True)),
    "v_ffbl_b32": rule("b32 -> b32", lambda a: find(a, 32, 1)),
    "v_ffbh_i32": rule("b32 -> b32", lambda a: sign_run(a, 32)),
    "v_and_b32": rule("b32 b32 -> b32", operator.and_),
    "v_or_b32": rule("b32 b32 -> b32", operator.or_),
    "v_xor_b32": rule("b32 b32 -> b32", operator.xor),
    "v_xnor_b32": rule("b32 b32 -> b32", lambda a, b: ~(a ^ b)),
    "v_or3_b32": rule("b32 b32 b32 -> b32", three(operator.or_)),
    "v_and_or_b32": rule("b32 b32 b32 -> b32", lambda a, b, c: a & b | c),
    "v_xad_u32": rule("u32 u32 u32 -> b32", lambda a, b, c: (a ^ b) + c),
    "v_add3_u32": rule("u32 u32 u32 -> b32", three(operator.add)),
    "v_lshl_add_u32": rule("u32 u5 u32 -> b32", lambda a, n, c: (a << n) + c),
    "v_add_lshl_u32": rule("u32 u32 u5 -> b32", lambda a, b, n: a + b << n),
    "v_lshl_or_b32": rule("u32 u5 u32 -> b32", lambda a, n, c: a << n | c),
    "v_lshl_add_u64": rule("u64 u3 u64 -> b64", lambda a, n, c: (a << (n if n <= 4 else 0)) + c),
    "v_bfe_u32": rule("u32 u5 u5 -> b32", lambda a, at, size: low(a >> at, size)),
    "v_bfe_i32": rule("i32 u5 u5 -> b32", lambda a, at, size: signed_low(a >> at, size)),
    "v_bfi_b32": rule("b32 b32 b32 -> b32", lambda mask, a, b: mask & a | ~mask & b),
    "v_bfm_b32": rule("u5 u5 -> b32", lambda size, at: ((1 << size) - 1) << at),
    "v_alignbit_b32": rule("b32 b32 u5 -> b32", lambda a, b, n: (a << 32 | b) >> n),
    "v_alignbyte_b32": rule("b32 b32 u2 -> b32", lambda a, b, n: (a << 32 | b) >> 8 * n),
    "v_perm_b32": rule("b32 b32 b32 -> b32", byte_permute),
    "v_lerp_u8": rule("b32 b32 b32 -> b32", average),
    "v_mul_lo_u16": rule("u16 u16 -> u16", operator.mul, saturates=True),
    "v_mul_lo_u32": rule("u32 u32 -> u32", operator.mul),
    "v_bcnt_u32_b32": rule("b32 u32 -> b32", lambda a, base: a.bit_count() + base),
    "v_mbcnt_lo_u32_b32": rule("lane b32 u32 -> b32", count_below(0)),
    "v_mbcnt_hi_u32_b32": rule("lane b32 u32 -> b32", count_below(32)),
    "v_sad_u8": rule("b32 b32 u32 -> u32", sum_of_differences, saturates=True),
    "v_sad_hi_u8": rule("b32 b32 u32 -> u32", lambda a, b, c: (sum_of_differences(a, b, 0) << 16) + c, saturates=True),
    "v_sad_u16": rule(
        "b32 b32 u32 -> u32",
        lambda a, b, c: c + abs((a >> 16) - (b >> 16)) + abs(low(a, 16) - low(b, 16)),
        saturates=True,
    ),
    "v_sad_u32": rule("u32 u32 u32 -> u32", lambda a, b, c: abs(a - b) + c, saturates=True),
    "v_msad_u8": rule("b32 b32 u32 -> u32", masked_sum, saturates=True),
    "v_qsad_pk_u16_u8": rule("clamp b64 b32 b64 -> b64", sliding(sum_of_differences, 16), saturates=True),
    "v_mqsad_pk_u16_u8": rule("clamp b64 b32 b64 -> b64", sliding(masked_sum, 16), saturates=True),
    "v_mqsad_u32_u8": rule("clamp b64 b32 b128 -> b128", sliding(masked_sum, 32), saturates=True),
    "v_cvt_pk_u16_u32": rule("u32 u32 -> b32", lambda a, b: saturated("u16", b) << 16 | saturated("u16", a)),
    "v_cvt_pk_i16_i32": rule(
        "i32 i32 -> b32", lambda a, b: low(saturated("i16", b), 16) << 16 | low(saturated("i16", a), 16)
    ),
    "v_sat_pk_u8_i16": rule(
        "b32 -> b32",
        lambda a: saturated("u8", signed_low(a >> 16, 16)) << 8 | saturated("u8", signed_low(a, 16)),
    ),
}
