"""The sanitizer's tool for numbers: which instructions make a NaN or an infinity, and which only seem to."""

from __future__ import annotations

import numpy as np
import pytest
import rdna_machine
from machine import LANES, State, encode, run
from memory_support import BY_NAME, random_state
from test_rdna_instructions import encode as encode_rdna
from waits import waitcnt

import wave_runtime

VCC, ONE, TWO = 106, 242, 244  # of scalar operands: a register, and inline constants
INFINITY = float("inf")


def prepared(name: str, *values: float) -> State:
    """The first lane has the values in registers, others ones."""
    state = random_state(np.random.default_rng(7), 1)
    for register, value in enumerate(values):
        if name.endswith("f64"):
            bits = int(np.float64(value).view(np.uint64))
            state.v[:, 8 + 2 * register], state.v[:, 9 + 2 * register] = 0, 0x3FF00000
            state.v[0, 8 + 2 * register], state.v[0, 9 + 2 * register] = bits & 0xFFFFFFFF, bits >> 32
        else:
            state.v[:, 8 + 2 * register] = 0x3F800000
            state.v[0, 8 + 2 * register] = int(np.float32(value).view(np.uint32))
    return state


def scale(name: str, *sources: int) -> list[int]:
    """V_DIV_SCALE, whose sources are the value that is scaled, the denominator and the numerator."""
    return encode(BY_NAME[name], VDST=20, SDST=VCC, **{f"SRC{i}": source for i, source in enumerate(sources)})


VALUE, DENOMINATOR, NUMERATOR = (256 + 8 + 2 * i for i in range(3))
both_widths = pytest.mark.parametrize("name", ["v_div_scale_f32", "v_div_scale_f64"])


def test_both_dwords_of_scalars_are_told() -> None:
    state = prepared("v_mul_f64", 2e200)
    state.s[0, 8:10] = np.float64(3e200).view(np.uint64) & 0xFFFFFFFF, np.float64(3e200).view(np.uint64) >> 32
    with wave_runtime.sanitize("numbers") as report:
        run(encode(BY_NAME["v_mul_f64"], VDST=20, SRC0=8, SRC1=VALUE), state)
    (finding,) = report.findings
    assert finding.message.endswith("of finite operands: 3e+200, 2e+200"), finding.message


@both_widths
@pytest.mark.parametrize(("numerator", "denominator"), [(0, 2), (-0.0, 2), (0, INFINITY), (INFINITY, 0), (1, 3)])
def test_a_division_that_is_none_by_zero(name: str, numerator: float, denominator: float) -> None:
    """Each division begins with two such instructions, which make a NaN of zeros, and an end that knows better."""
    for value in (numerator, denominator):
        with wave_runtime.sanitize("numbers", fail=True):
            run(scale(name, VALUE, DENOMINATOR, NUMERATOR), prepared(name, value, denominator, numerator))


@both_widths
def test_a_division_of_zero_by_a_constant(name: str) -> None:
    with wave_runtime.sanitize("numbers", fail=True):
        run(scale(name, TWO, TWO, NUMERATOR), prepared(name, 0, 0, 0))


@both_widths
@pytest.mark.parametrize(("numerator", "kind"), [(0, "nan"), (1, "infinity"), (-3, "infinity")])
def test_a_division_by_zero(name: str, numerator: float, kind: str) -> None:
    with wave_runtime.sanitize("numbers") as report:
        run(scale(name, VALUE, DENOMINATOR, NUMERATOR), prepared(name, 0, 0, numerator))
    (finding,) = report.findings
    assert (finding.tool, finding.kind, finding.at.lane, finding.count) == ("numbers", kind, 0, 1)
    assert finding.message.startswith("a division by zero makes an"[: 26 if kind == "infinity" else 25])


@both_widths
def test_a_constant_divided_by_zero(name: str) -> None:
    with wave_runtime.sanitize("numbers") as report:
        run(scale(name, ONE, DENOMINATOR, ONE), prepared(name, 0, 0, 0))
    assert [finding.kind for finding in report.findings] == ["infinity"]


@both_widths
def test_a_division_is_told_once(name: str) -> None:
    """It has two such instructions, of its denominator and of its numerator."""
    words = scale(name, DENOMINATOR, DENOMINATOR, NUMERATOR) + scale(name, NUMERATOR, DENOMINATOR, NUMERATOR)
    assert found(words, prepared(name, 0, 0, 3)) == ["infinity"]


