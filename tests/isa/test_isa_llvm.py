"""Agreement with LLVM where it is installed: the generator makes the committed table, and instructions read alike."""

from __future__ import annotations

import itertools
from pathlib import Path

import check_isa
import isa_support
import pytest
from generate_isa import generate
from isa.agreement import compare
from isa.llvm import Disassembler
from isa.row import table
from isa.samples import Sampler
from isa_support import PROCESSORS, ROOT
from support import first_or_long

from wave_runtime import _C

pytestmark = pytest.mark.needs("llvm")

CODE_OBJECTS = sorted(
    path for folder in ("examples/kernels", "tests/emulator/kernels") for path in (ROOT / folder).rglob("*.hsaco")
)


@pytest.mark.long
@pytest.mark.parametrize("processor", PROCESSORS)
def test_the_table_is_what_the_generator_makes(processor: str) -> None:
    committed = (ROOT / "csrc/emulator/isa" / f"{processor}.inc").read_text()
    assert table(processor, generate(processor)).splitlines() == committed.splitlines()


def test_the_rows_that_a_processor_has_alone() -> None:
    """Beside those of gfx90a, in the places of its own."""
    made = generate("gfx9-generic")
    assert (ROOT / "csrc/emulator/isa/gfx9-generic.inc").read_text() == table("gfx9-generic", made)
    rows = [str(row) for row in check_isa.table("gfx9-generic").rows]
    others = [str(row) for row in check_isa.table("gfx90a").rows if "v_fmac_f64" not in row.mnemonic]
    assert [row for row in rows if row in others] == others
    assert [row for row in rows if row not in others] == [str(row) for row in made]


@pytest.mark.parametrize("processor", first_or_long(PROCESSORS, 4))
def test_parts_of_the_table_are_what_the_generator_makes(processor: str) -> None:
    """Of encodings in which processors differ: the whole takes a minute or more."""
    formats = {"SOPP", "SOPK", "SMEM", "VOP1_DPP8", "FLAT", "GLOBAL", "SCRATCH"}
    made = [str(row) for row in generate(processor, formats)]
    assert made == [str(row) for row in check_isa.table(processor).rows if row.format in formats]


@pytest.mark.parametrize("count", [10_000, pytest.param(100_000, marks=pytest.mark.long)])
@pytest.mark.parametrize("processor", PROCESSORS)
def test_random_instructions_read_alike(processor: str, count: int) -> None:
    known = check_isa.table(processor)
    words = Sampler(known.rows, count).any(count)
    report = compare(Disassembler(processor), check_isa.disassembler(processor), known, words)
    assert report.mismatches == []
    assert report.counts["equal"] + report.counts["equal but for ignored bits"] > count // 2


@pytest.mark.parametrize("step", [101, pytest.param(1, marks=pytest.mark.long)])
@pytest.mark.parametrize("processor", PROCESSORS)
def test_each_value_of_each_field_reads_alike(processor: str, step: int) -> None:
    """Or every 101st, which are 20,000 to 40,000."""
    known = check_isa.table(processor)
    words = itertools.islice(Sampler(known.rows, 0).each_value(), 0, None, step)
    report = compare(Disassembler(processor), check_isa.disassembler(processor), known, words)
    assert report.mismatches == []
    assert report.counts["equal"] > 1_000_000 // step


@pytest.mark.parametrize("processor", first_or_long(PROCESSORS, 4))
def test_literals_read_alike(processor: str) -> None:
    """Of each source: those that equal a constant are written otherwise, by the type of the source."""
    known = check_isa.table(processor)
    words = Sampler(known.rows, 0).literals()
    report = compare(Disassembler(processor), check_isa.disassembler(processor), known, words)
    assert report.mismatches == []
    assert report.counts["equal"] > 1000


@pytest.mark.parametrize("processor", PROCESSORS)
def test_messages_and_hardware_registers(processor: str) -> None:
    """All numbers of each: which of them have names differs from processor to processor."""
    known = check_isa.table(processor)
    opcodes = {row.mnemonic: row.opcode for row in known.rows}
    words = [(0xBF800000 | opcodes["s_sendmsg"] << 16 | value, 0, 0) for value in [*range(2048), 0xFFFF]]
    for number in range(64):
        words += [
            (0xB0000000 | opcodes["s_getreg_b32"] << 23 | number | part, 0, 0) for part in (31 << 11, 3 << 11 | 320)
        ]
    ours = check_isa.disassembler(processor)
    assert [ours(each)[1] for each in words] == [found.text for found in Disassembler(processor)(words)]


def test_truth_tables() -> None:
    """All of v_bitop3_b32, whose bits lie in OMOD, ABS and NEG."""
    (row,) = (row for row in check_isa.table("gfx950").rows if row.mnemonic == "v_bitop3_b32")
    words = [
        (0xD0000000 | row.opcode << 16 | (table >> 3 & 7) << 8, 0x040E0501 | (table & 7) << 29 | (table >> 6) << 27, 0)
        for table in range(256)
    ]
    ours = check_isa.disassembler("gfx950")
    texts = [ours(each)[1] for each in words]
    assert texts == [found.text for found in Disassembler("gfx950")(words)]
    assert len(set(texts)) == 256


@pytest.mark.parametrize("processor", ["gfx1100", "gfx1201"])
def test_literals_that_are_constants_in_both_halves(processor: str) -> None:
    """v_pk_fmac_f16, whose literals random words seldom hit."""
    halves = (0, 1, 64, 65, 0x3800, 0xC400, 0x3118, 0xFFF0, 0xFFFF)
    literals = [low | high << 16 for low in halves for high in (0, low, 0xFFFF)]
    words = [(0x79F4D8FF, literal, 0) for literal in literals]
    ours = check_isa.disassembler(processor)
    assert [ours(each)[1] for each in words] == [found.text for found in Disassembler(processor)(words)]


def test_literals_that_are_masks_of_classes() -> None:
    """Of gfx1030, for which LLVM takes those of f16 for 32 bits."""
    literals = (0, 1, 0x3800, 0x38003800, 0xFFF0, 0xFFFF, 0xFFFFFFF0, 0x2FCDE0EE)
    words = [(opcode, 0x0001FE30, literal) for opcode in (0xD48F0003, 0xD49F007E) for literal in literals]
    ours = check_isa.disassembler("gfx1030")
    assert [ours(each)[1] for each in words] == [found.text for found in Disassembler("gfx1030")(words)]


def test_an_unknown_processor_is_an_error() -> None:
    with pytest.raises(RuntimeError, match="does not know the processor gfx999; LLVM_LIBRARY names another LLVM"):
        Disassembler("gfx999")


@pytest.mark.parametrize("path", CODE_OBJECTS, ids=lambda path: path.name)
def test_code_objects_read_alike(path: Path) -> None:
    """All code of a code object, word by word."""
    data = path.read_bytes()
    image: bytes = _C.CodeObject(data).data
    code = _C.CodeObject(data).describe()
    processor = code["target"].partition(":")[0]
    segments = [segment for segment in code["segments"] if segment["executable"]]
    assert segments
    for segment in segments:
        begin = segment["file_offset"]
        lines = isa_support.sweep(image[begin : begin + segment["file_size"] // 4 * 4], processor)
        theirs = Disassembler(processor)(words for words, _ in lines)
        different = [
            (words, ours, llvm.text)
            for (words, ours), llvm in zip(lines, theirs, strict=True)
            if (llvm.text or f".long 0x{words[0]:08x}", llvm.dwords or 1) != (ours, len(words))
        ]
        assert different == []
