"""What the tests of memory instructions share: random states, and comparing the emulator with memory_model.py."""

from __future__ import annotations

import copy

import memory_model as model
import numpy as np
import pytest
import torch
from machine import FIELDS, LANES, ROWS, State, encode, run
from memory_model import Wave

BY_NAME = {str(row["mnemonic"]): row for row in ROWS}
REGISTERS = {"VDST", "DATA", "DATA0", "DATA1", "VDATA", "ADDR", "SADDR"}
BUFFER_BYTES = 1 << 19
WAVES = 3


def names(*prefixes: str, without: tuple[str, ...] = ()) -> list[str]:
    """The table's mnemonics that begin so."""
    return [n for n in BY_NAME if n.startswith(prefixes) and not any(part in n for part in without)]


def random_state(rng: np.random.Generator, waves: int = WAVES) -> State:
    """All registers random, and some lanes disabled in all waves but the first."""
    state = State(waves)
    for array in (state.s, state.v, state.a, state.lds, state.vcc, state.m0):
        array[...] = rng.integers(0, 1 << 32, array.shape, dtype=np.uint32)
    state.exec[1:] = rng.integers(0, 1 << 32, (waves - 1, 2), dtype=np.uint32)
    return state


def random_memory(rng: np.random.Generator) -> torch.Tensor:
    return torch.from_numpy(rng.integers(0, 256, BUFFER_BYTES, dtype=np.uint8))


def set_pair(array: np.ndarray, values: np.ndarray | int) -> None:
    """64-bit values into two registers: [..., 2 registers, ...] along the first axis of ``array``."""
    array[0], array[1] = np.uint64(values) & np.uint64(0xFFFFFFFF), np.uint64(values) >> np.uint64(32)


def check(program: list[tuple[str, dict[str, int]]], state: State, memory: torch.Tensor | None = None) -> None:
    """Runs the instructions on the emulator and on the model, and compares registers, LDS and memory."""
    memory = torch.zeros(16, dtype=torch.uint8) if memory is None else memory
    expected, bytes_ = copy.deepcopy(state), bytearray(memory.numpy().tobytes())
    words = []
    for mnemonic, fields in program:
        row = BY_NAME[mnemonic]
        absent = REGISTERS - {operand["field"] for operand in row["operands"]}
        present = FIELDS[str(row["format"])].keys() - absent
        words += encode(row, **{name: value for name, value in fields.items() if name in present})
    actual = run(words, state, memory)
    for index in range(state.waves):
        wave = Wave(expected, index, bytes_, memory.data_ptr())
        for mnemonic, fields in program:
            model.execute(wave, mnemonic, fields)
        expected.lds[index] = np.frombuffer(wave.lds, dtype=np.uint32)
    for name in ("s", "v", "a", "lds"):
        got, wanted = getattr(actual, name), getattr(expected, name)
        where = np.argwhere(got != wanted)
        if len(where) != 0:
            at = tuple(where[0])
            pytest.fail(f"{program}: {name}{list(at)} is {got[at]:#x}, expected {wanted[at]:#x}")
    assert memory.numpy().tobytes() == bytes(bytes_), f"{program}: memory"


def spread(rng: np.random.Generator, span: int, unit: int) -> np.ndarray:
    """[waves, lanes]: places of ``unit`` bytes within ``span`` that no two lanes share."""
    return rng.permutation(span // unit)[: WAVES * LANES].reshape(WAVES, LANES) * unit
