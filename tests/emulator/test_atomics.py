"""Atomics of every address space against the model. Lanes that share an address take turns in order."""

from __future__ import annotations

import re

import numpy as np
import pytest
import torch
from machine import LANES, State
from memory_model import DS_ATOMIC, OFF
from memory_support import BY_NAME, WAVES, check, names, random_memory, random_state, set_pair

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
