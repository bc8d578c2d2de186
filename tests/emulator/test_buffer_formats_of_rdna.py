"""Buffers with formats on gfx1030, gfx1100 and gfx1201, whose formats have numbers of their own: against the models."""

from __future__ import annotations

import functools
import random

import format_model as model
import numpy as np
import pytest
import torch
from format_model import FLOAT, SINT, SNORM, SSCALED, UINT, UNORM, USCALED
from test_buffer_formats import components, draw, is_same, place
from test_buffers_of_rdna import (
    BYTES,
    NULL,
    TARGETS,
    Access,
    Lane,
    State,
    enabled,
    instructions,
    keep_apart,
    random_access,
    random_memory,
    random_state,
)

import wave_runtime

SIX = (UNORM, SNORM, USCALED, SSCALED, UINT, SINT)
NUMBERS = {"32": (UINT, SINT, FLOAT), "32_32": (UINT, SINT, FLOAT), "32_32_32": (UINT, SINT, FLOAT),
           "32_32_32_32": (UINT, SINT, FLOAT)}  # fmt: skip
NUMBERS |= dict.fromkeys(("8", "8_8", "10_10_10_2", "2_10_10_10", "8_8_8_8"), SIX)
NUMBERS |= dict.fromkeys(("16", "16_16", "10_11_11", "11_11_10", "16_16_16_16"), (*SIX, FLOAT))
# What GFX11 has left out.
SINCE_GFX11 = {"10_11_11": (FLOAT,), "11_11_10": (FLOAT,), "10_10_10_2": (UNORM, SNORM, UINT, SINT)}


@functools.cache
def unified(target: str) -> list[tuple[int, int]]:
    """The data and the number format of each number from 1 on (LLVM's names BUF_FMT_*, in their order)."""
    numbers = NUMBERS if target == "gfx1030" else NUMBERS | SINCE_GFX11
    return [(data, number) for data, name in model.DATA_FORMATS.items() for number in numbers[name]]


@pytest.mark.parametrize(
    ("target", "number", "data", "kind"),
    [
        ("gfx1030", 30, "10_11_11", UNORM), ("gfx1030", 48, "10_10_10_2", UINT), ("gfx1030", 77, "32_32_32_32", FLOAT),
        ("gfx1100", 35, "10_10_10_2", SINT), ("gfx1100", 41, "2_10_10_10", SINT), ("gfx1100", 46, "8_8_8_8", UINT),
        ("gfx1201", 31, "11_11_10", FLOAT), ("gfx1201", 51, "16_16_16_16", UNORM), ("gfx1201", 48, "32_32", UINT),
    ],
)  # fmt: skip
def test_numbers_are_those_of_llvm(target: str, number: int, data: str, kind: int) -> None:
    """As its assembler encodes tbuffer_load_format_x with format:[BUF_FMT_...]."""
    assert unified(target)[number - 1] == (next(key for key, name in model.DATA_FORMATS.items() if name == data), kind)


def names(target: str, kind: str) -> list[str]:
    return sorted(instructions(target, f"t?buffer_{kind}_.*format.*"))


def prepared(
    rng: np.random.Generator, target: str, memory: torch.Tensor, access: Access, format: int, selectors: list[int]
) -> State:
    """Offsets are multiples of 16, of a swizzled buffer's elements, too. Typed instructions have the format themselves,
    and the descriptor another."""
    state = random_state(rng, target, memory, access, 16)
    if access.is_typed:
        access.format, format = format, format % 60 + 1
    kept = ~((127 if target == "gfx1030" else 63) << 12 | 0xFFF) & 0xFFFFFFFF
    chosen = sum(selector << 3 * i for i, selector in enumerate(selectors)) | format << 12
    state.descriptor[:, 3] = state.descriptor[:, 3] & np.uint32(kept) | np.uint32(chosen)
    state.exec[2:] = 0  # the model is slow
    return state


def cases(target: str) -> list[tuple[int, int, int]]:
    """All numbers of gfx1030 and every other one of the others, in turn."""
    every = [(number, *kinds) for number, kinds in enumerate(unified(target), start=1)]
    return every if target == "gfx1030" else every[TARGETS.index(target) % 2 :: 2]


def pieces(data: int) -> list[tuple[int, int]]:
    size = sum(model.sizes(data)) // 8
    return [(at, min(size - at, 4)) for at in range(0, size, 4)]


