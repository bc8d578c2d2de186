"""Rules of what RDNA2 to RDNA4 have and gfx942 has not, or calls otherwise, after AMD's documents of the three."""

from __future__ import annotations

import operator
import re
from collections.abc import Callable
from dataclasses import replace
from fractions import Fraction

from . import compare, conversion, floating, integer, rdna_sums, scalar, transcendental
from .floats import F16, F32, NAN, Format, Mode, Rounding, Value, add, fma, less, multiply, subtract
from .floats import larger as larger_number
from .floats import smaller as smaller_number
from .rules import FORMATS, Rule, low, rule

KNOWN: dict[str, Rule] = {
    **scalar.RULES,
    **integer.RULES,
    **compare.RULES,
    **conversion.RULES,
    **floating.RULES,
    **transcendental.RULES,
}

# Names of RDNA, as patterns, and gfx942's for the same.
OLD_NAMES = (
    (r"v_(add|sub|subrev)_nc_([iu]\d+)", r"v_\1_\2"),
    (r"v_add_co_ci_u32", "v_addc_co_u32"),
    (r"v_sub_co_ci_u32", "v_subb_co_u32"),
    (r"v_subrev_co_ci_u32", "v_subbrev_co_u32"),
    (r"v_mad_co_(u64_u32|i64_i32)", r"v_mad_\1"),
    (r"v_cvt_pk_rtz_f16_f32", "v_cvt_pkrtz_f16_f32"),
    (r"v_cvt_pk_norm_(\w+)", r"v_cvt_pknorm_\1"),
    (r"v_cvt_floor_i32_f32", "v_cvt_flr_i32_f32"),
    (r"v_cvt_nearest_i32_f32", "v_cvt_rpi_i32_f32"),
    (r"v_cls_i32", "v_ffbh_i32"),
    (r"v_clz_i32_u32", "v_ffbh_u32"),
    (r"v_ctz_i32_b32", "v_ffbl_b32"),
    (r"v_mul_dx9_zero_f32", "v_mul_legacy_f32"),
    (r"v_cmp(x?)_t_(f\d+)", r"v_cmp\1_tru_\2"),
    (r"s_and_not1_(b\d+)", r"s_andn2_\1"),
    (r"s_or_not1_(b\d+)", r"s_orn2_\1"),
    (r"s_cls_i32", "s_flbit_i32"),
    (r"s_cls_i32_i64", "s_flbit_i32_i64"),
    (r"s_clz_i32_u(\d+)", r"s_flbit_i32_b\1"),
    (r"s_ctz_i32_b(\d+)", r"s_ff1_i32_b\1"),
    (r"s_(add|sub)_co_([iu]32)", r"s_\1_\2"),
    (r"s_add_co_ci_u32", "s_addc_u32"),
    (r"s_sub_co_ci_u32", "s_subb_u32"),
    (r"s_addk_co_i32", "s_addk_i32"),
)


def old_name(name: str) -> str:
    return next((re.sub(new, old, name) for new, old in OLD_NAMES if re.fullmatch(new, name)), name)


def maximum(a: Value, b: Value) -> Value:
    """IEEE 754-2019's: a NaN wins, and 0 is larger than -0."""
    if a.nan or b.nan:
        return NAN
    if a.zero and b.zero:
        return b if a.negative else a
    return b if less(a, b) else a


def minimum(a: Value, b: Value) -> Value:
    return -maximum(-a, -b)


def larger(mode: Mode, a: Value, b: Value) -> Value:
    return larger_number(mode, a, b)


def smaller(mode: Mode, a: Value, b: Value) -> Value:
    return smaller_number(mode, a, b)


Two = Callable[[Value, Value], Value]


def then(first: Callable[..., Value], second: Callable[..., Value]) -> Callable[..., Value]:
    """The second of the first's result and the third source; both may take MODE first."""

    def three(*sources: object) -> Value:
        *mode, a, b, c = sources
        return second(*mode, first(*mode, a, b), c)

    return three


def integers(first: Callable[[int, int], int], second: Callable[[int, int], int]) -> Callable[[int, int, int], int]:
    return lambda a, b, c: second(first(a, b), c)


