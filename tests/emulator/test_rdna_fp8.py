"""FP8 of RDNA4: conversions, and dot products."""

from __future__ import annotations

import itertools

import numpy as np
import pytest
import rdna_machine
import torch
from model import rdna_sums
from test_rdna_instructions import VECTOR, enabled, encode, random_state, same

FP8 = {"fp8": torch.float8_e4m3fn, "bf8": torch.float8_e5m2}


def values(codes: np.ndarray, kind: str) -> np.ndarray:
    return torch.from_numpy(np.ascontiguousarray(codes.astype(np.uint8))).view(FP8[kind]).float().numpy()


@pytest.mark.parametrize("kind", FP8)
def test_values_of_fp8(kind: str) -> None:
    """A byte of a source, which OP_SEL chooses with its higher bit first, and both bytes of either half."""
    state = random_state(np.random.default_rng(1), 1, 32)
    state.v[0, 5] = np.random.default_rng(2).permutation(256)[:128].astype(np.uint8).view(np.uint32)
    for byte in range(4):
        op_sel = byte >> 1 | (byte & 1) << 1
        words = encode("gfx1201", f"v_cvt_f32_{kind}_e64", "VOP3", VDST=9, SRC0=VECTOR + 5, OP_SEL=op_sel)
        found = rdna_machine.run("gfx1201", words, state).v[0, 9]
        assert same(found, values(state.v[0, 5] >> np.uint32(8 * byte) & 255, kind))
    for half in range(2):
        words = encode("gfx1201", f"v_cvt_pk_f32_{kind}_e64", "VOP3", VDST=10, SRC0=VECTOR + 5, OP_SEL=half)
        after = rdna_machine.run("gfx1201", words, state)
        for i in range(2):
            wanted = values(state.v[0, 5] >> np.uint32(16 * half + 8 * i) & 255, kind)
            assert same(after.v[0, 10 + i].copy(), wanted)


@pytest.mark.parametrize("kind", FP8)
def test_fp8_of_values(kind: str) -> None:
    """To nearest even into one half of the destination; stochastically into one byte."""
    rng = np.random.default_rng(3)
    state, limit = random_state(rng, 1, 32), 300.0 if kind == "fp8" else 40000.0
    numbers = np.clip(rng.standard_normal((2, 32)) * 2.0 ** rng.integers(-8, 9, (2, 32)), -limit, limit)
    state.v[0, 5], state.v[0, 6] = numbers.astype(np.float32).view(np.uint32)
    codes = [
        torch.from_numpy(state.v[0, 5 + i].view(np.float32).copy()).to(FP8[kind]).view(torch.uint8).numpy()
        for i in range(2)
    ]
    pair = codes[0].astype(np.uint32) | codes[1].astype(np.uint32) << 8
    for half in range(2):
        words = encode("gfx1201", f"v_cvt_pk_{kind}_f32", "VOP3", VDST=9, SRC0=261, SRC1=262, OP_SEL=8 * half)
        kept = state.v[0, 9] & np.uint32(0xFFFF0000 >> 16 * half)
        assert np.array_equal(rdna_machine.run("gfx1201", words, state).v[0, 9], kept | pair << np.uint32(16 * half))
    state.v[0, 7] = 0  # no random bits: towards zero
    for byte in range(4):
        words = encode("gfx1201", f"v_cvt_sr_{kind}_f32", "VOP3", VDST=9, SRC0=261, SRC1=263, OP_SEL=byte << 2)
        found = rdna_machine.run("gfx1201", words, state).v[0, 9]
        kept = np.uint32(0xFFFFFFFF ^ 255 << 8 * byte)
        assert np.array_equal(found & kept, state.v[0, 9] & kept)
        got, exact = values(found >> np.uint32(8 * byte) & 255, kind), state.v[0, 5].view(np.float32)
        assert np.all(np.abs(got) <= np.abs(exact))
        nearest = values(codes[0], kind)
        assert np.all((got == nearest) | (np.abs(nearest) > np.abs(exact)))


@pytest.mark.parametrize(("first", "second"), list(itertools.product(FP8, FP8)))
def test_dot_products_of_fp8(first: str, second: str) -> None:
    """NEG and NEG_HI of the third source negate it, and make it positive before that."""
    rng = np.random.default_rng(4)
    state = random_state(rng, 8, 32)
    for register in (5, 6):  # ordinary values, but for the last two waves, which have any
        codes = rng.integers(0x28, 0x48, (8, 32, 4)) | rng.integers(0, 2, (8, 32, 4)) << 7
        codes[6:] = rng.integers(0, 256, (2, 32, 4))
        state.v[:, register] = np.ascontiguousarray(codes.astype(np.uint8)).view(np.uint32)[..., 0]
    addend = (rng.standard_normal((8, 32)) * 2.0 ** rng.integers(-40, 20, (8, 32))).astype(np.float32)
    addend[7] = state.v[7, 7].view(np.float32)
    state.v[:, 7] = addend.view(np.uint32)
    for negates, absolute in itertools.product((0, 1), (0, 1)):
        name = f"v_dot4_f32_{first}_{second}"
        fields = {"VDST": 9, "SRC0": 261, "SRC1": 262, "SRC2": 263, "NEG": 4 * negates, "NEG_HI": 4 * absolute}
        found = rdna_machine.run("gfx1201", encode("gfx1201", name, "VOP3P", **fields), state).v[:, 9]
        c = state.v[:, 7] & np.uint32(0x7FFFFFFF if absolute else 0xFFFFFFFF) ^ np.uint32(negates << 31)
        for wave, lane in np.argwhere(enabled(state)):
            a, b = (
                [
                    float(value)
                    for value in values(
                        state.v[wave, register, lane] >> np.uint32(8) * np.arange(4, dtype=np.uint32) & 255, kind
                    )
                ]
                for register, kind in ((5, first), (6, second))
            )
            code = int(c[wave, lane])
            number = rdna_sums.number_of(code, "f32")
            wanted = rdna_sums.add(12, (first, second), "f32", a, b, number, nan_of_c=code | 0x400000)
            assert found[wave, lane] == wanted, (wave, lane, a, b, number)
