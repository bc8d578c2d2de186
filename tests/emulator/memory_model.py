"""A slow model of the instructions that access memory: bytes and ints, a lane and a dword at a time.

Written from the MI300 ISA document (chapters "Vector Memory Operations", "Flat Memory Instructions", "Data Share
Operations") and, for what range checks of buffers depend on, from LLVM's description of the buffer intrinsics.
"""

from __future__ import annotations

import re
import struct
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field

import numpy as np
from machine import LANES, State

OFF = 127  # SADDR: no scalar address
MASK32, MASK64 = (1 << 32) - 1, (1 << 64) - 1


def sign_extend(value: int, bits: int) -> int:
    return value - (value >> (bits - 1) << bits)


@dataclass
class Wave:
    """One wave of a machine.State, and the memory that it sees: ``memory`` lies at the address ``base``."""

    state: State
    index: int
    memory: bytearray
    base: int
    lds: bytearray = field(init=False)
    scratch: list[bytearray] = field(init=False)

    def __post_init__(self) -> None:
        self.lds = bytearray(self.state.lds[self.index].tobytes())
        self.scratch = [bytearray(64) for _ in range(LANES)]

    def s(self, number: int) -> int:
        """A scalar source operand: a register, VCC, M0, EXEC or an inline integer."""
        named = {106: self.state.vcc, 126: self.state.exec}
        if number < 102:
            return int(self.state.s[self.index, number])
        if number & ~1 in named:
            return int(named[number & ~1][self.index, number & 1])
        if number == 124:
            return int(self.state.m0[self.index])
        return (number - 128 if number <= 192 else 192 - number) & MASK32

    def s64(self, number: int) -> int:
        return self.s(number) | self.s(number + 1) << 32

    def enabled(self) -> list[int]:
        low, high = (int(half) for half in self.state.exec[self.index])
        return [lane for lane in range(LANES) if (high << 32 | low) >> lane & 1]

    def rows(self, fields: Mapping[str, int]) -> np.ndarray:
        """The registers that data operands name: [register, lane]."""
        return (self.state.a if fields.get("ACC", 0) else self.state.v)[self.index]

    def place(self, space: str, lane: int) -> tuple[bytearray, int]:
        if space == "ds":
            return self.lds, 0
        return (self.scratch[lane], 0) if space == "scratch" else (self.memory, self.base)

    def read(self, space: str, lane: int, address: int | None, size: int) -> int:
        """Little-endian bytes; nothing at None, which is out of a buffer's range, reads as zero."""
        if address is None:
            return 0
        data, base = self.place(space, lane)
        assert 0 <= address - base <= len(data) - size
        return int.from_bytes(data[address - base : address - base + size], "little")

    def write(self, space: str, lane: int, address: int | None, size: int, value: int) -> None:
        if address is None:
            return
        data, base = self.place(space, lane)
        assert 0 <= address - base <= len(data) - size
        data[address - base : address - base + size] = (value & (1 << 8 * size) - 1).to_bytes(size, "little")


# Addresses. Each function gives the address of the byte `at` of a lane's access, of `size` bytes there; or None.

Address = Callable[[int, int], int | None]


def buffer_address(wave: Wave, fields: Mapping[str, int], lane: int) -> Address:
    words = [wave.s(4 * fields["SRSRC"] + i) for i in range(4)]
    v, first = wave.state.v[wave.index], fields["VADDR"]
    descriptor = sum(word << 32 * i for i, word in enumerate(words))

    def bits(high: int, low: int) -> int:
        return descriptor >> low & (1 << high - low + 1) - 1

    base, stride, records, add_lane = bits(47, 0), bits(61, 48), bits(95, 64), bits(119, 119)
    index_stride = (8, 16, 32, 64)[bits(118, 117)]
    index = int(v[first, lane]) if fields["IDXEN"] else 0
    offset = fields["OFFSET"]
    if fields["OFFEN"]:
        offset += int(v[first + fields["IDXEN"], lane])
    offset &= MASK32
    scalar = wave.s(fields["SOFFSET"])
    swizzled = bits(63, 63) and (fields["IDXEN"] or add_lane)
    is_scratch = add_lane and not fields["IDXEN"]
    if is_scratch or (add_lane and swizzled):
        index += lane
        stride += bits(114, 111) << 14

    def address(at: int, size: int) -> int | None:
        byte = offset + at
        if is_scratch:
            pass
        elif fields["IDXEN"] and stride:
            if index >= records or (swizzled and byte + size > stride):
                return None
        elif scalar + index * stride + byte + size > records:
            return None
        if not swizzled:
            return base + scalar + index * stride + byte
        index_high, index_low = divmod(index, index_stride)
        byte_high, byte_low = divmod(byte, 4)
        return base + scalar + (index_high * stride + byte_high * 4) * index_stride + index_low * 4 + byte_low

    return address


