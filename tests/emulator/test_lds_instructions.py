"""LDS: reads and writes against the model, and the exchanges between lanes against their definitions."""

from __future__ import annotations

import copy
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest
import torch
from machine import LANES, State, encode, run
from memory_support import BY_NAME, WAVES, check, names, random_state
from simd_levels import LEVELS, run_again

DS_PLAIN = [n for n in names("ds_read_", "ds_write_") if "addtid" not in n]


@pytest.mark.parametrize("name", DS_PLAIN)
def test_ds(name: str) -> None:
    """Some addresses are negative without the offset."""
    rng = np.random.default_rng(5)
    state = random_state(rng)
    offset = int(rng.integers(0, 100))
    state.v[:, 8] = np.stack([rng.permutation(LANES) for _ in range(WAVES)]) * 14 - offset + rng.integers(0, 3)
    for acc in (0, 1):
        fields = {"ADDR": 8, "DATA0": 20, "VDST": 6, "OFFSET": offset, "ACC": acc}
        check([(name, fields)], copy.deepcopy(state))


@pytest.mark.parametrize("bits", [32, 64])
@pytest.mark.parametrize("name", ["ds_read2_b{}", "ds_write2_b{}", "ds_wrxchg2_rtn_b{}"])
@pytest.mark.parametrize("places", ["anywhere", "in order", "the same"])
@pytest.mark.parametrize(("far", "offsets"), [(False, (41, 7)), (False, (7, 8)), (True, (1, 0))])
def test_two_addresses(name: str, bits: int, places: str, far: bool, offsets: tuple[int, int]) -> None:
    """Each is two instructions of one address, whose offsets count elements, or 64 elements."""
    rng = np.random.default_rng(8)
    size, state = bits // 8, random_state(rng)
    unit = 64 * size if far else size
    stride = 2 * size if offsets == (7, 8) and "read" not in name else size  # two elements beside two of another lane
    order = np.stack([rng.permutation(32) for _ in range(2 * WAVES)]).reshape(WAVES, LANES)
    if places != "anywhere":
        together = 16 if places == "the same" and "read" in name else 1  # those that write would be in each other's way
        order = np.tile(np.arange(LANES) // together, (WAVES, 1))
    state.v[:, 8] = order * stride % 512 if stride > size else order * size % 256
    if "read" not in name:  # lanes that write to one place would do so in another order
        state.exec[:, 1] = 0
    two = name.format(bits).replace("2_", "2st64_") if far else name.format(bits)
    fields = {"ADDR": 8, "DATA0": 20, "DATA1": 24, "VDST": 6}
    words = encode_ds(two, fields | {"OFFSET0": offsets[0], "OFFSET1": offsets[1]})
    single = name.format(bits).replace("2_", "_")
    pair = [fields, fields | {"VDST": 6 + size // 4, "DATA0": 24}]
    copies = copy.deepcopy(state)
    copies.v[:, 9] = state.v[:, 8]  # the first result may overwrite the address in v8
    steps = [encode_ds(single, f | {"ADDR": 9, "OFFSET": o * unit}) for f, o in zip(pair, offsets, strict=True)]
    actual, expected = run(words, state), run([*steps[0], *steps[1]], copies)
    for got, wanted in ((actual.v[:, 7:8], expected.v[:, 7:8]), (actual.v[:, 10:], expected.v[:, 10:])):
        assert (got == wanted).all()
    assert (actual.lds == expected.lds).all()


def encode_ds(name: str, fields: dict[str, int]) -> list[int]:
    row = BY_NAME[name]
    operands = {operand["field"] for operand in row["operands"]} | {"OFFSET", "OFFSET0", "OFFSET1"}
    return encode(row, **{field: value for field, value in fields.items() if field in operands})


# Exchanges: the source of each lane's value. A disabled source gives zero.


def exchange(name: str, fields: dict[str, int], state: State, source: Callable[[int, int], int]) -> None:
    """source(wave, lane) is the lane whose data a lane gets."""
    data = 8 if "swizzle" in name else 20
    actual = run(encode_ds(name, {"ADDR": 8, "DATA0": 20, "VDST": 21, **fields}), state)
    for wave in range(WAVES):
        enabled = [int(state.exec[wave, lane // 32]) >> lane % 32 & 1 for lane in range(LANES)]
        for lane in range(LANES):
            at = source(wave, lane)
            moved = int(state.v[wave, data, at]) if enabled[at] else 0
            wanted = moved if enabled[lane] else int(state.v[wave, 21, lane])
            assert int(actual.v[wave, 21, lane]) == wanted, (fields, wave, lane)


def reverse5(value: int) -> int:
    return int(f"{value:05b}"[::-1], 2)


def swizzle_source(offset: int, lane: int) -> int:
    group, i = lane & 32, lane & 31
    if offset >= 0xE000:
        mask = offset & 31
        return group | (i if mask == 31 else reverse5(i) >> mask.bit_count() | i & mask)
    if offset >= 0xC000:
        mask, distance = offset & 31, offset >> 5 & 31
        return group | i & mask | (i + (-distance if offset >> 10 & 1 else distance)) & ~mask & 31
    if offset >= 0x8000:
        return lane & ~3 | offset >> 2 * (lane & 3) & 3
    return group | ((i & offset & 31) | offset >> 5 & 31) ^ offset >> 10 & 31


@pytest.mark.parametrize("high", range(0, 0x10000, 0x400))
def test_swizzle(high: int) -> None:
    rng = np.random.default_rng(high)
    state = random_state(rng)
    for offset in (high, high | 0x1F, high | int(rng.integers(0, 0x400))):
        exchange(
            "ds_swizzle_b32", {"OFFSET": offset}, state, lambda _, lane, offset=offset: swizzle_source(offset, lane)
        )


def test_swizzle_of_a_fourier_transform() -> None:
    """The manual's example: offset 0xe010 reverses the bits of a lane's number within 16 lanes."""
    sources = [swizzle_source(0xE010, lane) for lane in range(32)]
    assert sources[:16] == [0, 8, 4, 12, 2, 10, 6, 14, 1, 9, 5, 13, 3, 11, 7, 15]
    assert sources[16:] == [source + 16 for source in sources[:16]]


@pytest.mark.parametrize("offset", [0, 4, 0x1234])
def test_bpermute(offset: int) -> None:
    state = random_state(np.random.default_rng(9))
    exchange(
        "ds_bpermute_b32",
        {"OFFSET": offset},
        state,
        lambda wave, lane: (int(state.v[wave, 8, lane]) + offset) // 4 % LANES,
    )


@pytest.mark.parametrize("offset", [0, 4, 0x1234])
def test_permute(offset: int) -> None:
    """The highest lane that sends to a lane wins; where none does, it gets zero."""
    rng = np.random.default_rng(10)
    state = random_state(rng)
    actual = run(encode_ds("ds_permute_b32", {"ADDR": 8, "DATA0": 20, "VDST": 21, "OFFSET": offset}), state)
    for wave in range(WAVES):
        enabled = [lane for lane in range(LANES) if int(state.exec[wave, lane // 32]) >> lane % 32 & 1]
        wanted = dict.fromkeys(enabled, 0)
        for lane in enabled:
            wanted[(int(state.v[wave, 8, lane]) + offset) // 4 % LANES] = int(state.v[wave, 20, lane])
        for lane in enabled:
            assert int(actual.v[wave, 21, lane]) == wanted[lane]


# What takes its address from M0.


@pytest.mark.parametrize(("name", "sign"), [("ds_append", 1), ("ds_consume", -1)])
def test_count(name: str, sign: int) -> None:
    state = random_state(np.random.default_rng(11))
    state.m0[:] = [0x10000, 40, 400]
    actual = run(encode_ds(name, {"VDST": 21, "OFFSET": 8}), state)
    for wave in range(WAVES):
        at = ((int(state.m0[wave]) & 0xFFFF) + 8) // 4
        old, lanes = int(state.lds[wave, at]), sum(int(half).bit_count() for half in state.exec[wave])
        assert int(actual.lds[wave, at]) == (old + sign * lanes) & 0xFFFFFFFF
        for lane in range(LANES):
            enabled = int(state.exec[wave, lane // 32]) >> lane % 32 & 1
            assert int(actual.v[wave, 21, lane]) == (old if enabled else int(state.v[wave, 21, lane]))


def test_addresses_of_lanes() -> None:
    """ADDTID: a dword for each lane, from M0 and the offset on."""
    state = random_state(np.random.default_rng(12))
    state.m0[:], state.exec[:] = [0x70000, 128, 256], 0xFFFFFFFF
    words = encode_ds("ds_read_addtid_b32", {"VDST": 21, "OFFSET": 64})
    actual = run(words + encode_ds("ds_write_addtid_b32", {"DATA0": 22, "OFFSET": 512}), state)
    for wave, base in enumerate([0, 32, 64]):
        assert (actual.v[wave, 21] == state.lds[wave, base + 16 : base + 80]).all()
        assert (actual.lds[wave, base + 128 : base + 192] == state.v[wave, 22]).all()


@pytest.mark.parametrize("level", LEVELS)
def test_simd_levels(level: str) -> None:
    """A process uses one level, and each has its own way to lanes' dwords."""
    files = [__file__, str(Path(__file__).with_name("test_memory_instructions.py"))]
    chosen = "test_two_addresses or test_lanes_side or test_ds or (test_global and dword)"
    run_again(level, *files, "-k", chosen)


def test_condxchg() -> None:
    """Each half is written where its bit 31 is set, without that bit."""
    rng = np.random.default_rng(13)
    state = random_state(rng)
    state.v[:, 8] = np.arange(LANES) * 8 + 4
    actual = run(encode_ds("ds_condxchg32_rtn_b64", {"ADDR": 8, "DATA0": 20, "VDST": 22, "OFFSET": 3}), state)
    for wave in range(WAVES):
        for lane in range(LANES):
            if not int(state.exec[wave, lane // 32]) >> lane % 32 & 1:
                continue
            for k in range(2):
                old, data = int(state.lds[wave, 2 * lane + k]), int(state.v[wave, 20 + k, lane])
                assert int(actual.v[wave, 22 + k, lane]) == old
                assert int(actual.lds[wave, 2 * lane + k]) == (data & 0x7FFFFFFF if data >> 31 else old)


def test_condxchg_beyond_64_kib() -> None:
    """gfx950 has 160 KiB, of which it reaches all."""
    state = random_state(np.random.default_rng(14))
    state.exec[:], state.v[:, 8] = 0xFFFFFFFF, np.arange(LANES) * 8 + 0x18000
    words = encode_ds("ds_write_b64", {"ADDR": 8, "DATA0": 24})
    words += encode_ds("ds_condxchg32_rtn_b64", {"ADDR": 8, "DATA0": 20, "VDST": 22})
    words += encode_ds("ds_read_b64", {"ADDR": 8, "VDST": 26})
    actual = run(words, state, processor="gfx950", more_lds=0x18000)
    data, old = state.v[:, 20:22], state.v[:, 24:26]
    assert (actual.v[:, 22:24] == old).all()
    assert (actual.v[:, 26:28] == np.where(data >> 31, data & 0x7FFFFFFF, old)).all()
    assert (actual.lds == state.lds).all()


@pytest.mark.parametrize("name", ["ds_append", "ds_consume"])
def test_counting_no_lanes(name: str) -> None:
    """Without an enabled lane nothing is accessed, wherever M0 points."""
    state = random_state(np.random.default_rng(9), 1)
    state.exec[:], state.m0[:] = 0, 0xFFFC
    after = run(encode(BY_NAME[name], VDST=6), copy.deepcopy(state))
    assert np.array_equal(after.v, state.v)
    assert np.array_equal(after.lds, state.lds)


@pytest.mark.parametrize("name", ["ds_write2_b32", "ds_write2st64_b32", "ds_write2_b64"])
def test_two_equal_offsets_are_one_write(name: str) -> None:
    """Of the first data: the document specifies one address so."""
    state = State(1)
    state.v[0, 20:24], state.exec[0] = np.array([[1], [2], [3], [4]]), [1, 0]
    lds = run(encode_ds(name, {"ADDR": 8, "DATA0": 20, "DATA1": 22, "OFFSET0": 1, "OFFSET1": 1}), state).lds[0]
    assert lds[lds != 0].tolist() == ([1, 2] if "b64" in name else [1])


SMALL, SMALLEST_NORMAL = 3, 0x800000  # a denormal; the smallest number that is none
SUMS = {0: (0, SMALLEST_NORMAL), 1: (0, SMALLEST_NORMAL + 3), 2: (0, SMALLEST_NORMAL), 3: (6, SMALLEST_NORMAL + 3)}


@pytest.mark.parametrize("denormals", SUMS)
@pytest.mark.parametrize("returns", ["", "_rtn"])
def test_additions_of_f32_know_denormals_by_mode(returns: str, denormals: int) -> None:
    """Bit 0 of MODE's field keeps those of operands, bit 1 those of sums (LLVM, shouldExpandAtomicRMWInIR)."""
    state = State(1)
    state.mode[:], state.exec[0] = 0x3C0 | denormals << 4, [3, 0]
    state.lds[0, :2], state.v[0, 20], state.v[0, 8, :2] = [SMALL, SMALLEST_NORMAL], SMALL, [0, 4]
    after = run(encode_ds(f"ds_add{returns}_f32", {"ADDR": 8, "DATA0": 20, "VDST": 6}), state)
    assert after.lds[0, :2].tolist() == list(SUMS[denormals])
    if returns:
        assert after.v[0, 6, :2].tolist() == [SMALL, SMALLEST_NORMAL]


def test_flat_additions_of_f32_lose_denormals_in_lds_alone() -> None:
    state, memory = State(1), torch.full((64,), SMALL, dtype=torch.int32).view(torch.uint8)
    state.mode[:], state.lds[0, :LANES], state.v[0, 20] = 0x3C0, SMALL, SMALL
    is_lds = np.arange(LANES) % 2 == 0
    base = np.where(is_lds, 1 << 48, memory.data_ptr()) + np.arange(LANES) * 4
    state.v[0, 8], state.v[0, 9] = base & 0xFFFFFFFF, base >> 32
    after = run(encode(BY_NAME["flat_atomic_add_f32"], ADDR=8, DATA=20, VDST=20, SC0=1), state, memory)
    assert after.lds[0, :LANES].tolist() == [0 if lds else SMALL for lds in is_lds]
    assert memory.view(torch.int32).tolist() == [SMALL if lds else 2 * SMALL for lds in is_lds]
    assert (after.v[0, 20] == SMALL).all()
