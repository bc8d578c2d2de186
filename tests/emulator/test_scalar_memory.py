"""Scalar memory: global addresses and buffers, offsets of every kind, ranges, atomics and the clock."""

from __future__ import annotations

import re

import memory_model as model
import numpy as np
import pytest
import torch
from machine import State, encode, run
from memory_support import BY_NAME, names, random_memory, random_state

Fields = dict[str, int]
OFFSETS: list[Fields] = [
    {"IMM": 1, "OFFSET": 20, "SOFFSET_EN": 0},
    {"IMM": 0, "OFFSET": 12, "SOFFSET_EN": 0},  # s12
    {"IMM": 0, "SOFFSET": 12, "SOFFSET_EN": 1},
    {"IMM": 1, "OFFSET": 6, "SOFFSET": 12, "SOFFSET_EN": 1},  # not a multiple of four: rounded down with the rest
]
START, REGISTER = 4096, 40  # where the base lies in memory, and the value of s12


def prepared(stride: int = 0, records: int = 0) -> tuple[State, torch.Tensor]:
    """s[8:9] or s[8:11] is the base, of 4 waves with distinct data."""
    rng = np.random.default_rng(30)
    state, memory = random_state(rng, 4), random_memory(rng)
    base = memory.data_ptr() + START
    state.s[:, 8:12] = [base & 0xFFFFFFFF, base >> 32 | stride << 16, records, 0]
    state.s[:, 12] = REGISTER
    return state, memory


def offset_of(name: str, fields: Fields) -> int:
    """Of S_SCRATCH the register counts 64 bytes."""
    value = model.sign_extend(fields["OFFSET"], 21) if fields["IMM"] else 0
    register = REGISTER * (64 if "scratch" in name else 1)
    return (value + (0 if fields["IMM"] and not fields["SOFFSET_EN"] else register)) & ~3


def size_of(name: str) -> int:
    match = re.search(r"dwordx?(\d*)", name)
    return 4 * int(match[1] or 1) if match else 8 if name.endswith("_x2") else 4


def execute(name: str, fields: Fields, state: State, memory: torch.Tensor) -> State:
    return run(encode(BY_NAME[name], SBASE=4, SDATA=16, **fields), state, memory)


@pytest.mark.parametrize("offset", OFFSETS, ids=str)
@pytest.mark.parametrize("name", names("s_load", "s_store", "s_scratch"))
def test_global(name: str, offset: Fields) -> None:
    state, memory = prepared()
    check(name, offset, state, memory, 1 << 20)


def test_a_negative_offset() -> None:
    state, memory = prepared()
    check("s_load_dwordx2", {"IMM": 1, "OFFSET": (1 << 21) - 100, "SOFFSET_EN": 0}, state, memory, 1 << 20)


@pytest.mark.parametrize(("stride", "records"), [(0, 48), (8, 6), (0, 50), (0, 0), (4, 1 << 15)])
@pytest.mark.parametrize("offset", OFFSETS, ids=str)
@pytest.mark.parametrize("name", names("s_buffer_load", "s_buffer_store"))
def test_buffer(name: str, offset: Fields, stride: int, records: int) -> None:
    """Each dword is in range or not: others read as zero and are not written."""
    state, memory = prepared(stride, records)
    check(name, offset, state, memory, records * max(stride, 1))


def check(name: str, offset: Fields, state: State, memory: torch.Tensor, size: int) -> None:
    before, start, count = memory.clone(), offset_of(name, offset), size_of(name) // 4
    if "store" in name:
        state.s[:] = state.s[:1]  # all waves store the same
        state.exec[:] = 0  # which does not matter
    actual = execute(name, offset, state, memory)
    words = before.numpy()[START + start :][: 4 * count].view(np.uint32)
    inside = np.array([start + 4 * k + 4 <= size for k in range(count)])
    if "load" in name:
        assert (actual.s[:, 16 : 16 + count] == np.where(inside, words, 0)).all()
        assert (actual.s[:, 16 + count :] == state.s[:, 16 + count :]).all()
        assert torch.equal(memory, before)
    else:
        assert (actual.s == state.s).all()
        words[...] = np.where(inside, state.s[0, 16 : 16 + count], words)
        assert torch.equal(memory, before)


@pytest.mark.parametrize("returns", [0, 1])
@pytest.mark.parametrize("name", names("s_atomic", "s_buffer_atomic"))
def test_atomics(name: str, returns: int) -> None:
    waves, memory = prepared(records=64)
    state = State(1)
    state.s[0] = waves.s[0]
    size, operation = size_of(name), re.sub(r"^s_(buffer_)?atomic_|_x2$", "", name)
    place = memory.numpy()[START + 24 : START + 24 + size]
    for equal in (False, True):
        old = int.from_bytes(place.tobytes(), "little")
        if equal:  # to what cmpswap compares with
            state.s[0, 16 + size // 4 : 16 + size // 2] = place.view(np.uint32)
        data = [int.from_bytes(state.s[0, 16 + k : 16 + k + size // 4].tobytes(), "little") for k in (0, size // 4)]
        actual = execute(name, {"IMM": 1, "OFFSET": 24, "SOFFSET_EN": 0, "GLC": returns}, state, memory)
        wanted = model.atomic_function(operation, size)(old, data[0], data[1]) & (1 << 8 * size) - 1
        assert int.from_bytes(place.tobytes(), "little") == wanted
        returned = int.from_bytes(actual.s[0, 16 : 16 + size // 4].tobytes(), "little")
        assert returned == (old if returns else data[0])


def test_the_clock_goes_forward() -> None:
    for name in ("s_memtime", "s_memrealtime"):
        row = BY_NAME[name]
        after = run([*encode(row, SDATA=16), *encode(row, SDATA=18)], State(1)).s[0, 16:20].view(np.uint64)
        assert 0 < after[0] <= after[1]
