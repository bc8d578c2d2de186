"""From measurements to rows: operands, modifiers and fixed bits. Whatever fits no rule is an error, never a guess."""

import re
from collections.abc import Set

from . import registers
from .encodings import BitField, Encoding, takes_literals
from .ignored import ignored_bits
from .measure import Measured, Text, bare, encoding_mask
from .operand_types import operand_type
from .overrides import (
    IMMEDIATES,
    LDS_DIRECT_ACCEPTED,
    PREFETCHES,
    RETURN_TO_ACCUMULATORS,
    base_name,
    exchanges,
    half_of,
    reads_destination_field,
    updates,
)
from .properties import has_trait
from .row import Operand, Row

OPERAND_FIELDS = (
    "SSRC0", "SSRC1", "SDST", "SIMM16", "LITERAL", "SBASE", "SDATA", "SOFFSET", "SRC0", "SRC1", "SRC2", "VSRC1", "VDST",
    "OFFSET", "SCALE_SRC0", "SCALE_SRC1",
    "VDSTX", "SRCX0", "VSRCX1", "VDSTY", "SRCY0", "VSRCY1",
    "ADDR", "DATA0", "DATA1", "DATA", "SADDR", "VADDR", "VDATA", "SRSRC",
)  # fmt: skip
HALVES = ("B16", "F16", "Bf16")  # types of 16 bits
DUAL_DESTINATIONS = 128  # VDSTY lacks its last bit
# Whose OP_SEL[3:2] is the byte of the destination, though the list has a bit for each of three sources.
BYTES_BY_OP_SEL = r"v_cvt_scalef32_(sr_(fp8|bf8)|(sr_)?pk_fp4)_"
REGISTER = re.compile(r"(ttmp|[vas])(?:(\d+)(?:\.[lh])?|\[(\d+):(\d+)\])$")

# Modifiers that a field stands for, and how their text begins: found where one of the field's values shows the text.
FIELD_MODIFIERS: dict[str, dict[str, str]] = {
    "CLAMP": {"clamp": "Clamp"},
    "OMOD": {"mul:": "Omod", "div:": "Omod", "bitop3:": "Bitop3"},
    "OP_SEL": {"op_sel:": "OpSel", "byte_sel:": "ByteSel", "bound_ctrl:": "LaneBounds", "fi:": "LaneBounds"},
    "OP_SEL_HI": {"op_sel_hi:": "OpSelHi"},
    "NEG_HI": {"neg_hi:": "NegHi"},
    "CBSZ": {"cbsz:": "Cbsz"},
    "BLGP": {"blgp:": "Blgp", "neg:": "BlgpNeg"},
    "ROW_MASK": {"row_mask:": "Dpp"},
    "DPP8": {"dpp8:": "Dpp8"},
    "DST_SEL": {"dst_sel:": "DstSel"},
    "SRC0_SEL": {"src0_sel:": "Src0Sel"},
    "SRC1_SEL": {"src1_sel:": "Src1Sel"},
    "OFFSET": {"offset:": "Offset"},
    "OFFSET0": {"offset0:": "Offset01"},
    "GDS": {"gds": "Gds"},
    "LDS": {"lds": "Lds"},
    "SC0": {"sc0": "CachePolicy", "glc": "CachePolicy"},
    "SC1": {"sc1": "CachePolicy", "scc": "CachePolicy"},
    "NT": {"nt": "Nt", "slc": "Nt"},
    "GLC": {"glc": "CachePolicy"},
    "SLC": {"slc": "CachePolicy"},
    "DLC": {"dlc": "CachePolicy"},
    "TH": {"th:": "CachePolicy"},
    "SCOPE": {"scope:": "CachePolicy"},
    "DFMT": {"format:": "Format"},
    "FORMAT": {"format:": "Format"},
}
MODIFIER_ORDER = (
    "Neg", "Abs", "Sext", "Clamp", "Omod", "OpSel", "OpSelDst", "OpSelByte", "OpSelHi", "NegLo", "NegHi", "Mix", "Cbsz",
    "Blgp", "BlgpNeg", "Dpp", "Dpp8", "DppRowNewbcast", "DstSel", "Src0Sel", "Src1Sel", "Offset", "Offset01", "Gds",
    "Lds", "CachePolicy", "Nt", "Return", "Format", "ByteSel", "Bitop3", "LaneBounds",
)  # fmt: skip


