"""Loads and stores of global, flat, scratch and buffer memory against the model, on random registers."""

from __future__ import annotations

import copy
import functools
from contextlib import nullcontext

import numpy as np
import pytest
import torch
from machine import LANES, State, encode, isa_rows, run
from memory_model import OFF
from memory_support import BY_NAME, WAVES, check, names, random_memory, random_state, set_pair, spread

import wave_runtime

# GLOBAL and FLAT.


@pytest.mark.parametrize("name", names("global_load", "global_store"))
@pytest.mark.parametrize("scalar", [False, True])
def test_global(name: str, scalar: bool) -> None:
    rng = np.random.default_rng(1)
    state, memory = random_state(rng), random_memory(rng)
    state.m0[:] = [0x40000, 64, 256]
    offset = int(rng.integers(0, 512)) if "lds" in name else int(rng.integers(-4096, 4096))
    places = spread(rng, 1 << 16, 64) + 8192 + rng.integers(0, 16, (WAVES, LANES))
    fields = {"ADDR": 8, "DATA": 20, "VDST": 24, "SADDR": 10 if scalar else OFF, "OFFSET": offset & 0x1FFF, "ACC": 0}
    if scalar:
        set_pair(state.s.T[10:12], memory.data_ptr())
        state.v[:, 8] = places
    else:
        set_pair(state.v.transpose(1, 0, 2)[8:10], places + memory.data_ptr())
    for acc in (0,) if "lds" in name else (0, 1):
        check([(name, {**fields, "ACC": acc})], copy.deepcopy(state), memory)


@pytest.mark.parametrize("name", names("flat_load", "flat_store"))
def test_flat(name: str) -> None:
    rng = np.random.default_rng(2)
    state, memory = random_state(rng), random_memory(rng)
    places = spread(rng, 1 << 16, 64) + rng.integers(0, 16, (WAVES, LANES))
    set_pair(state.v.transpose(1, 0, 2)[8:10], places + memory.data_ptr())
    check([(name, {"ADDR": 8, "DATA": 20, "VDST": 24, "OFFSET": 4095, "ACC": 0, "SADDR": 0})], state, memory)


ALL = (1 << LANES) - 1
# EXEC, and a lane that accesses another dword than that behind the lane before it.
SIDE_BY_SIDE: list[tuple[int, int | None]] = [
    *((ALL, lane) for lane in (None, 0, 1, 15, 16, 31, 32, 48, 63)),
    *((ALL >> 32, lane) for lane in (None, 0, 1, 15, 16, 31, 32)),  # as of a wave of 32 lanes
    *((exec_, None) for exec_ in (ALL >> 1, ALL >> 31, ALL >> 33, ALL >> 32 | 1 << 63, ALL << 32 & ALL, 0xFFFF, 1, 0)),
]