def zero_wins(mode: Mode, *sources: Value) -> Value:
    """A fused multiply-add in which 0 times anything is 0, without denormals, whatever MODE says of them. So AMD
    measured it (ROCm/rocm-systems, emulation/rocjitsu, tests/valu_fp_mode_test.cpp, "dx9_fma_cases")."""
    flushing = Mode(mode.bits & ~0x30)
    a, b, c = (flushing.read(F32, F32.encode(value)) for value in sources)
    total = add(Value(False), c) if a.zero or b.zero else fma(a, b, c)
    return F32.decode(flushing.write(F32, total))


def pack_integers(kind: str) -> Callable[[Value, Value], int]:
    convert = conversion.to_integer(kind)
    return lambda a, b: low(convert(b), 16) << 16 | low(convert(a), 16)


def of_floats(format: Format, function: Callable[..., Value]) -> Callable[..., int]:
    """A scalar instruction, whose results are modified by MODE alone."""

    def evaluate(modebits: int, *sources: int) -> int:
        mode = Mode(modebits)
        return mode.write(format, function(*(mode.read(format, low(bits, format.width)) for bits in sources)))

    return evaluate


def of_floats_and_mode(format: Format, function: Callable[..., Value]) -> Callable[..., int]:
    return lambda bits, *sources: of_floats(format, lambda *values: function(Mode(bits), *values))(bits, *sources)


def compared(format: Format, function: Callable[[Value, Value], bool]) -> Callable[[int, int, int], bool]:
    def evaluate(modebits: int, a: int, b: int) -> bool:
        mode = Mode(modebits)
        return function(*(mode.read(format, low(bits, format.width)) for bits in (a, b)))

    return evaluate


def low_half(logic: Callable[[int, int], int], copies: bool) -> Callable[[int, int], tuple[int, int, bool]]:
    """s_*_saveexec_b32 and wrexec_b32: the low half of EXEC, the old or the new one for the destination, SCC."""

    def save(mask: int, source: int) -> tuple[int, int, bool]:
        new = low(logic(source, low(mask, 32)), 32)
        return mask & ~0xFFFFFFFF | new, new if copies else low(mask, 32), new != 0

    return save


RULES: dict[str, Rule] = {}
for name, logic in scalar.LOGIC.items():
    newer = {"andn2": "and_not1", "orn2": "or_not1", "andn1": "and_not0", "orn1": "or_not0"}.get(name, name)
    for kind, copies in (("saveexec", False), ("wrexec", True)):
        half = rule("exec b32 -> exec b32 scc", low_half(logic, copies))
        whole = KNOWN.get(f"s_{name}_{kind}_b64")
        for of_generation in (name, newer):
            RULES[f"s_{of_generation}_{kind}_b32"] = half
            if whole is not None and of_generation != name:
                RULES[f"s_{of_generation}_{kind}_b64"] = whole

for kind in ("f16", "f32", "f64"):
    two, three = f"{kind} {kind} -> {kind}", f"{kind} {kind} {kind} -> {kind}"
    RULES[f"v_maximum_{kind}"], RULES[f"v_minimum_{kind}"] = rule(two, maximum), rule(two, minimum)
    RULES[f"v_maximum3_{kind}"] = rule(three, then(maximum, maximum))
    RULES[f"v_minimum3_{kind}"] = rule(three, then(minimum, minimum))
    RULES[f"v_maximumminimum_{kind}"] = rule(three, then(maximum, minimum))
    RULES[f"v_minimummaximum_{kind}"] = rule(three, then(minimum, maximum))
    for number in ("", "_num"):  # as RDNA3 and as RDNA4 call them
        RULES[f"v_maxmin{number}_{kind}"] = rule(f"mode {three}", then(larger, smaller))
        RULES[f"v_minmax{number}_{kind}"] = rule(f"mode {three}", then(smaller, larger))
    for name in ("max", "min", "max3", "min3", "med3"):
        if f"v_{name}_{kind}" in KNOWN:
            RULES[f"v_{name}_num_{kind}"] = KNOWN[f"v_{name}_{kind}"]
for kind in ("i32", "u32"):
    RULES[f"v_maxmin_{kind}"] = rule(f"{kind} {kind} {kind} -> {kind}", integers(max, min))
    RULES[f"v_minmax_{kind}"] = rule(f"{kind} {kind} {kind} -> {kind}", integers(min, max))
for name in ("and", "or", "xor"):
    RULES[f"v_{name}_b16"] = rule("b16 b16 -> b16", scalar.LOGIC[name])

