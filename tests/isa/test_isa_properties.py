"""The columns that names give (tools/isa/properties.py), held against what LLVM says of the same instructions."""

from __future__ import annotations

import functools
import re
import subprocess
from collections.abc import Iterator

import check_isa
import pytest
from isa.properties import with_properties
from isa.row import Matrix, Memory, Row, parse_table, table
from isa_support import PROCESSORS, ROOT

every_processor = pytest.mark.parametrize("processor", PROCESSORS)


@functools.cache
def rows(processor: str) -> list[Row]:
    return check_isa.table(processor).rows


@pytest.mark.parametrize("processor", [*PROCESSORS, "gfx9-generic"])
def test_the_columns_are_what_the_generator_makes(processor: str) -> None:
    text = (ROOT / "csrc/emulator/isa" / f"{processor}.inc").read_text()
    parsed = parse_table(text, rows(processor)[0].generation)
    assert table(processor, parsed) == text
    assert table(processor, [with_properties(processor, row) for row in parsed]) == text


# Memory: as many bytes as the registers hold that LLVM names.


def data_dwords(row: Row) -> int:
    """Of the registers that hold the data, those of one address."""
    written = [o for o in row.operands if o.field in ("VDST", "SDATA", "VDATA")]
    given = [o for o in row.operands if o.field in ("DATA", "DATA0")]
    return (written + given)[0].dwords if written else given[0].dwords


def whole_registers(row: Row) -> Iterator[tuple[Memory, int]]:
    """The access of a row that moves whole registers, and their number."""
    memory = row.memory
    if memory is None or memory.bytes < 4 or "_lds_" in row.mnemonic or "_d16_" in row.mnemonic:
        return
    swaps = re.search(r"_f?cmpswap|_cond_?swap", row.mnemonic)
    data = data_dwords(row)
    if swaps and row.format in ("MUBUF", "SMEM"):
        data //= 2  # what to store and what to compare with
    two_results = memory.direction != "store" and memory.addresses == 2
    yield memory, data // 2 if two_results else data


@every_processor
def test_accesses_are_as_wide_as_their_registers(processor: str) -> None:
    found = [(row, each) for row in rows(processor) for each in whole_registers(row)]
    assert len(found) > 100
    assert [row.mnemonic for row, (memory, dwords) in found if memory.bytes != 4 * dwords] == []


@every_processor
def test_narrow_accesses_have_one_register(processor: str) -> None:
    narrow = [row for row in rows(processor) if row.memory and row.memory.bytes < 4]
    assert len(narrow) > 30
    assert [row.mnemonic for row in narrow if "_lds_" not in row.mnemonic and data_dwords(row) != 1] == []


@every_processor
def test_directions_are_those_of_the_operands(processor: str) -> None:
    """A load writes a register, a store writes none."""
    for row in rows(processor):
        if row.memory and "_lds_" not in row.mnemonic:
            written = any(operand.written for operand in row.operands)
            assert row.memory.direction == "atomic" or written == (row.memory.direction == "load"), row.mnemonic
            assert (row.memory.direction == "atomic") >= ("Return" in row.modifiers), row.mnemonic


@every_processor
def test_two_offsets_are_two_addresses(processor: str) -> None:
    for row in rows(processor):
        addresses = row.memory.addresses if row.memory else 1
        assert (addresses == 2) == ("Offset01" in row.modifiers), row.mnemonic


# Matrices: as many elements as the registers hold that LLVM names.

BITS = {"F64": 64, "F32": 32, "Xf32": 32, "F16": 16, "Bf16": 16, "Fp8": 8, "Bf8": 8, "I32": 32, "I8": 8, "I4": 4,
        "F8f6f4": 8}  # fmt: skip


