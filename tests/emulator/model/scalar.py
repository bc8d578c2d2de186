"""Rules of SOP1, SOP2, SOPK and SOPC instructions."""

from __future__ import annotations

import operator
from collections.abc import Callable

from .rules import Rule, low, rule, signed_low

RULES: dict[str, Rule] = {}


def and_not_zero(width: int, function: Callable[..., int]) -> Callable[..., tuple[int, bool]]:
    """Returns the result, and whether it is not zero."""

    def both(*sources: int) -> tuple[int, bool]:
        result = low(function(*sources), width)
        return result, result != 0

    return both


def find(bits: int, width: int, wanted: int, *, from_top: bool = False) -> int:
    """The position of the first bit that is `wanted`, counted from one end, or -1."""
    positions = range(width - 1, -1, -1) if from_top else range(width)
    return next((i for i, at in enumerate(positions) if bits >> at & 1 == wanted), -1)


def sign_run(bits: int, width: int) -> int:
    """How many bits at the top are equal, or -1 where all are."""
    return find(bits, width, 1 - (bits >> (width - 1)), from_top=True)


def bit_reverse(bits: int, width: int) -> int:
    return int(f"{bits:0{width}b}"[::-1], 2)


def whole_quads(bits: int, width: int) -> int:
    return sum(0xF << i for i in range(0, width, 4) if bits >> i & 0xF)


