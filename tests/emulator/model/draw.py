"""Random instructions and states to try them on: legal by the manual, and where the manual is clear."""

from __future__ import annotations

import random
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

from machine import FIELDS, LANES, State, Words, encode

from .evaluate import RULES, Row, element_rule
from .floats import F16, F32, F64, Format
from .operands import EXEC, LITERAL, M0, SCC, VCC, VCCZ, Operand, place
from .rules import FORMATS, NO_OPERAND, bits_of

WAVES = 4
REGISTERS = 12  # so few that operands overlap often
MODE_REGISTER = 1
FLOAT_TYPES = {"F16": F16, "F32": F32, "F64": F64, "PackedF16": F16, "PackedF32": F32}
QUAD_PERMS, ROW_NEWBCASTS = range(0x100), range(0x150, 0x160)
DPP_SHIFTS = [*range(0x101, 0x110), *range(0x111, 0x120), *range(0x121, 0x130)]
DPP_OTHERS = [0x130, 0x134, 0x138, 0x13C, 0x140, 0x141, 0x142, 0x143]


@dataclass
class Case:
    """An instruction, and the state before it."""

    row: Row
    fields: dict[str, int]
    literal: int | None
    state: State
    noise: int = 0  # for the bits that the instruction ignores
    words: list[int] = field(init=False)

    def __post_init__(self) -> None:
        present = {name: value for name, value in self.fields.items() if value}
        self.words = encode(self.row, self.literal, **present)
        ignored = self.noise & self.row["ignored"]
        self.words[:2] = [word | ignored >> 32 * i & 0xFFFFFFFF for i, word in enumerate(self.words[:2])]


def ordinary_float_bits(rng: random.Random, format: Format) -> int:
    exponent = format.bias + rng.randrange(-6, 10)
    sign = format.sign_bit * rng.randrange(2)
    return sign | max(exponent, 0) << format.fraction_bits | rng.getrandbits(format.fraction_bits)


def float_bits(rng: random.Random, format: Format) -> int:
    """Edges, halves, integers around those of other types, denormals, NaNs, and anything."""
    top, one = format.infinity_bits, format.bias << format.fraction_bits
    kind = rng.randrange(8)
    sign = format.sign_bit * rng.randrange(2)
    if kind == 0:
        return sign | rng.choice([0, 0, 1, 2, (1 << format.fraction_bits) - 1, 1 << format.fraction_bits, top, top - 1])
    if kind == 1:
        return sign | rng.choice([top + 1, top | 1 << (format.fraction_bits - 1), top, top | rng.getrandbits(8)])
    if kind == 2:
        return sign | one + rng.choice([-2, -1, 0, 1, 2, -1 << format.fraction_bits, 1 << format.fraction_bits - 1])
    if kind == 3:
        return sign | rng.getrandbits(format.fraction_bits)  # a denormal
    if kind == 4:
        return rng.getrandbits(format.width)
    if kind == 5:  # n / 2, and what is next to it
        half = rng.choice([rng.randrange(1, 1 << rng.randrange(1, 35)), 1 << rng.randrange(34)])
        value = FORMATS["f64"].decode(0)._replace(magnitude=half * FORMATS["f64"].decode(0x3FE0 << 48).magnitude)
        return sign | max(0, min(top, format.encode(value) + rng.randrange(-1, 2)))
    return ordinary_float_bits(rng, format)


