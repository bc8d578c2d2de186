"""The state after one instruction: operands are fetched, the rule is applied, results are written."""

from __future__ import annotations

import copy
from collections.abc import Mapping, Sequence
from typing import Any

from machine import LANES, State

from . import compare, conversion, floating, integer, lanes, rdna, scalar, transcendental
from .floats import F32, Mode, Value
from .operands import (
    EXEC,
    SOURCE_INDEX,
    VCC,
    Operand,
    Place,
    Wave,
    deposited,
    dpp_masked,
    dpp_source,
    modified,
    place,
    raw_source,
    selected,
)
from .rules import FORMATS, NO_OPERAND, Rule, bits_of, low, saturated, signed_low

Row = Mapping[str, Any]

RULES: dict[str, Rule] = {
    **scalar.RULES,
    **integer.RULES,
    **compare.RULES,
    **conversion.RULES,
    **floating.RULES,
    **transcendental.RULES,
    **rdna.RULES,
}
FLOAT_WIDTH = {"F16": 16, "F32": 32, "F64": 64}
MIX_HALF = {"v_fma_mixlo_f16": 0, "v_fma_mixhi_f16": 1}  # of the destination
WORD, KEEP = 4, 2  # the first of DST_SEL's words; DST_UNUSED


def element_rule(name: str) -> Rule | None:
    """Of a packed instruction the rule of each element: that of v_add_f16 for v_pk_add_f16."""
    if name.startswith("v_pk_"):
        return RULES.get("v_" + name.removeprefix("v_pk_")) if name not in RULES else None
    return None


def is_modelled(name: str) -> bool:
    return name in RULES or name in lanes.RULES or element_rule(name) is not None


def decode(kind: str, bits: int, mode: Mode) -> Any:
    if kind == "z32":
        return Mode(mode.bits & ~0xF0).read(F32, low(bits, 32))
    if kind in FORMATS:
        return mode.read(FORMATS[kind], low(bits, FORMATS[kind].width))
    return signed_low(bits, bits_of(kind)) if kind[0] == "i" else low(bits, bits_of(kind))


def encode(kind: str, result: Any, mode: Mode, clamp: bool, omod: int) -> int:
    if kind in FORMATS:
        assert isinstance(result, Value)
        ignored = {"z": 0xFF, "n": 0xF}.get(kind[0], 0)  # of MODE: rounding, of z32 denormals, too
        return Mode(mode.bits & ~ignored).write(FORMATS[kind], result, omod, clamp)
    if clamp and kind[0] in "iu":
        result = saturated(kind, result)
    return low(int(result), bits_of(kind))


