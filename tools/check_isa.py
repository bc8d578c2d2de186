#!/usr/bin/env python3
"""Compares the built disassembler with LLVM 22's on many random instructions. The tests do so with few."""

import argparse
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
    arguments = parser.parse_args()
    known, ours = table(arguments.processor), disassembler(arguments.processor)
    llvm, sampler = Disassembler(arguments.processor), Sampler(known.rows, arguments.seed)
    counts: Counter[str] = Counter()
    begin = time.monotonic()
    for done in range(0, arguments.words, BATCH):
        report = compare(llvm, ours, known, sampler.any(min(BATCH, arguments.words - done)))
        counts += report.counts
        for line in report.mismatches[:20]:
            print(line)
    print(f"{arguments.words} instructions, {time.monotonic() - begin:.0f} s")
    for name, count in sorted(counts.items()):
        print(f"{count:12} {name}")
    return int(counts["mismatch"] > 0)


if __name__ == "__main__":
    sys.exit(main())
