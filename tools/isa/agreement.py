"""Whether our disassembler and LLVM's agree, instruction by instruction, and where they need not."""

from collections import Counter
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field

from . import registers
from .encodings import SELECTS, Words, classified_format, classify, encodings, fields, join
from .llvm import Disassembled, Disassembler
from .overrides import LDS_DIRECT_ACCEPTED, base_name, left_out
from .row import Operand, Row

UNKNOWN = ".long"
VECTOR_ONLY = ("Vgpr", "Agpr", "VgprOrAgpr", "MatrixSource", "Sgpr")
NUMBERS = ("Immediate", "BranchTarget")

# Words that LLVM accepts and we do not, by name and reason.
EXEMPTIONS = {
    "null": "null is a register since GFX10, which LLVM lets pass everywhere, on GFX9 too",
    "value": "LLVM's printer lets the special values (apertures, vccz, execz, scc) pass where only a register is legal",
    "lds_direct": "LLVM accepts LDS_DIRECT in v_readlane_b32 and v_readfirstlane_b32, which read a vector register",
    "select": "SDWA selects of 7 and DST_UNUSED of 3 are undefined behaviour in LLVM's printer, which may crash",
    "tfe": "TFE of buffer loads, which adds a register",
    "literal": "LLVM takes a literal for SOFFSET of buffer instructions",
    "left out": "instructions that have no row",
    "second dword": "SRC0 announces a second dword that does not suit; LLVM then ignores SRC0 of v_nop and v_clrexcp",
}

Disassemble = Callable[[Words], tuple[int, str]]


@dataclass(slots=True)
class Report:
    """What came out of a comparison."""

    counts: Counter[str] = field(default_factory=Counter)
    mismatches: list[str] = field(default_factory=list)


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
    if mnemonic in ("v_nop", "v_clrexcp", "v_pipeflush") and llvm.dwords == 1:
        return "second dword"
    bits = join(words)
    row = table.row(bits)
    if row is None:
        return None
    if llvm.text.endswith(" tfe"):
        return "tfe"
    known = fields(row.generation)[row.format]
    if any(name in known and known[name].get(bits) >= legal for name, legal in SELECTS.items()):
        return "select"
    codes = [(operand, code) for operand in row.operands if (code := _code(bits, row, operand)) is not None]
    null = registers.null(row.generation)
    if "null" in llvm.text and any(code == null and (null == 125 or o.kind in VECTOR_ONLY) for o, code in codes):
        return "null"
    if row.format == "MUBUF" and any(o.field == "SOFFSET" and code == registers.LITERAL for o, code in codes):
        return "literal"
    if "src_" in llvm.text and any(
        o.kind in VECTOR_ONLY and code in registers.lenient(row.generation) for o, code in codes
    ):
        return "value"
    if base_name(row.mnemonic) in LDS_DIRECT_ACCEPTED and any(code == registers.LDS_DIRECT for _, code in codes):
        return "lds_direct"
    return None


def compare(llvm: Disassembler, ours: Disassemble, table: Table, words: Iterable[Words]) -> Report:
    """Disassembles `words` both ways. `ours` gives an instruction's length in dwords and its text."""
    report = Report()
    batch = list(words)
    for instruction, theirs in zip(batch, llvm(batch), strict=True):
        dwords, text = ours(instruction)
        accepted = not text.startswith(UNKNOWN)
        if not accepted and (theirs.crashed or not theirs.accepted):
            report.counts["crashed" if theirs.crashed else "rejected"] += 1
        elif accepted and (theirs.dwords, theirs.text) == (dwords, text):
            report.counts["equal"] += 1
        elif not accepted and (reason := exemption(instruction, theirs, table)):
            report.counts[f"exempt: {reason}"] += 1
        else:
            report.counts["mismatch"] += 1
            digits = " ".join(f"{word:08x}" for word in instruction)
            report.mismatches.append(f"{digits}: LLVM {theirs.dwords} {theirs.text!r}, we {dwords} {text!r}")
    return report
