"""Addresses at the ends of what a launch was given and at the ends of the address space, in some lanes or in all, by
every kind of instruction: an access outside is a fault of the first lane that makes it, and touches nothing."""

from __future__ import annotations

import functools
import mmap
import re
import warnings
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field

import numpy as np
import pytest
import torch
from machine import FIELDS, LANES, LDS_BYTES, State, encode, run
from memory_model import OFF
from memory_support import BY_NAME, REGISTERS, names, set_pair

import wave_runtime

MARGIN, BYTES = 1 << 16, 4096
OVER_READ, OVER_READ_OF_LDS = 512, 131072  # how far past an end loads may reach
SCRATCH_BYTES = 64  # of a work-item of machine.s


@dataclass
class Alone:
    """``BYTES`` bytes that a launch is given, in the middle of memory of the process that it is not."""

    pages: mmap.mmap = field(default_factory=lambda: mmap.mmap(-1, 2 * MARGIN + BYTES))

    def __post_init__(self) -> None:
        words = np.frombuffer(self.pages, dtype=np.uint64)
        self.around = words[: MARGIN // 8], words[(MARGIN + BYTES) // 8 :]
        self.given = torch.frombuffer(self.pages, dtype=torch.uint8, count=BYTES, offset=MARGIN)
        self.begin = self.given.data_ptr()
        self.end = self.begin + BYTES

    def is_touched_outside(self) -> bool:
        return any(words.any() for words in self.around)


@functools.cache
def alone() -> Alone:
    return Alone()


def encoded(name: str, **fields: int) -> list[int]:
    row = BY_NAME[name]
    absent = REGISTERS - {operand["field"] for operand in row["operands"]}
    present = FIELDS[str(row["format"])].keys() - absent
    return encode(row, **{key: value for key, value in fields.items() if key in present})


def size_of(name: str) -> int:
    """The bytes that a lane accesses."""
    if match := re.search(r"dwordx?(\d*)", name):
        return 4 * int(match[1] or 1)
    if is_atomic(name):
        return 8 if re.search("_x2$|[biuf]64$", name) else 4
    if match := re.search(r"_[biu](\d+)", name):
        return int(match[1]) // 8
    return 1 if "byte" in name else 2


def is_atomic(name: str) -> bool:
    return "atomic" in name or not re.search("load|store|read|write", name)


def may_access(name: str, address: int, begin: int, end: int, over_read: int = OVER_READ) -> bool:
    """Whether a launch that was given [begin, end) may do this."""
    size = size_of(name)
    if is_atomic(name) and address % size != 0:
        return False
    return begin <= address and address + size <= end + (over_read if re.search("load|read", name) else 0)


def wild_addresses(size: int, begin: int, end: int, last: int, over_read: int = OVER_READ) -> Iterator[int]:
    """Of an address space of ``last`` bytes, in which [begin, end) is memory."""
    yield from (last - before for before in sorted({1, 2, 4, 8, 16, size, size - 1} - {0}))
    yield from (last // 2, last // 2 - size + 1, 0)
    yield from (at for at in (begin - 1, begin - size, begin - size + 1) if at >= 0)
    yield from (end, end - size, end - size + 1, end - 1, end - 4, end + over_read - size, end + over_read - size + 1)
    yield end + (1 << 20)


PATTERNS: list[Sequence[int]] = [range(LANES), [0], [LANES - 1], [5, 37]]


def cases(
    name: str, wild: Iterator[int], offsets: Sequence[int], share: int = 1
) -> Iterator[tuple[int, int, Sequence[int]]]:
    """A wild address, an offset of the instruction and the lanes that have it: of one in ``share`` addresses. Atomics,
    which have one body, take fewer."""
    share *= 4 if is_atomic(name) else 1
    for index, address in enumerate(wild):
        if (index + len(name)) % share == 0:
            yield address, offsets[index % len(offsets)], PATTERNS[index // 2 % len(PATTERNS)]


def check(name: str, words: list[int], state: State, wild: int, first: int | None, *, allowed: bool) -> None:
    """The launch ends with a fault of lane ``first``, or is right, and touches only what it was given."""
    memory, what = alone(), (name, hex(wild), first)
    if allowed:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", RuntimeWarning)
            run(words, state, memory.given)
    else:
        with pytest.raises(wave_runtime.KernelFault) as caught:
            run(words, state, memory.given)
        assert (caught.value.lane, caught.value.address) == (first, wild), (*what, str(caught.value))
    assert not memory.is_touched_outside(), what


def own_places(size: int, begin: int) -> np.ndarray:
    """For each lane an address of its own."""
    return np.arange(LANES, dtype=np.uint64) * np.uint64(max(size, 4)) + np.uint64(begin)


@pytest.mark.parametrize("name", names("global_", "flat_", without=("lds",)))
@pytest.mark.parametrize("scalar", [False, True])
def test_global_and_flat(name: str, scalar: bool) -> None:
    if scalar and name.startswith("flat"):
        return
    memory, size = alone(), size_of(name)
    wild = wild_addresses(size, memory.begin, memory.end, 1 << 64)
    offsets = [0, 4095] if name.startswith("flat") else [0, 4092, -4096, -3]
    for address, offset, lanes in cases(name, wild, offsets, share=4 if scalar else 1):
        state = State(1)
        good = 1024 if scalar else memory.begin + 1024
        places = own_places(size, good - offset if good > offset else good)
        if scalar:  # whose sum with an address of 32 bits wraps
            base = (address - offset - 64) % (1 << 64)
            set_pair(state.s[0, 10:12], base)
            state.v[0, 8], lanes = 64, range(LANES)
        else:
            places[lanes] = (address - offset) % (1 << 64)
            set_pair(state.v[0, 8:10], places)
        words = encoded(name, ADDR=8, DATA=20, VDST=24, SADDR=10 if scalar else OFF, OFFSET=offset % 0x2000)
        check(name, words, state, address, lanes[0], allowed=may_access(name, address, memory.begin, memory.end))


@pytest.mark.parametrize("name", names("global_load", "global_store", without=("lds",)))
def test_offsets_that_wrap_among_lanes_side_by_side(name: str) -> None:
    """Those of 32 bits that are added to a scalar address: the lane behind the wrap is 4 GiB below its neighbour."""
    memory, size, wrapped = alone(), size_of(name), LANES - 3
    state = State(1)
    base = memory.begin + wrapped * size - (1 << 32)
    set_pair(state.s[0, 10:12], base)
    state.v[0, 8] = (np.arange(LANES) - wrapped) * size % (1 << 32)
    words = encoded(name, ADDR=8, DATA=20, VDST=24, SADDR=10, OFFSET=0)
    check(name, words, state, base, wrapped, allowed=False)


@pytest.mark.parametrize("name", names("scratch_", without=("lds",)))
@pytest.mark.parametrize("mode", ["vector", "scalar"])
def test_scratch(name: str, mode: str) -> None:
    size = size_of(name)
    for address, offset, lanes in cases(
        name, wild_addresses(size, 0, SCRATCH_BYTES, 1 << 32), [0, 4095, -4096, -3], share=2
    ):
        state = State(1)
        state.v[0, 8] = (8 - offset) % (1 << 32)
        state.v[0, 8, lanes] = state.s[0, 10] = (address - offset) % (1 << 32)
        vector = mode == "vector"
        fields = {"ADDR": 8, "SVE": int(vector), "SADDR": OFF if vector else 10, "OFFSET": offset % 0x2000}
        allowed = may_access(name, address, 0, SCRATCH_BYTES, over_read=0)
        words = encoded(name, DATA=20, VDST=24, **fields)
        check(name, words, state, address, lanes[0] if vector else 0, allowed=allowed)


@pytest.mark.parametrize("aperture", [1 << 48, 2 << 48], ids=["lds", "scratch"])
@pytest.mark.parametrize("name", names("flat_"))
def test_flat_apertures(name: str, aperture: int) -> None:
    end, over_read = (LDS_BYTES, OVER_READ_OF_LDS) if aperture == 1 << 48 else (SCRATCH_BYTES, 0)
    for address, _, lanes in cases(name, wild_addresses(size_of(name), 0, end, 1 << 32, over_read), [0], share=4):
        state = State(1)
        places = np.full(LANES, aperture + 16, dtype=np.uint64)
        places[lanes] = aperture + address
        set_pair(state.v[0, 8:10], places)
        words = encoded(name, ADDR=8, DATA=20, VDST=24, SADDR=0, OFFSET=0)
        check(name, words, state, address, lanes[0], allowed=may_access(name, address, 0, end, over_read))


DS = names("ds_", without=("permute", "swizzle", "nop", "gws", "append", "consume", "addtid"))


@pytest.mark.parametrize("outside", [1, 2, 4, 8])
@pytest.mark.parametrize(
    ("name", "dwords"),
    [(f"global_load_dwordx{n}", n) for n in (2, 3, 4)] + [(f"ds_read_b{32 * n}", n) for n in (2, 3, 4)],
)
@pytest.mark.filterwarnings("ignore:.*what lies outside reads as zero:RuntimeWarning")
def test_what_lies_behind_an_end_reads_as_zero(name: str, dwords: int, outside: int) -> None:
    """Of lanes side by side, the last of which ends some bytes behind."""
    state, memory, is_lds = State(1), alone(), name.startswith("ds_")
    size = 4 * dwords
    begin = (LDS_BYTES if is_lds else memory.end) + outside - LANES * size
    addresses = np.uint64(begin) + np.arange(LANES, dtype=np.uint64) * np.uint64(size)
    set_pair(state.v[0, 8:10], addresses)
    state.lds[:] = 0x55555555
    memory.pages[MARGIN : MARGIN + BYTES + 16] = b"\x55" * (BYTES + 16)
    try:
        after = run(encoded(name, ADDR=8, VDST=20, SADDR=OFF), state, memory.given)
    finally:
        memory.pages[MARGIN : MARGIN + BYTES + 16] = bytes(BYTES + 16)
    found = np.ascontiguousarray(after.v[0, 20 : 20 + dwords].T).tobytes()
    assert found == b"\x55" * (LANES * size - outside) + bytes(outside)


@pytest.mark.parametrize("name", [n for n in DS if not re.search("2(st64)?_|condxchg", n)])
def test_lds(name: str) -> None:
    size = size_of(name)
    for address, offset, lanes in cases(
        name, wild_addresses(size, 0, LDS_BYTES, 1 << 32, OVER_READ_OF_LDS), [0, 65535]
    ):
        state = State(1)
        state.v[0, 8] = (16 - offset) % (1 << 32)
        state.v[0, 8, lanes] = (address - offset) % (1 << 32)
        words = encoded(name, ADDR=8, DATA0=20, DATA1=24, VDST=28, OFFSET=offset)
        allowed = may_access(name, address, 0, LDS_BYTES, OVER_READ_OF_LDS)
        check(name, words, state, address, lanes[0], allowed=allowed)


@pytest.mark.parametrize("name", [n for n in DS if re.search("2(st64)?_", n) and "cond" not in n])
def test_lds_of_two_addresses(name: str) -> None:
    """The second address may wrap around to 0. All lanes' first accesses come before all second ones, but those
    of exchanges, where a lane's reads come before its writes."""
    size = int(name[-2:]) // 8
    unit = 64 * size if "st64" in name else size
    limits = {"r": [OVER_READ_OF_LDS], "w": [0], "x": [OVER_READ_OF_LDS, 0]}["x" if "xchg" in name else name[3]]
    for index, address in enumerate(wild_addresses(size, 0, LDS_BYTES, 1 << 32, OVER_READ_OF_LDS)):
        lanes, state = PATTERNS[index % len(PATTERNS)], State(1)
        state.v[0, 8] = 16
        state.v[0, 8, lanes] = address
        words = encoded(name, ADDR=8, DATA0=20, DATA1=24, VDST=28, OFFSET0=0, OFFSET1=1)
        two = [address, (address + unit) % (1 << 32)]
        wild = [at for over_read in limits for at in two if at + size > LDS_BYTES + over_read]
        check(name, words, state, wild[0] if wild else address, lanes[0], allowed=not wild)


@pytest.mark.parametrize("name", names("ds_append", "ds_consume", "ds_read_addtid", "ds_write_addtid"))
@pytest.mark.parametrize(
    ("m0", "offset"), [(0, 0), (LDS_BYTES, 0), (0xFFFF, 0xFFFC), (LDS_BYTES - 4, 4), (0xFFFFFFFF, 4)]
)
def test_lds_relative_to_m0(name: str, m0: int, offset: int) -> None:
    state = State(1)
    state.m0[0] = m0
    lanes = LANES if "addtid" in name else 1
    over_read = OVER_READ_OF_LDS if "read" in name or "addtid" not in name else 0
    places = [(m0 & 0xFFFF) + offset + 4 * lane for lane in range(lanes)]
    wild = [at for at in places if at + 4 > LDS_BYTES + over_read] or (
        [] if "read" in name else [at for at in places if at + 4 > LDS_BYTES]
    )
    words = encoded(name, VDST=28, DATA0=20, OFFSET=offset)
    first = places.index(wild[0]) if wild else 0
    check(name, words, state, wild[0] if wild else places[0], first, allowed=not wild)


@pytest.mark.parametrize("name", names("s_load", "s_store", "s_scratch", "s_atomic"))
def test_scalar(name: str) -> None:
    """Addresses are rounded down to a dword's."""
    memory = alone()
    offsets = [0, 64, -64, -4096]
    wild = (at & ~3 for at in wild_addresses(size_of(name), memory.begin, memory.end, 1 << 64))
    for address, offset, _ in cases(name, wild, offsets):
        state = State(1)
        set_pair(state.s[0, 8:10], (address - offset) % (1 << 64))
        words = encode(BY_NAME[name], SBASE=4, SDATA=16, IMM=1, OFFSET=offset % (1 << 21), SOFFSET_EN=0)
        check(name, words, state, address, None, allowed=may_access(name, address, memory.begin, memory.end))


def descriptor(base: int, records: int, *, data_format: int = 14) -> list[int]:
    """Without a stride; elements of formatted instructions are floats."""
    return [base & 0xFFFFFFFF, base >> 32, records, 0o7654 | 7 << 12 | data_format << 15]


BUFFER = names("buffer_", without=("lds", "inv", "wb", "format"))


@pytest.mark.parametrize("name", [*BUFFER, "buffer_load_format_xyzw", "buffer_store_format_xyzw"])
def test_buffer(name: str) -> None:
    """The descriptor's range is all that its base can reach: NUM_RECORDS leaves the check to the launch's memory."""
    memory, below = alone(), 1 << 30
    whole = name.replace("format_xyzw", "dwordx4")
    by_dwords = "format" in name  # which access dword after dword
    for address, offset, lanes in cases(
        whole, wild_addresses(size_of(whole), memory.begin, memory.end, 1 << 48), [0, 4092]
    ):
        state, base = State(1), memory.begin - below
        if not -below <= address - memory.begin < 1 << 31:  # by the base, in all lanes
            offset = 0 if address < offset else offset
            base, lanes = address - offset, range(LANES)
            state.v[0, 8] = 0
        else:
            state.v[0, 8] = own_places(size_of(whole), below - offset).astype(np.uint32)
            state.v[0, 8, lanes] = address - offset - base
        state.s[0, 8:12] = descriptor(base, 0xFFFFFFFF)
        allowed = may_access(whole, address, memory.begin, memory.end)
        inside = (
            0
            if allowed or not by_dwords
            else next(
                k
                for k in range(0, 16, 4)
                if not may_access(whole.replace("x4", ""), address + k, memory.begin, memory.end)
            )
        )
        words = encoded(name, VADDR=8, VDATA=20, SRSRC=2, SOFFSET=128, OFFEN=1, IDXEN=0, OFFSET=offset)
        check(name, words, state, address + inside, lanes[0], allowed=allowed)


LOADS_TO_LDS = [
    n
    for n in names("global_load_lds", "scratch_load_lds", "buffer_load_dword", "buffer_load_format_x")
    if n in ("buffer_load_dword", "buffer_load_format_x") or "lds" in n
]


@pytest.mark.parametrize("name", LOADS_TO_LDS)
@pytest.mark.parametrize(
    ("m0", "offset"),
    [
        (0, -4),
        (0, -256),
        (4, -8),
        (0, -4096),
        (LDS_BYTES - 252, 0),
        (LDS_BYTES, 0),
        (0xFFFF, 0),
        (0, 2044),
        (0x10000, -4),
    ],
)
def test_places_in_lds_relative_to_m0(name: str, m0: int, offset: int) -> None:
    memory, state = alone(), State(1)
    if name.startswith("buffer") and offset < 0:
        return
    state.m0[0] = m0
    set_pair(state.v[0, 8:10], own_places(4, memory.begin + 2048 - min(offset, 0)) - np.uint64(max(offset, 0)))
    if name.startswith("scratch"):
        state.v[0, 8] = (8 - offset) % (1 << 32)
    elif name.startswith("buffer"):
        state.v[0, 8] = 0
        state.s[0, 8:12] = descriptor(memory.begin, BYTES, data_format=4)
    places = [(m0 & 0xFFFF) + offset + 4 * lane for lane in range(LANES)]
    first = next((lane for lane, at in enumerate(places) if at < 0 or at + 4 > LDS_BYTES), None)
    fields = {"ADDR": 8, "VADDR": 8, "SADDR": OFF, "SVE": 1, "OFFSET": offset % 0x2000}
    to_lds = {"LDS": 1, "OFFEN": 1} if name.startswith("buffer_load") else {}
    words = encoded(name, SRSRC=2, SOFFSET=128, **fields, **to_lds)
    wild = 0 if first is None else places[first] % (1 << 64)
    check(name, words, state, wild, first or 0, allowed=first is None)
