"""Atomics of every address space against the model. Lanes that share an address take turns in order."""

from __future__ import annotations

import re

import numpy as np
import pytest
import torch
from machine import LANES, State, encode, run
from memory_model import DS_ATOMIC, OFF
from memory_support import BY_NAME, WAVES, check, names, random_memory, random_state, set_pair

import wave_runtime

DATA = slice(20, 28)  # registers that operands are taken from


def make_comparable(rng: np.random.Generator, name: str, words: np.ndarray) -> None:
    """Gives random dwords values that the operation tells apart: small integers, or finite floats."""
    if "16" in name:
        halves = rng.normal(0, 100, (*words.shape, 2)).astype(np.float16)
        words[...] = halves.view(np.uint32)[..., 0] if "bf16" not in name else words & 0x4FFF4FFF
    elif re.search("f32|f64", name):
        words[...] = rng.normal(0, 100, words.shape).astype(np.float32).view(np.uint32)
        words[rng.integers(0, 4, words.shape) == 0] = 0x80000000
        words[rng.integers(0, 8, words.shape) == 0] = 1  # a denormal
    elif re.search("cmp|inc|dec|wrap", name):
        words[...] = rng.integers(0, 3, words.shape)


def prepared(name: str) -> tuple[np.random.Generator, State, torch.Tensor, np.ndarray]:
    """A state, memory, and for each lane the number of the element that it works on: some lanes share one."""
    rng = np.random.default_rng(20)
    state, memory = random_state(rng), random_memory(rng)
    make_comparable(rng, name, state.v[:, DATA])
    make_comparable(rng, name, state.a[:, DATA])
    make_comparable(rng, name, state.lds)
    make_comparable(rng, name, memory.numpy()[:4096].view(np.uint32))
    return rng, state, memory, rng.integers(0, 48, (WAVES, LANES)) + np.arange(WAVES)[:, None] * 64


@pytest.mark.parametrize("name", names("global_atomic", "flat_atomic"))
@pytest.mark.parametrize("returns", [0, 1])
def test_global_and_flat(name: str, returns: int) -> None:
    _, state, memory, elements = prepared(name)
    set_pair(state.v.transpose(1, 0, 2)[8:10], elements * 8 + memory.data_ptr())
    fields = {"ADDR": 8, "DATA": 20, "VDST": 28, "SADDR": OFF, "OFFSET": 16, "ACC": returns, "SC0": returns}
    check([(name, fields)], state, memory)


@pytest.mark.parametrize("name", names("buffer_atomic"))
@pytest.mark.parametrize("returns", [0, 1])
def test_buffer(name: str, returns: int) -> None:
    _, state, memory, elements = prepared(name)
    state.v[:, 8] = elements * 8
    base = memory.data_ptr()
    state.s[:, 8:12] = [base & 0xFFFFFFFF, base >> 32, 1000, 0]  # the last lanes of the last wave are out of range
    fields = {"VADDR": 8, "VDATA": 20, "SRSRC": 2, "SOFFSET": 128, "OFFEN": 1, "IDXEN": 0, "OFFSET": 8}
    check([(name, {**fields, "ACC": returns, "SC0": returns})], state, memory)


@pytest.mark.parametrize("name", [name for name in names("ds_") if re.fullmatch(DS_ATOMIC, name)])
def test_ds(name: str) -> None:
    rng, state, _, _ = prepared(name)
    state.v[:, 8] = rng.integers(0, 48, (WAVES, LANES)) * 8
    fields = {"ADDR": 8, "DATA0": 20, "DATA1": 22, "VDST": 28, "OFFSET": 32}
    for acc in (0, 1):
        check([(name, {**fields, "ACC": acc})], state)


def test_every_atomic_is_tested() -> None:
    """Scalar atomics are tested with scalar memory."""
    untested = {"ds_wrxchg2", "ds_condxchg", "s_"}
    atomics = [name for name in BY_NAME if "atomic" in name or re.match("ds_.*(xchg|cmpst|rtn)", name)]
    covered = [*names("global_atomic", "flat_atomic", "buffer_atomic")]
    covered += [name for name in names("ds_") if re.fullmatch(DS_ATOMIC, name)]
    assert [name for name in atomics if name not in covered and not name.startswith(tuple(untested))] == []


# The last element of a tensor of odd length: compilers change it in the dword that it lies in.

BEYOND = 0xAA  # what lies behind the tensor


def short_memory(size: int) -> tuple[torch.Tensor, torch.Tensor]:
    """Memory for a launch, and that with as much again behind it, all of one array."""
    array = np.full(2 * size, BEYOND, dtype=np.uint8)
    array[:size] = 0
    return torch.from_numpy(array[:size]), torch.from_numpy(array)