@pytest.mark.parametrize("name", ["v_rsq_f64_e32", "v_rcp_f64_e32"])
def test_an_estimate_of_f64_of_zero(name: str) -> None:
    """A root in clang's code begins with the reciprocal root, and chooses the zero itself in the end."""
    for value, kinds in (0, []), (-0.0, []), (4, []), (-4, ["nan"] if name == "v_rsq_f64_e32" else []):
        assert found(encode(BY_NAME[name], VDST=20, SRC0=VALUE), prepared("f64", value)) == kinds


@pytest.mark.parametrize("name", ["v_rsq_f32_e32", "v_rcp_f32_e32"])
def test_an_estimate_of_f32_of_zero(name: str) -> None:
    """It is a result as well: of rsqrtf(0), or of a fast quotient."""
    assert found(encode(BY_NAME[name], VDST=20, SRC0=VALUE), prepared("f32", 0)) == ["infinity"]


@pytest.mark.parametrize("name", ["v_fmamk_f32", "v_fmaak_f32"])
def test_a_literal_of_its_own_is_an_operand(name: str) -> None:
    """Which no field of a source names."""
    state = prepared(name, 3e38, 3e38)
    words = encode(BY_NAME[name], literal=0x7F000000, VDST=20, SRC0=VALUE, VSRC1=10)
    with wave_runtime.sanitize("numbers") as report:
        run(words, state)
    (finding,) = report.findings
    assert (finding.kind, finding.at.lane) == ("infinity", 0)
    assert "1.70141e+38" in finding.message


def narrowed(value: float, before: list[int]) -> list[wave_runtime.Finding]:
    """What is found where a value becomes FP8 in the register in which it lies."""
    words = encode(BY_NAME["v_cvt_pk_fp8_f32"], VDST=8, SRC0=VALUE, SRC1=DENOMINATOR)
    with wave_runtime.sanitize("numbers") as report:
        run([*before, *words], prepared("v_cvt_pk_fp8_f32", value, 1))
    return report.findings


def test_a_value_that_becomes_fp8_in_its_own_register() -> None:
    assert not narrowed(1, [])
    (finding,) = narrowed(1000, [])
    assert (finding.kind, finding.at.lane) == ("f8-overflow", 0)


def test_a_value_in_fp8_behind_another_that_was_too_large() -> None:
    """Which is 1 by then, of 1000 times 0 and 1."""
    assert not narrowed(1000, encode(BY_NAME["v_fmamk_f32"], literal=0, VDST=8, SRC0=VALUE, VSRC1=10))


def found(words: list[int], state: State) -> list[str]:
    with wave_runtime.sanitize("numbers") as report:
        run(words, state)
    return [finding.kind for finding in report.findings]


@pytest.mark.parametrize("half", [0, 1])
def test_a_source_of_which_the_result_overwrites_a_half(half: int) -> None:
    """An infinity of 64 bits becomes one of 32 bits in one of its own registers, and a large number becomes one."""
    words = encode(BY_NAME["v_cvt_f32_f64_e32"], VDST=8 + half, SRC0=VALUE)
    assert not found(words, prepared("f64", INFINITY))
    with wave_runtime.sanitize("numbers") as report:
        run(words, prepared("f64", 1e300))
    (finding,) = report.findings
    assert finding.kind == "infinity"
    assert "1e+300" in finding.message


SCALAR = 20
PAIRS = [
    ("v_pk_mul_f32", 0x3F800000, [0x3F800000, 0x7F800000], "infinity", [0x3F800000, 0x7F7FFFFF], 0x40000000),
    ("v_pk_mul_f16", 0x3C003C00, [0x7C003C00, 0], "f16-overflow", [0x7BFF3C00, 0], 0x40004000),
]


@pytest.mark.parametrize(("name", "one", "infinite", "kind", "large", "two"), PAIRS, ids=[case[0] for case in PAIRS])
def test_the_second_value_of_a_scalar_operand(
    name: str, one: int, infinite: list[int], kind: str, large: list[int], two: int
) -> None:
    words = encode(BY_NAME[name], VDST=20, SRC0=VALUE, SRC1=SCALAR, OP_SEL_HI=3)
    state = random_state(np.random.default_rng(7), 1)
    state.v[:], state.s[0, SCALAR : SCALAR + 2] = one, infinite
    assert not found(words, state)
    state.v[:], state.s[0, SCALAR : SCALAR + 2] = two, large
    assert found(words, state) == [kind]


def test_a_denominator_that_the_mask_overwrites() -> None:
    """V_DIV_SCALE of zero and 3, whose mask, which is zero, takes the place of the 3."""
    state = prepared("v_div_scale_f32", 0, 0, 0)
    state.s[0, SCALAR] = int(np.float32(3).view(np.uint32))
    words = encode(BY_NAME["v_div_scale_f32"], VDST=22, SDST=SCALAR, SRC0=SCALAR, SRC1=SCALAR, SRC2=NUMERATOR)
    assert not found(words, state)


