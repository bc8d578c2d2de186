"""Whether our disassembler and LLVM's agree, instruction by instruction, and where they need not."""

import re
from collections import Counter
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field
from itertools import islice

from . import registers
from .encodings import SELECTS, Words, classified_format, classify, encodings, fields, join, takes_literals
from .llvm import Disassembled, Disassembler
from .overrides import LDS_DIRECT_ACCEPTED, base_name, left_out
from .row import Operand, Row

UNKNOWN = ".long"
NAME_ALONE = " ..."  # how the texts of instructions of graphics end, whose fields we do not look at
VECTOR_ONLY = ("Vgpr", "Agpr", "VgprOrAgpr", "MatrixSource", "Sgpr")
SOURCES = ("ScalarSource", "VectorSource", "MatrixSource")
ODD_ACCUMULATORS = re.compile(r"\ba\[\d*[13579]:")
TO_ACCUMULATORS = re.compile(r"(flat|global)_atomic_(add_f32|pk_add_f16|(add|min|max)_f64) a\[?\d")
LONE = ("v_nop", "v_clrexcp", "v_pipeflush")
PLAIN = 3  # variants of an instruction that plain() gives
# Instructions of GFX11 and GFX12 in DPP whose DPP_CTRL LLVM does not find.
LOST_DPP = ("v_fma_mix", "v_cvt_pk_fp8_f32", "v_cvt_pk_bf8_f32")
SECOND_LITERAL = re.compile(r"(?<= :: )(v_dual_fma[am]k_f32 v\d+), (lit\(0x\w+\)|-?[0-9.]+),")
CODE_OF_CONSTANT = re.compile(r"v_fmac_\w+_e64_dpp .*[ |(]0x[0-9a-f]{2}\b")
NUMBERS = ("Immediate", "BranchTarget")
LAST_VECTOR_REGISTER = re.compile(r"[va](?:\[\d+:)?(\d+)\b")

# Words that LLVM accepts and we do not, by name and reason.
EXEMPTIONS = {
    "null": "null is a register since GFX10, which LLVM lets pass everywhere, on GFX9 too",
    "value": "LLVM's printer lets the special values (apertures, vccz, execz, scc) pass where only a register is legal",
    "scratch base": "src_flat_scratch_base_lo and _hi, which LLVM lets pass everywhere, are gfx1250's",
    "past the last": "LLVM counts 1024 vector registers, as gfx1250 has",
    "short factor": "LLVM reads eight registers of a factor of six or four before it asks for its format",
    "not aligned": "LLVM does not look at the alignment of typed buffers' addresses and of atomics' AGPRs",
    "vector mask": "LLVM lets vector registers pass for masks of lanes and carries",
    "lds_direct": "LLVM accepts LDS_DIRECT in v_readlane_b32 and v_readfirstlane_b32, which read a vector register",
    "select": "SDWA selects of 7 and DST_UNUSED of 3 are undefined behaviour in LLVM's printer, which may crash",
    "tfe": "TFE of buffer loads, which adds a register",
    "literal": "LLVM takes a literal for SOFFSET of buffer instructions, in DPP for SRC1 of v_fmac and for v127.h, and "
    "for any source of gfx950, though encodings of 64 bits have none on GFX9",
    "scalar address": "LLVM does not look at SADDR of loads into LDS, which may be off but not EXEC",
    "lanes of DPP": "LLVM reads something else for DPP_CTRL where the destination is read, and for some DPP8",
    "code": "LLVM writes the code of a constant of v_fmac in DPP",
    "second literal": "LLVM writes a literal of the second v_dual_fmamk or v_dual_fmaak as the constant that it equals",
    "return to accumulators": "LLVM 22 has some atomics return to vector registers only",
    "left out": "instructions that have no row",
    "further dword": "SRC0 announces a dword that does not suit, or with which there is no form; LLVM then ignores "
    "SRC0 of v_nop, v_clrexcp and v_pipeflush, where nothing else forbids it",
}

Disassemble = Callable[[Words], tuple[int, str]]


@dataclass(slots=True)
class Report:
    """What came out of a comparison."""

    counts: Counter[str] = field(default_factory=Counter)
    mismatches: list[str] = field(default_factory=list)

    def add(self, words: Words, theirs: Disassembled, dwords: int, text: str) -> None:
        """Counts a mismatch."""
        self.counts["mismatch"] += 1
        digits = " ".join(f"{word:08x}" for word in words)
        self.mismatches.append(f"{digits}: LLVM {theirs.dwords} {theirs.text!r}, we {dwords} {text!r}")


def _code(bits: int, row: Row, operand: Operand) -> int | None:
    """The code in an operand's field; None where it has none or the mode ignores it."""
    known = fields(row.generation)[row.format]
    if operand.field not in known or operand.kind in NUMBERS:
        return None
    if operand.kind == "SmemOffset" and row.generation == "gfx9":
        if known["SOFFSET_EN"].get(bits):
            return known["SOFFSET"].get(bits)
        return None if known["IMM"].get(bits) else known["OFFSET"].get(bits) & 127
    return known[operand.field].get(bits)


