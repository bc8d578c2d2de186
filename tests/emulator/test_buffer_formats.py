"""Typed buffer loads and stores against the model, in every data and number format."""

from __future__ import annotations

import random
import re

import format_model as model
import numpy as np
import pytest
import torch
from machine import LANES, State, encode, run
from memory_support import BY_NAME, names, random_memory, random_state
from model.draw import float_bits
from model.floats import F16, F32, Format
from requirements import does_not_apply

import wave_runtime

BASE = 4096  # where the buffer begins in memory
STRIDE, RECORDS = 16, 60  # lanes from 60 on are out of range
DESCRIPTOR, OFFSET = 8, 12  # first scalar registers
LOADS, STORES = (names(f"buffer_{kind}_format", f"tbuffer_{kind}_format") for kind in ("load", "store"))
IDS = [f"{model.DATA_FORMATS[data]}-{number}" for data, number in model.FORMATS]
every_format = pytest.mark.parametrize(("data", "number"), model.FORMATS, ids=IDS)


def components(name: str) -> int:
    match = re.search(r"_([xyzw]+)$", name)
    assert match
    return len(match[1])


def fields_of(name: str, data: int, number: int) -> dict[str, int]:
    fields = {"VADDR": 8, "VDATA": 20, "SRSRC": DESCRIPTOR // 4, "SOFFSET": 128, "IDXEN": 1, "OFFSET": 0}
    return fields | ({"DFMT": data, "NFMT": number} if name.startswith("t") else {})


def prepared(memory: torch.Tensor, data: int, number: int, selectors: list[int], waves: int = 1) -> State:
    """Each lane has a record of its own. The descriptor has the format, which typed instructions do not look at."""
    rng = np.random.default_rng(50)
    state = random_state(rng, waves)
    base = memory.data_ptr() + BASE
    chosen = sum(selector << 3 * i for i, selector in enumerate(selectors))
    state.s[:, DESCRIPTOR : DESCRIPTOR + 4] = [
        base & 0xFFFFFFFF,
        base >> 32 | STRIDE << 16,
        RECORDS,
        chosen | number << 12 | data << 15,
    ]
    state.v[:, 8] = rng.permutation(LANES)
    return state


def record(memory: bytes, index: int, data: int) -> int:
    at = BASE + STRIDE * index
    return int.from_bytes(memory[at : at + sum(model.sizes(data)) // 8], "little")


@pytest.mark.parametrize("name", LOADS)
def test_loads(name: str) -> None:
    """All formats, with the selectors of the descriptor: those of typed instructions are the components."""
    rng, generator = random.Random(name), np.random.default_rng(51)
    for data, number in model.FORMATS:
        memory = random_memory(generator)
        count = len(model.sizes(data))
        selectors = [rng.choice([0, 1, *range(4, 4 + count)]) for _ in range(4)]
        state = prepared(memory, data, number, selectors, 2)
        after = run(encode(BY_NAME[name], **fields_of(name, data, number)), state, memory)
        effective = [4, 5, 6, 7] if name.startswith("t") else selectors
        check_loaded(name, data, number, effective[: components(name)], memory, state, after)


def check_loaded(
    name: str, data: int, number: int, selectors: list[int], memory: torch.Tensor, before: State, after: State
) -> None:
    width, bytes_ = 16 if "d16" in name else 32, memory.numpy().tobytes()
    for wave in range(before.waves):
        enabled = int(before.exec[wave, 0]) | int(before.exec[wave, 1]) << 32
        for lane in range(LANES):
            registers = [int(value) for value in before.v[wave, 20:24, lane]]
            if enabled >> lane & 1:
                index = int(before.v[wave, 8, lane])
                element = record(bytes_, index, data) if index < RECORDS else None
                values = model.load(element, data, number, selectors, width)
                place(registers, values, width, high="_hi_" in name, clears=True)
            found = [int(value) for value in after.v[wave, 20:24, lane]]
            same = all(map(is_same, found, registers, [width] * 4))
            assert same, (name, data, number, selectors, lane, list(map(hex, found)), list(map(hex, registers)))


def place(registers: list[int], values: list[int], width: int, *, high: bool, clears: bool = False) -> None:
    """Halves are packed two by two; those that get no value stay, or are zero beside one that gets one."""
    for k, value in enumerate(values):
        if width == 32:
            registers[k] = value
        else:
            shift = 16 if high or k % 2 else 0
            kept = 0 if clears and k % 2 == 0 else registers[k // 2] & ~(0xFFFF << shift)
            registers[k // 2] = kept | value << shift


def is_same(found: int, wanted: int, width: int) -> bool:
    """Any NaN equals any other."""
    if found == wanted:
        return True
    format = F32 if width == 32 else F16
    for at in range(0, 32, width):
        a, b = (bits >> at & (1 << width) - 1 for bits in (found, wanted))
        if a != b and not (format.is_nan(a) and format.is_nan(b)):
            return False
    return True


@every_format
def test_stores(data: int, number: int) -> None:
    """Of all widths: components without a register are zero."""
    if number == model.FLOAT and model.sizes(data)[0] < 16:
        does_not_apply("how hardware rounds to floats of 10 and 11 bits is not documented")
    rng = random.Random(f"{data} {number}")
    for name in STORES:
        memory = random_memory(np.random.default_rng(52))
        state = prepared(memory, data, number, [4, 5, 6, 7])
        width = 16 if "d16" in name else 32
        for register in range(20, 24):
            state.v[0, register] = [draw(rng, number, width) for _ in range(LANES)]
        expected = bytearray(memory.numpy().tobytes())
        run(encode(BY_NAME[name], **fields_of(name, data, number)), state, memory)
        for lane in range(LANES):
            store_lane(expected, name, data, number, state, lane)
        assert memory.numpy().tobytes() == bytes(expected), name


def draw(rng: random.Random, number: int, width: int) -> int:
    if number in model.INTEGERS:
        return rng.getrandbits(32)
    if width == 32:
        return number_bits(rng, F32) if rng.randrange(2) else F32.encode(model.number(model.Fraction(rng.random())))
    return number_bits(rng, F16) << 16 | number_bits(rng, F16)


def number_bits(rng: random.Random, format: Format) -> int:
    """No NaN: memory is compared bit by bit."""
    return next(bits for bits in iter(lambda: float_bits(rng, format), None) if not format.is_nan(bits))


def store_lane(memory: bytearray, name: str, data: int, number: int, state: State, lane: int) -> None:
    index, width = int(state.v[0, 8, lane]), 16 if "d16" in name else 32
    if index >= RECORDS:
        return
    dwords = [int(value) for value in state.v[0, 20:24, lane]]
    halves = [dword >> shift & 0xFFFF for dword in dwords for shift in (0, 16)]
    registers = (halves[1:] if "_hi_" in name else halves) if width == 16 else dwords
    element = model.store(registers[: min(components(name), len(model.sizes(data)))], data, number, width)
    size, at = sum(model.sizes(data)) // 8, BASE + STRIDE * index
    memory[at : at + size] = element.to_bytes(size, "little")


def test_swizzled_elements_lie_apart() -> None:
    """Of four dwords, each where a swizzled load of dwords finds it."""
    memory = random_memory(np.random.default_rng(53))
    state = prepared(memory, 14, model.UINT, [4, 5, 6, 7])
    state.s[0, DESCRIPTOR + 1] |= 1 << 31
    state.s[0, DESCRIPTOR + 3] |= 1 << 21
    fields = {"VADDR": 8, "SRSRC": DESCRIPTOR // 4, "SOFFSET": 128, "IDXEN": 1}
    whole = run(encode(BY_NAME["buffer_load_format_xyzw"], VDATA=20, **fields), state, memory)
    plain = run(encode(BY_NAME["buffer_load_dwordx4"], VDATA=20, **fields), state, memory)
    assert np.array_equal(whole.v[0, 20:24], plain.v[0, 20:24])


def test_to_lds() -> None:
    memory = random_memory(np.random.default_rng(54))
    state = prepared(memory, 1, model.UNORM, [4, 5, 6, 7])
    state.m0[:] = 256
    name = "buffer_load_format_x"
    after = run(encode(BY_NAME[name], LDS=1, **fields_of(name, 1, 0)), state, memory)
    loaded = run(encode(BY_NAME[name], **fields_of(name, 1, 0)), state, memory)
    assert np.array_equal(after.lds[0, 64:128], loaded.v[0, 20])
    assert np.array_equal(after.v, state.v)


@pytest.mark.parametrize(
    ("name", "data", "number", "message"),
    [
        ("buffer_load_format_x", 15, 0, "data format 15 with number format 0, which is not defined"),
        ("tbuffer_load_format_x", 4, 0, "data format 4 with number format 0, which is not defined"),
        ("buffer_load_format_x", 10, 7, "data format 10 with number format 7, which is not defined"),
        ("buffer_store_format_xyz", 6, 7, "floats of 10 or 11 bits"),
    ],
)
def test_what_is_not_defined(name: str, data: int, number: int, message: str) -> None:
    memory = random_memory(np.random.default_rng(55))
    with pytest.raises(wave_runtime.KernelFault, match=message):
        run(
            encode(BY_NAME[name], **fields_of(name, data, number)), prepared(memory, data, number, [4, 5, 6, 7]), memory
        )
