"""The sanitizer's tool for numbers: which instructions make a NaN or an infinity, and which only seem to."""

from __future__ import annotations

import numpy as np
import pytest
from machine import State, encode, run
from memory_support import BY_NAME, random_state

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
        run(scale(name, DENOMINATOR, DENOMINATOR, ONE), prepared(name, 0, 0, 0))
    assert [finding.kind for finding in report.findings] == ["infinity"]


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
