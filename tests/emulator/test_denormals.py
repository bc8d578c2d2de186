"""wave_runtime.sanitize("numbers", denormals=True): results that are others since denormals count as zeros."""

from __future__ import annotations

import numpy as np
import pytest
from machine import State, encode, run
from memory_support import BY_NAME, random_state

import wave_runtime

KEPT, FLUSHED = 0xF0, 0xC0  # of f32; those of f16 and f64 are kept
HALVES_FLUSHED = 0x30


def prepared(mode: int, first: int, second: int) -> State:
    state = random_state(np.random.default_rng(7), 1)
    state.v[0, 8], state.v[0, 9] = first, second
    state.mode[:] = mode
    return state


def bits(value: float) -> int:
    return int(np.float32(value).view(np.uint32))


def instruction(name: str) -> list[int]:
    second = {} if name.startswith("v_rcp") else {"VSRC1": 9}
    return encode(BY_NAME[name], VDST=20, SRC0=256 + 8, **second)


SMALL, SMALLER, ONE = bits(1e-20), bits(1e-40), bits(1.0)
CASES = [
    ("a result", "v_mul_f32_e32", FLUSHED, SMALL, SMALL, "makes 0 rather than 9.99995e-41"),
    ("an operand", "v_mul_f32_e32", FLUSHED, SMALLER, bits(1e10), "makes 0 rather than 9.99995e-31"),
    ("a half", "v_mul_f16_e32", HALVES_FLUSHED, 0x0400, 0x3800, "makes 0 rather than 3.05176e-05"),
    ("a reciprocal", "v_rcp_f32_e32", KEPT, SMALLER, 0, "takes 9.99995e-41, a denormal, for zero"),
]
CLEAN = [
    ("MODE keeps them", "v_mul_f32_e32", KEPT, SMALL, SMALL),
    ("too small to matter", "v_add_f32_e32", FLUSHED, SMALLER, ONE),
    ("none", "v_mul_f32_e32", FLUSHED, ONE, ONE),
    ("no float", "v_mul_u32_u24_e32", FLUSHED, SMALLER, 3),
]


@pytest.mark.parametrize(("name", "mode", "first", "second", "message"), [case[1:] for case in CASES])
def test_a_flushed_denormal(name: str, mode: int, first: int, second: int, message: str) -> None:
    state = prepared(mode, first, second)
    with wave_runtime.sanitize("numbers", denormals=True) as report:
        looked_at = run(instruction(name), state)
    (finding,) = (finding for finding in report.findings if finding.kind == "denormal")
    assert (finding.tool, finding.kind, finding.at.lane) == ("numbers", "denormal", 0)
    assert message in finding.message
    assert np.array_equal(looked_at.v, run(instruction(name), state).v)
    with wave_runtime.sanitize("numbers") as report:
        run(instruction(name), state)
    assert "denormal" not in [finding.kind for finding in report.findings]


@pytest.mark.parametrize(("name", "mode", "first", "second"), [case[1:] for case in CLEAN])
def test_no_denormal_is_lost(name: str, mode: int, first: int, second: int) -> None:
    with wave_runtime.sanitize("numbers", denormals=True, fail=True):
        run(instruction(name), prepared(mode, first, second))


def test_a_scalar_is_no_row() -> None:
    """Whatever the vector registers hold."""
    state = prepared(KEPT, SMALLER, SMALLER)
    state.v[:], state.s[:, 8] = SMALLER, ONE
    with wave_runtime.sanitize("numbers", denormals=True, fail=True):
        run(encode(BY_NAME["v_rcp_f32_e32"], VDST=20, SRC0=8), state)


def test_a_product_of_matrices_behind_an_instruction_that_was_tried() -> None:
    """With denormals, which matrices do not know from MODE: what was tried is not this one's result."""
    product = encode(BY_NAME["v_mfma_f32_16x16x16_f16"], VDST=24, SRC0=256 + 12, SRC1=256 + 14, SRC2=128)
    with wave_runtime.sanitize("numbers", denormals=True) as report:
        run(instruction("v_mul_f32_e32") + product, prepared(FLUSHED, ONE, ONE))
    assert "denormal" not in [finding.kind for finding in report.findings]
