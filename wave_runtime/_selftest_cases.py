"""Random instructions of a processor on random registers, for a kernel that runs one in each workgroup.

The kernel is ``machine`` of tests/emulator/kernels/machine.s, or of RDNA selftest_rdna.s, which has waves of 32 lanes,
built with room for ``CASES`` instructions. Its registers and memory come from the host and go back to it, so what an
instruction does on one device can be held against another.
"""

from __future__ import annotations

import random
import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

import torch

from wave_runtime import _C

LANES = 64  # for which a row of a block has room
_ATTEMPTS = 10
CASES = 512  # of a launch
MEMORY = 4096  # bytes of buffer for each case
Row = Mapping[str, Any]

# The dwords of a case's block, as machine.s has them.
SGPRS, VCC, EXEC, SCC, M0, MODE, CASE = 80, 80, 82, 84, 85, 86, 87
LDS, VGPRS, AGPRS, BLOCK = 128, 384, 384 + 64 * LANES, 384 + 96 * LANES

_CASE_WORDS = 16
_FILLING = (0xBF80000D).to_bytes(4, "little")  # s_nop 13
_NOP, _WAIT_8, _WAIT_16 = 0xBF800000, 0xBF800007, 0xBF80000F


@dataclass(frozen=True)
class Family:
    """In what processors differ.

    Attributes:
        lanes: of a wave.
        null: the code of the register that is none; of gfx9 that of an address without one.
        branch: s_branch, without the distance.
        waits: what stands behind an instruction. The kernel of RDNA waits behind all cases.
        mode: the bits of MODE that the kernel sets.
    """

    lanes: int
    null: int
    branch: int
    waits: tuple[int, ...]
    mode: int

    @property
    def is_rdna(self) -> bool:
        """Whether it is not GFX9."""
        return self.lanes == 32


_GFX9 = Family(64, 127, 0xBF820000, (0xBF8C0000,), 0xFFFFFFFF)  # s_waitcnt 0
_GFX10 = Family(32, 125, 0xBF820000, (), 0xFF)
_GFX11 = Family(32, 124, 0xBFA00000, (), 0xFF)
FAMILIES = {"gfx90a": _GFX9, "gfx942": _GFX9, "gfx950": _GFX9, "gfx1030": _GFX10, "gfx1100": _GFX11,
            "gfx1150": _GFX11, "gfx1201": _GFX11}  # fmt: skip
PROCESSORS = tuple(FAMILIES)  # that it is built for
# Those that have another's instructions, and what the ELF header calls them.
SAME = {
    figures["code"]: (figures["instructions"], figures["elf_machine"])
    for figures in _C.emulator_processors().values()
    if figures["code"] not in FAMILIES and figures["instructions"] in FAMILIES
}
_ELF_FLAGS = 48  # the byte of the header

# Registers: sources lie below destinations, so that matrices do not overlap; of addresses v60 and v61, of descriptors
# s72 to s75.
_SOURCES, _VECTOR_TO, _SCALAR_TO, _CARRY_TO, _ADDRESS, _DESCRIPTOR = range(0, 32, 4), 32, 16, 20, 60, 72
_SCALES = 24  # of matrices: the two vector registers with scales, the first of which has the indices of sparse ones
# Word 3 of a descriptor: dwords, no swizzling; of RDNA bytes are counted.
_RAW_BUFFERS = dict.fromkeys(("gfx90a", "gfx942", "gfx950"), 0x00027000)
_RAW_BUFFERS |= {"gfx1030": 0x31014FAC} | dict.fromkeys(("gfx1100", "gfx1150", "gfx1201"), 0x31004FAC)
_ROUND_NEAREST, _FLUSH, _TRUNCATE = 0x3F0, 0x300, 0x3FF  # MODE, with DX10_CLAMP and IEEE