def address_of(wave: Wave, space: str, fields: Mapping[str, int], lane: int) -> Address:
    if space == "buffer":
        return buffer_address(wave, fields, lane)
    v, row = wave.state.v[wave.index], fields.get("ADDR", 0)
    if space == "ds":
        start = (int(v[row, lane]) + fields.get("OFFSET", 0)) & MASK32
    elif space == "scratch":
        start = int(v[row, lane]) if fields["SVE"] else 0
        start += wave.s(fields["SADDR"]) if fields["SADDR"] != OFF else 0
        start = (start + sign_extend(fields["OFFSET"], 13)) & MASK32
    elif space == "flat" or fields["SADDR"] == OFF:
        start = int(v[row, lane]) | int(v[row + 1, lane]) << 32
        start = (start + sign_extend(fields["OFFSET"], 13)) & MASK64
    else:
        start = (wave.s64(fields["SADDR"]) + int(v[row, lane]) + sign_extend(fields["OFFSET"], 13)) & MASK64
    return lambda at, size: start + at


# Loads and stores.

SIZES = {"byte": 1, "short": 2, "b8": 1, "b16": 2, "8": 1, "16": 2}


def load(wave: Wave, space: str, fields: Mapping[str, int], size: int, count: int, signed: bool, part: str) -> None:
    rows = wave.rows(fields)
    to = fields["VDATA" if space == "buffer" else "VDST"]
    for lane, address in [(lane, address_of(wave, space, fields, lane)) for lane in wave.enabled()]:
        for k in range(count):
            value = wave.read(space, lane, address(k * size, size), size)
            value = sign_extend(value, 8 * size) & MASK32 if signed else value
            if part == "_d16":  # with error correction of registers the other half is zero
                value &= 0xFFFF
            elif part == "_d16_hi":
                value = (value & 0xFFFF) << 16
            rows[to + k, lane] = value


def store(wave: Wave, space: str, fields: Mapping[str, int], size: int, count: int, part: str) -> None:
    rows = wave.rows(fields)
    source = fields[{"buffer": "VDATA", "ds": "DATA0"}.get(space, "DATA")]
    for lane in wave.enabled():
        address = address_of(wave, space, fields, lane)
        for k in range(count):
            value = int(rows[source + k, lane]) >> (16 if part else 0)
            wave.write(space, lane, address(k * size, size), size, value)


def load_lds(wave: Wave, space: str, fields: Mapping[str, int], size: int, signed: bool) -> None:
    for lane in wave.enabled():
        value = wave.read(space, lane, address_of(wave, space, fields, lane)(0, size), size)
        value = sign_extend(value, 8 * size) if signed else value
        wave.write("ds", lane, (wave.s(124) & 0xFFFF) + fields["OFFSET"] + 4 * lane, 4, value)


# Atomics: functions of the old value and one or two operands, as ints of 32 or 64 bits.


def as_float(bits: int, size: int) -> np.floating:
    return {2: np.float16, 4: np.float32, 8: np.float64}[size](
        np.frombuffer(bits.to_bytes(size, "little"), f"f{size}")[0]
    )


def float_bits(value: np.floating) -> int:
    return int.from_bytes(value.tobytes(), "little")


def bfloat(bits: int) -> np.float32:
    return np.float32(struct.unpack("<f", struct.pack("<I", bits << 16))[0])


def bfloat_bits(value: np.float32) -> int:
    bits = float_bits(value)
    return (bits + 0x7FFF + (bits >> 16 & 1)) >> 16


def atomic_function(operation: str, size: int) -> Callable[[int, int, int], int]:
    """By the name that global memory has for it, or DS where that has more."""
    bits = 8 * size

    def signed(value: int) -> int:
        return sign_extend(value, bits)

    def halves(add: Callable[[int, int], int]) -> Callable[[int, int, int], int]:
        return lambda old, a, b: add(old >> 16, a >> 16) << 16 | add(old & 0xFFFF, a & 0xFFFF)

    def number(value: int) -> np.floating:
        return as_float(value, size)

    return {
        "swap": lambda old, a, b: a,
        "cmpswap": lambda old, a, b: a if old == b else old,
        "cmpswap_f": lambda old, a, b: a if number(old) == number(b) else old,
        "add": lambda old, a, b: old + a,
        "sub": lambda old, a, b: old - a,
        "rsub": lambda old, a, b: a - old,
        "smin": lambda old, a, b: min(old, a, key=signed),
        "umin": lambda old, a, b: min(old, a),
        "smax": lambda old, a, b: max(old, a, key=signed),
        "umax": lambda old, a, b: max(old, a),
        "and": lambda old, a, b: old & a,
        "or": lambda old, a, b: old | a,
        "xor": lambda old, a, b: old ^ a,
        "inc": lambda old, a, b: 0 if old >= a else old + 1,
        "dec": lambda old, a, b: a if old == 0 or old > a else old - 1,
        "sub_clamp": lambda old, a, b: max(old - a, 0),
        "cond_sub": lambda old, a, b: old - a if old >= a else old,
        "mskor": lambda old, a, b: old & ~a | b,
        "wrap": lambda old, a, b: old - a if old >= a else old + b,
        "add_f": lambda old, a, b: float_bits(number(old) + number(a)),
        "min_f": lambda old, a, b: a if number(a) < number(old) else old,
        "max_f": lambda old, a, b: a if number(a) > number(old) else old,
        "pk_add_f16": halves(lambda x, y: float_bits(as_float(x, 2) + as_float(y, 2))),
        "pk_add_bf16": halves(lambda x, y: bfloat_bits(bfloat(x) + bfloat(y))),
    }[operation]


