"""Which bits of an instruction the hardware does not look at, whatever an assembler puts there.

A field that names a register, a constant or a number is ignored by an instruction that has no such operand, and so are
modifiers of operands that it does not have: SRC2 of an addition in VOP3, SIMM16 of s_barrier, VDST of v_cmpx since
GFX10. LLVM rejects some of these, and different ones from version to version.
"""

from collections.abc import Set

from .encodings import BitField
from .overrides import base_name, updates
from .properties import has_trait
from .row import Operand

# Fields of registers, constants and numbers: without an operand they mean nothing.
OPERANDS = ("SSRC0", "SSRC1", "SDST", "SIMM16", "SBASE", "SDATA", "SOFFSET", "SRC0", "SRC1", "SRC2", "VSRC1", "VDST",
            "VSRCX1", "VSRCY1", "ADDR", "DATA0", "DATA1", "DATA", "SADDR", "VADDR", "VDATA", "SRSRC")  # fmt: skip

# Fields that say something of an operand: those of the operands, one of which they need.
OF_OPERANDS = {
    "IMM": ("OFFSET",), "SOFFSET_EN": ("OFFSET",),
    "OFFEN": ("VADDR",), "IDXEN": ("VADDR",),
    "CLAMP": ("VDST", "SDST"), "OMOD": ("VDST", "SDST"), "DST_SEL": ("VDST",), "DST_UNUSED": ("VDST",),
    "SRC0_SEL": ("SRC0",), "SRC0_SEXT": ("SRC0",), "SRC0_NEG": ("SRC0",), "SRC0_ABS": ("SRC0",), "S0": ("SRC0",),
    "SRC1_SEL": ("VSRC1",), "SRC1_SEXT": ("VSRC1",), "SRC1_NEG": ("VSRC1",), "SRC1_ABS": ("VSRC1",), "S1": ("VSRC1",),
    "CBSZ": ("SRC2",), "ABID": ("SRC2",), "BLGP": ("SRC2",),  # of MAI; v_accvgpr_* is no product
}  # fmt: skip

# Fields that are modifiers, and which of them give them a meaning.
OF_MODIFIERS: dict[str, set[str]] = {
    "OFFSET": {"Offset"}, "OFFSET0": {"Offset01"}, "OFFSET1": {"Offset01"},
    "SC0": {"CachePolicy", "Nt", "Return"}, "SC1": {"CachePolicy", "Nt", "Return"},
    "NT": {"CachePolicy", "Nt"}, "GLC": {"CachePolicy", "Return"}, "SLC": {"CachePolicy"}, "DLC": {"CachePolicy"},
    "TH": {"CachePolicy", "Return"}, "SCOPE": {"CachePolicy"}, "FORMAT": {"Format"},
}  # fmt: skip

# Modifiers of arithmetic, likewise. Whether hardware ignores them where they mean nothing is for LLVM to say: it wants
# zeros where a compiler could have meant something.
OF_ARITHMETIC: dict[str, set[str]] = {
    "NEG": {"Neg", "NegLo", "Bitop3"}, "ABS": {"Abs", "Bitop3"}, "NEG_HI": {"NegHi", "Mix"},
    "OP_SEL": {"OpSel", "OpSelDst", "OpSelByte", "ByteSel", "LaneBounds", "IndexKey"}, "OP_SEL_HI": {"OpSelHi", "Mix"},
    "OP_SEL_HI2": {"OpSelHi", "Mix"}, "CLAMP": {"Clamp"}, "OMOD": {"Omod", "Bitop3"},
    "SRC0_NEG": {"Neg"}, "SRC1_NEG": {"Neg"}, "SRC0_ABS": {"Abs"}, "SRC1_ABS": {"Abs"},
    "SRC0_SEXT": {"Sext"}, "SRC1_SEXT": {"Sext"},
}  # fmt: skip

SOURCES = ("SRC0", "SRC1", "SRC2")
OF_SOURCES = {"ABS": 0, "NEG": 0, "NEG_HI": 0, "OP_SEL": 0, "OP_SEL_HI": 0, "OP_SEL_HI2": 2}  # the first bit's source


class _Instruction:
    """What a row says of its fields."""

    def __init__(self, mnemonic: str, operands: tuple[Operand, ...], modifiers: Set[str], fixed: int) -> None:
        self.kinds = {operand.field: operand.kind for operand in operands}
        if "SmemOffset" in self.kinds.values():
            self.kinds["SOFFSET"] = "Sgpr"
        self.modifiers, self.fixed = modifiers, fixed
        self.absent = {index for index, name in enumerate(SOURCES) if name not in self.kinds}
        if updates(base_name(mnemonic)):
            self.absent.discard(2)  # the destination

    def ignored(self, name: str, bit_field: BitField) -> int:
        """The bits of a field that mean nothing, if no other field has them."""
        if name in OPERANDS:
            return 0 if name in self.kinds else bit_field.mask
        if name in OF_OPERANDS and not self.kinds.keys() & set(OF_OPERANDS[name]):
            return bit_field.mask
        if name in OF_MODIFIERS:
            return 0 if self.modifiers & OF_MODIFIERS[name] or name in self.kinds else bit_field.mask
        ignored = 0
        if name in OF_ARITHMETIC and not self.modifiers & OF_ARITHMETIC[name]:
            ignored |= bit_field.mask & ~self.fixed
        no_halves = {"OpSelByte", "ByteSel", "LaneBounds", "IndexKey"}
        if name in OF_SOURCES and not (name == "OP_SEL" and self.modifiers & no_halves):
            ignored |= self._absent_bits(OF_SOURCES[name], name, bit_field)
        return ignored

    def _absent_bits(self, first: int, name: str, bit_field: BitField) -> int:
        """The bits of absent sources in a field that has one for each, and that of a destination without halves."""
        bits = sum(1 << index - first for index in self.absent if index >= first)
        if name == "OP_SEL" and self.kinds.get("VDST") not in ("Vgpr", "VgprOrAgpr"):
            bits |= 8
        return bits << bit_field.low & bit_field.mask


def ignored_bits(
    known: dict[str, BitField], fixed: int, mnemonic: str, operands: tuple[Operand, ...], modifiers: Set[str]
) -> int:
    """The bits of the first two dwords that do not matter; `fixed` are those that LLVM wants to have one value.

    Of the bits of no field these are all in the second dword. In the first they stand next to the opcode, and have a
    meaning on other processors: LLVM decides.
    """
    first, second = 0xFFFFFFFF, 0xFFFFFFFF << 32
    last = max((bit_field.low + bit_field.width for bit_field in known.values()), default=32)
    keys = {"IndexKey"} if has_trait("IndexKey", mnemonic) else set()
    instruction = _Instruction(mnemonic, operands, modifiers | keys, fixed)
    named = used = ignored = 0
    for name, bit_field in known.items():
        its_ignored = instruction.ignored(name, bit_field)
        named |= bit_field.mask
        used |= bit_field.mask & ~its_ignored
        ignored |= its_ignored
    reserved = (first & ~fixed | (second if last > 32 else 0)) & ~named
    return (ignored & ~used | reserved) & (first | second)