SCALAR_FLOATS: dict[str, tuple[int, Callable[..., Value]]] = {
    "add": (2, add),
    "sub": (2, subtract),
    "mul": (2, multiply),
    "minimum": (2, minimum),
    "maximum": (2, maximum),
    "ceil": (1, KNOWN["v_ceil_f32"].function),
    "floor": (1, KNOWN["v_floor_f32"].function),
    "trunc": (1, KNOWN["v_trunc_f32"].function),
    "rndne": (1, KNOWN["v_rndne_f32"].function),
}
for kind in ("f16", "f32"):
    format, bits = FORMATS[kind], f"b{kind[1:]}"
    for name, (count, function) in SCALAR_FLOATS.items():
        RULES[f"s_{name}_{kind}"] = rule(f"modebits {'b32 ' * count}-> b32", of_floats(format, function))
    for name, chosen in (("max", larger), ("min", smaller)):
        for number in ("", "_num"):
            RULES[f"s_{name}{number}_{kind}"] = rule("modebits b32 b32 -> b32", of_floats_and_mode(format, chosen))
    RULES[f"s_fmac_{kind}"] = rule("modebits b32 b32 b32 -> b32", of_floats(format, lambda c, a, b: fma(a, b, c)))
    for name, is_so in compare.FLOATS.items():
        RULES[f"s_cmp_{name}_{kind}"] = rule("modebits b32 b32 -> scc", compared(format, is_so))
RULES["s_fmaak_f32"] = rule("modebits b32 b32 b32 -> b32", of_floats(F32, fma))
RULES["s_fmamk_f32"] = rule("modebits b32 b32 b32 -> b32", of_floats(F32, fma))


def converted(mode: int, kind: str, value: Value) -> int:
    return Mode(mode).write(FORMATS[kind], value)


def to_scalar_integer(kind: str) -> Callable[[int, int], int]:
    convert = conversion.to_integer(kind)
    return lambda mode, bits: convert(Mode(mode).read(F32, bits))


RULES |= {
    "s_cvt_f32_i32": rule("modebits i32 -> b32", lambda mode, a: converted(mode, "f32", floating.number(a))),
    "s_cvt_f32_u32": rule("modebits u32 -> b32", lambda mode, a: converted(mode, "f32", floating.number(a))),
    "s_cvt_i32_f32": rule("modebits b32 -> b32", to_scalar_integer("i32")),
    "s_cvt_u32_f32": rule("modebits b32 -> b32", to_scalar_integer("u32")),
    "s_cvt_f16_f32": rule("modebits b32 -> b32", lambda mode, a: converted(mode, "f16", Mode(mode).read(F32, a))),
    "s_cvt_f32_f16": rule("modebits b16 -> b32", lambda mode, a: converted(mode, "f32", Mode(mode).read(F16, a))),
    "s_cvt_hi_f32_f16": rule(
        "modebits b32 -> b32", lambda mode, a: converted(mode, "f32", Mode(mode).read(F16, a >> 16))
    ),
    "s_cvt_pk_rtz_f16_f32": rule(
        "modebits b32 b32 -> b32",
        lambda mode, a, b: conversion.pack_toward_zero(Mode(mode), *(Mode(mode).read(F32, bits) for bits in (a, b))),
    ),
    "s_add_nc_u64": rule("u64 u64 -> b64", operator.add),
    "s_sub_nc_u64": rule("u64 u64 -> b64", operator.sub),
    "s_mul_u64": rule("u64 u64 -> b64", operator.mul),
    "s_pack_hl_b32_b16": rule("b32 b32 -> b32", lambda a, b: (b & 0xFFFF) << 16 | a >> 16),
    "v_xor3_b32": rule("b32 b32 b32 -> b32", integer.three(operator.xor)),
    "v_mov_b16": rule("b16 -> b16", lambda a: a),
    "v_cndmask_b16": rule("b16 b16 bit -> b16", lambda a, b, bit: b if bit else a),
    "v_cvt_i32_i16": rule("i16 -> b32", lambda a: a),
    "v_cvt_u32_u16": rule("u16 -> b32", lambda a: a),
    "v_cvt_pk_i16_f32": rule("f32 f32 -> b32", pack_integers("i16")),
    "v_cvt_pk_u16_f32": rule("f32 f32 -> b32", pack_integers("u16")),
    "v_fmaak_f16": rule("f16 f16 f16 -> f16", fma),
    "v_fmamk_f16": rule("f16 f16 f16 -> f16", fma),
    "v_fma_dx9_zero_f32": rule("mode f32 f32 f32 -> f32", zero_wins),
    "v_fma_legacy_f32": rule("mode f32 f32 f32 -> f32", zero_wins),
    "v_fmac_dx9_zero_f32": rule("mode f32 f32 f32 -> f32", lambda mode, c, a, b: zero_wins(mode, a, b, c)),
    "v_fmac_legacy_f32": rule("mode f32 f32 f32 -> f32", lambda mode, c, a, b: zero_wins(mode, a, b, c)),
}