def atomic(wave: Wave, space: str, fields: Mapping[str, int], operation: str, size: int, returns: bool) -> None:
    rows, modify, dwords = wave.rows(fields), atomic_function(operation, size), size // 4
    if space == "ds":
        first, second = fields["DATA0"], fields.get("DATA1", 0)
    else:
        first = fields["VDATA" if space == "buffer" else "DATA"]
        second = first + dwords

    def data(row: int, lane: int) -> int:
        return sum(int(rows[row + k, lane]) << 32 * k for k in range(dwords))

    for lane in wave.enabled():
        address = address_of(wave, space, fields, lane)(0, size)
        old = wave.read(space, lane, address, size)
        a, b = data(first, lane), data(second, lane) if second + dwords <= len(rows) else 0
        if space == "ds" and operation.startswith("cmpswap"):
            a, b = b, a  # DATA0 is compared with
        wave.write(space, lane, address, size, modify(old, a, b))
        if returns:
            to = fields["VDATA" if space == "buffer" else "VDST"]
            for k in range(dwords):
                rows[to + k, lane] = old >> 32 * k & MASK32


DS_ATOMIC = r"ds_(add|r?sub|inc|dec|min|max|and|or|xor|mskor|cmpst|wrxchg|wrap|pk_add)(_rtn)?_(b?f|u|i|b)(16|32|64)$"


def ds_operation(name: str, kind: str, bits: int) -> str:
    """The name that global memory has for a DS atomic."""
    if name == "pk_add":
        return f"pk_add_{kind}16"
    if name in ("min", "max"):
        return {"i": "s", "u": "u", "f": ""}[kind] + name + ("_f" if kind == "f" else "")
    name = {"cmpst": "cmpswap", "wrxchg": "swap"}.get(name, name)
    return name + ("_f" if kind == "f" else "")


# Instructions.


def execute(wave: Wave, mnemonic: str, fields: Mapping[str, int]) -> None:
    """Carries out one load, store or atomic of one address by its mnemonic."""
    space, _, rest = mnemonic.partition("_")
    if match := re.fullmatch(r"load_(lds_)?([us]?)(byte|short|dword)(?:x(\d))?(_d16(?:_hi)?)?", rest):
        size, signed = SIZES.get(match[3], 4), match[2] == "s" and match[3] != "dword"
        if match[1] or fields.get("LDS", 0):
            return load_lds(wave, space, fields, size, signed)
        return load(wave, space, fields, size, int(match[4] or 1), signed, match[5] or "")
    if match := re.fullmatch(r"store_(byte|short|dword)(?:x(\d))?(_d16_hi)?", rest):
        return store(wave, space, fields, SIZES.get(match[1], 4), int(match[2] or 1), match[3] or "")
    if match := re.fullmatch(r"read_([iub])(8|16|32|64|96|128)(_d16(?:_hi)?)?", rest):
        bits = int(match[2])
        return load(wave, space, fields, min(bits // 8, 4), max(bits // 32, 1), match[1] == "i", match[3] or "")
    if match := re.fullmatch(r"write_b(8|16|32|64|96|128)(_d16_hi)?", rest):
        bits = int(match[1])
        return store(wave, space, fields, min(bits // 8, 4), max(bits // 32, 1), match[2] or "")
    if match := re.fullmatch(r"atomic_(\w+?)(?:(_f)(32|64))?(_x2)?", rest):
        size = 8 if match[4] or match[3] == "64" else 4
        return atomic(wave, space, fields, match[1] + (match[2] or ""), size, bool(fields["SC0"]))
    match = re.fullmatch(DS_ATOMIC, mnemonic)
    assert match, mnemonic
    size = 8 if match[4] == "64" else 4
    return atomic(wave, space, fields, ds_operation(match[1], match[3], size), size, bool(match[2]))
