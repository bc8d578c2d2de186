"""WAVE_RUNTIME_STATS: what LDS takes, and how many bytes move, for single instructions."""

from __future__ import annotations

import numpy as np
import pytest
from machine import State, encode, isa_rows, run
from memory_support import BY_NAME

from wave_runtime import _C

CASES = {
    "neighbours": (np.arange(64) * 4, 2, 0),
    "one dword": (np.full(64, 16), 2, 0),
    "eight dwords of one bank": (np.arange(64) % 8 * 128, 16, 14),
    "two dwords of each bank": (np.arange(64) * 8, 4, 2),
}


def lds_cycles(words: list[int], state: State, processor: str = "gfx942") -> np.ndarray:
    run(words, state, processor=processor)
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


def lanes(*parts: range) -> list[int]:
    return [lane for part in parts for lane in part]


AT_ONCE = [  # with which lanes the first is served, and how many banks there are then
    ("gfx942", "ds_read_b64", range(16), 32),
    ("gfx942", "ds_read_b96", lanes(range(4), range(20, 24)), 32),
    ("gfx942", "ds_read_b128", lanes(range(4), range(20, 24)), 32),
    ("gfx942", "ds_write_b128", range(8), 32),
    ("gfx950", "ds_read_b64", range(32), 64),
    ("gfx950", "ds_read_b96", lanes(range(4), range(20, 24)), 32),
    ("gfx950", "ds_read_b128", lanes(range(4), range(12, 16), range(20, 28)), 64),
    ("gfx950", "ds_write_b64", range(16), 32),
]


@pytest.mark.parametrize(("processor", "name", "served", "banks"), AT_ONCE)
def test_lanes_that_are_served_at_once(
    processor: str, name: str, served: list[int], banks: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    """As ROCm's documents of CK Tile have it for gfx942, and as HipKittens measured it on an MI355X, with two lanes
    that want different dwords of a bank."""
    monkeypatch.setenv("WAVE_RUNTIME_STATS", "1")
    rows = {row["mnemonic"]: row for row in isa_rows(processor)}
    data = {"VDST": 20} if "read" in name else {"DATA0": 20}
    words = encode(rows[name], ADDR=8, **data)

    def conflicts(lane: int, dwords: int) -> int:
        state = State(1)
        mask = 1 | 1 << lane
        state.exec[0] = [mask & 0xFFFFFFFF, mask >> 32]
        state.v[0, 8, lane] = dwords * 4
        cycles = lds_cycles(words, state, processor) - lds_cycles([], state, processor)
        assert cycles[0] == (2 if cycles[1] or lane not in served else 1)
        return int(cycles[1])

    assert [lane for lane in range(1, 64) if conflicts(lane, 64)] == sorted(served)[1:]
    assert [conflicts(1, dwords) for dwords in (32, 64)] == [int(banks == 32), 1]


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
