"""Where operands come from and go to: registers, constants, and the parts that SDWA, DPP and OP_SEL select."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

from machine import LANES, State

from .floats import F16, F32, F64, number
from .rules import low, signed_low

Operand = Mapping[str, Any]

VCC, M0, EXEC, VCCZ, EXECZ, SCC, LITERAL = 106, 124, 126, 251, 252, 253, 255
INLINE_FLOATS = [sign * Fraction(n, 2) for n in (1, 2, 4, 8) for sign in (1, -1)]  # codes 240 to 247
ONE_OVER_TWO_PI = {16: 0x3118, 32: 0x3E22F983, 64: 0x3FC45F306DC9C882}
# The bits of inline constants that are floats; of other types they have 32, so that 0.5 for a 16-bit integer is the low
# half of the f32, and OP_SEL picks the high one. Of f16 the constant is the low half, with 0 above. LLVM has measured
# it so (AMDGPUMCCodeEmitter.cpp, getInlineEncodingV216; SIInstrInfo::isInlineConstant) and relies on it. Of a pair of
# f32 both are the constant.
FLOAT_BITS = {"F16": 16, "PackedF16": 16, "F64": 64, "B64": 64}
FORMAT_OF_BITS = {16: F16, 32: F32, 64: F64}
SOURCE_INDEX = {"SRC0": 0, "VSRC1": 1, "SRC1": 1, "SRC2": 2}


def inline_constant(code: int, kind: str) -> int:
    """The value of a source code from 128 to 248, as a number: negative ones are to be cut to the operand's size."""
    if code <= 192:
        return code - 128
    if code <= 208:
        return 192 - code
    width = FLOAT_BITS.get(kind, 32)
    if code == 248:
        return ONE_OVER_TWO_PI[width]
    return FORMAT_OF_BITS[width].encode(number(INLINE_FLOATS[code - 240]))


@dataclass
class Wave:
    """The registers of one wave of a State."""

    state: State
    index: int

    def scalar(self, code: int) -> int:
        """A scalar register or special value of 32 bits."""
        state, i = self.state, self.index
        if code < state.s.shape[1]:
            return int(state.s[i, code])
        if code in (VCC, VCC + 1):
            return int(state.vcc[i, code - VCC])
        if code in (EXEC, EXEC + 1):
            return int(state.exec[i, code - EXEC])
        if code == M0:
            return int(state.m0[i])
        if code == SCC:
            return int(state.scc[i])
        if code in (VCCZ, EXECZ):
            return int(not (state.vcc if code == VCCZ else state.exec)[i].any())
        raise ValueError(f"scalar source {code} is not modelled")

    def set_scalar(self, code: int, value: int) -> None:
        state, i = self.state, self.index
        if code < state.s.shape[1]:
            state.s[i, code] = value
        elif code in (VCC, VCC + 1):
            state.vcc[i, code - VCC] = value
        elif code in (EXEC, EXEC + 1):
            state.exec[i, code - EXEC] = value
        elif code == M0:
            state.m0[i] = value
        else:
            raise ValueError(f"scalar destination {code} is not modelled")

    def scalars(self, code: int, dwords: int) -> int:
        return sum(self.scalar(code + i) << 32 * i for i in range(dwords))

    def set_scalars(self, code: int, dwords: int, value: int) -> None:
        for i in range(dwords):
            self.set_scalar(code + i, low(value >> 32 * i, 32))

    def vectors(self, file: str, register: int, dwords: int, lane: int) -> int:
        registers = getattr(self.state, file)
        return sum(int(registers[self.index, register + i, lane]) << 32 * i for i in range(dwords))

    def set_vectors(self, file: str, register: int, dwords: int, lane: int, value: int) -> None:
        registers = getattr(self.state, file)
        for i in range(dwords):
            registers[self.index, register + i, lane] = low(value >> 32 * i, 32)

    @property
    def exec(self) -> int:
        return self.scalars(EXEC, 2)


@dataclass(frozen=True)
class Place:
    """Where an operand is: file "s", "v", "a", or "immediate", whose number is the value."""

    file: str
    number: int


