"""The type of an operand: by the convention of the mnemonics, where LLVM's way of writing constants does not tell."""

import re

from . import overrides
from .measure import Measured, bare

TOKEN = re.compile(r"_(bf|fp|xf|[buif])(\d+)(?=_|$)")
HALF, INVERSE_2_PI = 240, 248  # codes of the inline constants 0.5 and 1 / (2 pi)
ADDRESS_FIELDS = ("ADDR", "VADDR", "SADDR", "SBASE", "SOFFSET", "SRSRC")
DUAL_FIELDS = {"VDSTX": "VDST", "SRCX0": "SRC0", "VSRCX1": "VSRC1",
               "VDSTY": "VDST", "SRCY0": "SRC0", "VSRCY1": "VSRC1"}  # fmt: skip
SOURCES = {"SSRC0": 0, "SSRC1": 1, "SRC0": 0, "SRC1": 1, "VSRC1": 1, "SRC2": 2}


def _named(name: str, field: str) -> tuple[str, int]:
    """The type that the name tells, as 'f' or 'b' and bits: the first one is the result's, the last one the sources'.
    v_cvt_f32_u32 makes f32 from u32."""
    tokens = [("f" if letter == "f" else "b", int(bits)) for letter, bits in TOKEN.findall(name)] or [("b", 32)]
    if field not in SOURCES or (field == "SRC2" and overrides.ADDEND_HAS_RESULT_TYPE.match(name)):
        return tokens[0]
    return tokens[-1]


def _constants_are(measured: Measured, index: int, field: str) -> str | None:
    """How LLVM writes the operand's inline constants: as 'b16', '64' bits, or '32' bits (f16 looks like these).

    None where it takes none.
    """
    texts = measured.sweeps[field]
    if DUAL_FIELDS.get(field, field) not in (*SOURCES, "SOFFSET") or HALF not in texts or INVERSE_2_PI not in texts:
        return None
    half, inverse = (bare(texts[code].operands[index]) for code in (HALF, INVERSE_2_PI))
    if half == "0x3800":
        return "b16"
    if half != "0.5":
        return None
    return "64" if inverse == "0.15915494309189532" else "32"


def _wide_type(name: str, letter: str, bits: int, constants: str | None) -> str:
    """Of two dwords."""
    if constants == "32" or ("pk_" in name and (letter, bits) == ("f", 32)):
        return "PackedF32"
    return "F64" if (letter, bits) == ("f", 64) else "B64"


def operand_type(measured: Measured, index: int, stands_in: str, dwords: int) -> str:
    """The OperandType of operand `index`, which stands in the field `stands_in`."""
    name = overrides.base_name(overrides.half_of(measured.text.mnemonic, stands_in))
    field = DUAL_FIELDS.get(stands_in, stands_in)
    forced = overrides.operand_type(name, field, measured.encoding.generation)
    if forced and forced != "bits":
        return forced
    if dwords > 2:
        return "Other"
    constants = _constants_are(measured, index, stands_in)
    letter, bits = _named(name, field)
    if forced == "bits" or field in ADDRESS_FIELDS:
        letter, bits = "b", 16 if constants == "b16" else 32
    if dwords == 2:
        return _wide_type(name, letter, bits, constants)
    if "pk_" in name and bits == 16:
        return "PackedF16" if letter == "f" else "PackedB16"
    if constants == "b16" or ((letter, bits) == ("b", 16) and constants is None):
        return "B16"
    texts = (text.operands[index : index + 1] for text in measured.sweeps[stands_in].values())
    if any(text and text[0].endswith((".l", ".h")) for text in texts):
        return "F16" if letter == "f" or constants == "32" else "B16"  # a half of a register
    return {("f", 16): "F16", ("f", 32): "F32"}.get((letter, bits), "B32")
