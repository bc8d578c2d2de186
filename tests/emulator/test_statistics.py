"""WAVE_RUNTIME_STATS: what LDS takes for single instructions."""

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


def test_addresses_by_lane_have_no_conflicts(monkeypatch: pytest.MonkeyPatch) -> None:
    """ADDTID, which has no vector address."""
    monkeypatch.setenv("WAVE_RUNTIME_STATS", "1")
    state = State(1)
    state.m0[:] = 64
    words = encode(BY_NAME["ds_read_addtid_b32"], VDST=20)
    assert (lds_cycles(words, state) - lds_cycles([], state)).tolist() == [2, 0]