def place(operand: Operand, fields: Mapping[str, int], literal: int | None) -> Place:
    kind, field = operand["kind"], operand["field"]
    value = fields.get(field, 0)
    if kind == "Vcc" or (kind == "SdwaSdst" and not fields["SD"]):
        return Place("s", VCC)
    if kind == "Immediate":
        return Place("immediate", literal or 0 if field == "LITERAL" else value)
    if kind == "Agpr":
        return Place("a", value & 0xFF)
    if kind == "Vgpr":
        return Place("v", value & 0xFF)
    if kind == "SdwaSource":
        return Place("s" if fields[f"S{SOURCE_INDEX[field]}"] else "v", value)
    if kind == "VectorSource" and value >= 256:
        return Place("v", value - 256)
    return Place("s", value)


def raw_source(wave: Wave, operand: Operand, at: Place, literal: int | None, lane: int, kind: str | None = None) -> int:
    """All bits of a source, without modifiers; `kind` is its type where the row's is not the whole truth."""
    dwords, kind = operand["dwords"], kind or operand["type"]
    if at.file == "immediate":
        return at.number
    if at.file != "s":
        return wave.vectors(at.file, at.number, dwords, lane)
    if at.number == LITERAL:
        assert literal is not None
        return literal << 32 if kind == "F64" else low(literal, 32 * dwords)
    if 128 <= at.number <= 248:
        value = inline_constant(at.number, kind)
        return low(value, 32) * (2**32 + 1) if kind == "PackedF32" else low(value, 32 * dwords)
    return wave.scalars(at.number, 1 if at.number in (VCCZ, EXECZ, SCC) else dwords)


def modified(bits: int, width: int, absolute: bool, negate: bool) -> int:
    sign = 1 << (width - 1)
    bits = bits & ~sign if absolute else bits
    return bits ^ sign if negate else bits


SELECTIONS = ((0, 8), (8, 8), (16, 8), (24, 8), (0, 16), (16, 16), (0, 32))  # lowest bit, width: SDWA's selectors


def selected(bits: int, selector: int, sign_extend: bool) -> int:
    """The part of a source that SDWA selects."""
    at, width = SELECTIONS[selector]
    part = low(bits >> at, width)
    return low(signed_low(part, width), 32) if sign_extend else part


def deposited(result: int, old: int, selector: int, unused: int) -> int:
    """SDWA's destination: the selected part, and what becomes of the others (0 zeros, 1 sign, 2 the old bits)."""
    at, width = SELECTIONS[selector]
    part = low(result, width)
    if unused == 2:
        return old & ~(((1 << width) - 1) << at) | part << at
    return low((signed_low(part, width) if unused == 1 else part) << at, 32)


def dpp_source(control: int, lane: int) -> int | None:
    """The lane that `lane` reads, or None where there is none."""
    row, column = lane & ~15, lane & 15
    if control <= 0xFF:
        return lane & ~3 | control >> 2 * (lane & 3) & 3
    amount = control & 15
    if 0x101 <= control <= 0x10F:
        return lane + amount if column + amount < 16 else None
    if 0x111 <= control <= 0x11F:
        return lane - amount if column >= amount else None
    if 0x121 <= control <= 0x12F:
        return row | (column - amount) & 15
    if 0x150 <= control <= 0x15F:
        return row | amount
    if control in (0x130, 0x134, 0x138, 0x13C):
        source = lane + (1 if control < 0x138 else -1)
        rotates = control in (0x134, 0x13C)
        return source % LANES if rotates or 0 <= source < LANES else None
    if control == 0x140:
        return row | 15 - column
    if control == 0x141:
        return lane & ~7 | 7 - (lane & 7)
    if control == 0x142:
        return row - 1 if row else None
    if control == 0x143:
        return 31 if lane >= 32 else None
    raise ValueError(f"DPP_CTRL {control:#x} does not exist")


def dpp_masked(fields: Mapping[str, int], lane: int) -> bool:
    """Whether ROW_MASK or BANK_MASK switches a lane off."""
    return not (fields["ROW_MASK"] >> lane // 16 & 1 and fields["BANK_MASK"] >> lane % 16 // 4 & 1)
