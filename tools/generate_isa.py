#!/usr/bin/env python3
"""Writes a processor's instruction table, csrc/emulator/isa/<processor>.inc, from what LLVM 22's disassembler says, and
tests/isa/golden_<processor>.txt, instructions of the table with LLVM's text.

Every opcode of every encoding is disassembled with every value of every field. What changes in the text tells the
operands and modifiers; names and the reviewed lists in isa/overrides.py and isa/properties.py tell the rest. The output
is reproducible.
"""

import argparse
import re
from collections.abc import Collection
from pathlib import Path

from isa import graphics
from isa.derive import derive
from isa.encodings import Encoding, encodings, fields, generation, split
from isa.golden import golden
from isa.llvm import Disassembler
from isa.measure import Measured, find_instances, parse, sweep
from isa.overrides import ALONE, MATRIX, base_name
from isa.properties import with_properties
from isa.row import Row, parse_table, table

ROOT = Path(__file__).resolve().parents[1]
TABLES = ROOT / "csrc/emulator/isa"
GOLDEN = ROOT / "tests/isa"


def _with_scalar_destination(llvm: Disassembler, encoding: Encoding, instances: list[Measured]) -> set[int]:
    """The opcodes of VOP3 that write scalar registers besides vector registers (VOP3B)."""
    scalar_destination = fields(encoding.generation)["VOP3B"]["SDST"]
    changed = [scalar_destination.put(instance.bits, 4) for instance in instances]
    texts = [parse(result.text) for result in llvm(split(bits, encoding.bits) for bits in changed)]
    return {i.opcode for i, text in zip(instances, texts, strict=True) if text.operands[1:2] in (("s[4:5]",), ("s4",))}


def _by_format(llvm: Disassembler, encoding: Encoding, instances: list[Measured]) -> dict[str, list[Measured]]:
    """Instances by format: VOP3B and MAI share their encodings with VOP3 and VOP3P."""
    base, _, suffix = encoding.format.partition("_")
    vop3b = _with_scalar_destination(llvm, encoding, instances) if base == "VOP3" else set()
    result: dict[str, list[Measured]] = {}
    for instance in instances:
        matrix = encoding.format == "VOP3P" and MATRIX.match(instance.text.mnemonic)
        format_ = (
            "MAI"
            if matrix
            else "_".join(filter(None, ("VOP3B", suffix)))
            if instance.opcode in vop3b
            else encoding.format
        )
        result.setdefault(format_, []).append(instance)
    return result


def _encoding_rows(llvm: Disassembler, encoding: Encoding, wanted: str) -> list[Row]:
    known = fields(encoding.generation)
    found = find_instances(llvm, encoding, known[encoding.format])
    instances = [each for each in found if re.fullmatch(wanted, base_name(each.text.mnemonic))]
    rows: list[Row] = []
    for format_, group in _by_format(llvm, encoding, instances).items():
        sweep(llvm, group, known[format_])
        rows += [derive(measured, format_, known[format_]) for measured in group]
    return sorted(rows, key=lambda row: row.opcode)


def generate(processor: str, formats: Collection[str] | None = None) -> list[Row]:
    """All rows of a processor, or those of some encodings, by encoding and opcode."""
    llvm = Disassembler(processor)
    wanted = [
        encoding for encoding in encodings(generation(processor)) if formats is None or encoding.format in formats
    ]
    names = ALONE.get(processor, r".*")
    return [with_properties(processor, row) for encoding in wanted for row in _encoding_rows(llvm, encoding, names)]


def main() -> None:
    """Writes the table and the golden file."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("processor", nargs="?", default="gfx942")
    parser.add_argument(
        "--properties", action="store_true", help="only make the columns of isa/properties.py anew, without LLVM"
    )
    parser.add_argument("--graphics", action="store_true", help="make the table of isa/graphics.py, of all processors")
    arguments = parser.parse_args()
    if arguments.graphics:
        (TABLES / "graphics.inc").write_text(graphics.table())
        return
    path = TABLES / f"{arguments.processor}.inc"
    if arguments.properties:
        rows = parse_table(path.read_text(), generation(arguments.processor))
        rows = [with_properties(arguments.processor, row) for row in rows]
    else:
        rows = generate(arguments.processor)
    path.write_text(table(arguments.processor, rows))
    print(f"{path}: {len(rows)} rows")
    if arguments.properties or arguments.processor in ALONE:
        return
    lines = golden(Disassembler(arguments.processor), rows)
    path = GOLDEN / f"golden_{arguments.processor}.txt"
    path.write_text("".join(f"{line}\n" for line in lines))
    print(f"{path}: {len(lines)} instructions")


if __name__ == "__main__":
    main()
