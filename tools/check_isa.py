#!/usr/bin/env python3
"""Compares the built disassembler with LLVM 22's on many instructions, random ones or those with each value of a field.
The tests do so with few."""

import argparse
import itertools
import struct
import sys
import time
from collections import Counter
from typing import Any

from isa.agreement import Disassemble, Table, compare
from isa.encodings import Words
from isa.llvm import Disassembler
from isa.row import Matrix, Memory, Operand, Row
from isa.samples import Sampler

BATCH = 200_000


def table(processor: str) -> Table:
    """The table that the built extension has."""
    from wave_runtime import _C

    def row(columns: dict[str, Any]) -> Row:
        built = {name: columns[name] for name in columns if name != "base_name"}
        built["operands"] = tuple(Operand(**operand) for operand in columns["operands"])
        built["memory"] = Memory(**columns["memory"]) if columns["memory"] else None
        built["matrix"] = Matrix(**columns["matrix"]) if columns["matrix"] else None
        return Row(**built)

    return Table(row(columns) for columns in _C.isa_rows(processor))


def disassembler(processor: str) -> Disassemble:
    """Our disassembler as `compare` wants it."""
    from wave_runtime import _C

    def disassemble(words: Words) -> tuple[int, str]:
        _, data, text = _C.disassemble(processor, struct.pack(f"<{len(words)}I", *words))[0]
        return len(data) // 4, text

    return disassemble


def main() -> int:
    """Runs the comparison; the exit status is 1 where anything differs."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--processor", default="gfx942")
    parser.add_argument("--words", type=int, default=1_000_000, help="number of instructions")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--each-value", action="store_true", help="not random ones, but each value of each field")
    arguments = parser.parse_args()
    known, ours = table(arguments.processor), disassembler(arguments.processor)
    llvm, sampler = Disassembler(arguments.processor), Sampler(known.rows, arguments.seed)
    words = sampler.each_value() if arguments.each_value else sampler.any(arguments.words)
    counts: Counter[str] = Counter()
    begin = time.monotonic()
    while batch := list(itertools.islice(words, BATCH)):
        report = compare(llvm, ours, known, batch)
        counts += report.counts
        for line in report.mismatches[:20]:
            print(line)
    print(f"{counts.total()} instructions, {time.monotonic() - begin:.0f} s")
    for name, count in sorted(counts.items()):
        print(f"{count:12} {name}")
    return int(counts["mismatch"] > 0)


if __name__ == "__main__":
    sys.exit(main())
