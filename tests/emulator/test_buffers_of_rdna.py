"""Buffer loads, stores and atomics of gfx1030, gfx1100 and gfx1201: against a model, and in programs beside torch.

The model is written from the RDNA2, RDNA3 and RDNA4 ISA documents (chapter "Vector Memory Buffer Instructions": "Range
Checking", "Swizzled Buffer Addressing", "Buffer Resource"), but for what AMD measured otherwise (MEASURED); fields
stand where the documents' encodings have them.
"""

from __future__ import annotations

import functools
import itertools
import re
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import numpy.typing as npt
import pytest
import torch
from machine import isa_rows, with_words
from memory_model import MASK32, atomic_function, sign_extend

import wave_runtime
from wave_runtime import _C

FOLDER = Path(__file__).parent / "kernels"
TARGETS = ("gfx1030", "gfx1100", "gfx1201")
LANES, WAVES, BYTES = 32, 6, 1 << 19
SLOT = (0xBF80000D).to_bytes(4, "little") * 8
M0, NULL = 125, 124  # of gfx1030 the other way round

# How gfx1030 names what its successors call otherwise.
OLD_NAMES = {
    "_load_ubyte": "_load_u8", "_load_sbyte": "_load_i8", "_load_ushort": "_load_u16", "_load_sshort": "_load_i16",
    "_load_short": "_load_b16", "_store_byte": "_store_b8", "_store_short": "_store_b16",
    "_dwordx2": "_b64", "_dwordx3": "_b96", "_dwordx4": "_b128", "_dword": "_b32",
}  # fmt: skip
OLD_ATOMICS = {"smin": "min_i", "smax": "max_i", "umin": "min_u", "umax": "max_u", "fmin": "min_f", "fmax": "max_f",
               "swap": "swap_b", "cmpswap": "cmpswap_b", "fcmpswap": "cmpswap_f",
               "and": "and_b", "or": "or_b", "xor": "xor_b",
               "add": "add_u", "csub": "sub_clamp_u", "sub": "sub_u", "inc": "inc_u", "dec": "dec_u"}  # fmt: skip


def successor(name: str) -> str:
    """What gfx1100 calls an instruction of gfx1030: buffer_load_d16_hi_u8 is buffer_load_ubyte_d16_hi."""
    if match := re.fullmatch(r"buffer_atomic_([a-z]+)(_x2)?", name):
        return f"buffer_atomic_{OLD_ATOMICS[match[1]]}{64 if match[2] else 32}"
    for old, new in OLD_NAMES.items():
        name = name.replace(old, new)
    return re.sub(r"(buffer_(?:load|store))_(\w+?)_(d16(?:_hi)?)$", r"\1_\3_\2", name)


Words = npt.NDArray[np.uint32]


@functools.cache
def instructions(target: str, pattern: str) -> dict[str, int]:
    """The opcode of each that the emulator has, by the name that gfx1100 and gfx1201 have for it."""
    implemented = _C.implemented_instructions(target)
    formats = ("MUBUF", "MTBUF")
    rows = [row for row in isa_rows(target) if row["format"] in formats and row["mnemonic"] in implemented]
    named = {successor(row["mnemonic"]) if target == "gfx1030" else row["mnemonic"]: row["opcode"] for row in rows}
    return {name: opcode for name, opcode in named.items() if re.fullmatch(pattern, name)}


# Those with formats: test_buffer_formats_of_rdna.py.
LOADS, STORES, ATOMICS = r"buffer_load_(?!.*format).*", r"buffer_store_(?!.*format).*", r"buffer_atomic_.*"


def cases(pattern: str) -> list[tuple[str, str]]:
    return [(target, name) for target in TARGETS for name in instructions(target, pattern)]


