"""What LLVM's disassembler says of every opcode, and of every value of every field of it."""

import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from itertools import product

from .encodings import SELECTS, BitField, Encoding, Words, encodings, split, takes_literals
from .llvm import Disassembled, Disassembler
from .overrides import left_out
from .registers import EXEC, off

DUAL = " :: "  # between the two halves of VOPD
ONE_OPERAND = ("s_waitcnt", "s_delay_alu", "s_waitcnt_depctr", "s_wait_alu")  # ... of several words
OFF = -1  # the code of no SADDR, which generations have different ones for
LITERALS = (0x3F900001, 0x12345678)  # two literals that no operand type abbreviates

# Field values for opcodes that are no instruction with zeros everywhere; an opcode takes the first that fit.
_VECTOR_SOURCES = [dict(zip(("SRC0", "SRC1", "SRC2"), codes, strict=True)) for codes in product((0, 256), repeat=3)]
_PACKED_SOURCES = [*_VECTOR_SOURCES, {**_VECTOR_SOURCES[-1], "OP_SEL_HI": 3, "OP_SEL_HI2": 1}]
_TO_EXEC = {"VDST": EXEC}  # v_cmpx since GFX10, which has no other destination
HINTS: dict[str, list[dict[str, int]]] = {
    "VOP1": [{}, {"SRC0": 256}],
    "VOP3": [*_VECTOR_SOURCES, _TO_EXEC],
    "VOP3_DPP": [{}, _TO_EXEC],
    "VOP3_DPP8": [{}, _TO_EXEC],
    "VOP3P": _PACKED_SOURCES,
    "VOP3PX2": [dict.fromkeys(("SRC0", "SRC1", "SRC2", "SCALE_SRC0", "SCALE_SRC1"), 256)],
    "VOP3P_DPP": _PACKED_SOURCES,
    "VOP3P_DPP8": _PACKED_SOURCES,
    "VOP1_SDWA": [{}, {"DST_SEL": 6}],
    "VOP1_DPP": [{}, {"DPP_CTRL": 0x150}],
    "VOP2_DPP": [{}, {"DPP_CTRL": 0x150}],
    "SMEM": [{}, {"IMM": 1}],
    "DS": [{}, {"GDS": 1}],
    "FLAT": [{}, {"SADDR": 124}, {"SADDR": 125}],
    "GLOBAL": [{}, {"SADDR": 124}, {"SADDR": 125}],
    "MUBUF": [{}, {"LDS": 1}],
}

# Modes that give an instruction all of its operands, at their widest. Each step is a list of alternatives, of which the
# first that the opcode takes is set. SCRATCH before gfx940 has LDS for SVE, and a vector address where SADDR is off.
FULL_MODES: dict[str, list[list[tuple[str, int]]]] = {
    "SMEM": [[("IMM", 1)], [("SOFFSET_EN", 1)]],
    "FLAT": [[("SC0", 1), ("GLC", 1), ("TH", 1)]],
    "GLOBAL": [[("SC0", 1), ("GLC", 1), ("TH", 1)], [("SADDR", OFF)]],
    "SCRATCH": [[("SC0", 1), ("GLC", 1)], [("SVE", 1), ("SADDR", OFF)]],
    "MUBUF": [[("OFFEN", 1)], [("IDXEN", 1)]],
    "MTBUF": [[("OFFEN", 1)], [("IDXEN", 1)]],
}

MODIFIER = re.compile(
    r"(offset[01]?|gds|lds|sc[01c]|nt|glc|slc|idxen|offen|format|op_sel(_hi)?|neg(_lo|_hi)?|clamp|mul|div|dst_sel|dst_unused"
    r"|src[01]_sel|quad_perm|row_\w+|wave_\w+|bank_mask|bound_ctrl|cbsz|abid|blgp|bitop3|dlc|tfe|th|scope|dpp8|fi"
    r"|byte_sel|nv|scale_offset)(:|$)"
)


@dataclass(frozen=True, slots=True)
class Text:
    """An instruction's text in parts."""

    mnemonic: str
    operands: tuple[str, ...]
    modifiers: tuple[str, ...]


def _split(text: str, separator: str) -> list[str]:
    """Splits outside of parentheses, which alone have separators within: hwreg(HW_REG_MODE, 0, 4)."""
    if "(" not in text:
        return text.split(separator)
    parts, depth, begin = [], 0, 0
    for index, character in enumerate(text):
        depth += (character == "(") - (character == ")")
        if depth == 0 and text.startswith(separator, index):
            parts.append(text[begin:index])
            begin = index + len(separator)
    return [*parts, text[begin:]]


def parse(text: str) -> Text:
    """Takes an instruction's text apart. An SOPP's operand may have several words: s_waitcnt vmcnt(0) lgkmcnt(0)."""
    if DUAL in text:
        first, second = (parse(half) for half in text.split(DUAL))
        return Text(f"{first.mnemonic}{DUAL}{second.mnemonic}", (*first.operands, *second.operands), ())
    mnemonic, _, rest = text.partition(" ")
    if mnemonic in ONE_OPERAND:
        return Text(mnemonic, (rest,), ())
    operands: list[str] = []
    modifiers: list[str] = []
    for part in _split(rest, ", ") if rest else []:
        for word in _split(part, " "):
            (modifiers if MODIFIER.match(word) else operands).append(word)
    return Text(mnemonic, tuple(operands), tuple(modifiers))