def _operand_fields(measured: Measured) -> dict[int, str]:
    """The field of each operand: the one whose change changes the operand's text."""
    result: dict[int, str] = {}
    base = [bare(operand) for operand in measured.text.operands]
    for name in OPERAND_FIELDS:
        changed: set[int] = set()
        for text in measured.sweeps.get(name, {}).values():
            others = [bare(operand) for operand in text.operands]
            changed |= {index for index, other in enumerate(others) if index >= len(base) or base[index] != other}
        if name == "SADDR" and changed:  # without SADDR the address is 64 bits wide
            changed = {max(changed)}
        if name == "VDSTX" and changed:  # VDSTY has its last bit from VDSTX
            changed = {min(changed)}
        if len(changed) > 1 and name != "LITERAL":
            raise ValueError(f"{measured.text.mnemonic}: {name} changes operands {changed}")
        for index in changed:
            if index in result:
                raise ValueError(f"{measured.text.mnemonic}: {name} and {result[index]} change operand {index}")
            result[index] = name
    return result


def _register_files(texts: dict[int, str]) -> Set[str]:
    """The register files that an operand's texts name, a constant counting as one."""
    files: set[str] = set()
    for code, text in texts.items():
        if match := REGISTER.match(text):
            files.add("s" if match[1] == "ttmp" else match[1])
        elif code in registers.INLINE_CONSTANTS:
            files.add("constant")
    return files


def _dwords(texts: dict[int, str]) -> int:
    """How many registers the operand names."""
    widths = {int(m[4]) - int(m[3]) + 1 if m[3] else 1 for text in texts.values() if (m := REGISTER.match(text))}
    if len(widths) != 1:
        raise ValueError(f"registers of several widths: {widths}")
    return widths.pop()


def _accumulator(measured: Measured, index: int) -> bool:
    """Whether the acc bit of the format turns the operand from a vector into an accumulation register."""
    if measured.text.mnemonic in RETURN_TO_ACCUMULATORS and measured.encoding.generation == "gfx9":
        return True
    for name in ("ACC", "ACC_CD"):
        for text in measured.sweeps.get(name, {}).values():
            if (
                index < len(text.operands)
                and text.operands[index].startswith("a")
                and len(text.operands) == len(measured.text.operands)
            ):
                return True
    return False


def _scalar_switch(measured: Measured, index: int) -> bool:
    """Whether a bit of SDWA (S0, S1) turns the operand from a vector into a scalar register."""
    switched = (text for name in ("S0", "S1") for text in measured.sweeps.get(name, {}).values())
    return any(bare(text.operands[index]).startswith("s") for text in switched)


def _kind(measured: Measured, index: int, name: str, texts: dict[int, str]) -> str:
    if name == "SIMM16" and re.match(r"s_(branch|cbranch|call|subvector_loop)_?", measured.text.mnemonic):
        return "BranchTarget"
    if name in ("SIMM16", "LITERAL") or base_name(measured.text.mnemonic) in IMMEDIATES.get(name, ()):
        return "Immediate"
    format_ = measured.encoding.format
    if name == "SADDR":
        return "SgprOrOff"
    if name == "SOFFSET" and format_ == "SMEM" and base_name(measured.text.mnemonic) not in PREFETCHES:
        return "SmemOffset"
    if name == "VADDR" or (name == "ADDR" and format_ in ("GLOBAL", "SCRATCH")):
        return "Address"
    if _scalar_switch(measured, index):
        return "SdwaSource"
    files = _register_files(texts)
    accumulator = _accumulator(measured, index)
    kinds: dict[frozenset[str], str] = {
        frozenset("v"): "VgprOrAgpr" if accumulator else "Vgpr",
        frozenset("a"): "Agpr",
        frozenset("s"): "Sgpr",
        frozenset({"s", "v"}): "Sgpr",  # the mask of v_cndmask, a carry: LLVM lets vector registers pass
        frozenset({"s", "constant"}): "ScalarSource",
        frozenset({"s", "v", "constant"}): "VectorSource",
        frozenset({"v", "constant"}): "MatrixSource",
    }
    return kinds[frozenset(files)]