UPPER_SOURCE, UPPER_RESULT = 1, 8  # of OP_SEL


@pytest.mark.parametrize(
    ("half", "source", "before", "kinds"),
    [
        (UPPER_SOURCE, 0x7C003C00, 0, []),
        (UPPER_SOURCE, 0x7BFF3C00, 0, ["f16-overflow"]),
        (UPPER_RESULT, 0x3C003C00, 0x7C00, []),
        (UPPER_RESULT, 0x3C007BFF, 0, ["f16-overflow"]),
    ],
)
def test_upper_halves_of_registers(half: int, source: int, before: int, kinds: list[str]) -> None:
    """What the other half has does not matter."""
    state = random_state(np.random.default_rng(7), 1)
    state.v[:], state.v[0, 8], state.v[:, 20] = 0x40004000, source, before
    words = encode(BY_NAME["v_fma_f16"], VDST=20, SRC0=VALUE, SRC1=VALUE + 1, SRC2=VALUE + 1, OP_SEL=half)
    assert found(words, state) == kinds


@pytest.mark.parametrize(
    ("name", "half", "source", "before", "kinds"),
    [
        ("v_fma_mixlo_f16", 0, 0x4788B800, 0x7C000000, ["f16-overflow"]),  # 70000 as f32
        ("v_fma_mixlo_f16", 0, 0x7F800000, 0, []),
        ("v_fma_mixlo_f16", 0, 0x3F800000, 0x7C000000, []),
        ("v_fma_mixhi_f16", 0, 0x4788B800, 0x00007C00, ["f16-overflow"]),
        ("v_fma_mixhi_f16", 0, 0x3F800000, 0x00007C00, []),
        ("v_fma_mixlo_f16", 1, 0x7BFF7C00, 0, ["f16-overflow"]),  # the upper half, an f16
        ("v_fma_mixlo_f16", 1, 0x7C003C00, 0, []),
        ("v_fma_mix_f32", 0, 0x7F7FFFFF, 0, ["infinity"]),
        ("v_fma_mix_f32", 1, 0x7C003C00, 0, []),
    ],
)
def test_sources_of_two_formats(name: str, half: int, source: int, before: int, kinds: list[str]) -> None:
    """Twice a number, which is an f32 or, where `half` is 1, an f16 in the upper half."""
    state = random_state(np.random.default_rng(7), 1)
    state.v[:], state.v[0, 8], state.v[:, 20] = 0x40000000, source, before
    words = encode(BY_NAME[name], VDST=20, SRC0=VALUE, SRC1=VALUE + 1, SRC2=128, OP_SEL=half, OP_SEL_HI=half)
    assert found(words, state) == kinds


def test_a_register_that_a_bad_load_poisons_has_no_result() -> None:
    """The launch goes on behind it, and what was in the register before was made by another instruction."""
    state = prepared("v_mul_f32_e32", 2, 3)
    state.v[0, 12:14] = 64
    words = encode(BY_NAME["v_mul_f32_e32"], VDST=20, SRC0=VALUE, VSRC1=10)
    words += encode(BY_NAME["global_load_dword"], VDST=20, ADDR=12, SADDR=127)
    with wave_runtime.sanitize("memory", "numbers") as report:
        run(words + waitcnt(vm=0), state)
    assert [finding.tool for finding in report.findings] == ["memory"]


@pytest.mark.parametrize("lanes", [32, 64])
@pytest.mark.parametrize("target", ["gfx1100", "gfx1201"])
@pytest.mark.parametrize(
    ("name", "large", "infinite", "kind"),
    [
        ("v_wmma_f16_16x16x16_f16", 0x7BFF7BFF, 0x7C007C00, "f16-overflow"),
        ("v_wmma_bf16_16x16x16_bf16", 0x7F7F7F7F, 0x7F807F80, "infinity"),
    ],
)
def test_products_of_matrices_of_rdna(name: str, large: int, infinite: int, kind: str, target: str, lanes: int) -> None:
    """On gfx1100 a result of 16 bits leaves one half of each register as it was."""
    halves = {"OP_SEL": 4} if target == "gfx1100" else {}
    for op_sel, kept in ({}, 0xFFFF0000), (halves, 0x0000FFFF):
        words = encode_rdna(target, name, "VOP3P", VDST=24, SRC0=256 + 8, SRC1=256 + 16, SRC2=128, **op_sel)
        for factor, kinds in (0, []), (large, [kind]):
            state = rdna_machine.State(1, lanes)
            state.v[0, 8:24], state.v[0, 24:32] = factor, infinite & kept
            with wave_runtime.sanitize("numbers") as report:
                rdna_machine.run(target, words, state)
            assert [finding.kind for finding in report.findings] == kinds