@dataclass
class Access:
    """An instruction's fields; the address is in v8 and v9, the data in v20 to v23, the descriptor in s[8:11].

    Typed ones (tbuffer_*) have a format.
    """

    name: str
    indexed: bool
    offset_enabled: bool
    offset: int
    scalar_offset: int
    returns: bool = False
    format: int = 0

    @property
    def is_typed(self) -> bool:
        return self.name.startswith("t")

    def words(self, target: str) -> list[int]:
        opcode = instructions(target, re.escape(self.name))[self.name]
        flags = self.offset_enabled | self.indexed << 1
        if target == "gfx1030":  # MUBUF
            codes = {M0: NULL, NULL: M0}
            bits = 0b111000 << 26 | opcode << 18 | self.returns << 14
            if self.is_typed:  # MTBUF, whose opcode is in two parts
                bits = 0b111010 << 26 | self.format << 19 | opcode % 8 << 16 | opcode // 8 << 53
            bits |= flags << 12 | self.offset
            bits |= 8 << 32 | 20 << 40 | 8 // 4 << 48 | codes.get(self.scalar_offset, self.scalar_offset) << 56
            return [bits >> 32 * i & MASK32 for i in range(2)]
        if target == "gfx1100":  # MUBUF
            bits = 0b111000 << 26 | opcode << 18 | self.returns << 14
            if self.is_typed:  # MTBUF
                bits = 0b111010 << 26 | self.format << 19 | opcode << 15
            bits |= self.offset
            bits |= 8 << 32 | 20 << 40 | 8 // 4 << 48 | flags << 54 | self.scalar_offset << 56
            return [bits >> 32 * i & MASK32 for i in range(2)]
        bits = 0b110001 << 26 | opcode << 14 | self.scalar_offset  # VBUFFER
        bits |= 20 << 32 | 8 << 41 | self.returns << 52 | self.format << 55 | flags << 62 | 8 << 64 | self.offset << 72
        return [bits >> 32 * i & MASK32 for i in range(3)]


@dataclass
class State:
    """Registers of each wave, the first axis: 4 words, s12, EXEC, 2 rows of addresses and 4 of data for 32 lanes."""

    descriptor: Words
    scalar: Words
    exec: Words
    address: Words
    data: Words

    def run(self, target: str, words: list[int], memory: torch.Tensor) -> Words:
        """The data behind the instruction."""
        image = (FOLDER / f"buffers_{target}.hsaco").read_bytes()
        image = with_words(image, image.index(SLOT), 8, words)
        kernel = wave_runtime.load(image, signature="*i32 const, *i32, *u8")["access"]
        unused = np.zeros((WAVES, 2), dtype=np.uint32)
        scalars = [self.descriptor, self.scalar[:, None], self.exec[:, None], unused]
        block = np.concatenate([*scalars, self.address.reshape(WAVES, -1), self.data.reshape(WAVES, -1)], axis=1)
        after = torch.zeros(WAVES, 4 * LANES, dtype=torch.int32)
        kernel(torch.from_numpy(block.view(np.int32)), after, memory, grid=WAVES, block=LANES)
        return after.numpy().view(np.uint32).reshape(WAVES, 4, LANES)