class Instruction:
    """An instruction at work on one wave."""

    def __init__(self, row: Row, fields: Mapping[str, int], literal: int | None, wave: Wave) -> None:
        self.row, self.fields, self.wave = row, fields, wave
        self.name: str = row["base_name"]
        # Signed 64-bit operations extend a literal's sign, others fill up with zeros.
        signed = literal is not None and "_i64" in self.name
        self.literal = low(signed_low(literal, 32), 64) if literal is not None and signed else literal
        self.modifiers = frozenset(row["modifiers"])
        self.mode = Mode(int(wave.state.mode[wave.index]))
        self.exec, self.vcc = wave.exec, wave.scalars(VCC, 2)
        self.clamp = bool(fields.get("CLAMP", 0)) and "Clamp" in self.modifiers
        self.omod = fields.get("OMOD", 0) if "Omod" in self.modifiers else 0
        self.read_operands = [o for o in row["operands"] if o["read"]]
        self.written = [o for o in row["operands"] if o["written"]]

    def place(self, operand: Operand) -> Place:
        return place(operand, self.fields, self.literal)

    def flag(self, index: int, name: str) -> bool:
        """An input modifier: NEG and ABS are one field of three bits, or one field for each source."""
        return bool(self.fields.get(name, 0) >> index & 1 or self.fields.get(f"SRC{index}_{name}", 0))

    def sources(self, rule: Rule) -> list[Operand]:
        """The operands that the rule takes: not a destination that is only read because part of it stays."""
        count = sum(kind not in NO_OPERAND for kind in rule.sources)
        operands = self.read_operands
        return operands[1:] if len(operands) == count + 1 and operands[0]["written"] else operands

    def fetch(self, operand: Operand, lane: int) -> int | None:
        """A source of a lane after input modifiers, or None where DPP has no lane to read from."""
        at, index = self.place(operand), SOURCE_INDEX.get(operand["field"])
        if operand["field"] == "SRC0" and "Dpp" in self.modifiers:
            source = dpp_source(self.fields["DPP_CTRL"], lane)
            if source is None or not self.exec >> source & 1:
                if not self.fields["BOUND_CTRL"]:
                    return None
                bits = 0
            else:
                bits = raw_source(self.wave, operand, at, self.literal, source)
        else:
            bits = raw_source(self.wave, operand, at, self.literal, lane)
        if index is None:  # a destination that is read, too: the half that is written
            is_high = operand["type"] in ("F16", "B16") and "OpSelDst" in self.modifiers and self.fields["OP_SEL"] & 8
            return bits >> 16 if is_high else bits
        if f"Src{index}Sel" in self.modifiers:
            bits = selected(bits, self.fields[f"SRC{index}_SEL"], self.flag(index, "SEXT"))
        half_wide = operand["type"] in ("F16", "B16") and operand["kind"] != "Sgpr"
        if "OpSel" in self.modifiers and half_wide and self.flag(index, "OP_SEL"):
            bits >>= 16
        width = FLOAT_WIDTH.get(operand["type"])
        if width is not None:
            bits = modified(low(bits, width), width, self.flag(index, "ABS"), self.flag(index, "NEG"))
        return bits

    def arguments(self, rule: Rule, bits: Sequence[int], lane: int) -> list[Any]:
        remaining = iter(bits)
        own = {"lane": lane, "mode": self.mode, "clamp": self.clamp, "vcc": self.vcc >> lane & 1}
        return [
            own[kind]
            if kind in own
            else next(remaining) >> lane & 1
            if kind == "bit"
            else decode(kind, next(remaining), self.mode)
            for kind in rule.sources
        ]

    def store(self, operand: Operand, kind: str, lane: int, bits: int) -> None:
        """A result of a lane to its register."""
        at, width = self.place(operand), FORMATS[kind].width if kind in FORMATS else bits_of(kind)
        old = self.wave.vectors(at.file, at.number, 1, lane)
        if "DstSel" in self.modifiers:
            bits = deposited(bits, old, self.fields["DST_SEL"], self.fields["DST_UNUSED"])
        elif self.name in MIX_HALF:
            bits = deposited(bits, old, WORD + MIX_HALF[self.name], KEEP)
        elif "OpSelDst" in self.modifiers and width == 16:
            bits = deposited(bits, old, WORD + (self.fields["OP_SEL"] >> 3), KEEP)
        elif "OpSelByte" in self.modifiers:
            bits = deposited(bits, old, self.fields["OP_SEL"] >> 2, KEEP)
        self.wave.set_vectors(at.file, at.number, max(1, width // 32), lane, bits)

    def lane_results(self, rule: Rule, lane: int) -> tuple[Any, ...] | None:
        """The encoded results of a lane, or None where DPP switches it off."""
        if self.row["format"] == "VOP3P" or element_rule(self.name):
            return self.packed_results(rule, lane)
        sources = [self.fetch(operand, lane) for operand in self.sources(rule)]
        if "Dpp" in self.modifiers and dpp_masked(self.fields, lane):
            return None
        if any(source is None for source in sources):
            return None
        bits = [source for source in sources if source is not None]
        return self.apply(rule, self.arguments(rule, bits, lane))

    def apply(self, rule: Rule, arguments: Sequence[Any]) -> tuple[Any, ...]:
        results = rule.function(*arguments)
        results = results if isinstance(results, tuple) and not isinstance(results, Value) else (results,)
        clamp = self.clamp and (rule.saturates or any(kind in FORMATS for kind in rule.results))
        return tuple(
            bool(result) if kind in ("bit", "exec") else encode(kind, result, self.mode, clamp, self.omod)
            for kind, result in zip(rule.results, results, strict=True)
        )

    def packed_results(self, rule: Rule, lane: int) -> tuple[Any, ...]:
        operands = self.sources(rule)
        if "Mix" in self.modifiers:
            values = [self.mixed(operand, i, lane) for i, operand in enumerate(operands)]
            return self.apply(rule, [self.mode, *values] if rule.sources[0] == "mode" else values)
        raw = [raw_source(self.wave, o, self.place(o), self.literal, lane) for o in operands]
        selects, high_selects = self.half_selects()
        if self.name == "v_pk_mov_b32":
            return self.apply(rule, [low(bits >> 32 * (selects >> i & 1), 32) for i, bits in enumerate(raw)])
        if self.name.startswith("v_dot"):
            return self.apply(rule, self.arguments(rule, self.dot_sources(operands, raw), lane))
        wide = operands[0]["type"] == "PackedF32"
        width = 32 if wide else 16
        is_float = operands[0]["type"] in ("PackedF16", "PackedF32")
        parts = []
        for picks, negates in ((selects, "NEG"), (high_selects, "NEG_HI")):
            elements = [low(bits >> width * (picks >> i & 1), width) for i, bits in enumerate(raw)]
            if is_float:
                elements = [modified(bits, width, False, self.flag(i, negates)) for i, bits in enumerate(elements)]
            parts.append(self.apply(rule, self.arguments(rule, elements, lane))[0])
        return (parts[1] << width | parts[0],)

    def half_selects(self) -> tuple[int, int]:
        """OP_SEL and OP_SEL_HI of VOP3P; the packed instruction of VOP2 takes the halves as they are."""
        if self.row["format"] != "VOP3P":
            return 0, 7
        return self.fields["OP_SEL"], self.fields["OP_SEL_HI"] | self.fields["OP_SEL_HI2"] << 2

    def dot_sources(self, operands: Sequence[Operand], raw: Sequence[int]) -> list[int]:
        """Sources of 16-bit elements are put together from the halves that OP_SEL and OP_SEL_HI pick."""
        result = []
        for i, (operand, bits) in enumerate(zip(operands, raw, strict=True)):
            if operand["type"].startswith("Packed"):
                halves = [low(bits >> 16 * (picks >> i & 1), 16) for picks in self.half_selects()]
                if operand["type"] == "PackedF16":
                    negates = self.flag(i, "NEG"), self.flag(i, "NEG_HI")
                    halves = [modified(half, 16, False, flag) for half, flag in zip(halves, negates, strict=True)]
                bits = halves[1] << 16 | halves[0]
            elif operand["type"] == "F32":
                bits = modified(bits, 32, False, self.flag(i, "NEG"))
            result.append(bits)
        return result

    def mixed(self, operand: Operand, index: int, lane: int) -> Value:
        """A source of v_fma_mix: f32, or the half that OP_SEL picks; constants are of the same type."""
        kind = "f16" if self.half_selects()[1] >> index & 1 else "f32"
        bits = raw_source(self.wave, operand, self.place(operand), self.literal, lane, kind.upper())
        if kind == "f16" and self.flag(index, "OP_SEL"):
            bits >>= 16
        width = FORMATS[kind].width
        bits = modified(low(bits, width), width, self.flag(index, "NEG_HI"), self.flag(index, "NEG"))
        value: Value = decode(kind, bits, self.mode)
        return value

    def run_vector(self, rule: Rule) -> None:
        results = {lane: self.lane_results(rule, lane) for lane in range(LANES) if self.exec >> lane & 1}
        kinds = rule.results
        if element_rule(self.name):
            kinds = ("b64" if self.written[0]["dwords"] == 2 else "b32",)
        for position, kind in enumerate(kinds):
            values = {lane: result[position] for lane, result in results.items() if result is not None}
            if kind == "exec":
                self.wave.set_scalars(EXEC, 2, sum(1 << lane for lane, value in values.items() if value))
            elif kind == "bit":
                mask = sum(1 << lane for lane, value in values.items() if value)
                self.wave.set_scalars(self.place(self.written[position]).number, 2, mask)
            else:
                for lane, value in values.items():
                    self.store(self.written[position], kind, lane, value)

    def run_scalar(self, rule: Rule) -> None:
        wave = self.wave
        bits = [raw_source(wave, o, self.place(o), self.literal, 0) for o in self.sources(rule)]
        remaining = iter(bits)
        own = {
            "scc": int(wave.state.scc[wave.index]),
            "exec": self.exec,
            "m0": int(wave.state.m0[wave.index]),
            "modebits": self.mode.bits,
        }
        arguments = [own[k] if k in own else decode(k, next(remaining), self.mode) for k in rule.sources]
        results = rule.function(*arguments)
        results = results if isinstance(results, tuple) else (results,)
        destinations = iter(self.written)
        for kind, result in zip(rule.results, results, strict=True):
            if kind == "scc":
                wave.state.scc[wave.index] = bool(result)
            elif kind == "exec":
                wave.set_scalars(EXEC, 2, result)
            elif kind == "m0":
                wave.state.m0[wave.index] = result
            elif kind == "modebits":
                wave.state.mode[wave.index] = result
            else:
                operand = next(destinations)
                wave.set_scalars(self.place(operand).number, operand["dwords"], low(result, bits_of(kind)))


def evaluate(row: Row, fields: Mapping[str, int], literal: int | None, state: State) -> State:
    """The state after an instruction: a row of the ISA table, with all fields of its format."""
    after = copy.deepcopy(state)
    name = row["base_name"]
    for index in range(state.waves):
        instruction = Instruction(row, fields, literal, Wave(after, index))
        if name in lanes.RULES:
            lanes.RULES[name](instruction)
        elif row["format"].startswith("S"):
            instruction.run_scalar(RULES[name])
        else:
            rule = RULES.get(name) or element_rule(name)
            assert rule is not None, f"{name} has no rule"
            instruction.run_vector(rule)
    return after