class Table:
    """Rows, and the one with a word's encoding and opcode."""

    def __init__(self, rows: Iterable[Row]) -> None:
        self.rows = list(rows)
        self._encodings = encodings(self.rows[0].generation)
        self._by_opcode = {(classified_format(row.format), row.opcode): row for row in self.rows}

    def _key(self, bits: int) -> tuple[str, int]:
        encoding = classify(bits, self._encodings)
        return (encoding.format, encoding.opcode.get(bits)) if encoding else ("", 0)

    def row(self, bits: int) -> Row | None:
        """The row, whatever the other bits are."""
        return self._by_opcode.get(self._key(bits))


def exemption(words: Words, llvm: Disassembled, table: Table) -> str | None:
    """Why we need not accept what LLVM accepts: a key of EXEMPTIONS."""
    mnemonic = llvm.text.split()[0]
    if left_out(mnemonic, table.rows[0].generation):
        return "left out"
    bits = join(words)
    row = table.row(bits)
    if mnemonic in LONE and (llvm.dwords == 1 or row is None):
        return "further dword"
    if row is None:
        return None
    if llvm.text.endswith(" tfe"):
        return "tfe"
    known = fields(row.generation)[row.format]
    if any(name in known and known[name].get(bits) >= legal for name, legal in SELECTS.items()):
        return "select"
    codes = [(operand, code) for operand in row.operands if (code := _code(bits, row, operand)) is not None]
    return next((reason for reason, applies in _operand_exemptions(row, llvm.text, codes) if applies), None)


def _operand_exemptions(row: Row, text: str, codes: list[tuple[Operand, int]]) -> Iterator[tuple[str, bool]]:
    """The reasons that lie in operands, and whether each applies."""
    null, lenient = registers.null(row.generation), registers.lenient(row.generation)
    yield "null", "null" in text and any(c == null and (null == 125 or o.kind in VECTOR_ONLY) for o, c in codes)
    yield "literal", row.format == "MUBUF" and any(o.field == "SOFFSET" and c == registers.LITERAL for o, c in codes)
    is_fmac = row.mnemonic.startswith("v_fmac_") and "_DPP" in row.format
    yield "literal", is_fmac and any(code == registers.LITERAL for _, code in codes)
    is_long = not takes_literals(row.generation, row.format)
    yield "literal", is_long and any(o.kind in SOURCES and code == registers.LITERAL for o, code in codes)
    yield "scratch base", any(code in registers.SCRATCH_BASE for _, code in codes)
    yield "value", "src_" in text and any(o.kind in VECTOR_ONLY and code in lenient for o, code in codes)
    yield "past the last", any(int(last) >= registers.VGPRS for last in LAST_VECTOR_REGISTER.findall(text))
    yield "not aligned", row.format == "MTBUF" and any(o.field == "VADDR" and code % 2 for o, code in codes)
    yield "not aligned", bool(ODD_ACCUMULATORS.search(text))
    is_exec = any(o.field == "SADDR" and code == registers.EXEC for o, code in codes)
    yield "scalar address", text.endswith(" lds") and is_exec
    yield "vector mask", any(o.kind == "Sgpr" and code >= 256 for o, code in codes)
    accepted = base_name(row.mnemonic) in LDS_DIRECT_ACCEPTED
    yield "lds_direct", any(c == registers.LDS_DIRECT and (accepted or o.kind == "Sgpr") for o, c in codes)


def filled(bits: int, row: Row) -> int:
    """The instruction with what LLVM wants to see in the bits that are ignored."""
    bits, known = bits & ~row.ignored, fields(row.generation)[row.format]
    wanted = {"VDST": registers.EXEC} if row.mnemonic.startswith("v_cmpx_") else {}
    if row.format != "FLAT" or row.generation != "gfx9":
        wanted["SADDR"] = registers.off(row.generation)
    for name, value in wanted.items():
        if name in known and known[name].mask & row.ignored == known[name].mask:
            bits = known[name].put(bits, value)
    return bits


def plain(words: Words, row: Row) -> list[Words]:
    """The instruction with zeros in the bits that are ignored, with what LLVM wants to see there, with lower halves."""
    known, bits = fields(row.generation)[row.format], filled(join(words), row)
    lower = known["OP_SEL"].put(bits, 0) if "OP_SEL" in known else bits
    every = (join(words) & ~row.ignored, bits, lower)
    return [tuple(each >> low & 0xFFFFFFFF for low in range(0, 32 * len(words), 32)) for each in every]


def halves_aside(text: str) -> str:
    """The text without what says which half of a register is meant."""
    return re.sub(r" op_sel:\[[01,]*\]|(?<=\d)\.[lh]\b", "", text)


