"""The microcode formats as the C++ side has them: csrc/emulator/isa/fields.inc, parsed."""

import functools
import re
from dataclasses import dataclass
from pathlib import Path

FIELDS_INC = Path(__file__).resolve().parents[2] / "csrc/emulator/isa/fields.inc"

SDWA, DPP = 249, 250  # values of SRC0 in a 32-bit vector encoding that announce a second dword
SEGMENTS = {"FLAT": 0, "SCRATCH": 1, "GLOBAL": 2}  # SEG, bits 15:14 of the FLAT encoding
SELECTS = {"DST_SEL": 7, "SRC0_SEL": 7, "SRC1_SEL": 7, "DST_UNUSED": 3}  # fields of SDWA, whose legal values are below
SCALAR_FORMATS = ("SOP1", "SOP2", "SOPK", "SOPC", "SOPP")
SHORT_FORMATS = (*SCALAR_FORMATS, "VOP1", "VOP2", "VOPC")  # 32 bits


@dataclass(frozen=True, slots=True)
class BitField:
    """`width` bits of an instruction from bit `low` on."""

    low: int
    width: int

    @property
    def mask(self) -> int:
        """The field's bits."""
        return ((1 << self.width) - 1) << self.low

    def get(self, bits: int) -> int:
        """The field's value in `bits`."""
        return (bits & self.mask) >> self.low

    def put(self, bits: int, value: int) -> int:
        """`bits` with another value of the field."""
        return (bits & ~self.mask) | (value << self.low & self.mask)


@dataclass(frozen=True, slots=True)
class Encoding:
    """The words of one format: those with (bits & mask) == match, the opcode standing in `opcode`."""

    format: str
    mask: int
    match: int
    opcode: BitField
    opcodes: range

    @property
    def bits(self) -> int:
        """The length without a literal: 32 or 64."""
        return 32 if self.format in SHORT_FORMATS else 64


def _parse(macro: str) -> list[list[str]]:
    """The arguments of each use of `macro` in fields.inc."""
    uses = re.findall(rf"^{macro}\(([^)]*)\)", FIELDS_INC.read_text(), re.MULTILINE)
    return [[argument.strip() for argument in use.split(",")] for use in uses]


@functools.cache
def fields() -> dict[str, dict[str, BitField]]:
    """The fields of each format."""
    result: dict[str, dict[str, BitField]] = {}
    for format_, field, low, width in _parse("WAVE_ISA_FIELD"):
        result.setdefault(format_, {})[field] = BitField(int(low), int(width))
    return result


@functools.cache
def formats() -> list[str]:
    """The formats, in the order of the enumeration."""
    return [name for (name,) in _parse("WAVE_ISA_FORMAT")]


def _variants(format_: str, mask: int, match: int) -> list[tuple[str, int, int]]:
    """The formats that share an encoding's prefix, each with its mask and match."""
    if format_ in SEGMENTS:
        return [(name, mask | 3 << 14, match | segment << 14) for name, segment in SEGMENTS.items()]
    if format_ in ("VOP1", "VOP2", "VOPC"):
        second_dword = [(f"{format_}_SDWA", mask | 0x1FF, match | SDWA), (f"{format_}_DPP", mask | 0x1FF, match | DPP)]
        return [(format_, mask, match), *second_dword]
    return [(format_, mask, match)]


@functools.cache
def encodings() -> list[Encoding]:
    """All encodings. The opcodes that belong to an encoding with a longer prefix (SOP1 within SOP2) are left out."""
    known = formats()
    parsed = [(name, int(prefix, 2), int(width), BitField(int(low), int(bits)))
              for name, prefix, width, low, bits in _parse("WAVE_ISA_ENCODING")]  # fmt: skip
    result: list[Encoding] = []
    for index, (name, prefix, width, opcode) in enumerate(parsed):
        longer = [(p, w) for _, p, w, _ in parsed[:index] if w > width]
        match = prefix << (32 - width)
        count = 0
        for value in range(1 << opcode.width):
            top = opcode.put(match, value)
            if any(top >> (32 - w) == p for p, w in longer):
                break
            count += 1
        mask = ((1 << width) - 1) << (32 - width)
        for variant, variant_mask, variant_match in _variants(name, mask, match):
            if variant in known:
                result.append(Encoding(variant, variant_mask, variant_match, opcode, range(count)))
    return result


def classify(bits: int, known: list[Encoding]) -> Encoding | None:
    """The encoding that an instruction's bits announce, of `known`, which are all encodings."""
    fitting = [encoding for encoding in known if bits & encoding.mask == encoding.match]
    # the form with a second dword has the larger mask
    return max(fitting, key=lambda encoding: encoding.mask.bit_count(), default=None)