def only_exec(old: Rule) -> Rule:
    """Of v_cmpx, which writes no other mask than EXEC."""
    return Rule(old.sources, ("exec",), lambda *sources: old.function(*sources)[0])


# Whose result has 16 bits, of the two halves of a register.
RULES["v_sat_pk_u8_i16 of RDNA"] = KNOWN["v_sat_pk_u8_i16"].with_result("b16")


def or_extreme(convert: Callable[[Value], int]) -> Callable[[Value], int]:
    """A NaN becomes the largest or the smallest integer, as its sign is."""

    def convert_any(value: Value) -> int:
        return (1 << 31 if value.negative else (1 << 31) - 1) if value.nan else convert(value)

    return convert_any


def nearest_up(value: Value) -> int:
    """floor(x + 0.5), the sum exact."""
    return conversion.to_integer("i32", Rounding.DOWN)(
        value if value.infinite else conversion.number(value.exact + Fraction(1, 2))
    )


RULES |= {
    "v_cvt_floor_i32_f32 of gfx1201": rule("f32 -> b32", or_extreme(conversion.to_integer("i32", Rounding.DOWN))),
    "v_cvt_nearest_i32_f32 of gfx1201": rule("f32 -> b32", or_extreme(nearest_up)),
}


def dot2(generation: int, kind: str, result: str) -> Rule:
    """A sum of two products. Denormals of f16 count as MODE says, of others as rdna_sums has it."""
    width = 32 if result == "f32" else 16

    def number(mode: Mode, kind: str, bits: int) -> float:
        flushes = kind == "f16" and mode.flushes_inputs(F16) and F16.is_denormal(bits)
        return rdna_sums.number_of(bits & 0x8000 if flushes else bits, kind)

    def function(mode: Mode, a: int, b: int, c: int) -> int:
        left, right = ([number(mode, kind, low(bits >> at, 16)) for at in (0, 16)] for bits in (a, b))
        addend = number(mode, result, low(c, width))
        nan = low(c, width) | {"f32": 0x400000, "f16": 0x200, "bf16": 0x40}[result]  # quiet
        code = rdna_sums.add(
            generation, (kind, kind), result, left, right, addend, ovfl=mode.fp16_overflow, nan_of_c=nan
        )
        flushes = result == "f16" and mode.flushes_outputs(F16) and F16.is_denormal(code)
        return code & 0x8000 if flushes else code

    return rule(f"mode b32 b32 b{width} -> b{width}", function)


def first_last(known: Rule) -> Rule:
    """Of an instruction that adds to its destination, which it reads first."""
    return replace(known, function=lambda mode, c, a, b: known.function(mode, a, b, c))


for target, generation in (("gfx1100", 11), ("gfx1150", 11), ("gfx1201", 12)):
    for kind in ("f16", "bf16"):
        RULES[f"v_dot2_f32_{kind} of {target}"] = dot2(generation, kind, "f32")
RULES |= {f"v_dot2acc_f32_f16 of {target}": first_last(dot2(11, "f16", "f32")) for target in ("gfx1100", "gfx1150")}
RULES |= {f"v_dot2_{kind}_{kind} of gfx1201": dot2(12, kind, kind) for kind in ("f16", "bf16")}

RULES |= {f"{name} of RDNA": only_exec(old) for name, old in compare.RULES.items() if name.startswith("v_cmpx_")}


def name_of_rule(name: str, target: str) -> str:
    """That of the rule for an instruction of RDNA, if there is one."""
    if f"{name} of {target}" in RULES:
        return f"{name} of {target}"
    if name in RULES:
        return name
    old = old_name(name)
    return f"{old} of RDNA" if f"{old} of RDNA" in RULES else old