def dpp_aside(text: str) -> str:
    """The text without the lanes that DPP picks."""
    return re.sub(
        r" (dpp8:\[[0-7,]*\]|quad_perm:\[[0-3,]*\]|row_(?!mask)\w+(:\d+)?|/\* Invalid dpp_ctrl value \*/)(?= |$)",
        "",
        text,
    )


def compare(llvm: Disassembler, ours: Disassemble, table: Table, words: Iterable[Words]) -> Report:
    """Disassembles `words` both ways. `ours` gives an instruction's length in dwords and its text."""
    report = Report()
    batch = list(words)
    different: list[tuple[Words, Disassembled, int, str]] = []
    for instruction, theirs in zip(batch, llvm(batch), strict=True):
        dwords, text = ours(instruction)
        accepted = not text.startswith(UNKNOWN)
        if not accepted and (theirs.crashed or not theirs.accepted):
            report.counts["crashed" if theirs.crashed else "rejected"] += 1
        elif accepted and (theirs.dwords, theirs.text) == (dwords, text):
            report.counts["equal"] += 1
        elif text.endswith(NAME_ALONE) and _are_alike(theirs, dwords, text):
            report.counts["equal but for fields of graphics"] += 1
        elif accepted and theirs.text in LONE and text.startswith(theirs.text):
            report.counts["exempt: further dword"] += 1
        elif not accepted and (reason := exemption(instruction, theirs, table)):
            report.counts[f"exempt: {reason}"] += 1
        elif accepted:
            different.append((instruction, theirs, dwords, text))
        else:
            report.add(instruction, theirs, dwords, text)
    _compare_plain(llvm, table, different, report)
    return report


def _are_alike(theirs: Disassembled, dwords: int, text: str) -> bool:
    """Whether an instruction of graphics has the name and the length that LLVM says, unless it finds fields invalid."""
    return not theirs.accepted or (theirs.dwords, theirs.text.split()[0] + NAME_ALONE) == (dwords, text)


def _compare_plain(
    llvm: Disassembler, table: Table, different: list[tuple[Words, Disassembled, int, str]], report: Report
) -> None:
    """What LLVM rejects, or reads otherwise, must read alike without the bits that we ignore."""
    variants: list[list[Words]] = []
    for instruction, *_ in different:
        row = table.row(join(instruction))
        variants.append(plain(instruction, row) if row else [instruction] * PLAIN)
    results = iter(llvm([words for each in variants for words in each]))
    for instruction, theirs, dwords, text in different:
        found = [result for result in islice(results, PLAIN) if result.dwords == dwords]
        texts = [result.text for result in found]
        if text in texts:
            report.counts["equal but for ignored bits"] += 1
        elif halves_aside(text) in map(halves_aside, texts):
            report.counts["equal but for halves"] += 1
        elif reason := (
            _reading(text, texts) or _longer(instruction, theirs, dwords, table) or _short_factor(instruction, table)
        ):
            report.counts[f"exempt: {reason}"] += 1
        else:
            report.add(instruction, theirs, dwords, text)


def _reading(text: str, texts: list[str]) -> str | None:
    """Why LLVM may read otherwise what both accept: a key of EXEMPTIONS."""
    if TO_ACCUMULATORS.match(text):
        return "return to accumulators"
    if " dpp8:" in text and dpp_aside(text) in map(dpp_aside, texts):
        return "lanes of DPP"
    if text.startswith(LOST_DPP) and (not texts or dpp_aside(text) in map(dpp_aside, texts)):
        return "lanes of DPP"
    if text.startswith("v_fmac_") and any(map(CODE_OF_CONSTANT.match, texts)):
        return "code"
    if (aside := SECOND_LITERAL.sub(r"\1,", text)) != text and aside in [SECOND_LITERAL.sub(r"\1,", t) for t in texts]:
        return "second literal"
    return None


def _short_factor(words: Words, table: Table) -> str | None:
    """Why LLVM may find that a product's factors lie behind the last register: a key of EXEMPTIONS."""
    row = table.row(join(words))
    if row is None or "MixedFormats" not in row.traits:
        return None
    known = fields(row.generation)[row.format]
    widest = [
        (known[o.field].get(join(words)) % registers.VGPRS, o.dwords) for o in row.operands if o.field[:3] == "SRC"
    ]
    return "short factor" if any(code + dwords > registers.VGPRS for code, dwords in widest) else None


def _longer(words: Words, theirs: Disassembled, dwords: int, table: Table) -> str | None:
    """Why LLVM may find a further dword: a key of EXEMPTIONS."""
    row = table.row(join(words))
    if row is None or theirs.dwords != dwords + 1 or "_DPP" not in row.format:
        return None
    if fields(row.generation)[row.format]["SRC0"].get(join(words)) == registers.LITERAL:
        return "literal"
    return "lanes of DPP" if "_DPP8" in row.format else None