def at_last_dword(name: str, size: int, data: list[int], lanes: int = 1) -> tuple[State, torch.Tensor]:
    """The state after an atomic of ``lanes`` lanes on the dword in which ``size`` bytes of memory end."""
    memory, whole = short_memory(size)
    state = State(1)
    state.exec[0] = [(1 << lanes) - 1, 0]
    set_pair(state.v[0, 8:10], memory.data_ptr() + size // 4 * 4)
    state.v[0, 20 : 20 + len(data)] = np.array(data, dtype=np.uint32)[:, None]
    fields = {"ADDR": 8, "DATA": 20, "VDST": 28, "SC0": 1, "SADDR": 0 if name.startswith("flat") else OFF}
    after = run(encode(BY_NAME[name], **fields), state, memory)
    assert (whole[size:] == BEYOND).all()
    return after, memory[size // 4 * 4 :].clone()


@pytest.mark.parametrize(
    ("name", "size", "data", "result"),
    [
        ("global_atomic_cmpswap", 6, [0x1234, 0], [0x34, 0x12]),
        ("global_atomic_cmpswap", 6, [0x1234, 1], [0, 0]),
        ("global_atomic_cmpswap", 5, [0x12, 0], [0x12]),
        ("global_atomic_cmpswap", 7, [0x120000, 0], [0, 0, 0x12]),
        ("global_atomic_cmpswap", 7, [0x1234, 0], [0x34, 0x12, 0]),
        ("global_atomic_or", 6, [0x8001], [1, 0x80]),
        ("global_atomic_and", 6, [0xFFFF0000], [0, 0]),
        ("flat_atomic_xor", 5, [0xFF], [0xFF]),
        ("global_atomic_pk_add_f16", 6, [0x3C00], [0, 0x3C]),
        ("flat_atomic_pk_add_bf16", 6, [0x3F80], [0x80, 0x3F]),
    ],
)
def test_a_part_of_a_dword(name: str, size: int, data: list[int], result: list[int]) -> None:
    after, memory = at_last_dword(name, size, data)
    assert memory.tolist() == result
    assert after.v[0, 28, 0] == 0, "what lies outside reads as zero"


def test_lanes_take_turns_at_a_part_of_a_dword() -> None:
    after, memory = at_last_dword("global_atomic_pk_add_f16", 6, [0x3C00], lanes=16)
    assert memory.view(torch.float16).tolist() == [16]
    olds = after.v[0, 28, :16].astype(np.uint16).view(np.float16)
    assert olds.tolist() == [float(i) for i in range(16)]


@pytest.mark.parametrize(
    ("name", "size", "data"),
    [
        ("global_atomic_cmpswap", 6, [0x10000, 0]),  # writes outside
        ("global_atomic_or", 5, [0x100]),
        ("global_atomic_cmpswap", 7, [0x010101, 0]),  # no element
        ("global_atomic_add", 6, [1]),  # an int: no compiler makes it for less
        ("global_atomic_swap", 6, [0]),
        ("global_atomic_cmpswap_x2", 10, [0, 0, 0, 0]),
        ("global_atomic_cmpswap", 4, [0, 0]),  # all outside
    ],
)
def test_more_than_a_part_of_a_dword(name: str, size: int, data: list[int]) -> None:
    with pytest.raises(wave_runtime.KernelFault, match="out of bounds"):
        at_last_dword(name, size, data)


def test_a_dword_that_begins_outside() -> None:
    """As of a tensor at an odd place of an array: also the load that such loops begin with."""
    around = np.full(4096, BEYOND, dtype=np.uint8)  # so that the end of nothing else is near
    array = around[2048:2056]
    array[2:4] = [1, 2]
    state = State(1)
    state.exec[0] = [1, 0]
    set_pair(state.v[0, 8:10], array.ctypes.data)
    state.v[0, 20:22, 0] = [0x43210000, 0x02010000]
    words = encode(BY_NAME["global_load_dword"], ADDR=8, VDST=27, SADDR=OFF)
    words += encode(BY_NAME["global_atomic_cmpswap"], ADDR=8, DATA=20, VDST=28, SADDR=OFF, SC0=1)
    with pytest.warns(RuntimeWarning, match="begins 2 bytes before the beginning of argument 2"):
        after = run(words, state, torch.from_numpy(array[2:4]))
    assert after.v[0, 27:29, 0].tolist() == [0x02010000] * 2
    assert array.tolist() == [BEYOND] * 2 + [0x21, 0x43] + [BEYOND] * 4


@pytest.mark.filterwarnings("ignore:.*a load of 4 bytes that ends")
def test_threads_share_a_part_of_a_dword() -> None:
    """Each wave adds one to the last element of two bytes, as compilers do: until nobody was faster."""
    memory, whole = short_memory(6)
    state = State(3000)
    state.exec[:] = [1, 0]
    set_pair(state.v.transpose(1, 0, 2)[8:10], memory.data_ptr() + 4)
    words = encode(BY_NAME["global_load_dword"], ADDR=8, VDST=10, SADDR=OFF)
    loop = encode(BY_NAME["v_mov_b32_e32"], VDST=13, SRC0=256 + 10)
    loop += encode(BY_NAME["v_add_u32_e32"], VDST=12, SRC0=129, VSRC1=10)
    loop += encode(BY_NAME["global_atomic_cmpswap"], ADDR=8, DATA=12, VDST=10, SADDR=OFF, SC0=1)
    loop += encode(BY_NAME["v_cmp_ne_u32_e32"], SRC0=256 + 10, VSRC1=13)
    words += loop + encode(BY_NAME["s_cbranch_vccnz"], SIMM16=(-len(loop) - 1) % 0x10000)
    run(words, state, memory)
    assert memory[4:].view(torch.int16).tolist() == [3000]
    assert (whole[6:] == BEYOND).all()