def integer_bits(rng: random.Random, width: int) -> int:
    """The ends of the ranges, small numbers, and anything."""
    edge = rng.choice([0, 1, 2, -1, -2, 1 << width - 1, (1 << width - 1) - 1, 1 << width // 2, (1 << width // 2) - 1])
    small = rng.randrange(-70, 71)
    anything = rng.getrandbits(width)
    return rng.choice([edge, small, anything, anything]) & (1 << width) - 1


def source_bits(rng: random.Random, kind: str, operand_type: str, width: int) -> int:
    """A value of an operand of `width` bits, of which the rule reads the type `kind`."""
    if kind in FORMATS:
        element = FORMATS[kind].width
        return sum(float_bits(rng, FORMATS[kind]) << at for at in range(0, width, element))
    if operand_type in FLOAT_TYPES:
        format = FLOAT_TYPES[operand_type]
        return sum(float_bits(rng, format) << at for at in range(0, width, format.width))
    element = max(8, bits_of(kind)) if kind != "bit" else 64
    if element not in (8, 16, 32, 64):
        return integer_bits(rng, width) if rng.randrange(2) else integer_bits(rng, min(width, 32))
    return sum(integer_bits(rng, element) << at for at in range(0, width, element))


class Draw:
    """Draws the fields of one instruction, then its state."""

    def __init__(self, row: Row, rng: random.Random) -> None:
        self.row, self.rng = row, rng
        self.name, self.format = row["base_name"], row["format"]
        self.rule = RULES.get(self.name) or element_rule(self.name)
        self.modifiers = frozenset(row["modifiers"])
        self.fields = dict.fromkeys(FIELDS[self.format], 0)
        self.literal: int | None = None
        self.is_scalar = self.format.startswith("S")
        self.read = [operand for operand in row["operands"] if operand["read"]]
        kinds = [kind for kind in self.rule.sources if kind not in NO_OPERAND] if self.rule else []
        sources = self.read[-len(kinds) :] if kinds else self.read
        self.kinds = {id(operand): kind for operand, kind in zip(sources, kinds, strict=False)}
        # A vector instruction reads one scalar at most; VCC where it takes a carry.
        takes_vcc = any(operand["kind"] == "Vcc" for operand in self.read)
        takes_mask = any(operand["kind"] == "Sgpr" for operand in self.read)
        self.scalar = VCC if takes_vcc else self.scalar_register(2)
        if takes_mask and self.scalar == EXEC:
            self.scalar = VCC  # EXEC is no carry
        self.literal_allowed = not takes_vcc and self.format in ("SOP1", "SOP2", "SOPC", "VOP1", "VOP2", "VOPC")

    def chance(self, probability: float) -> bool:
        return self.rng.random() < probability

    def scalar_register(self, dwords: int) -> int:
        if self.chance(0.2) and "movrel" not in self.name:
            takes_m0 = dwords == 1 and "NotToM0" not in self.row["traits"]
            return self.rng.choice([VCC, VCC, EXEC] + [M0] * takes_m0)
        aligned: int = min(dwords, 4)
        return self.rng.randrange(0, REGISTERS, aligned)

    def constant(self) -> int:
        return self.rng.choice([128, 129, 192, 193, 208, self.rng.randrange(128, 209), *range(240, 249)])

    def vector_register(self, operand: Operand) -> int:
        dwords = operand["dwords"]
        alignment = 4 if dwords > 2 else int(dwords)
        return self.rng.randrange(0, REGISTERS, alignment)

    def scalar_source(self, operand: Operand) -> int:
        if self.chance(0.15) and self.literal_allowed and operand["field"] in ("SSRC0", "SSRC1", "SRC0"):
            self.draw_literal(operand)
            return LITERAL
        if self.chance(0.3):
            return self.constant()
        if not self.is_scalar:
            return self.scalar
        if operand["dwords"] == 1 and self.chance(0.05):
            return self.rng.choice([VCCZ, VCCZ + 1, SCC])
        return self.scalar_register(operand["dwords"])

    def draw_literal(self, operand: Operand) -> None:
        if self.literal is None:
            kind = self.kinds.get(id(operand), "b32")
            self.literal = source_bits(self.rng, kind, operand["type"], 32) & 0xFFFFFFFF
            if kind == "f64":
                self.literal = float_bits(self.rng, F32)

    def draw_operand(self, operand: Operand) -> None:
        kind, name = operand["kind"], operand["field"]
        if name in self.fields and name not in ("SIMM16",) and self.fields[name]:
            return  # read and written
        if kind == "Immediate" and name == "LITERAL":
            self.draw_literal(operand)
        elif kind == "Immediate":
            self.fields[name] = self.immediate()
        elif kind in ("Vgpr", "Agpr"):
            nine_bits = FIELDS[self.format][name][1] == 9
            self.fields[name] = self.vector_register(operand) + 256 * nine_bits
        elif kind == "VectorSource":
            vector = self.chance(0.6) or self.name.startswith(("v_div_fmas", "v_cvt_sr"))
            self.fields[name] = 256 + self.vector_register(operand) if vector else self.scalar_source(operand)
        elif kind == "ScalarSource":
            self.fields[name] = self.scalar_source(operand)
        elif kind == "Sgpr":
            reads = operand["read"] and not operand["written"] and not self.is_scalar
            self.fields[name] = self.scalar if reads else self.scalar_register(operand["dwords"])
        elif kind == "SdwaSource":
            is_scalar = self.chance(0.25)
            self.fields[f"S{name[-1]}"] = int(is_scalar)
            self.fields[name] = self.scalar if is_scalar else self.vector_register(operand)
        elif kind == "SdwaSdst":
            self.fields["SD"] = int(self.chance(0.6))
            self.fields[name] = self.scalar_register(2) if self.fields["SD"] else 0

    def immediate(self) -> int:
        if "reg" not in self.name:
            return integer_bits(self.rng, 16)
        low = self.rng.randrange(10)
        size = self.rng.randrange(1, 11 - low)  # of the fields that arithmetic depends on
        return MODE_REGISTER | low << 6 | size - 1 << 11

    def draw_modifiers(self) -> None:
        rng, fields = self.rng, self.fields
        for operand in self.read:
            name = operand["field"]
            if not name.endswith(("0", "1", "2")):
                continue
            index, kind = int(name[-1]), self.kinds.get(id(operand), "b32")
            is_class_mask = "_class_" in self.name and index == 1
            floats = operand["type"] in ("F16", "F32", "F64") and kind[0] not in "iu" and not is_class_mask
            for flag in ("NEG", "ABS"):
                if self.format != "VOP3P" and flag.title() in self.modifiers and floats and self.chance(0.3):
                    self.set_flag(index, flag)
            if "Sext" in self.modifiers and operand["type"] not in FLOAT_TYPES and "p8" not in self.name + "f8":
                self.set_flag(index, "SEXT", self.chance(0.4))
            if f"Src{index}Sel" in self.modifiers:
                fields[f"SRC{index}_SEL"] = rng.choice(self.selectors())
            has_halves = "OpSel" in self.modifiers and self.format == "VOP3" and operand["type"] in ("F16", "B16")
            if has_halves and operand["kind"] != "Sgpr" and self.chance(0.4):
                fields["OP_SEL"] |= 1 << index
        results = self.rule.results if self.rule else ()
        float_result = any(kind in FORMATS for kind in results) and "8" not in self.name.split("_")[-1]
        if "Clamp" in self.modifiers and (float_result or (self.rule and self.rule.saturates)):
            fields["CLAMP"] = int(self.chance(0.3))
        if "Omod" in self.modifiers and float_result:
            fields["OMOD"] = rng.choice([0, 0, 1, 2, 3])
        if "DstSel" in self.modifiers:
            # Parts of floats are hard to compare: NaNs are not specified.
            whole = {"f32": [6], "z32": [6], "n32": [6], "f16": [4, 5, 6], "n16": [4, 5, 6]}.get(results[0], range(7))
            fields["DST_SEL"] = rng.choice(whole)
            fields["DST_UNUSED"] = rng.choice([0, 2] if float_result else [0, 1, 2])
        if "OpSelDst" in self.modifiers and results and results[0][1:] == "16" and self.chance(0.4):
            fields["OP_SEL"] |= 8
        if "OpSelByte" in self.modifiers:
            fields["OP_SEL"] = rng.randrange(4) << 2
        if "Dpp" in self.modifiers:
            self.draw_dpp()
        if self.format == "VOP3P":
            self.draw_packed_modifiers()

    def set_flag(self, index: int, name: str, value: bool = True) -> None:
        own = f"SRC{index}_{name}"
        if own in self.fields:
            self.fields[own] = int(value)
        else:
            self.fields[name] |= int(value) << index

    def selectors(self) -> list[int]:
        if self.name.startswith("v_cvt_pk_f32"):
            return [4, 5]
        return [0, 1, 2, 3] if self.name in ("v_cvt_f32_fp8", "v_cvt_f32_bf8") else list(range(7))

    def draw_dpp(self) -> None:
        rng, fields = self.rng, self.fields
        every_kind = rng.choice([QUAD_PERMS, DPP_SHIFTS, DPP_OTHERS, ROW_NEWBCASTS])
        fields["DPP_CTRL"] = rng.choice(ROW_NEWBCASTS if "DppRowNewbcast" in self.modifiers else every_kind)
        fields["BOUND_CTRL"] = rng.randrange(2)
        fields["ROW_MASK"], fields["BANK_MASK"] = (rng.choice([15, 15, rng.randrange(16)]) for _ in range(2))
        # The manual does not say what the rows that no row is broadcast to read.
        fields["ROW_MASK"] &= {0x142: 0xE, 0x143: 0xC}.get(fields["DPP_CTRL"], 0xF)

    def draw_packed_modifiers(self) -> None:
        rng, fields = self.rng, self.fields
        sources = [operand for operand in self.read if operand["field"].startswith("SRC")]
        fields["OP_SEL_HI"], fields["OP_SEL_HI2"] = 3, 1
        if "Mix" in self.modifiers:
            high = sum(1 << i for i in range(3) if self.chance(0.6))
            fields["OP_SEL_HI"], fields["OP_SEL_HI2"] = high & 3, high >> 2
            fields["OP_SEL"] = high & rng.randrange(8)
            fields["NEG"], fields["NEG_HI"] = rng.choice([0, rng.randrange(8)]), rng.choice([0, rng.randrange(8)])
            return
        selects, high_selects = rng.choice([0, rng.randrange(8)]), rng.choice([7, rng.randrange(8)])
        for index, operand in enumerate(sources):
            if not operand["type"].startswith("Packed"):
                selects, high_selects = selects & ~(1 << index), high_selects | 1 << index
            if operand["type"] in ("PackedF16", "PackedF32") and self.name != "v_pk_mov_b32":
                for name, modifier in (("NEG", "NegLo"), ("NEG_HI", "NegHi")):
                    if modifier in self.modifiers and self.chance(0.3):
                        fields[name] |= 1 << index
        selects &= (1 << len(sources)) - 1
        fields["OP_SEL"], fields["OP_SEL_HI"], fields["OP_SEL_HI2"] = selects, high_selects & 3, high_selects >> 2 & 1
        if len(sources) == 2:
            fields["OP_SEL_HI2"] = 1

    def draw_state(self) -> State:
        rng = self.rng
        state = State(WAVES)
        for name in ("s", "v", "a", "lds", "vcc", "m0"):
            registers: Words = getattr(state, name)
            registers[...] = bytes_of(rng, registers)
        for wave in range(WAVES):
            state.mode[wave] = self.draw_mode()
            state.scc[wave] = rng.randrange(2)
            density = rng.choice([0.1, 0.2, 0.2, 0.4])
            mask = sum(1 << lane for lane in range(LANES) if self.chance(density))
            mask = rng.choice([mask] * 12 + [0, (1 << 64) - 1])
            state.exec[wave] = mask & 0xFFFFFFFF, mask >> 32
            if self.chance(0.1):
                state.vcc[wave] = 0
            if "movrel" in self.name:
                state.m0[wave] = rng.randrange(0, 64, 2)
        for operand in self.read:
            self.fill(state, operand)
        return state

    def draw_mode(self) -> int:
        rng = self.rng
        rounding = rng.choice([0, 0, rng.randrange(16)])
        if self.name == "v_cvt_f32_f64" or "Mix" in self.modifiers:  # of two formats
            rounding = rounding & 3 | (rounding & 3) << 2
        denormals = rng.choice([0xF, 0xF, rng.randrange(16)])
        if self.name.startswith(("v_cvt_pkrtz", "v_pack")):  # which of the settings counts is not clear
            denormals = rng.choice([0, 0xF]) if self.name == "v_pack_b32_f16" else 0xF
        overflow = rng.random() < 0.15 and any(size in self.name for size in ("fp8", "bf8", "16"))
        return rounding | denormals << 4 | rng.randrange(4) << 8 | int(overflow) << 23

    def fill(self, state: State, operand: Operand) -> None:
        """Puts values of the operand's type into its registers: few different ones, so that sources are often equal.

        Lanes that are not active have any bits already, which is enough: nothing is computed of them, but by DPP.
        """
        rng, kind, dwords = self.rng, self.kinds.get(id(operand), "b32"), operand["dwords"]
        at = place(operand, self.fields, self.literal)
        if "Mix" in self.modifiers and self.chance(0.5):
            kind = "f16"

        def value() -> int:
            # Not clear: how v_div_fmas rounds what is no step of a division, what v_cvt_sr adds to denormals.
            if self.name.startswith(("v_div_fmas", "v_cvt_sr")) and kind in FORMATS:
                return ordinary_float_bits(rng, FORMATS[kind])
            return source_bits(rng, kind, operand["type"], 32 * dwords)

        pool = [value() for _ in range(8)]
        draw: Callable[[], int] = lambda: rng.choice(pool) if rng.random() < 0.5 else value()  # noqa: E731
        if at.file in ("v", "a"):
            registers: Words = getattr(state, at.file)
            for wave in range(WAVES):
                active = int(state.exec[wave, 0]) | int(state.exec[wave, 1]) << 32
                for lane in range(LANES):
                    if not (active >> lane & 1 or "DPP" in self.format):
                        continue
                    bits = draw()
                    for i in range(dwords):
                        registers[wave, at.number + i, lane] = bits >> 32 * i & 0xFFFFFFFF
        elif at.file == "s" and at.number < REGISTERS + 4 and kind != "bit":
            for wave in range(WAVES):
                bits = draw()
                for i in range(dwords):
                    state.s[wave, at.number + i] = bits >> 32 * i & 0xFFFFFFFF

    def case(self) -> Case:
        for operand in self.row["operands"]:
            self.draw_operand(operand)
        if self.name.startswith("v_cvt_sr") and self.fields["SRC0"] == self.fields["SRC1"]:
            self.fields["SRC1"] ^= 1  # a seed of any bits, beside an ordinary value
        self.draw_modifiers()
        if self.name == "v_lshl_add_u64":  # those beyond 4 shift by nothing
            self.fields["SRC1"] = 128 + self.rng.randrange(8)
        if self.name.startswith("v_div_scale"):  # scales one of the other two, by definition
            same = self.rng.choice([1, 2])
            self.fields["SRC0"] = self.fields[f"SRC{same}"]
            self.fields["NEG"] = self.fields["NEG"] & 6 | self.fields["NEG"] >> same & 1
        return Case(self.row, self.fields, self.literal, self.draw_state(), self.rng.getrandbits(64))


def bytes_of(rng: random.Random, like: Words) -> Any:
    return like.__class__(shape=like.shape, dtype=like.dtype, buffer=bytearray(rng.randbytes(like.nbytes)))


def draw(row: Mapping[str, Any], rng: random.Random) -> Case:
    return Draw(row, rng).case()


def takes_floats_alone(row: Row) -> bool:
    """Whether draw_edges() is for an instruction."""
    drawn = Draw(row, random.Random())
    kinds = list(drawn.kinds.values())
    plain = row["format"] in ("VOP1", "VOP2", "VOP3", "VOPC") and len(kinds) == len(drawn.read) > 0
    named = all(operand["field"] in FIELDS[row["format"]] for operand in drawn.read)  # not by a literal
    return plain and named and all(kind in FORMATS for kind in kinds)


def edges(format: Format) -> list[int]:
    """Zeros, ones, a half, the ends of denormals and of normal numbers, infinities, and NaNs, with both signs."""
    one, top, step = format.bias << format.fraction_bits, format.infinity_bits, 1 << format.fraction_bits
    positive = [0, 1, step - 1, step, one - step, one, one + 1, top - 1, top, top + step // 2]
    return [sign | bits for bits in positive for sign in (0, format.sign_bit)]


def draw_edges(row: Row, rng: random.Random) -> Case:
    """An instruction without modifiers, whose sources are vector registers full of edges."""
    drawn, state = Draw(row, rng), State(1)
    state.exec[:], state.mode[:] = 0xFFFFFFFF, 0xF0
    for register, operand in enumerate(drawn.read):
        nine_bits = FIELDS[drawn.format][operand["field"]][1] == 9
        drawn.fields[operand["field"]] = 2 * register + 256 * nine_bits
        for lane in range(LANES):
            bits = rng.choice(edges(FORMATS[drawn.kinds[id(operand)]]))
            state.v[0, 2 * register : 2 * register + 2, lane] = bits & 0xFFFFFFFF, bits >> 32
    if "VDST" in drawn.fields and not any(operand["field"] == "VDST" for operand in drawn.read):
        drawn.fields["VDST"] = 8
    return Case(row, drawn.fields, None, state)