def _access(measured: Measured, name: str, index: int, type_: str, found: Set[str]) -> tuple[bool, bool]:
    """Whether the operand is written, and whether it is read. `found` are the instruction's modifiers."""
    base, format_ = base_name(half_of(measured.text.mnemonic, name)), measured.encoding.format
    generation = measured.encoding.generation
    if exchanges(base) or (name in ("SDATA", "VDATA") and "_atomic_" in base):
        return True, True
    if name in ("SDATA", "VDATA"):
        written = not re.search(r"_store_|_probe|_prefetch_", base)
    else:
        written = name in ("VDST", "SDST", "VDSTX", "VDSTY") and not reads_destination_field(base)
    half = "OpSelDst" in found and type_ in HALVES
    keeps = updates(base, generation) or format_.endswith(("_DPP", "_DPP8")) or "DstSel" in found or half
    return written, not written or (name in ("VDSTX", "VDSTY") and updates(base, generation)) or (index == 0 and keeps)


def _operand(measured: Measured, index: int, name: str, found: Set[str]) -> Operand:
    texts = {
        code: bare(text.operands[index])
        for code, text in measured.sweeps[name].items()
        if len(text.operands) > index and code not in registers.lenient(measured.encoding.generation)
    }
    kind = _kind(measured, index, name, texts)
    number = kind in ("Immediate", "BranchTarget")
    dwords = 1 if number else _dwords(texts)
    type_ = operand_type(measured, index, name, dwords)
    if takes_halves(measured.encoding, kind, type_) != any(text.endswith((".l", ".h")) for text in texts.values()):
        raise ValueError(f"{measured.text.mnemonic}: {name} of type {type_} is {min(texts.values())}")
    if not number and kind != "SdwaSource":
        _prove_codes(measured, name, kind, dwords)
    written, read = _access(measured, name, index, type_, found)
    return Operand("OFFSET" if kind == "SmemOffset" else name, kind, type_, dwords, written, read)


def takes_halves(encoding: Encoding, kind: str, type_: str) -> bool:
    """Whether a vector register stands for one of its halves: 16 bits of vector arithmetic since GFX11. Encodings of 32
    bits have the half in the field's last bit, those of 64 in OP_SEL."""
    vector = kind in ("Vgpr", "VectorSource") and encoding.format.startswith(("VOP1", "VOP2", "VOPC", "VOP3"))
    packed = encoding.format.startswith("VOP3P")
    return encoding.generation not in ("gfx9", "gfx10") and vector and not packed and type_ in HALVES