class Lane:
    """Where a lane's access lies."""

    def __init__(self, target: str, access: Access, state: State, wave: int, lane: int) -> None:
        descriptor = sum(int(word) << 32 * i for i, word in enumerate(state.descriptor[wave]))

        def bits(high: int, low: int) -> int:
            return descriptor >> low & (1 << high - low + 1) - 1

        self.base, self.stride, self.swizzle, self.records = bits(47, 0), bits(61, 48), bits(63, 62), bits(95, 64)
        self.format, self.index_stride, add_lane = bits(113, 108), 8 << bits(118, 117), bits(119, 119)
        self.mode = bits(125, 124)
        if target == "gfx1030":  # elements of four bytes; bit 62 is about caches
            self.swizzle, self.format = bits(63, 63), bits(114, 108)
        if target == "gfx1201":
            self.stride *= (1, 4, 8, 32)[bits(115, 114)]
        self.is_unbound = self.format == 0 and not add_lane
        rows = iter(state.address[wave])
        self.index = int(next(rows)[lane]) if access.indexed else 0
        if add_lane and (target == "gfx1030" or not access.indexed):
            self.index += lane
        if target != "gfx1030" and not access.indexed and not add_lane:
            self.swizzle = 0
        self.offset = access.offset + (int(next(rows)[lane]) if access.offset_enabled else 0) & MASK32
        named = {12: int(state.scalar[wave]), M0: int(state.scalar[wave]), NULL: 0}
        self.scalar = named.get(access.scalar_offset, access.scalar_offset - 128)

    def is_out(self, at: int, payload: int) -> bool:
        """Whether bytes are out of range that begin so far behind the access's first."""
        offset, index = self.offset + at, self.index
        if self.is_unbound:
            return True
        if self.mode == 0 or (self.mode == 3 and self.swizzle and self.stride):
            return index >= self.records or offset + payload > self.stride
        if self.mode == 1:
            return index >= self.records
        return self.records == 0 if self.mode == 2 else offset + payload > self.records - self.scalar

    def address(self, at: int) -> int:
        if not self.swizzle:
            return self.base + self.scalar + self.stride * self.index + self.offset + at
        element = {1: 4, 3: 16}[self.swizzle]
        beyond = 0 if element == 4 else at  # the dwords of 16 bytes lie behind the first
        offset = self.offset + at - beyond
        start = self.base + self.scalar
        row = self.index // self.index_stride * self.stride + offset // element * element
        return start + row * self.index_stride + self.index % self.index_stride * element + offset % element + beyond