LARGE, ONES, INFINITE = 0x7F7FFFFF, 0x3F800000, 0x7F800000  # of f32


def found_on_rdna(target: str, words: list[int], registers: dict[int, int], **state: int) -> list[tuple[str, str]]:
    """What an instruction makes of registers that all lanes share: kinds, and what is said of the operands."""
    before = rdna_machine.State(1, 32)
    for register, value in registers.items():
        before.v[0, register] = value
    for name, value in state.items():
        getattr(before, name)[:] = value
    with wave_runtime.sanitize("numbers", denormals="mode" in state) as report:
        rdna_machine.run(target, words, before)
    return [(finding.kind, finding.message.rpartition(": ")[2]) for finding in report.findings]


def dual(target: str, name: str, **fields: int) -> list[int]:
    """Registers 20 and 21 are made of the even ones from 8 on."""
    fields = {"VDSTX": 20, "SRCX0": 264, "VSRCX1": 10, "VDSTY": 10, "SRCY0": 267, "VSRCY1": 13} | fields
    return encode_rdna(target, name, "VOPD", **fields)


@pytest.mark.parametrize("target", ["gfx1100", "gfx1201"])
def test_each_half_of_a_dual_instruction(target: str) -> None:
    words = dual(target, "v_dual_mul_f32 :: v_dual_add_f32")
    fine = dict.fromkeys((8, 10, 11, 13), ONES)
    assert not found_on_rdna(target, words, fine)
    assert found_on_rdna(target, words, fine | {8: LARGE, 10: LARGE}) == [("infinity", "3.40282e+38, 3.40282e+38")]
    assert found_on_rdna(target, words, fine | {11: LARGE, 13: LARGE}) == [("infinity", "3.40282e+38, 3.40282e+38")]
    assert not found_on_rdna(target, words, fine | {8: INFINITE, 13: INFINITE})


@pytest.mark.parametrize("target", ["gfx1100", "gfx1201"])
def test_a_dual_instruction_of_which_one_half_makes_no_number(target: str) -> None:
    """A move beside a sum: an infinity that is moved is not made."""
    words = dual(target, "v_dual_mov_b32 :: v_dual_add_f32", VSRCX1=0)
    assert not found_on_rdna(target, words, {8: INFINITE, 11: ONES, 13: ONES})
    assert found_on_rdna(target, words, {8: INFINITE, 11: LARGE, 13: LARGE}) == [
        ("infinity", "3.40282e+38, 3.40282e+38")
    ]


@pytest.mark.parametrize("target", ["gfx1100", "gfx1201"])
def test_halves_that_overwrite_what_the_other_reads(target: str) -> None:
    """Register 8 gets a large product, and 11 one of what 8 was: the infinity that was there is the reason."""
    name = "v_dual_mul_f32 :: v_dual_mul_f32"
    words = dual(target, name, VDSTX=8, VDSTY=5, SRCX0=267, VSRCX1=10, SRCY0=264, VSRCY1=13)
    assert not found_on_rdna(target, words, {8: INFINITE, 10: ONES, 11: ONES, 13: ONES})
    # Both are infinite behind it, of finite numbers.
    large = found_on_rdna(target, words, {8: LARGE, 10: LARGE, 11: LARGE, 13: LARGE})
    assert [kind for kind, _ in large] == ["infinity"]


@pytest.mark.parametrize("target", ["gfx1100", "gfx1201"])
def test_a_dual_instruction_that_loses_denormals(target: str) -> None:
    words = dual(target, "v_dual_mul_f32 :: v_dual_add_f32")
    fine = dict.fromkeys((8, 10, 11, 13), ONES)
    for register in 8, 11:
        kinds = [kind for kind, _ in found_on_rdna(target, words, fine | {register: 1, 13: 0}, mode=0)]
        assert kinds == ["denormal"]
    assert not found_on_rdna(target, words, fine, mode=0)