def bare(operand: str) -> str:
    """An operand without its input modifiers."""
    operand = operand.strip("-|")
    for wrapper in ("sext(", "neg("):
        if operand.startswith(wrapper):
            operand = operand[len(wrapper) : -1].strip("-|")
    return operand


@dataclass(slots=True)
class Measured:
    """An opcode: an instance that LLVM accepts, and the accepted values of each field, with the text of each."""

    encoding: Encoding
    opcode: int
    bits: int
    text: Text
    sweeps: dict[str, dict[int, Text]] = field(default_factory=dict)
    free_bits: int = 0  # bits of no field that may have either value


def _words(bits: int, encoding: Encoding, literal: int = LITERALS[0]) -> Words:
    return split(bits, encoding.bits, literal)


def _fits(result: Disassembled, encoding: Encoding) -> bool:
    """Whether LLVM accepts the words as an instruction of this encoding.

    It takes v_nop and v_clrexcp whose SRC0 announces a second dword for one dword where the second does not suit.
    """
    return result.accepted and result.dwords >= encoding.bits // 32


def _same(result: Disassembled, instance: Measured) -> bool:
    return _fits(result, instance.encoding) and parse(result.text).mnemonic == instance.text.mnemonic


def find_instances(llvm: Disassembler, encoding: Encoding, fields: dict[str, BitField]) -> list[Measured]:
    """An instance of each opcode there is."""
    hints = HINTS.get(encoding.format, [{}])
    tries: list[tuple[int, int]] = []
    for opcode, hint in product(encoding.opcodes, hints):
        bits = encoding.opcode.put(encoding.match, opcode)
        for name, value in hint.items():
            if name in fields and not (name == "SRC0" and encoding.announcement):
                bits = fields[name].put(bits, value)
        tries.append((opcode, bits))
    found: dict[int, Measured] = {}
    for (opcode, bits), result in zip(tries, llvm(_words(bits, encoding) for _, bits in tries), strict=True):
        if (
            _fits(result, encoding)
            and opcode not in found
            and not left_out(parse(result.text).mnemonic, encoding.generation)
        ):
            found[opcode] = Measured(encoding, opcode, bits, parse(result.text))
    for alternatives in FULL_MODES.get(encoding.format, []):
        left = list(found.values())
        for name, value in alternatives:
            if name in fields:
                left = _set_mode(llvm, left, fields[name], off(encoding.generation) if value == OFF else value)
    return list(found.values())


def _set_mode(llvm: Disassembler, instances: list[Measured], mode: BitField, value: int) -> list[Measured]:
    """Sets a mode of the instances that take it, and gives those that do not."""
    left: list[Measured] = []
    tries = [mode.put(instance.bits, value) for instance in instances]
    results = llvm(_words(bits, instance.encoding) for bits, instance in zip(tries, instances, strict=True))
    for instance, bits, result in zip(instances, tries, results, strict=True):
        text = parse(result.text)
        if _same(result, instance) and text.modifiers.count("lds") == instance.text.modifiers.count("lds"):
            instance.bits, instance.text = bits, text
        else:
            left.append(instance)
    return left


def _field_values(name: str, bit_field: BitField) -> Iterable[int]:
    if name in SELECTS:  # on other values LLVM crashes
        return range(SELECTS[name])
    if bit_field.width <= 9:
        return range(1 << bit_field.width)
    return [0, *(1 << bit for bit in range(bit_field.width))]


def _variations(instance: Measured, fields: dict[str, BitField]) -> Iterator[tuple[str, int, Words]]:
    """The instance with one field changed: the field, its value, the words."""
    encoding, covered = instance.encoding, encoding_mask(instance.encoding)
    base = encoding.format.partition("_")[0]
    announced = [other for other in encodings(encoding.generation)
                 if other.format != encoding.format and other.format.startswith(f"{base}_")]  # fmt: skip
    for name, bit_field in fields.items():
        covered |= bit_field.mask
        for value in _field_values(name, bit_field):
            bits = bit_field.put(instance.bits, value)
            announces = name in ("SRC0", "DPP_SRC0")
            if not announces or not any(other.fits(bits) for other in announced):
                yield name, value, _words(bits, encoding)
    for bit in range(encoding.bits):
        if not covered >> bit & 1:
            yield f"bit {bit}", 1, _words(instance.bits ^ 1 << bit, encoding)
    if takes_literals(encoding.generation, encoding.format):
        for literal in LITERALS:
            yield "LITERAL", literal, _words(instance.bits, encoding, literal)


def encoding_mask(encoding: Encoding) -> int:
    """The bits that make the encoding and the opcode."""
    return encoding.mask | encoding.opcode.mask


def sweep(llvm: Disassembler, instances: list[Measured], fields: dict[str, BitField]) -> None:
    """Tries every value of every field of each instance."""
    variations = [(instance, *variation) for instance in instances for variation in _variations(instance, fields)]
    results = llvm(words for *_, words in variations)
    for (instance, name, value, _), result in zip(variations, results, strict=True):
        if not _same(result, instance):
            continue
        if name.startswith("bit "):
            instance.free_bits |= 1 << int(name[4:])
        else:
            instance.sweeps.setdefault(name, {})[value] = parse(result.text)
