"""The microcode formats as the C++ side has them: fields.inc and layout_*.inc of csrc/emulator/isa, parsed."""

import functools
import re
from dataclasses import dataclass
from pathlib import Path

FOLDER = Path(__file__).resolve().parents[2] / "csrc/emulator/isa"

SDWA, DPP = 249, 250  # values of SRC0 that announce a further dword
DPP8 = (233, 234)  # likewise; with 234 disabled lanes are read, too
SEGMENT = {"gfx9": 14, "gfx10": 14, "gfx11": 16}  # its lowest bit
SEGMENTS = {"FLAT": 0, "SCRATCH": 1, "GLOBAL": 2}  # SEG, two bits of the FLAT encoding
SELECTS = {"DST_SEL": 7, "SRC0_SEL": 7, "SRC1_SEL": 7, "DST_UNUSED": 3}  # fields of SDWA, whose legal values are below
SCALAR_FORMATS = ("SOP1", "SOP2", "SOPK", "SOPC", "SOPP")
SHORT_FORMATS = (*SCALAR_FORMATS, "VOP1", "VOP2", "VOPC")  # 32 bits
LONG_FORMATS_WITH_LITERALS = ("VOP3", "VOP3B", "VOP3P", "VOPD")  # since GFX10

SCALED = "VOP3PX2"  # v_mfma_scale_*: two instructions of 64 bits that are one
LOAD_SCALES = 0x2C  # the opcode of VOP3P that begins v_mfma_scale_*
ABID_SCALED = (0xF << 11, 1 << 11)  # ABID of the product behind it: the field's bits, and their value

Words = tuple[int, ...]


def generation(processor: str) -> str:
    """The family that shares its formats: "gfx9" of "gfx942"."""
    match = re.fullmatch(r"(gfx\d+)(?:[0-9a-f]{2}|-generic)", processor)
    if match is None:
        raise ValueError(f"{processor} is no processor")
    return match[1]


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
class SplitField(BitField):
    """A field whose highest bit is elsewhere: bit `high`."""

    high: int

    @property
    def mask(self) -> int:
        """The field's bits."""
        return BitField(self.low, self.width - 1).mask | 1 << self.high

    def get(self, bits: int) -> int:
        """The field's value in `bits`."""
        return BitField(self.low, self.width - 1).get(bits) | (bits >> self.high & 1) << self.width - 1

    def put(self, bits: int, value: int) -> int:
        """`bits` with another value of the field."""
        low, high = BitField(self.low, self.width - 1), BitField(self.high, 1)
        return high.put(low.put(bits, value), value >> self.width - 1)


@dataclass(frozen=True, slots=True)
class Encoding:
    """The words of one format: those with (bits & mask) == (match & mask), the opcode standing in `opcode`.

    A format that a code of SRC0 announces has these codes in `announced`, and where it looks for them.
    """

    generation: str
    format: str
    mask: int
    match: int
    opcode: BitField
    opcodes: range
    announced: tuple[int, ...] = ()
    announcement: BitField | None = None

    @property
    def bits(self) -> int:
        """The length without a literal: 32, 64, 96 or 128."""
        return format_bits(self.generation, self.format)

    def fits(self, bits: int) -> bool:
        """Whether an instruction's bits are of this encoding, if no longer one fits."""
        announced = self.announcement is None or self.announcement.get(bits) in self.announced
        return (bits ^ self.match) & self.mask == 0 and announced


def split(bits: int, length: int, literal: int = 0) -> Words:
    """The words of an instruction of `length` bits, and a literal behind them where none is too many."""
    words = tuple(bits >> low & 0xFFFFFFFF for low in range(0, length, 32))
    return words if length >= 96 else (*words, literal)


def join(words: Words) -> int:
    """The other way round."""
    return sum(word << 32 * index for index, word in enumerate(words))


def _parse(file: str, macro: str) -> list[list[str]]:
    """The arguments of each use of `macro`."""
    uses = re.findall(rf"^{macro}\(([^)]*)\)", (FOLDER / file).read_text(), re.MULTILINE)
    return [[argument.strip() for argument in use.split(",")] for use in uses]


@functools.cache
def fields(family: str = "gfx9") -> dict[str, dict[str, BitField]]:
    """The fields of each format of a generation."""
    result: dict[str, dict[str, BitField]] = {}
    for format_, field, low, width in _parse(f"layout_{family}.inc", "WAVE_ISA_FIELD"):
        result.setdefault(format_, {})[field] = BitField(int(low), int(width))
    return result