def test_what_follows_is_carried_out_once() -> None:
    """An instruction that may lose denormals is tried with them: and nothing but it, however it goes on."""
    state = State(1)
    state.v[0, 8], state.v[0, 12], state.v[0, 13], state.mode[:] = ONES, 0, 1, 0
    words = encode(BY_NAME["v_mul_f32_e32"], VDST=20, SRC0=VALUE, VSRC1=8)
    words += encode(BY_NAME["ds_add_u32"], ADDR=12, DATA0=13)
    with wave_runtime.sanitize("numbers", denormals=True) as report:
        after = run(words, state)
    assert not report.findings
    assert after.lds[0, 0] == LANES


ROW_SHL_1 = 0x101  # of DPP_CTRL: each lane has what its right neighbour in the row of 16 has


def dpp(name: str, **fields: int) -> list[int]:
    fields = {"VDST": 20, "SRC0": 8, "VSRC1": 10, "DPP_CTRL": ROW_SHL_1, "ROW_MASK": 15, "BANK_MASK": 15} | fields
    return encode(BY_NAME[name], **fields)


def neighbours(left: int, right: int, before: int = 0) -> State:
    """Lane 4 has `left`, lane 5 `right`, and others ones."""
    state = random_state(np.random.default_rng(7), 1)
    state.v[:], state.v[0, 20] = ONES, before
    state.v[0, 8, 4:6] = left, right
    return state


def found_at(words: list[int], state: State) -> list[tuple[str, int]]:
    with wave_runtime.sanitize("numbers") as report:
        run(words, state)
    return [(finding.kind, finding.at.lane) for finding in report.findings]


def test_operands_of_other_lanes() -> None:
    """A sum with the neighbour's number: the infinity is told where it is made, and an infinity of the neighbour's is
    the reason for one."""
    words = dpp("v_add_f32_dpp")
    state = neighbours(ONES, LARGE)
    state.v[0, 10, 4] = LARGE
    assert found_at(words, state) == [("infinity", 4)]
    assert not found_at(words, neighbours(INFINITE, ONES))
    assert not found_at(words, neighbours(ONES, INFINITE))
    state = neighbours(INFINITE, LARGE)  # lane 4 reads what lane 5 has, and not its own
    state.v[0, 10, 4] = LARGE
    assert found_at(words, state) == [("infinity", 4)]


def test_a_register_that_the_kernel_has_not() -> None:
    """An instruction that is refused has no lanes to read from, when the tool looks at it in front of the fault."""
    words = encode(BY_NAME["v_cvt_f32_ubyte1_dpp"], VDST=20, SRC0=255, DPP_CTRL=ROW_SHL_1, ROW_MASK=15, BANK_MASK=15)
    with wave_runtime.sanitize("numbers"), pytest.raises(wave_runtime.KernelFault, match="a register that the kernel"):
        run(words, neighbours(ONES, ONES))


def test_lanes_that_get_no_result() -> None:
    """What is in the register stays where there is no source, or a mask leaves the lane out: nobody makes it."""
    for fields in {}, {"ROW_MASK": 14}, {"BANK_MASK": 13}:
        assert not found_at(dpp("v_add_f32_dpp", **fields), neighbours(ONES, ONES, INFINITE if fields == {} else 0))
    state = neighbours(ONES, ONES, INFINITE)
    state.exec[0] = 0x8000, 0  # the last lane of a row, whose neighbour would be in the next one
    assert not found_at(dpp("v_add_f32_dpp"), state)
    state.v[0, 10] = LARGE
    assert not found_at(dpp("v_mul_f32_dpp", BOUND_CTRL=1), state)  # by zero


def test_what_the_destination_had_is_a_source_of_sums_alone() -> None:
    """DPP leaves it in some lanes. An infinity there is no reason for one that is made of two others."""
    state = neighbours(ONES, LARGE, INFINITE)
    state.v[0, 10, 4] = LARGE
    assert found_at(dpp("v_mul_f32_dpp"), state) == [("infinity", 4)]
    assert not found_at(dpp("v_fmac_f32_dpp"), state)


@pytest.mark.parametrize("target", ["gfx1100", "gfx1201"])
def test_operands_of_one_of_eight_lanes(target: str) -> None:
    """DPP8: all read the first of their eight."""
    words = encode_rdna(target, "v_add_f32_dpp", "VOP2_DPP8", VDST=20, SRC0=8, VSRC1=10, DPP8=0, DPP_SRC0=233)
    state = rdna_machine.State(1, 32)
    state.v[0, 8], state.v[0, 10] = ONES, ONES
    state.v[0, 8, 1:8], state.v[0, 10, 3] = INFINITE, LARGE
    state.v[0, 8, 0] = LARGE
    with wave_runtime.sanitize("numbers") as report:
        rdna_machine.run(target, words, state)
    assert [(finding.kind, finding.at.lane) for finding in report.findings] == [("infinity", 3)]