@pytest.mark.parametrize(
    ("name", "step"),
    [
        *((name, 4) for name in ("global_load_dword", "global_store_dword", "ds_read_b32", "ds_write_b32")),
        *((name, 2) for name in ("global_load_sshort", "global_store_short", "ds_read_u16", "ds_write_b16_d16_hi")),
        *((name, 1) for name in ("global_load_ubyte", "global_store_byte", "ds_read_i8", "ds_write_b8")),
        *((name, 0) for name in ("global_load_dword", "global_load_dwordx4", "ds_read_b64", "ds_read_b128")),
    ],
)
@pytest.mark.parametrize("gap", [0, 64])
@pytest.mark.parametrize("watched", [False, True])
def test_lanes_side_by_side(name: str, step: int, gap: int, watched: bool) -> None:
    """In rows of sixteen, which may lie apart, or at one place: lanes that are disabled take no part.

    It is the same where the sanitizer is told of all accesses.
    """
    rng = np.random.default_rng(5)
    waves = len(SIDE_BY_SIDE)
    state, memory = random_state(rng, waves), random_memory(rng)
    lanes = np.arange(LANES)
    places = np.tile(64 + step * lanes + gap * (lanes // 16), (waves, 1))
    for wave, (exec_, lane) in enumerate(SIDE_BY_SIDE):
        state.exec[wave] = [exec_ & 0xFFFFFFFF, exec_ >> 32]
        if lane is not None:
            places[wave, lane] = 4
    fields = {"ADDR": 8, "DATA": 20, "DATA0": 20, "VDST": 24, "OFFSET": 0, "SADDR": OFF, "ACC": 0}
    if name.startswith("ds"):
        state.v[:, 8] = places
    else:
        places += 2048 * np.arange(waves)[:, None] + memory.data_ptr()
        set_pair(state.v.transpose(1, 0, 2)[8:10], places)
    with wave_runtime.sanitize("races", "uninitialized") if watched else nullcontext():
        check([(name, fields)], state, memory)


def test_a_load_may_overwrite_its_address() -> None:
    rng = np.random.default_rng(3)
    state, memory = random_state(rng), random_memory(rng)
    set_pair(state.v.transpose(1, 0, 2)[8:10], spread(rng, 1 << 16, 16) + memory.data_ptr())
    fields = {"ADDR": 8, "VDST": 6, "OFFSET": 0, "SADDR": OFF}
    check([("global_load_dwordx4", fields)], state, memory)


# SCRATCH: a work-item of the test kernel has 64 bytes.


@pytest.mark.parametrize("name", names("scratch_load", "scratch_store"))
@pytest.mark.parametrize("mode", ["vector", "scalar", "both", "none"])
def test_scratch(name: str, mode: str) -> None:
    rng = np.random.default_rng(4)
    state = random_state(rng)
    state.m0[:] = [0, 64, 256]
    state.v[:, 8] = rng.integers(4, 24, (WAVES, LANES))
    state.s[:, 10] = [8, 12, 16]
    whole = {"SADDR": OFF, "SVE": 0, "ADDR": 0}
    fill = [("scratch_store_dwordx4", {**whole, "OFFSET": 16 * k, "DATA": 32 + 4 * k}) for k in range(4)]
    dump = [("scratch_load_dwordx4", {**whole, "OFFSET": 16 * k, "VDST": 48 + 4 * k}) for k in range(4)]
    vector, scalar = mode in ("vector", "both"), mode in ("scalar", "both")
    fields = {"ADDR": 8, "SVE": int(vector), "SADDR": 10 if scalar else OFF, "DATA": 20, "VDST": 24}
    check([*fill, (name, {**fields, "OFFSET": 3 if mode == "none" or "lds" in name else 0x1FFD}), *dump], state)


def test_scratch_is_poisoned() -> None:
    """Whatever the wave before it left there; also what lies behind that which a wave has used itself."""
    state = State(64)
    state.v[:, 20:24] = 0x5EC4E7
    words: list[int] = []
    for k in range(4):
        words += encode(BY_NAME["scratch_load_dwordx4"], VDST=40 + 4 * k, OFFSET=16 * k, SADDR=OFF)
        words += encode(BY_NAME["scratch_store_dwordx4"], DATA=20, OFFSET=16 * k, SADDR=OFF)
    words += encode(BY_NAME["scratch_load_dwordx4"], VDST=56, OFFSET=48, SADDR=OFF)
    after = run(words, state).v
    assert (after[:, 40:56] == 0xFFF7FFF7).all()
    assert (after[:, 56:60] == 0x5EC4E7).all()


# MUBUF.


def descriptor(base: int, records: int, stride: int, *, swizzle: int, index_stride: int, add_lane: int) -> list[int]:
    high = base >> 32 | (stride & 0x3FFF) << 16 | swizzle << 31
    return [base & 0xFFFFFFFF, high, records, index_stride << 21 | add_lane << 23 | (stride >> 14) << 15]


def random_buffer(rng: np.random.Generator, state: State, base: int, *, aligned: bool, indexed: bool) -> None:
    """For each wave a descriptor of its own in s[8:11], whose bytes lie in the test's memory, and an offset in s12."""
    checked = np.ones((state.waves, 1, 1), dtype=bool)
    for wave in range(state.waves):
        stride = int(rng.choice([0, 4, 16, 64]))
        records = int(rng.integers(0, 80) if stride and rng.integers(2) else rng.integers(0, 2048))
        bits = {name: int(rng.integers(2)) for name in ("swizzle", "add_lane")}
        words = descriptor(base, records, stride, index_stride=int(rng.integers(4)), **bits)
        words[1] |= int(rng.integers(2)) << 30  # cache swizzle: no effect
        checked[wave] = indexed or not bits["add_lane"]
        state.s[wave, 8:12] = words
    state.s[:, 12] = rng.integers(0, 64, state.waves) * 4
    state.v[:, 8:10] = rng.integers(0, 96, (state.waves, 2, LANES))
    if aligned:
        state.v[:, 8:10] *= 4
    far = checked & (rng.integers(0, 8, (state.waves, 2, LANES)) == 0)
    state.v[:, 8:10] = np.where(far, rng.integers(0, 1 << 32, far.shape, dtype=np.uint32), state.v[:, 8:10])


MUBUF_LOADS = [n for n in names("buffer_load") if "format" not in n]


@pytest.mark.parametrize("name", MUBUF_LOADS)
def test_buffer_load(name: str) -> None:
    rng = np.random.default_rng(6)
    memory = random_memory(rng)
    for trial in range(12):
        state = random_state(rng, 8)
        state.m0[:] = 64
        random_buffer(rng, state, memory.data_ptr(), aligned=bool(trial % 2), indexed=bool(trial & 2))
        if trial % 4 == 3:
            state.v[:, 9] = state.v[:, 8] >> 4
        fields = {"VADDR": 8, "VDATA": 20, "SRSRC": 2, "SOFFSET": [12, 128, 132][trial % 3], "OFFEN": trial & 1}
        fields |= {"IDXEN": trial >> 1 & 1, "OFFSET": int(rng.integers(0, 8)) * 4, "ACC": trial >> 2 & 1, "LDS": 0}
        check([(name, fields)], state, memory)
        if "lds" in str(BY_NAME[name]["modifiers"]).lower():
            check([(name, {**fields, "LDS": 1, "ACC": 0})], state, memory)


@pytest.mark.parametrize("name", MUBUF_LOADS)
def test_the_end_of_a_buffer(name: str) -> None:
    """Without an index: of each dword by itself it is asked whether it is in range, at each place of a byte."""
    rng = np.random.default_rng(9)
    state, memory = random_state(rng, 1), random_memory(rng)
    state.s[0, 8:12] = descriptor(memory.data_ptr(), 128, 0, swizzle=0, index_stride=0, add_lane=0)
    state.v[0, 8] = 128 - 40 + np.arange(LANES)
    check(
        [(name, {"VADDR": 8, "VDATA": 20, "SRSRC": 2, "SOFFSET": 128, "OFFEN": 1, "IDXEN": 0, "OFFSET": 0})],
        state,
        memory,
    )


@pytest.mark.parametrize("name", [n for n in names("buffer_store") if "format" not in n and "lds" not in n])
def test_buffer_store(name: str) -> None:
    rng = np.random.default_rng(7)
    for trial in range(12):
        state, memory = random_state(rng, 1), random_memory(rng)
        base = memory.data_ptr()
        raw, swizzle = trial % 3 == 0, trial % 3 == 2
        records = int(rng.integers(400, 1000)) if raw else int(rng.integers(32, 64))
        options = {"index_stride": int(rng.integers(4)), "add_lane": 0}
        state.s[0, 8:12] = descriptor(base, records, 0 if raw else 16, swizzle=int(swizzle), **options)
        state.s[0, 12] = 20
        state.v[0, 8 + trial % 2] = rng.permutation(LANES) * (16 if raw else 1)  # in distinct places
        state.v[0, 9 - trial % 2] = 0
        index = int(not raw)
        fields = {"VADDR": 8 + trial % 2, "VDATA": 20, "SRSRC": 2, "SOFFSET": 12, "OFFEN": int(raw), "IDXEN": index}
        check([(name, {**fields, "OFFSET": 4 * (trial % 2), "LDS": 0, "ACC": trial % 2})], state, memory)


def test_offsets_wrap_at_32_bits() -> None:
    """Compilers add -16 in a register and 64 in the instruction. What wraps to behind the end is out of range."""
    state, memory = State(1), random_memory(np.random.default_rng(8))
    base = memory.data_ptr()
    state.s[0, 8:12] = descriptor(base, 128, 0, swizzle=0, index_stride=0, add_lane=0)
    state.v[0, 8] = (np.arange(LANES) - 68) * 4
    fields = {"VADDR": 8, "VDATA": 20, "SRSRC": 2, "SOFFSET": 128, "OFFEN": 1, "IDXEN": 0, "OFFSET": 272}
    after = run(encode(BY_NAME["buffer_load_dword"], **fields), state, memory).v[0, 20]
    assert after[:32].tobytes() == memory[:128].numpy().tobytes()
    assert not after[32:].any()


def test_scratch_is_not_checked() -> None:
    """ADD_TID_ENABLE without an index, as kernels describe scratch; with one it counts in swizzled buffers alone."""
    state, memory = State(1), random_memory(np.random.default_rng(8))
    state.s[0, 8:12] = descriptor(memory.data_ptr(), 0, 4, swizzle=0, index_stride=0, add_lane=1)
    fields = {"VADDR": 8, "VDATA": 20, "SRSRC": 2, "SOFFSET": 128, "OFFEN": 0, "OFFSET": 8}
    load = functools.partial(encode, BY_NAME["buffer_load_dword"], **fields)
    assert run(load(IDXEN=0), state, memory).v[0, 20].tobytes() == memory[8 : 8 + 256].numpy().tobytes()
    assert not run(load(IDXEN=1), state, memory).v[0, 20].any()
    state.s[0, 10], state.v[0, 8] = 1 << 20, 5
    assert (run(load(IDXEN=1), state, memory).v[0, 20] == memory[28:32].numpy().view(np.uint32)).all()


def test_an_index_is_checked_alone() -> None:
    """Attention kernels store four dwords at an index of a buffer of dwords, and add far offsets."""
    state, memory = State(1), random_memory(np.random.default_rng(8))
    base = memory.data_ptr()
    state.s[0, 8:12] = descriptor(base, 128, 4, swizzle=0, index_stride=0, add_lane=0)
    state.v[0, 8] = np.arange(LANES) * 4  # half of them are in range
    fields = {"VADDR": 8, "VDATA": 20, "SRSRC": 2, "SOFFSET": 128, "IDXEN": 1, "OFFSET": 384}
    before = memory.clone()
    after = run(encode(BY_NAME["buffer_load_dwordx4"], **fields), state, memory).v[0, 20:24].T
    assert after[:32].tobytes() == before[384 : 384 + 512].numpy().tobytes()
    assert not after[32:].any()


def test_stores_of_lds() -> None:
    """buffer_store_lds_dword, of gfx90a: lane by lane from where loads to LDS put it."""
    state, memory = random_state(np.random.default_rng(11), 1), torch.full((1024,), 7, dtype=torch.uint8)
    state.lds[0] = np.random.default_rng(12).integers(0, 1 << 32, 256, dtype=np.uint32)
    state.m0[:] = 64
    state.exec[0] = [0xFFFF0F00, 0x7FFFFFFE]
    state.s[0, 8:12] = descriptor(memory.data_ptr(), 0, 4, swizzle=0, index_stride=0, add_lane=1)
    state.s[0, 12] = 32
    row = next(row for row in isa_rows("gfx90a") if row["mnemonic"] == "buffer_store_lds_dword")
    after = run(encode(row, SRSRC=2, SOFFSET=12, OFFSET=8, LDS=1), state, memory, processor="gfx90a")
    active = (state.exec[0, np.arange(LANES) // 32] >> (np.arange(LANES) % 32).astype(np.uint32) & 1).astype(bool)
    stored = memory[40 : 40 + 256].numpy().view(np.uint32)
    assert np.array_equal(stored, np.where(active, state.lds[0, 18 : 18 + LANES], 0x07070707))
    assert (memory[:40] == 7).all()
    assert (memory[40 + 256 :] == 7).all()
    assert np.array_equal(after.lds, state.lds)