def stored(matrix: Matrix, row: Row) -> list[tuple[int, int]]:
    """The bits of D, A and B, and those of their registers."""
    sparse = 2 if row.kind == "SparseMatrix" else 1
    counts = (
        (matrix.m * matrix.n, matrix.d),
        (matrix.m * matrix.k // sparse, matrix.a),
        (matrix.k * matrix.n, matrix.b),
    )
    lanes = 64 if row.generation == "gfx9" else 32
    return [
        (elements * matrix.blocks * BITS[element], operand.dwords * 32 * lanes)
        for (elements, element), operand in zip(counts, row.operands, strict=False)
    ]


@every_processor
def test_matrices_fill_their_registers(processor: str) -> None:
    """gfx11 has A and B twice, in both halves of the wave, and an element of D of 16 bits in each dword."""
    with_matrix = [(row, row.matrix) for row in rows(processor) if row.matrix]
    counts = {"gfx90a": 27, "gfx942": 46, "gfx950": 68, "gfx1030": 0, "gfx1100": 6, "gfx1150": 6, "gfx1201": 22}
    assert len(with_matrix) == counts[processor]
    for row, matrix in with_matrix:
        bits = stored(matrix, row)
        if processor in ("gfx1100", "gfx1150"):
            bits = [(32 * matrix.m * matrix.n, bits[0][1]), *((2 * has, holds) for has, holds in bits[1:])]
        assert all(has == holds for has, holds in bits), (row.mnemonic, bits)


@every_processor
def test_products_are_matrices(processor: str) -> None:
    for row in rows(processor):
        assert (row.kind in ("Matrix", "SparseMatrix")) == (row.matrix is not None), row.mnemonic
        assert (row.matrix is not None) == bool(re.match(r"v_(mfma|smfmac|wmma|swmmac)_", row.mnemonic)), row.mnemonic


# Masks: what a vector instruction writes that is no vector register.


@every_processor
def test_scalar_results_of_vector_instructions_are_masks(processor: str) -> None:
    one_value = re.compile(r"v_(readlane|readfirstlane|s_\w+)_")
    for row in rows(processor):
        if row.format.startswith("VOP") and row.format != "VOPD" and not one_value.match(row.mnemonic):
            scalar = any(o.written and o.kind in ("Sgpr", "Vcc", "SdwaSdst") for o in row.operands)
            assert ("WritesMask" in row.traits) == (scalar or "WritesExec" in row.traits), row.mnemonic
        else:
            assert "WritesMask" not in row.traits, row.mnemonic


# SCC and EXEC: the implicit operands that LLVM asks for when it reads machine instructions as text.

PSEUDO = {
    r"and_not1": "andn2",
    r"or_not1": "orn2",
    r"and_not0": "andn1",
    r"or_not0": "orn1",
    r"ctz_i32": "ff1_i32",
    r"clz_i32_u": "flbit_i32_b",
    r"cls_i32": "flbit_i32",
    r"add_co_ci": "addc",
    r"sub_co_ci": "subb",
    r"(add|sub)(k?)_co_([iu]32)": r"\1\2_\3",
    r"(min|max)_num": r"\1",
    r"(add|sub)_nc_u64": r"\1_u64",
    r"isfirst": "isfirst_imm",
}
EXEMPT = {
    r"s_barrier_(init|join|signal)|s_get_barrier_state|s_set_inst_prefetch_distance|s_wait_alu": "has another name",
    r"s_cbranch_([gi]_fork|join)": "LLVM does not say what forks do to EXEC",
    r"s_setvskip": "LLVM has it among the comparisons, which write SCC",
}
SCC, EXEC = "implicit-def $scc", "implicit-def $exec"
OTHERS = ", ".join(
    [f"implicit-def ${name}" for name in ("vcc", "m0", "mode")]
    + [f"implicit ${name}" for name in ("scc", "exec", "vcc", "m0", "mode", "flat_scr")]
)


def first_error(lines: list[str]) -> str:
    """What LLVM finds first when it reads these machine instructions; where nothing, that it does not know the last."""
    body = "".join(f"    {line}\n" for line in [*lines, "NO_SUCH"])
    command = ["llc-22", "-march=amdgcn", "-x", "mir", "-run-pass=none", "-o", "-", "-"]
    source = f"---\nname: f\nbody: |\n  bb.0:\n{body}...\n"
    result = subprocess.run(command, input=source, capture_output=True, text=True, check=False)
    return result.stderr.partition("\n")[0]


def scalar_instructions() -> dict[str, Row]:
    """By LLVM's name."""
    found = {}
    for processor in PROCESSORS:
        for row in rows(processor):
            if row.format.startswith("SOP") and not re.fullmatch("|".join(EXEMPT), row.mnemonic):
                name = functools.reduce(lambda text, pair: re.sub(*pair, text), PSEUDO.items(), row.mnemonic)
                found[name.upper()] = row
    return found


@pytest.mark.needs("llc")
def test_what_writes_neither_scc_nor_exec() -> None:
    wrote = {
        name: [trait for trait, kind in ((SCC, "WritesScc"), (EXEC, "WritesExec")) if kind in row.traits]
        for name, row in scalar_instructions().items()
    }
    lines = [", ".join([f"{name} {OTHERS}", *implicit]) for name, implicit in wrote.items()]
    assert len(lines) > 250
    assert "unknown machine instruction name 'NO_SUCH'" in first_error(lines)


@pytest.mark.needs("llc")
def test_what_writes_scc_or_exec() -> None:
    for name, row in scalar_instructions().items():
        for trait, own, other in (("WritesScc", SCC, EXEC), ("WritesExec", EXEC, SCC)):
            if trait in row.traits:
                assert f"missing implicit register operand '{own}'" in first_error([f"{name} {other}, {OTHERS}"]), name