def quads(bits: int, width: int) -> int:
    return sum(1 << i // 4 for i in range(0, width, 4) if bits >> i & 0xF)


LOGIC: dict[str, Callable[[int, int], int]] = {
    "and": operator.and_,
    "or": operator.or_,
    "xor": operator.xor,
    "andn2": lambda a, b: a & ~b,
    "orn2": lambda a, b: a | ~b,
    "nand": lambda a, b: ~(a & b),
    "nor": lambda a, b: ~(a | b),
    "xnor": lambda a, b: ~(a ^ b),
    "andn1": lambda a, b: ~a & b,
    "orn1": lambda a, b: ~a | b,
}

COMPARISONS: dict[str, Callable[[int, int], bool]] = {
    "eq": operator.eq,
    "lg": operator.ne,
    "gt": operator.gt,
    "ge": operator.ge,
    "lt": operator.lt,
    "le": operator.le,
}


def exec_and_old(logic: Callable[[int, int], int]) -> Callable[[int, int], tuple[int, int, bool]]:
    """The new EXEC, the old one for the destination, SCC."""

    def save(mask: int, source: int) -> tuple[int, int, bool]:
        new = low(logic(source, mask), 64)
        return new, mask, new != 0

    return save


def exec_and_copy(logic: Callable[[int, int], int]) -> Callable[[int, int], tuple[int, int, bool]]:
    def write(mask: int, source: int) -> tuple[int, int, bool]:
        new = low(logic(source, mask), 64)
        return new, new, new != 0

    return write


for width in (32, 64):
    t = f"b{width}"
    amount = "u5" if width == 32 else "u6"
    RULES[f"s_mov_{t}"] = rule(f"{t} -> {t}", lambda a: a)
    RULES[f"s_cmov_{t}"] = rule(f"scc {t} {t} -> {t}", lambda scc, old, a: a if scc else old)
    RULES[f"s_cselect_{t}"] = rule(f"scc {t} {t} -> {t}", lambda scc, a, b: a if scc else b)
    RULES[f"s_not_{t}"] = rule(f"{t} -> {t} scc", and_not_zero(width, operator.invert))
    RULES[f"s_brev_{t}"] = rule(f"{t} -> {t}", lambda a, w=width: bit_reverse(a, w))
    RULES[f"s_wqm_{t}"] = rule(f"{t} -> {t} scc", and_not_zero(width, lambda a, w=width: whole_quads(a, w)))
    RULES[f"s_quadmask_{t}"] = rule(f"{t} -> {t} scc", and_not_zero(width, lambda a, w=width: quads(a, w)))
    RULES[f"s_bcnt0_i32_{t}"] = rule(f"{t} -> b32 scc", and_not_zero(32, lambda a, w=width: w - a.bit_count()))
    RULES[f"s_bcnt1_i32_{t}"] = rule(f"{t} -> b32 scc", and_not_zero(32, int.bit_count))
    RULES[f"s_ff0_i32_{t}"] = rule(f"{t} -> b32", lambda a, w=width: find(a, w, 0))
    RULES[f"s_ff1_i32_{t}"] = rule(f"{t} -> b32", lambda a, w=width: find(a, w, 1))
    RULES[f"s_flbit_i32_{t}"] = rule(f"{t} -> b32", lambda a, w=width: find(a, w, 1, from_top=True))
    RULES["s_flbit_i32" + ("" if width == 32 else "_i64")] = rule(f"{t} -> b32", lambda a, w=width: sign_run(a, w))
    RULES[f"s_bitset0_{t}"] = rule(f"{t} {amount} -> {t}", lambda old, at: old & ~(1 << at))
    RULES[f"s_bitset1_{t}"] = rule(f"{t} {amount} -> {t}", lambda old, at: old | 1 << at)
    RULES[f"s_bitcmp0_{t}"] = rule(f"{t} {amount} -> scc", lambda a, at: not a >> at & 1)
    RULES[f"s_bitcmp1_{t}"] = rule(f"{t} {amount} -> scc", lambda a, at: a >> at & 1)
    for name in ("and", "or", "xor", "andn2", "orn2", "nand", "nor", "xnor"):
        RULES[f"s_{name}_{t}"] = rule(f"{t} {t} -> {t} scc", and_not_zero(width, LOGIC[name]))
    RULES[f"s_lshl_{t}"] = rule(f"{t} {amount} -> {t} scc", and_not_zero(width, operator.lshift))
    RULES[f"s_lshr_{t}"] = rule(f"{t} {amount} -> {t} scc", and_not_zero(width, operator.rshift))
    RULES[f"s_ashr_i{width}"] = rule(f"i{width} {amount} -> {t} scc", and_not_zero(width, operator.rshift))
    RULES[f"s_bfm_{t}"] = rule(f"{amount} {amount} -> {t}", lambda size, at: ((1 << size) - 1) << at)
    extract = and_not_zero(width, lambda a, field, m=width - 1: low(a >> (field & m), field >> 16 & 127))
    RULES[f"s_bfe_u{width}"] = rule(f"u{width} u32 -> {t} scc", extract)
    extract = and_not_zero(width, lambda a, field, m=width - 1: signed_low(a >> (field & m), field >> 16 & 127))
    RULES[f"s_bfe_i{width}"] = rule(f"i{width} u32 -> {t} scc", extract)

for name in ("and", "or", "xor", "andn2", "orn2", "nand", "nor", "xnor", "andn1", "orn1"):
    RULES[f"s_{name}_saveexec_b64"] = rule("exec b64 -> exec b64 scc", exec_and_old(LOGIC[name]))
for name in ("andn1", "andn2"):
    RULES[f"s_{name}_wrexec_b64"] = rule("exec b64 -> exec b64 scc", exec_and_copy(LOGIC[name]))

for name, compare in COMPARISONS.items():
    for kind in ("i32", "u32"):
        RULES[f"s_cmp_{name}_{kind}"] = rule(f"{kind} {kind} -> scc", compare)
        RULES[f"s_cmpk_{name}_{kind}"] = rule(f"{kind} {kind[0]}16 -> scc", compare)
for name in ("eq", "lg"):
    RULES[f"s_cmp_{name}_u64"] = rule("u64 u64 -> scc", COMPARISONS[name])


def with_overflow(function: Callable[[int, int], int]) -> Callable[[int, int], tuple[int, bool]]:
    def both(a: int, b: int) -> tuple[int, bool]:
        result = function(a, b)
        return result, result != signed_low(result, 32)

    return both


def with_carry(result: int) -> tuple[int, bool]:
    return result, not 0 <= result < 1 << 32


def half(value: int, high: bool) -> int:
    return value >> 16 if high else value & 0xFFFF


RULES |= {
    "s_sext_i32_i8": rule("i8 -> b32", lambda a: a),
    "s_sext_i32_i16": rule("i16 -> b32", lambda a: a),
    "s_abs_i32": rule("i32 -> b32 scc", and_not_zero(32, abs)),
    "s_bitreplicate_b64_b32": rule("b32 -> b64", lambda a: sum(3 << 2 * i for i in range(32) if a >> i & 1)),
    "s_add_u32": rule("u32 u32 -> b32 scc", lambda a, b: with_carry(a + b)),
    "s_sub_u32": rule("u32 u32 -> b32 scc", lambda a, b: with_carry(a - b)),
    "s_addc_u32": rule("scc u32 u32 -> b32 scc", lambda scc, a, b: with_carry(a + b + scc)),
    "s_subb_u32": rule("scc u32 u32 -> b32 scc", lambda scc, a, b: with_carry(a - b - scc)),
    "s_add_i32": rule("i32 i32 -> b32 scc", with_overflow(operator.add)),
    "s_sub_i32": rule("i32 i32 -> b32 scc", with_overflow(operator.sub)),
    "s_addk_i32": rule("i32 i16 -> b32 scc", with_overflow(operator.add)),
    "s_mulk_i32": rule("i32 i16 -> b32", operator.mul),
    "s_movk_i32": rule("i16 -> b32", lambda a: a),
    "s_cmovk_i32": rule("scc b32 i16 -> b32", lambda scc, old, a: a if scc else old),
    "s_min_i32": rule("i32 i32 -> b32 scc", lambda a, b: (min(a, b), a < b)),
    "s_min_u32": rule("u32 u32 -> b32 scc", lambda a, b: (min(a, b), a < b)),
    "s_max_i32": rule("i32 i32 -> b32 scc", lambda a, b: (max(a, b), a >= b)),
    "s_max_u32": rule("u32 u32 -> b32 scc", lambda a, b: (max(a, b), a >= b)),
    "s_mul_i32": rule("i32 i32 -> b32", operator.mul),
    "s_mul_hi_u32": rule("u32 u32 -> b32", lambda a, b: a * b >> 32),
    "s_mul_hi_i32": rule("i32 i32 -> b32", lambda a, b: a * b >> 32),
    "s_absdiff_i32": rule("i32 i32 -> b32 scc", and_not_zero(32, lambda a, b: abs(signed_low(a - b, 32)))),
    "s_pack_ll_b32_b16": rule("b32 b32 -> b32", lambda a, b: half(b, False) << 16 | half(a, False)),
    "s_pack_lh_b32_b16": rule("b32 b32 -> b32", lambda a, b: half(b, True) << 16 | half(a, False)),
    "s_pack_hh_b32_b16": rule("b32 b32 -> b32", lambda a, b: half(b, True) << 16 | half(a, True)),
    "s_set_gpr_idx_idx": rule("m0 b32 -> m0", lambda m0, a: m0 & ~0xFF | a & 0xFF),
}
for n in (1, 2, 3, 4):
    RULES[f"s_lshl{n}_add_u32"] = rule("u32 u32 -> b32 scc", lambda a, b, n=n: with_carry((a << n) + b))

MODE_REGISTER = 1


def register_field(selector: int) -> tuple[int, int]:
    """The lowest bit and the mask of the field of MODE that SIMM16 selects; no other register is modelled."""
    assert selector & 0x3F == MODE_REGISTER
    at, size = selector >> 6 & 31, (selector >> 11) + 1
    return at, low((1 << size) - 1 << at, 32)


def get_register(mode: int, selector: int) -> int:
    at, mask = register_field(selector)
    return (mode & mask) >> at


def set_register(mode: int, selector: int, value: int) -> int:
    at, mask = register_field(selector)
    return mode & ~mask | value << at & mask


RULES["s_getreg_b32"] = rule("modebits u16 -> b32", get_register)
RULES["s_setreg_b32"] = rule("modebits u16 b32 -> modebits", set_register)
RULES["s_setreg_imm32_b32"] = RULES["s_setreg_b32"]