@pytest.mark.parametrize("target", TARGETS)
def test_loads(target: str) -> None:
    rng, generator, loaded = random.Random(target), np.random.default_rng(1), 0
    for trial, (format, data, number) in enumerate(cases(target)):
        memory, name = random_memory(generator), rng.choice(names(target, "load"))
        content, base = memory.numpy().tobytes(), memory.data_ptr()
        count, width = len(model.sizes(data)), 16 if "d16" in name else 32
        selectors = [rng.choice([0, 1, *range(4, 4 + count)]) for _ in range(4)]
        access = random_access(generator, target, name, trial, 16)
        state = prepared(generator, target, memory, access, format, selectors)
        found = state.run(target, access.words(target), memory)
        for wave, lane in enabled(state):
            where, size = Lane(target, access, state, wave, lane), sum(model.sizes(data)) // 8
            element, registers = None, [int(value) for value in state.data[wave, :, lane]]
            chosen = [4, 5, 6, 7] if access.is_typed else selectors
            if not where.is_out(0, size):
                begins = [(where.address(at) - base, piece) for at, piece in pieces(data)]
                element = int.from_bytes(b"".join(content[at : at + piece] for at, piece in begins), "little")
                loaded += 1
            values = model.load(element, data, number, chosen[: components(name)], width)
            if where.is_unbound:
                values = [0] * components(name)
            place(registers, values, width, high="_hi_" in name)
            same = [is_same(int(a), b, width) for a, b in zip(found[wave, :, lane], registers, strict=True)]
            assert all(same), (name, format, selectors, lane, registers)
    assert loaded > 300


@pytest.mark.parametrize("target", TARGETS)
def test_stores(target: str) -> None:
    rng, generator, stored = random.Random(target), np.random.default_rng(2), 0
    for trial, (format, data, number) in enumerate(cases(target)):
        if number == FLOAT and model.sizes(data)[0] < 16:
            continue  # whose rounding is not documented
        count, memory = len(model.sizes(data)), random_memory(generator)
        name = rng.choice(names(target, "store"))
        content, base, width = bytearray(memory.numpy().tobytes()), memory.data_ptr(), 16 if "d16" in name else 32
        access = random_access(generator, target, name, trial, 16)
        state = prepared(generator, target, memory, access, format, [4, 5, 6, 7])
        state.data[:] = [[[draw(rng, number, width) for _ in row] for row in wave] for wave in state.data]
        keep_apart(target, access, state, [(at, max(size, 4)) for at, size in pieces(data)])
        for wave, lane in enabled(state):
            where, size = Lane(target, access, state, wave, lane), sum(model.sizes(data)) // 8
            if where.is_out(0, size):
                continue
            dwords = [int(value) for value in state.data[wave, :, lane]]
            halves = [dword >> shift & 0xFFFF for dword in dwords for shift in (0, 16)]
            registers = (halves[1:] if "_hi_" in name else halves) if width == 16 else dwords
            registers, repeats = registers[: min(components(name), count)], target == "gfx1201"
            element = model.store(registers, data, number, width, repeats=repeats).to_bytes(size, "little")
            for at, piece in pieces(data):
                begin = where.address(at) - base
                content[begin : begin + piece] = element[at : at + piece]
            stored += 1
        state.run(target, access.words(target), memory)
        assert memory.numpy().tobytes() == bytes(content), (name, format)
    assert stored > 200


@pytest.mark.parametrize(
    ("target", "number", "kind"),
    [
        ("gfx1030", 78, ""), ("gfx1030", 127, ""), ("gfx1030", 0, "t"), ("gfx1030", 78, "t"), ("gfx1100", 64, "t"),
        ("gfx1201", 0, "t"), ("gfx1201", 127, "t"),
    ],
)  # fmt: skip
def test_formats_that_are_not_defined(target: str, number: int, kind: str) -> None:
    rng, memory = np.random.default_rng(3), torch.zeros(BYTES, dtype=torch.uint8)
    access = Access(f"{kind}buffer_load_format_x", False, False, 0, NULL)
    state = prepared(rng, target, memory, access, number, [4, 5, 6, 7])
    state.descriptor[:, 2] = 1000
    with pytest.raises(wave_runtime.KernelFault, match=f"buffer format {number}, which is not defined"):
        state.run(target, access.words(target), memory)


@pytest.mark.parametrize("target", TARGETS)
def test_stores_of_fewer_components_than_a_format_has(target: str) -> None:
    """LLVM leaves out trailing zeros, for gfx1201 what repeats the first (default-component-zero, -broadcast)."""
    rng, memory = np.random.default_rng(5), torch.full((BYTES,), 7, dtype=torch.uint8)
    access = Access("tbuffer_store_format_x", False, False, 0, NULL)
    number = unified(target).index((10, UINT)) + 1
    state = prepared(rng, target, memory, access, number, [4, 5, 6, 7])
    raw, words = 3 << 28, [memory.data_ptr() & 0xFFFFFFFF, memory.data_ptr() >> 32, 64]
    state.descriptor[:] = [*words, (number % 60 + 1) << 12 | raw]
    state.data[:, 0] = 3
    state.run(target, access.words(target), memory)
    assert memory[:5].tolist() == ([3, 3, 3, 3, 7] if target == "gfx1201" else [3, 0, 0, 0, 7])


@pytest.mark.parametrize("target", TARGETS)
def test_a_descriptor_without_a_format_has_nothing_in_range(target: str) -> None:
    rng, memory = np.random.default_rng(4), torch.full((BYTES,), 7, dtype=torch.uint8)
    access = Access("buffer_load_format_xyzw", False, False, 0, NULL)
    state = prepared(rng, target, memory, access, 0, [4, 5, 6, 7])
    state.descriptor[:, 3] &= np.uint32(0xFFFFFFFF ^ 1 << 23)
    found = state.run(target, access.words(target), memory)
    for wave, lane in enabled(state):
        assert not found[wave, :, lane].any()