_MATRICES = {"MAI", "VOP3PX2"}
_FORMATS = {"SOP1", "SOP2", "SOPK", "SOPC", "VOP1", "VOP2", "VOPC", "VOP3", "VOP3B", "VOP3P"} | _MATRICES
_FORMATS |= {"VOP1_SDWA", "VOP2_SDWA", "VOPC_SDWA", "VOP1_DPP", "VOP2_DPP", "VOPC_DPP", "VOPD"}
_FORMATS |= {"VOP3_DPP", "VOP3B_DPP", "VOP3P_DPP"}
_FORMATS |= {f"{name}_DPP8" for name in ("VOP1", "VOP2", "VOPC", "VOP3", "VOP3B", "VOP3P")}
_WAVE_MATRIX = re.compile(r"v_(wmma|swmmac)_")
# Of the two halves of VOPD sources must lie in different banks, and one result in an even register, one in an odd one.
_DUAL = {"SRCX0": 256, "VSRCX1": 1, "SRCY0": 261, "VSRCY1": 6, "VDSTX": 32, "VDSTY": 33 >> 1}
_MEMORY_FORMATS = {"DS", "SMEM", "FLAT", "GLOBAL", "MUBUF"}
# What a case of its own cannot show: control flow, registers relative to M0, clocks and the like, messages, caches,
# what is ordered among waves, formats of buffers, and what the manual leaves open outside of its context.
_LEFT_OUT = re.compile(
    r"s_(getpc|setpc|swappc|call|rfe|cbranch|set_gpr|setvskip|movrel|getreg|setreg|mem(real)?time|atc|dcache|scratch)"
    r"|s_(buffer_)?(store|atomic)|v_(movrel|clrexcp|screen|div_fmas|div_scale|nop)|ds_(gws|ordered|append|consume|nop|.*_addtid)"
    r"|buffer_(inv|wb)|.*_(format|lds)_|.*_lds$|s_nop"
    # of RDNA
    r"|s_(sendmsg|barrier|get_barrier|sleep|waitcnt|gl1_inv|mov_regrd)|.*_(saveexec|wrexec)_b64|global_(inv|wb)|.*_addtid"
    r"|.*_block$|buffer_gl|v_(swaprel|pipeflush)|ds_bpermute_fi"
)


_SMALL_FLOATS = {"Fp8", "Bf8", "F8f6f4"}  # of matrices: many codes of which any bits would make NaN
_FLOATS = {"F16", "F32", "F64", "PackedF16", "PackedF32"}
_EDGES = {  # high or only dwords: zeros, denormals, one, its neighbours, the largest, infinities, NaNs
    "F16": [0x80000000, 0x00018001, 0x3C003C01, 0xBBFFBC00, 0x7BFFFBFF, 0x7C00FC00, 0x7E00FE01, 0x03FF0400],
    "F32": [0, 0x80000000, 1, 0x807FFFFF, 0x3F800000, 0xBF7FFFFF, 0x7F7FFFFF, 0x7F800000, 0xFF800000, 0x7FC00001],
    "F64": [0, 0x80000000, 0x000FFFFF, 0x3FF00000, 0xBFEFFFFF, 0x7FEFFFFF, 0x7FF00000, 0xFFF00000, 0x7FF80001],
    "B32": [0, 1, 0xFFFFFFFF, 0x80000000, 0x7FFFFFFF, 31, 32, 64, 0xFFFF, 0x8000],
}


@dataclass(frozen=True)
class Case:
    """An instruction and the state before it.

    Attributes:
        row: its row of the instruction table.
        text: as LLVM writes it.
        seed: what it was drawn with.
        words: its words.
        block: int32 ``[BLOCK]``: the registers and LDS.
        addresses: the dwords of the block that hold addresses, which differ between devices.
    """

    row: Row
    text: str
    seed: str
    words: tuple[int, ...]
    block: torch.Tensor
    addresses: tuple[int, ...]