def legal_codes(kind: str, dwords: int, name: str, measured: Measured) -> Set[int]:
    """The codes that the decoder lets pass for an operand."""
    first = 256 if max(measured.sweeps[name]) > 255 else 0
    family = measured.encoding.generation
    count = DUAL_DESTINATIONS if name == "VDSTY" else registers.VGPRS
    vector = registers.vector_registers(dwords, family, first, count)
    scalar = registers.scalar_registers(dwords, family)
    if name == "SBASE":
        return {code // 2 for code in scalar if code % 2 == 0}
    if name == "SRSRC" and family != "gfx12":
        return {code // 4 for code in scalar if code % 4 == 0}
    if name == "SDATA":
        scalar = scalar - {registers.m0(family), registers.EXEC, registers.EXEC + 1}
    # results of GFX12's scalar transcendentals, of v_readlane, and addresses: LLVM finds these invalid
    mnemonic = measured.text.mnemonic
    if has_trait("NotToExec", mnemonic):
        scalar = scalar - {registers.EXEC, registers.EXEC + 1}
    if has_trait("NotToM0", mnemonic):
        scalar = scalar - {registers.m0(family)}
    if name == "SADDR" and measured.encoding.format == "GLOBAL" and not has_trait("ExecAddress", mnemonic):
        scalar = scalar - {registers.EXEC}
    if name == "SADDR" and family not in ("gfx9", "gfx10") and measured.encoding.format == "SCRATCH":
        scalar = scalar - {registers.EXEC + 1}  # which says of GFX10 that there is no vector register either
    sources = registers.scalar_sources(dwords, family)
    literals = takes_literals(family, measured.encoding.format) and not has_trait("NoLiteral", mnemonic)
    literal = {registers.LITERAL} if literals else set()
    direct = {registers.LDS_DIRECT} if dwords == 1 else set()
    if has_trait("AnyTuple", mnemonic):
        vector = frozenset(range(first, first + count + 1 - dwords))
    table: dict[str, Set[int]] = {
        "Vgpr": vector,
        "Agpr": vector,
        "VgprOrAgpr": vector,
        "Address": vector,
        "Sgpr": scalar,
        "SmemOffset": scalar,
        "SgprOrOff": scalar | {registers.off(family)},
        "ScalarSource": sources | literal,
        "VectorSource": sources | literal | direct | vector,
        "MatrixSource": registers.INLINE_CONSTANTS | literal | vector,
    }
    return table[kind]


def _prove_codes(measured: Measured, name: str, kind: str, dwords: int) -> None:
    """Holds the codes that LLVM accepts against those that the decoder lets pass."""
    legal = legal_codes(kind, dwords, name, measured)
    accepted = set(measured.sweeps[name])
    only_vectors = kind in ("Vgpr", "Agpr", "VgprOrAgpr", "Address") and max(accepted) < 256
    lenient = (
        set() if only_vectors or name in ("SBASE", "SRSRC") else set(registers.lenient(measured.encoding.generation))
    )
    if name == "SOFFSET" and measured.encoding.format == "MUBUF":
        lenient.add(registers.LITERAL)  # for which LLVM finds no literal
    if kind == "Sgpr":
        lenient |= {registers.LDS_DIRECT, *range(256, 512)}
    if measured.text.mnemonic.startswith("v_fmac_") and "_DPP" in measured.encoding.format:
        lenient.add(registers.LITERAL)
    if measured.encoding.format == "MTBUF" and name == "VADDR":
        lenient |= set(range(registers.VGPRS))  # LLVM does not look at alignment
    if kind.endswith("Source") and not takes_literals(measured.encoding.generation, measured.encoding.format):
        lenient.add(registers.LITERAL)  # LLVM looks for one wherever a processor has longer instructions: gfx950
    if base_name(measured.text.mnemonic) in LDS_DIRECT_ACCEPTED:
        lenient.add(registers.LDS_DIRECT)
    # LLVM counts 1024 registers, as gfx1250 has
    last = max(accepted | {0})
    lenient |= set(range(last // registers.VGPRS * registers.VGPRS + registers.VGPRS + 1 - dwords, last + 1))
    if accepted - lenient != legal - lenient:
        raise ValueError(
            f"{measured.text.mnemonic}: {name}, {kind} of {dwords} dwords: LLVM also accepts "
            f"{sorted(accepted - lenient - legal)} and rejects {sorted(legal - lenient - accepted)}"
        )


def operands(measured: Measured, found: Set[str]) -> tuple[Operand, ...]:
    """The operands, in the order of the text."""
    by_index = _operand_fields(measured)
    count = max([len(measured.text.operands), *(index + 1 for index in by_index)])
    result: list[Operand] = []
    for index in range(count):
        if index in by_index:
            result.append(_operand(measured, index, by_index[index], found))
        elif measured.text.operands[index] in ("vcc", "vcc_lo"):
            type_, dwords = ("B64", 2) if measured.text.operands[index] == "vcc" else ("B32", 1)
            if measured.encoding.format == "VOPC_SDWA":
                result.append(Operand("SDST", "SdwaSdst", type_, dwords, written=True, read=False))
            else:
                written = index < 2
                result.append(Operand("NONE", "Vcc", type_, dwords, written=written, read=not written))
        else:
            raise ValueError(f"{measured.text.mnemonic}: no field changes operand {index}")
    return tuple(result)


def _modifier_texts(texts: dict[int, Text]) -> Set[str]:
    return {modifier for text in texts.values() for modifier in text.modifiers}


def _source_modifiers(measured: Measured) -> Set[str]:
    """Neg, Abs and Sext, which stand in operands, and the packed forms of Neg."""
    result: set[str] = set()
    for name, sweep in measured.sweeps.items():
        texts = {operand for text in sweep.values() for operand in text.operands}
        negates = ("-", "neg(") if measured.encoding.generation == "gfx9" else ("-", "neg(", "sext(")
        if name in ("NEG", "SRC0_NEG", "SRC1_NEG") and any(text.startswith(negates) for text in texts):
            result.add("Neg")
        if name in ("ABS", "NEG_HI", "SRC0_ABS", "SRC1_ABS") and any("|" in text for text in texts):
            result.add("Abs")
        if name in ("SRC0_SEXT", "SRC1_SEXT") and any(text.startswith("sext(") for text in texts):
            result.add("Sext")
    if any(text.startswith("neg_lo:") for text in _modifier_texts(measured.sweeps.get("NEG", {}))):
        result.add("NegLo")
    return result


def _selects(measured: Measured, found: Set[str]) -> Set[str]:
    """What the op_sel list says beyond the sources' halves, and what op_sel_hi is when nothing is said."""
    result: set[str] = set()
    lists = [text for text in _modifier_texts(measured.sweeps.get("OP_SEL", {})) if text.startswith("op_sel:")]
    if lists:
        sources = sum(name in ("SRC0", "SRC1", "SRC2") for name in _operand_fields(measured).values())
        sources += bool(re.match("v_fmac_", measured.text.mnemonic))  # the addend in VDST
        if re.match(BYTES_BY_OP_SEL, measured.text.mnemonic):
            return {"OpSelByte"}
        extra = max(text.count(",") + 1 for text in lists) - sources
        result |= {-1: set(), 0: set(), 1: {"OpSelDst"}, 2: {"OpSelByte"}}[extra]
    elif any(
        operand.endswith(".h") for text in measured.sweeps.get("OP_SEL", {}).values() for operand in text.operands
    ):
        result |= {"OpSel", "OpSelDst"}
    if "OpSelHi" in found:
        plain = measured.sweeps["OP_SEL_HI"][0]
        if not any(text.startswith("op_sel_hi:") for text in plain.modifiers):
            result.add("Mix")
    return result


def modifiers(measured: Measured) -> Set[str]:
    """The modifiers that the instruction takes."""
    found: set[str] = set()
    for name, texts in FIELD_MODIFIERS.items():
        for text in _modifier_texts(measured.sweeps.get(name, {})):
            found |= {modifier for begin, modifier in texts.items() if text.startswith(begin)}
    found |= _source_modifiers(measured)
    found |= _selects(measured, found)
    if "OpSelByte" in found:
        found.discard("OpSel")
    if "Mix" in found:
        found.discard("OpSelHi")
    if "Dpp" in found and len(measured.sweeps["DPP_CTRL"]) <= 16:
        found.add("DppRowNewbcast")
    if "_atomic_" in measured.text.mnemonic:
        found.add("Return")
    return found


def _fixed_bits(measured: Measured, fields: dict[str, BitField], operands_: tuple[Operand, ...]) -> int:
    """The bits that an instruction cannot do without: the encoding's, and those that all accepted values agree on."""
    vector_only = {operand.field for operand in operands_ if operand.kind in ("Vgpr", "Agpr", "VgprOrAgpr")}
    tuples = {operand.field for operand in operands_ if operand.dwords > 1}  # whose alignment the decoder looks at
    fixed = encoding_mask(measured.encoding)
    covered = fixed
    for name, bit_field in fields.items():
        covered |= bit_field.mask
        if bit_field.low >= 64:
            continue  # of an offset that may not be negative: the decoder looks at it
        values = {0} if name == "TFE" else set(measured.sweeps[name])  # TFE adds a register
        if name == "OP_SEL" and has_trait("IndexKey", measured.text.mnemonic):
            values = set(range(4))  # how many count depends on the size of waves: the decoder looks at them
        if name == "ACC" and measured.text.mnemonic in RETURN_TO_ACCUMULATORS:
            values = {0, 1}
        if name in tuples:
            values |= {value ^ 1 for value in values}
        if name in vector_only and bit_field.width == 9:
            values = {value for value in values if value > 255}
        same = ~0
        for value in values:
            same &= ~(value ^ bit_field.get(measured.bits))
        fixed |= same << bit_field.low & bit_field.mask
    everything = (1 << measured.encoding.bits) - 1
    return fixed | everything & ~covered & ~measured.free_bits


def derive(measured: Measured, format_: str, fields: dict[str, BitField]) -> Row:
    """The row of a measured opcode."""
    found = modifiers(measured)
    unknown = found - set(MODIFIER_ORDER)
    if unknown:
        raise ValueError(f"{measured.text.mnemonic}: no order for modifiers {unknown}")
    its_operands = operands(measured, found)
    fixed = _fixed_bits(measured, fields, its_operands)
    ignored = ignored_bits(fields, fixed, measured.text.mnemonic, its_operands, found)
    encoding = encoding_mask(measured.encoding)
    ignored &= ~encoding
    mask = fixed & ~ignored & ((1 << 64) - 1)
    names = tuple(name for name in MODIFIER_ORDER if name in found)
    if beyond := (fixed & ~encoding) >> 64:
        raise ValueError(f"{measured.text.mnemonic}: fixed bits {beyond:#x} behind the second dword")
    family = measured.encoding.generation
    mnemonic, match = measured.text.mnemonic, measured.bits & mask
    return Row(format_, measured.opcode, mnemonic, mask, match, ignored, names, its_operands, family)