def random_state(rng: np.random.Generator, target: str, memory: torch.Tensor, access: Access, unit: int) -> State:
    """Addresses are multiples of ``unit``; what no range check stops lies within the memory."""

    def words(*shape: int) -> Words:
        return rng.integers(0, 1 << 32, shape, dtype=np.uint32)

    state = State(words(WAVES, 4), words(WAVES), words(WAVES), words(WAVES, 2, LANES), words(WAVES, 4, LANES))
    swizzles: tuple[int, ...] = (0, 0, 1, 3)
    if unit == 8:  # nothing is larger than an element, and atomics are aligned
        swizzles = (0, 0, 1) if target == "gfx1030" else (0, 0, 3)
    state.exec[0] = MASK32
    state.scalar[:] = rng.integers(0, 16, WAVES) * 8
    for wave in range(WAVES):
        mode, swizzle, stride = int(rng.integers(4)), int(rng.choice(swizzles)), int(rng.choice([0, 16, 48, 64]))
        counts_bytes = mode == 3 and not (swizzle and stride)
        records = int(rng.integers(0, 1500) if counts_bytes else rng.integers(0, 90))
        add_lane, scale, formats = int(rng.integers(2)), int(rng.integers(4)), (0, 7, 20, 63)
        high = memory.data_ptr() >> 32 | stride << 16 | swizzle << 30
        low = int(rng.choice(formats, p=[0.1, 0.4, 0.3, 0.2])) << 12 | scale << 18 | int(rng.integers(4)) << 21
        low |= add_lane << 23 | mode << 28 | int(rng.integers(1 << 12))  # DST_SEL: of formats alone
        state.descriptor[wave] = [memory.data_ptr() & MASK32, high, 0 if rng.random() < 0.1 else records, low]
        indices = rng.integers(0, 96, LANES)
        offsets = rng.integers(0, 96 // unit, LANES) * unit
        far = rng.random((2, LANES)) < 0.1
        if mode in (0, 1):
            indices = np.where(far[0], words(LANES), indices)
        if mode in (0, 3):
            offsets = np.where(far[1], words(LANES) // unit * unit, offsets)
        rows = [*([indices] if access.indexed else []), *([offsets] if access.offset_enabled else [])]
        for row, values in enumerate(rows):
            state.address[wave, row] = values
    return state


def random_access(rng: np.random.Generator, target: str, name: str, trial: int, unit: int) -> Access:
    scalars = [12, M0, NULL, *([128 + 8] if target != "gfx1201" else [])]  # GFX12 has no constants there
    indexed, offset_enabled = bool(trial & 1), bool(trial & 2)
    offset = int(rng.integers(0, 64 // unit)) * unit
    return Access(name, indexed, offset_enabled, offset, scalars[trial % len(scalars)])


def enabled(state: State) -> list[tuple[int, int]]:
    return [(w, lane) for w, lane in itertools.product(range(WAVES), range(LANES)) if state.exec[w] >> lane & 1]


def keep_apart(target: str, access: Access, state: State, pieces: list[tuple[int, int]]) -> None:
    """Disable lanes that write bytes which others write, too."""
    taken: set[int] = set()
    for wave, lane in enabled(state):
        place = Lane(target, access, state, wave, lane)
        spans = [(place.address(at), size) for at, size in pieces if not place.is_out(at, size)]
        written = {begin + i for begin, size in spans for i in range(size)}
        if written & taken:
            state.exec[wave] &= np.uint32(MASK32 ^ 1 << lane)
        taken |= written


def pieces_of(name: str) -> list[tuple[int, int]]:
    """Where each part of an access begins that is checked by itself, and its bytes."""
    match = re.fullmatch(r"buffer_(?:load|store)_(?:d16_)?(?:hi_)?[uib](\d+)", name)
    assert match is not None, name
    size = int(match[1]) // 8
    return [(at, min(size, 4)) for at in range(0, size, 4)]


def random_memory(rng: np.random.Generator) -> torch.Tensor:
    return torch.from_numpy(rng.integers(0, 256, BYTES, dtype=np.uint8))


# SWIZZLE_ENABLE, ADD_TID_ENABLE, IDXEN, the index, the offset and SOFFSET, and where lane 5 accesses then.
MEASURED = [
    (1, 1, 1, 1, 4, 4, 40),  # the index rather than the lane
    (1, 1, 0, 0, 4, 4, 56),
    (1, 0, 0, 0, 4, 4, 8),  # nothing to swizzle by
    (3, 0, 1, 1, 4, 4, 24),  # SOFFSET is not swizzled
    (0, 1, 1, 1, 4, 4, 40),
    (0, 1, 0, 0, 4, 4, 168),
]


@pytest.mark.parametrize("target", ["gfx1100", "gfx1201"])
@pytest.mark.parametrize("case", MEASURED)
def test_measured_addresses(target: str, case: tuple[int, ...]) -> None:
    """As AMD says that a gfx1100 and a gfx1201 have them, of a stride of 32 bytes and an index stride of 8
    (ROCm/rocm-systems, emulation/rocjitsu, tests/buffer_format_test.cpp)."""
    swizzle, add_lane, indexed, index, offset, scalar, place = case
    memory = torch.arange(0, 4096, 4, dtype=torch.int32).view(torch.uint8)
    zeros = functools.partial(np.zeros, dtype=np.uint32)
    state = State(zeros((WAVES, 4)), zeros(WAVES), zeros(WAVES), zeros((WAVES, 2, LANES)), zeros((WAVES, 4, LANES)))
    unchecked, stride, format = 2, 32, 20
    high = memory.data_ptr() >> 32 | stride << 16 | swizzle << 30
    state.descriptor[:] = [memory.data_ptr() & MASK32, high, 1, format << 12 | add_lane << 23 | unchecked << 28]
    state.scalar[:], state.exec[:], state.address[:, 0] = scalar, 1 << 5, index
    access = Access("buffer_load_b32", bool(indexed), False, offset, 12)
    assert (state.run(target, access.words(target), memory)[:, 0, 5] == place).all()


TRIALS = range(8)


@pytest.mark.parametrize(("target", "name"), cases(LOADS))
def test_loads(target: str, name: str) -> None:
    rng = np.random.default_rng(1)
    memory, pieces, loaded = random_memory(rng), pieces_of(name), 0
    content, base = memory.numpy().tobytes(), memory.data_ptr()
    for trial in TRIALS:
        unit = 1 if trial >= 4 and not re.search(r"b(64|96|128)", name) else 4
        access = random_access(rng, target, name, trial, unit)
        state = random_state(rng, target, memory, access, unit)
        expected = state.data.copy()
        for wave, lane in enabled(state):
            place = Lane(target, access, state, wave, lane)
            for k, (at, size) in enumerate(pieces):
                value, is_out = 0, place.is_out(at, size)
                if not is_out:
                    begin = place.address(at) - base
                    value = int.from_bytes(content[begin : begin + size], "little")
                    loaded += 1
                if re.search(r"_i(8|16)$", name):
                    value = sign_extend(value, 8 * size) & MASK32
                old = int(expected[wave, k, lane])
                if "_hi_" in name:
                    value = old & 0xFFFF | (value & 0xFFFF) << 16
                elif "_d16_" in name:
                    value = old & 0xFFFF0000 | value & 0xFFFF
                expected[wave, k, lane] = value
        found = state.run(target, access.words(target), memory)
        assert np.array_equal(found, expected), (access, np.argwhere(found != expected)[0])
    assert loaded > 100


@pytest.mark.parametrize(("target", "name"), cases(STORES))
def test_stores(target: str, name: str) -> None:
    rng = np.random.default_rng(2)
    pieces, stored = pieces_of(name), 0
    for trial in TRIALS:
        memory = random_memory(rng)
        content, base = bytearray(memory.numpy().tobytes()), memory.data_ptr()
        access = random_access(rng, target, name, trial, 4)
        state = random_state(rng, target, memory, access, 4)
        keep_apart(target, access, state, pieces)
        for wave, lane in enabled(state):
            place = Lane(target, access, state, wave, lane)
            for k, (at, size) in enumerate(pieces):
                if place.is_out(at, size):
                    continue
                value = int(state.data[wave, k, lane]) >> (16 if "_hi_" in name else 0)
                begin = place.address(at) - base
                content[begin : begin + size] = (value & (1 << 8 * size) - 1).to_bytes(size, "little")
                stored += 1
        found = state.run(target, access.words(target), memory)
        assert np.array_equal(found, state.data), access
        assert memory.numpy().tobytes() == bytes(content), access
    assert stored > 100


def operation_of(name: str) -> tuple[str, int]:
    """The name that the model of gfx942's atomics has for it, and the bytes."""
    if "_pk_" in name:
        return name.removeprefix("buffer_atomic_"), 4
    name = name.replace("_csub_", "_sub_clamp_")
    match = re.fullmatch(r"buffer_atomic_(\w+?)(?:_num)?_([buif])(32|64)", name)
    assert match is not None, name
    operation, kind, size = match[1], match[2], int(match[3]) // 8
    if kind == "f":
        return operation + "_f", size
    return ({"i": "s", "u": "u"}[kind] if operation in ("min", "max") else "") + operation, size


def some_numbers(rng: np.random.Generator, operation: str, *shape: int) -> Words:
    """Some of which are alike; floats are finite."""
    choices = [1.5, -2.25, 3.0, 1e-3] if operation.endswith("_f") else [0, 1, 2, MASK32]
    if operation.startswith("pk_"):
        choices = [0x3C003E00, 0x40003F80, 0x4248C040, 0x80000001]  # pairs that are numbers as f16 and as bf16
    kind = np.float32 if operation.endswith("_f") else np.uint32
    return rng.choice(np.array(choices, dtype=kind), shape).view(np.uint32)


@pytest.mark.parametrize(("target", "name"), cases(ATOMICS))
def test_atomics(target: str, name: str) -> None:
    """In range as a whole or not at all."""
    rng = np.random.default_rng(3)
    operation, size = operation_of(name)
    modify, changed = atomic_function(operation, size), 0
    for trial, returns in itertools.product(TRIALS, (False, True)):
        memory = torch.from_numpy(some_numbers(rng, operation, BYTES // 4).view(np.uint8))
        content, base = bytearray(memory.numpy().tobytes()), memory.data_ptr()
        access = random_access(rng, target, name, trial, size)
        access.returns = returns
        state = random_state(rng, target, memory, access, size)
        state.data = some_numbers(rng, operation, *state.data.shape)
        keep_apart(target, access, state, [(0, size)])
        expected = state.data.copy()
        for wave, lane in enabled(state):
            place = Lane(target, access, state, wave, lane)
            old = 0
            if not place.is_out(0, size):
                begin = place.address(0) - base
                old = int.from_bytes(content[begin : begin + size], "little")
                first, second = (
                    int.from_bytes(state.data[wave, k * size // 4 : (k + 1) * size // 4, lane].tobytes(), "little")
                    for k in (0, 1)
                )
                new = modify(old, first, second) & (1 << 8 * size) - 1
                content[begin : begin + size] = new.to_bytes(size, "little")
                changed += new != old
            for k in range(size // 4 if returns else 0):
                expected[wave, k, lane] = old >> 32 * k & MASK32
        found = state.run(target, access.words(target), memory)
        assert np.array_equal(found, expected), access
        assert memory.numpy().tobytes() == bytes(content), access
    assert changed > 20


SWIZZLE, TYPE = (1, 2 << 30, "SWIZZLE_ENABLE 2, which is reserved"), (3, 2 << 30, "its TYPE is 2")


@pytest.mark.parametrize(
    ("target", "word", "bits", "what"),
    [("gfx1030", *TYPE), *((target, *case) for target in TARGETS[1:] for case in (SWIZZLE, TYPE))],
)
def test_descriptors_of_no_buffer_are_named(target: str, word: int, bits: int, what: str) -> None:
    rng, memory = np.random.default_rng(4), torch.zeros(BYTES, dtype=torch.uint8)
    access = Access("buffer_load_b32", False, False, 0, NULL)
    state = random_state(rng, target, memory, access, 4)
    state.descriptor[:, word] |= np.uint32(bits)
    state.descriptor[:, 1] &= np.uint32(MASK32 ^ (1 << 30))
    with pytest.raises(wave_runtime.KernelFault, match=what):
        state.run(target, access.words(target), memory)


# Compiled programs (kernels/buffers.hip).


@pytest.fixture(params=list(itertools.product((32, 64), TARGETS)), ids=lambda param: f"wave{param[0]}-{param[1]}")
def programs(request: pytest.FixtureRequest) -> wave_runtime.Module:
    signature = {"add": "*f32 const, *f32 const, *f32, i32, i32", "copy": "*u8 const, *u8, i32"}
    lanes, target = request.param
    return wave_runtime.load(FOLDER / f"buffers{lanes}_{target}.hsaco", signature=signature)


@pytest.mark.parametrize(("n", "shift"), [(200, 0), (64, 0), (150, 10)])
def test_sums_stop_at_the_end_of_the_buffer(programs: wave_runtime.Module, n: int, shift: int) -> None:
    """256 work-items; the scalar offset counts where a raw buffer's end is looked for."""
    a, b, c = torch.rand(256), torch.rand(256), torch.full((256,), 7.0)
    programs["add"](a, b, c, 4 * n, 4 * shift, grid=4, block=64)
    expected = torch.full((256,), 7.0)
    expected[shift:n] = (a + b)[shift:n]
    assert torch.equal(c, expected)


def test_pieces_of_all_sizes_are_copied(programs: wave_runtime.Module) -> None:
    """Of the last work-item's bytes that are in range, a dword at a time."""
    given, out = torch.randint(0, 256, (128, 32), dtype=torch.uint8), torch.zeros(128, 32, dtype=torch.uint8)
    programs["copy"](given, out, 32 * 100 + 21, grid=2, block=64)
    expected = torch.zeros(128, 32, dtype=torch.uint8)
    expected[:100, :30] = given[:100, :30]
    expected[100, :20] = given[100, :20]
    assert torch.equal(out, expected)
