"""WAVE_RUNTIME_STATS: what LDS takes, and how many bytes move, for single instructions."""

from __future__ import annotations

import numpy as np
import pytest
from machine import State, encode, run
from memory_support import BY_NAME

from wave_runtime import _C

CASES = {
    "neighbours": (np.arange(64) * 4, 2, 0),
    "one dword": (np.full(64, 16), 2, 0),
    "eight dwords of one bank": (np.arange(64) % 8 * 128, 16, 14),
    "two dwords of each bank": (np.arange(64) * 8, 4, 2),
}


def lds_cycles(words: list[int], state: State) -> np.ndarray:
    run(words, state)
    statistics = _C.emulator_statistics()
    return np.array([statistics["lds_cycles"], statistics["lds_conflict_cycles"]])


@pytest.mark.parametrize(
    ("addresses", "cycles", "conflicts"), CASES.values(), ids=[name.replace(" ", "-") for name in CASES]
)
def test_bank_conflicts(addresses: np.ndarray, cycles: int, conflicts: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("WAVE_RUNTIME_STATS", "1")
    state = State(1)
    state.v[0, 8] = addresses
    words = encode(BY_NAME["ds_read_b32"], VDST=20, ADDR=8)
    assert (lds_cycles(words, state) - lds_cycles([], state)).tolist() == [cycles, conflicts]


@pytest.mark.parametrize(("offset", "conflicts"), [(0, 1), (1, 1), (2, 0), (129, 1), (130, 0)])
def test_offsets_may_move_bytes_to_another_bank(offset: int, conflicts: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """Bytes 2 and 128 are of one bank, and no longer where the first comes to lie in the next dword."""
    monkeypatch.setenv("WAVE_RUNTIME_STATS", "1")
    state = State(1)
    state.v[0, 8] = 2
    state.v[0, 8, 1] = 128
    words = encode(BY_NAME["ds_read_u8"], VDST=20, ADDR=8, OFFSET0=offset)
    assert (lds_cycles(words, state) - lds_cycles([], state)).tolist() == [2 + conflicts, conflicts]


@pytest.mark.parametrize(
    ("name", "addresses", "cycles", "conflicts"),
    [
        ("ds_add_u32", np.arange(64) * 4, 2, 0),
        ("ds_add_u32", np.full(64, 16), 64, 62),
        ("ds_add_u32", np.arange(64) % 4 * 4, 16, 14),
        ("ds_add_rtn_u64", np.full(64, 16), 64, 60),
    ],
)
def test_atomics_on_one_dword_wait_for_each_other(
    name: str, addresses: np.ndarray, cycles: int, conflicts: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Though loads of it do not: the hardware serves lanes that change a bank one after the other."""
    monkeypatch.setenv("WAVE_RUNTIME_STATS", "1")
    state = State(1)
    state.v[0, 8] = addresses
    result = {"VDST": 24} if "_rtn_" in name else {}
    words = encode(BY_NAME[name], ADDR=8, DATA0=20, **result)
    assert (lds_cycles(words, state) - lds_cycles([], state)).tolist() == [cycles, conflicts]


def test_addresses_by_lane_have_no_conflicts(monkeypatch: pytest.MonkeyPatch) -> None:
    """ADDTID, which has no vector address."""
    monkeypatch.setenv("WAVE_RUNTIME_STATS", "1")
    state = State(1)
    state.m0[:] = 64
    words = encode(BY_NAME["ds_read_addtid_b32"], VDST=20)
    assert (lds_cycles(words, state) - lds_cycles([], state)).tolist() == [2, 0]


def moved(words: list[int], state: State) -> dict[str, int]:
    """The bytes that an instruction moves, beside what the kernel around it does."""
    counts = []
    for each in (words, []):
        run(each, state)
        counts.append(_C.emulator_statistics()["bytes"])
    return {name: more for name, count in counts[0].items() if (more := count - counts[1].get(name, 0))}


@pytest.mark.parametrize(
    ("name", "fields", "expected"),
    [
        ("ds_read_b96", {"VDST": 20}, {"LDS loaded": 64 * 12}),
        ("ds_read_u8_d16_hi", {"VDST": 20}, {"LDS loaded": 64}),
        ("ds_read2st64_b64", {"VDST": 20}, {"LDS loaded": 64 * 16}),
        ("ds_write2_b32", {"DATA0": 20, "DATA1": 21}, {"LDS stored": 64 * 8}),
        ("ds_write_b8_d16_hi", {"DATA0": 20}, {"LDS stored": 64}),
        ("ds_pk_add_f16", {"DATA0": 20}, {"LDS atomic": 64 * 4}),
        ("ds_wrxchg2_rtn_b64", {"VDST": 24, "DATA0": 20, "DATA1": 22}, {"LDS atomic": 64 * 16}),
        ("ds_condxchg32_rtn_b64", {"VDST": 24, "DATA0": 20}, {"LDS atomic": 64 * 8}),
        ("ds_swizzle_b32", {"VDST": 20}, {}),
    ],
)
def test_bytes_of_lds(
    name: str, fields: dict[str, int], expected: dict[str, int], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("WAVE_RUNTIME_STATS", "1")
    assert moved(encode(BY_NAME[name], ADDR=8, **fields), State(1)) == expected