@cache
def _fields(processor: str) -> dict[str, dict[str, tuple[int, int]]]:
    return _C.isa_fields(processor)


def rows(processor: str, pattern: str = "") -> list[Row]:
    """The rows of the instruction table that are tried: those whose mnemonic contains a text."""
    runs = set(_C.implemented_instructions(processor))
    return [
        row
        for row in _C.isa_rows(processor)
        if row["format"] in _FORMATS | _MEMORY_FORMATS
        and pattern in row["mnemonic"]
        and row["base_name"] in runs
        and not _LEFT_OUT.match(row["base_name"])
    ]


class _Draw:
    """One case: first the fields, then the state."""

    def __init__(self, processor: str, row: Row, rng: random.Random) -> None:
        self.row, self.rng, self.family = row, rng, FAMILIES[processor]
        self.format: str = row["format"]
        self.places = _fields(processor)[self.format]
        self.modifiers = frozenset(row["modifiers"])
        self.fields: dict[str, int] = {}
        self.literal: int | None = None
        # A vector instruction reads one scalar register at most.
        takes_vcc = any(operand["kind"] == "Vcc" for operand in row["operands"])
        self.scalar = 106 if takes_vcc else rng.choice(_SOURCES)
        self.is_memory = self.format in _MEMORY_FORMATS

    def words(self) -> tuple[int, ...]:
        for operand in self.row["operands"]:
            self._draw_operand(operand)
        self._draw_modifiers()
        bits = int(self.row["match"])
        if self.format == "VOP3PX2":  # the row is of the scales, behind which the product stands
            bits |= (0xD3800800 | self.row["opcode"] << 16) << 64
        for name, value in self.fields.items():
            low, width = self.places[name]
            bits |= (value & ((1 << width) - 1)) << low
        last = max(low + width for low, width in self.places.values())
        count = 4 if self.format == "VOP3PX2" else -(-last // 32)
        words = tuple(bits >> 32 * i & 0xFFFFFFFF for i in range(count))
        return words if self.literal is None else (*words, self.literal)

    def _draw_operand(self, operand: Mapping[str, Any]) -> None:
        field, kind = operand["field"], operand["kind"]
        if field == "LITERAL":
            self.literal = self.rng.getrandbits(32)
        elif field in _DUAL:
            self.fields[field] = _DUAL[field]
        elif field == "SIMM16":
            self.fields[field] = self.rng.getrandbits(16)
        elif self.is_memory and field in ("ADDR", "VADDR"):
            self.fields[field] = _ADDRESS
        elif field == "SBASE":
            self.fields[field] = _DESCRIPTOR // 2
        elif field == "SRSRC":
            self.fields[field] = _DESCRIPTOR if self.places[field][1] == 9 else _DESCRIPTOR // 4
        elif kind == "SmemOffset":
            self.fields["OFFSET"] = 4 * self.rng.randrange(256)
            self.fields |= {"SOFFSET": self.family.null} if self.family.is_rdna else {"IMM": 1}
        elif kind == "SgprOrOff":
            self.fields[field] = self.family.null
        elif field == "SOFFSET":
            self.fields[field] = self.family.null if self.family.is_rdna else 128  # zero
        elif kind == "MatrixSource":
            is_sparse = "smfmac" in self.row["mnemonic"]  # then these are the indices; else C, where D is
            self.fields[field] = 256 + (_SCALES if is_sparse else _VECTOR_TO)
        elif field in self.places:
            self.fields[field] = self._code(operand)

    def _code(self, operand: Mapping[str, Any]) -> int:
        """The code of a register, or of a constant."""
        kind, written = operand["kind"], operand["written"]
        if kind in ("Vgpr", "VgprOrAgpr", "Agpr", "VectorSource"):
            nine_bits = 256 * (self.places[operand["field"]][1] == 9)
            if written:
                return nine_bits + (0 if kind == "Agpr" else _VECTOR_TO)
            if kind == "VectorSource" and self.format not in _MATRICES and self.rng.random() < 0.3:
                return self._constant(operand) if self.rng.random() < 0.5 else self.scalar
            return nine_bits + self._source(operand)
        if kind == "SdwaSource":
            return self.rng.choice(_SOURCES)
        if kind == "SdwaSdst":
            self.fields["SD"] = 1
            return _SCALAR_TO
        if written:
            return _SCALAR_TO if operand["field"] != "SDST" or not self.format.startswith("VOP3B") else _CARRY_TO
        if not self.format.startswith("S"):
            return self.scalar
        return self._constant(operand) if kind == "ScalarSource" and self.rng.random() < 0.2 else self._source(operand)

    def _source(self, operand: Mapping[str, Any]) -> int:
        if self.format in _MATRICES:  # the factors apart
            return {"SRC0": 0, "SRC1": 12, "SCALE_SRC1": _SCALES + 1}.get(operand["field"], _SCALES)
        last = 16 if self.format.startswith("S") else 32
        return self.rng.choice([first for first in _SOURCES if first + operand["dwords"] <= last])

    def _constant(self, operand: Mapping[str, Any]) -> int:
        floats = list(range(240, 248)) if operand["type"] in _FLOATS else []
        return self.rng.choice([128, 129, 192, 193, 208, *floats])

    def _draw_modifiers(self) -> None:
        rng, fields = self.rng, self.fields
        sources = [o for o in self.row["operands"] if o["read"] and o["field"].startswith(("SRC", "VSRC"))]
        are_floats = bool(sources) and all(operand["type"] in ("F16", "F32", "F64") for operand in sources)
        for index in range(len(sources)):
            for name in ("Neg", "Abs"):
                if name in self.modifiers and are_floats and self.format != "VOP3P" and rng.random() < 0.3:
                    self._set_flag(index, name.upper())
            if f"Src{index}Sel" in self.modifiers:
                fields[f"SRC{index}_SEL"] = rng.randrange(7)
        for name, chance in (("Clamp", 0.2), ("Omod", 0.2)):
            if name in self.modifiers and are_floats and rng.random() < chance:
                fields[name.upper()] = 1
        if "DstSel" in self.modifiers:
            fields |= {"DST_SEL": 6, "DST_UNUSED": 0}
        if "Dpp" in self.modifiers:
            controls = [*range(0x150, 0x170 if self.family.is_rdna else 0x160)]
            if "DppRowNewbcast" not in self.modifiers:
                controls += [*range(0x100), *range(0x101, 0x110), *range(0x111, 0x120), *range(0x121, 0x130)]
            fields |= {"DPP_CTRL": rng.choice(controls), "BOUND_CTRL": rng.randrange(2)}
            fields |= {"ROW_MASK": 15, "BANK_MASK": 15}
        if "Dpp8" in self.modifiers:
            fields |= {"DPP8": rng.getrandbits(24), "DPP_SRC0": rng.choice([233, 234])}  # 234: of disabled lanes, too
        if "MixedFormats" in self.row["traits"]:
            fields |= {"CBSZ": rng.randrange(5), "BLGP": rng.randrange(5)}
        if "OpSelHi" in self.modifiers:
            fields |= {"OP_SEL_HI": 3} | ({} if self.format == "VOP3PX2" else {"OP_SEL_HI2": 1})
        if "Return" in self.modifiers:
            fields[next(name for name in ("SC0", "GLC", "TH") if name in self.places)] = 1
        if self.format == "MUBUF":
            fields["OFFEN"] = 1
        if "Offset01" in self.modifiers:
            fields["OFFSET1"] = 1

    def _set_flag(self, index: int, flag: str) -> None:
        if flag in self.places:  # a bit for each source
            self.fields[flag] = self.fields.get(flag, 0) | 1 << index
        elif f"SRC{index}_{flag}" in self.places:
            self.fields[f"SRC{index}_{flag}"] = 1


def _int32(values: Iterable[int]) -> torch.Tensor:
    return torch.tensor([value - (1 << 32) if value >> 31 else value for value in values], dtype=torch.int32)


def _values(row: Row, shape: tuple[int, ...], generator: torch.Generator) -> torch.Tensor:
    """Dwords for sources: ordinary numbers of the operands' type, edges, and any bits. Pairs are of F64."""
    names = [str(operand["type"]).removeprefix("Packed") for operand in row["operands"] if operand["read"]]
    type = next((name for name in names if name in ("F64", "F32", "F16")), "B32")
    bits = torch.randint(-(1 << 31), 1 << 31, shape, generator=generator, dtype=torch.int64).to(torch.int32)
    edges = _int32(_EDGES[type])[torch.randint(len(_EDGES[type]), shape, generator=generator)]
    normal = torch.randn(shape, generator=generator, dtype=torch.float64) * 4
    if type == "F16":
        ordinary = (normal.to(torch.float16).view(torch.int16).to(torch.int32) & 0xFFFF) * 0x10001
    elif type == "F32":
        ordinary = normal.to(torch.float32).view(torch.int32)
    else:
        ordinary = (normal.view(torch.int64) >> 32).to(torch.int32) if type == "F64" else bits >> 20
    pick = torch.randint(8, shape, generator=generator)
    if row["format"] in _MATRICES:  # sums of numbers of one size: infinities would hide the rest
        return bits & 0x3F3F3F3F if type == "B32" or row["matrix"]["a"] in _SMALL_FLOATS else ordinary
    values = torch.where(pick < 4, ordinary, torch.where(pick < 6, edges, bits))
    if type == "F64":  # low halves are any bits
        values[0::2] = bits[0::2]
    return values


def _distance(row: Row) -> int:
    """The bytes between the lanes' addresses: no two lanes share any, nor do two addresses of a lane."""
    name = row["base_name"]
    if "st64" in name or "stride64" in name:
        return 8 if name.endswith("64") else 4
    return 16


def draw(processor: str, row: Row, seed: str, index: int, memory: int) -> Case | None:
    """A case of a processor's row; None where all that was drawn is no instruction, or one that the emulator refuses.

    The same seed gives the same, but for the addresses: ``memory`` is that of the buffer, of which the case with this
    ``index`` in its launch has its own part.
    """
    rng = random.Random(f"{seed} {row['mnemonic']}")
    for _ in range(_ATTEMPTS):
        words = _Draw(processor, row, rng).words()
        code = b"".join(word.to_bytes(4, "little") for word in words)
        decoded = _C.decode(processor, code)
        if decoded is not None and decoded["mnemonic"] == row["mnemonic"] and not _C.unsupported(processor, code):
            break
    else:
        return None
    generator = torch.Generator().manual_seed(rng.getrandbits(60))
    block = torch.zeros(BLOCK, dtype=torch.int32)
    block[:SGPRS] = _values(row, (SGPRS,), generator)
    block[LDS:] = _values(row, (BLOCK - LDS,), generator) if row["format"] == "DS" else 0
    registers = _values(row, (96, LANES), generator)
    if row["format"] == "VOP3PX2":  # scales of 2^-1 to 2^2
        registers[_SCALES : _SCALES + 2] = (registers[_SCALES : _SCALES + 2] & 0x03030303) + 0x7E7E7E7E
    block[VGPRS:] = registers.flatten()
    block[[VCC, VCC + 1]] = _int32([rng.getrandbits(32), rng.getrandbits(32)])
    if _WAVE_MATRIX.match(row["base_name"]):  # gfx1100 wants the same in both halves
        registers[:, 16:32] = registers[:, :16]
        block[VGPRS:] = registers.flatten()
    some = rng.choice([[~0 & 0xFFFFFFFF] * 2, [rng.getrandbits(32), rng.getrandbits(32)]])
    takes_all = "_tr_" in row["base_name"] or _WAVE_MATRIX.match(row["base_name"])  # lanes
    block[[EXEC, EXEC + 1]] = _int32([~0 & 0xFFFFFFFF] * 2 if takes_all else some)
    block[SCC], block[M0], block[CASE] = rng.randrange(2), -1, index
    family = FAMILIES[processor]
    block[MODE] = rng.choice([_ROUND_NEAREST, _ROUND_NEAREST, _FLUSH, _TRUNCATE]) & family.mode
    if family.is_rdna:
        _leave_out_what_it_lacks(block)
    addresses = _set_addresses(processor, row, block, rng, memory + index * MEMORY)
    return Case(row, str(decoded["text"]), seed, words, block, addresses)


def _leave_out_what_it_lacks(block: torch.Tensor) -> None:
    """A block of a wave of 32 lanes, on a processor without accumulators: what it does not load, it gives back as 0."""
    block[EXEC + 1] = 0
    block[VGPRS:].view(96, LANES)[:, 32:] = 0
    block[AGPRS:] = 0


def _set_addresses(processor: str, row: Row, block: torch.Tensor, rng: random.Random, memory: int) -> tuple[int, ...]:
    """Each lane has a place of its own, so that the order of atomics does not matter."""
    format = row["format"]
    if format not in _MEMORY_FORMATS:
        return ()
    places = torch.tensor(rng.sample(range(LANES), LANES)) * _distance(row)
    low, high = VGPRS + _ADDRESS * LANES, VGPRS + (_ADDRESS + 1) * LANES
    if format in ("FLAT", "GLOBAL"):
        places = places + memory
    block[low : low + LANES] = (places << 32 >> 32).to(torch.int32)
    block[high : high + LANES] = (places >> 32).to(torch.int32)
    if format in ("FLAT", "GLOBAL"):
        return (*range(low, low + LANES), *range(high, high + LANES))
    if format in ("SMEM", "MUBUF"):
        descriptor = range(_DESCRIPTOR, _DESCRIPTOR + 4)
        block[list(descriptor)] = _int32([memory & 0xFFFFFFFF, memory >> 32, MEMORY, _RAW_BUFFERS[processor]])
        return tuple(descriptor)
    return ()


@cache
def _image(processor: str) -> tuple[bytes, int]:
    """The kernel's code object, and where its cases begin."""
    image = (Path(__file__).parent / f"selftest_{processor}.hsaco").read_bytes()
    return image, image.index(_FILLING * (CASES * _CASE_WORDS))


def image(processor: str, cases: list[Case], device: str = "") -> bytes:
    """The processor's code object with the instructions of the cases, at most ``CASES``, for a device of ``SAME``, too.

    Around each are the wait states that any instruction needs (ISA document, "Manually Inserted Wait States").
    """
    template, begin = _image(processor)
    family, code = FAMILIES[processor], bytearray(template)
    for index, case in enumerate(cases):
        words = [_WAIT_8, *case.words, _WAIT_16, _WAIT_16, *family.waits]
        words += [_NOP] * (_CASE_WORDS - 1 - len(words))
        words.append(family.branch | (CASES - 1 - index) * _CASE_WORDS)  # behind all cases
        at = begin + index * _CASE_WORDS * 4
        code[at : at + _CASE_WORDS * 4] = b"".join(word.to_bytes(4, "little") for word in words)
    if device in SAME:
        code[_ELF_FLAGS] = SAME[device][1]
    return bytes(code)


def batches(chosen: list[Row], cases: int, seed: str) -> Iterator[list[tuple[Row, str]]]:
    """Rows and seeds of cases, as many as one launch takes."""
    every = [(row, f"{seed} {number}") for row in chosen for number in range(cases)]
    for begin in range(0, len(every), CASES):
        yield every[begin : begin + CASES]