@functools.cache
def format_bits(family: str, format_: str) -> int:
    """The length of a format without a literal: 32, 64, 96 or 128."""
    if format_ in SHORT_FORMATS:
        return 32
    last = max(bit_field.low + bit_field.width for bit_field in fields(family)[format_].values())
    return max(64, -(-last // 32) * 32)


def takes_literals(family: str, format_: str) -> bool:
    """Whether a literal may follow."""
    return format_ in SHORT_FORMATS or (family != "gfx9" and format_ in LONG_FORMATS_WITH_LITERALS)


def _announced(family: str, format_: str) -> dict[str, tuple[int, ...]]:
    """The formats that a code of SRC0 announces in `format_`, and the codes."""
    codes: dict[str, tuple[int, ...]]
    if family == "gfx9":
        codes = {"SDWA": (SDWA,), "DPP": (DPP,)} if format_ in ("VOP1", "VOP2", "VOPC") else {}
    else:
        codes = {"SDWA": (SDWA,), "DPP": (DPP,), "DPP8": DPP8}
    return {f"{format_}_{name}": found for name, found in codes.items() if f"{format_}_{name}" in fields(family)}


def _scaled(family: str, encoding: Encoding) -> Encoding:
    """v_mfma_scale_*: V_MFMA_LD_SCALE_B32, and behind it a product whose ABID is 1."""
    prefix = encoding.opcode.put(encoding.match, LOAD_SCALES)
    product = encoding.match | ABID_SCALED[1]
    mask = encoding.mask | encoding.opcode.mask | (encoding.mask | ABID_SCALED[0]) << 64
    opcode = BitField(encoding.opcode.low + 64, encoding.opcode.width)
    return Encoding(family, SCALED, mask, prefix | product << 64, opcode, encoding.opcodes)


def _variants(family: str, encoding: Encoding) -> list[Encoding]:
    """The formats that share an encoding's prefix, each with its mask and match."""
    name, mask, match = encoding.format, encoding.mask, encoding.match
    opcode, opcodes = encoding.opcode, encoding.opcodes
    if name == "FLAT" and family in SEGMENT:
        low = SEGMENT[family]
        return [Encoding(family, segment, mask | 3 << low, match | number << low, opcode, opcodes)
                for segment, number in SEGMENTS.items()]  # fmt: skip
    result = [encoding]
    if name == "VOP3P" and SCALED in fields(family):
        result.append(_scaled(family, encoding))
    for variant, codes in _announced(family, name).items():
        source = fields(family)[name]["SRC0"]
        fixed = source.mask if len(codes) == 1 else 0
        result.append(
            Encoding(family, variant, mask | fixed, source.put(match, codes[0]), opcode, opcodes, codes, source)
        )
    return result


@functools.cache
def encodings(family: str = "gfx9") -> list[Encoding]:
    """All encodings. The opcodes that belong to an encoding with a longer prefix (SOP1 within SOP2) are left out."""
    file = f"layout_{family}.inc"
    parsed = [(name, int(prefix, 2), int(width), BitField(int(low), int(bits)))
              for name, prefix, width, low, bits in _parse(file, "WAVE_ISA_ENCODING")]  # fmt: skip
    parsed += [(name, int(prefix, 2), int(width), SplitField(int(low), int(bits) + 1, int(high)))
               for name, prefix, width, low, bits, high in _parse(file, "WAVE_ISA_SPLIT_ENCODING")]  # fmt: skip
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
        result += _variants(family, Encoding(family, name, mask, match, opcode, range(count)))
    return result


def classified_format(format_: str) -> str:
    """The format that `classify` gives for instructions of a format: VOP3B is VOP3 to it, and MAI is VOP3P."""
    return "VOP3P" if format_ == "MAI" else format_.replace("VOP3B", "VOP3")


def classify(bits: int, known: list[Encoding]) -> Encoding | None:
    """The encoding that an instruction's bits announce, of `known`, which are all encodings."""
    fitting = [encoding for encoding in known if encoding.fits(bits)]
    # the form with a further dword is announced within the other
    return max(fitting, key=lambda encoding: (encoding.announcement is not None, encoding.mask.bit_count()),
               default=None)  # fmt: skip
