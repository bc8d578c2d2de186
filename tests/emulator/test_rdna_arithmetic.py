"""Arithmetic of RDNA against the model: random operands, modifiers, MODE and EXEC; all registers are compared.

In waves of 32 lanes and of 64. `python tests/emulator/test_rdna_arithmetic.py gfx1100 --cases 100` tries more.
"""

from __future__ import annotations

import argparse
import itertools
import os
import random
import re
import sys
from collections.abc import Iterator

import machine
import model
import numpy as np
import pytest
import rdna_machine
from model import rdna
from model.draw import Case, draw
from model.floats import F16, F32, SCALES_ALWAYS, Format
from model.operands import EXEC, VCC
from rdna_machine import Row
from test_instructions import CONTROL, forgive
from test_rdna2_instructions import state_of

from wave_runtime import _C

TARGETS = ("gfx1030", "gfx1100", "gfx1150", "gfx1201")
CASES = int(os.environ.get("WAVE_RUNTIME_TEST_CASES", "1"))  # of each row, with four waves each
ATTEMPTS = 80
FORMATS = ("SOP1", "SOP2", "SOPC", "SOPK", "VOP1", "VOP2", "VOPC", "VOP3", "VOP3B", "VOP3P")
FORMATS_OF_FLOATS = {"f16": F16, "f32": F32}
CLAMPS_NAN = 0x100  # of MODE: DX10_CLAMP, which gfx1201 has not, but as if it were set
# Of MODE what the program does not set: DX10_CLAMP and IEEE, and FP16_OVFL. gfx1201 has the last alone.
HIGH_MODES = {target: ((23, 1),) if target == "gfx1201" else ((8, 2), (23, 1)) for target in TARGETS}
MODE = 1  # the hardware register's number
NULL_OR_M0 = (124, 125)  # which have changed places
UNKNOWN = (*NULL_OR_M0, *range(64, 106), 108, *range(109, 124), *range(233, 240), 249, 250, 251, 252)
# Tests of their own have what counts lanes of the whole wave, needs M0, or knows gfx1201's formats of 8 bits.
ELSEWHERE = re.compile(
    r"s_(get|set)reg.*|[sv]_movrel.*|v_(readfirstlane|readlane|writelane)_b32|v_nop|v_clrexcp|.*[fb][fp]8.*"
)


def for_waves(row: Row, dwords: int) -> Row:
    """A vector instruction whose masks have as many dwords: rows have one, since the wave's size is the kernel's. And
    constants of s_cmp_*_f16 are f16, which LLVM does not say."""
    masks = ("Vcc", "Sgpr") if row["format"].startswith("V") and not row["base_name"].startswith("v_s_") else ()
    operands = [{**operand, "dwords": dwords} if operand["kind"] in masks else operand for operand in row["operands"]]
    if re.fullmatch("s_cmp_.*_f16", row["base_name"]):
        operands = [{**operand, "type": "F16"} for operand in operands]
    return {**row, "operands": operands}


def rows_of(target: str) -> list[Row]:
    """Those with a body and a rule, under the name of the rule."""
    implemented = frozenset(_C.implemented_instructions(target))
    found = []
    for row in machine.isa_rows(target):
        name = row["base_name"]
        if row["format"] in FORMATS and name in implemented and not ELSEWHERE.fullmatch(name) and name not in CONTROL:
            new = {**row, "base_name": rdna.name_of_rule(name, target)}
            if model.is_modelled(new["base_name"]):
                found.append(new)
    return found


ROWS = {target: rows_of(target) for target in TARGETS}


def names_unknown(case: Case) -> bool:
    """Whether an operand is a scalar register that the program lacks, or whose code differs, or is not defined."""
    # The high half of a constant, or which half is a constant: test_compiled_constants.py has the latter.
    halves = {"s_cvt_hi_f32_f16": ("SSRC0",), "v_pk_fmac_f16": ("SRC0",)}
    halves |= {f"v_dot2_f32_bf16 of {target}": ("SRC0", "SRC1") for target in TARGETS}
    halves |= {"v_dot2_bf16_bf16 of gfx1201": ("SRC0", "SRC1", "SRC2"), "v_dot2_f16_f16 of gfx1201": ("SRC0", "SRC1")}
    if any(128 <= case.fields[field] <= 248 for field in halves.get(case.row["base_name"], ())):
        return True
    kinds = ("Sgpr", "ScalarSource", "VectorSource")
    return any(case.fields.get(o["field"]) in UNKNOWN for o in case.row["operands"] if o["kind"] in kinds)


def cases(target: str, row: Row, lanes: int, seed: str = "") -> Iterator[Case]:
    rng = random.Random(f"{target} {row['mnemonic']} {row['format']} {lanes} {seed}")
    for _ in range(ATTEMPTS):
        case = draw(for_waves(row, lanes // 32), rng)
        if names_unknown(case):
            continue
        decoded = _C.decode(target, b"".join(word.to_bytes(4, "little") for word in case.words))
        if decoded is None or decoded["mnemonic"] != row["mnemonic"]:
            continue
        if lanes == 32 and re.search(r"\b(exec_hi|vcc_hi)\b", decoded["text"]):
            continue
        known = sum(((1 << size) - 1) << low for low, size in HIGH_MODES[target])
        high = int(case.state.mode[0]) & known | (SCALES_ALWAYS | CLAMPS_NAN if target == "gfx1201" else 0)
        case.state.mode = case.state.mode & 0xFF | np.uint32(high)
        if lanes == 32:
            case.state.exec[:, 1] = 0
        yield case


def expected(case: Case, lanes: int) -> machine.State:
    """What the model says, but for what RDNA does otherwise: results of 16 bits keep the other half of their register,
    and masks of 32 lanes are single registers."""
    after, before, row = model.evaluate(case.row, case.fields, case.literal, case.state), case.state, case.row
    for operand in row["operands"]:
        is_half = operand["written"] and operand["kind"] == "Vgpr" and operand["type"] in ("B16", "F16")
        if is_half and "OpSelDst" not in row["modifiers"] and row["format"] != "VOP3P":
            at = case.fields[operand["field"]]
            after.v[:, at] = after.v[:, at] & 0xFFFF | before.v[:, at] & np.uint32(0xFFFF0000)
    if lanes == 32 and row["format"].startswith("V"):
        after.exec[:, 1], after.vcc[:, 1] = 0, before.vcc[:, 1]
        mask = case.fields.get("SDST", case.fields.get("VDST", 0))
        if "WritesMask" in row["traits"] and mask + 1 < rdna_machine.SGPRS:
            after.s[:, mask + 1] = before.s[:, mask + 1]
    return after


def scalar_format(name: str) -> Format | None:
    """Of the result of a scalar instruction on floats."""
    found = re.fullmatch(r"s_(?:cvt_(?:hi_|pk_rtz_)?(f16|f32|[iu]32)_\w+|(?!cmp)\w+_(f16|f32))", name)
    return FORMATS_OF_FLOATS.get(found[1] or found[2]) if found else None


def forgive_scalar(case: Case, wanted: machine.State, found: rdna_machine.State) -> None:
    """Makes equal in `wanted` the NaNs: their bits are open."""
    format = scalar_format(case.row["base_name"])
    at = case.fields.get("SDST", 0)
    name, number = {VCC: ("vcc", 0), EXEC: ("exec", 0)}.get(at, ("s", at))
    for wave in range(wanted.waves) if format is not None else ():
        bits, got = (int(getattr(state, name)[wave, number]) for state in (wanted, found))
        for low in range(0, 32, format.width):
            mask = (1 << format.width) - 1 << low
            if format.is_nan((bits & mask) >> low) and format.is_nan((got & mask) >> low):
                bits = bits & ~mask | got & mask
        getattr(wanted, name)[wave, number] = bits


def set_high_modes(target: str, mode: int) -> list[int]:
    """Instructions before the one that is tried: they are the same for all waves."""
    row, words = rdna_machine.rows(target)["s_setreg_imm32_b32"], []
    for low, size in HIGH_MODES[target]:
        words += [int(row["match"]) & 0xFFFFFFFF | MODE | low << 6 | size - 1 << 11, mode >> low & (1 << size) - 1]
    return words


def difference(target: str, case: Case, lanes: int) -> str | None:
    words = [*set_high_modes(target, int(case.state.mode[0])), *case.words]
    found, wanted = rdna_machine.run(target, words, state_of(case.state, lanes)), expected(case, lanes)
    wanted.v = wanted.v[:, : rdna_machine.VGPRS, :lanes]
    forgive(case, wanted, found)
    forgive_scalar(case, wanted, found)
    for name in ("s", "v", "vcc", "exec", "scc", "m0"):
        got = getattr(found, name)
        cut = getattr(wanted, name)[tuple(slice(n) for n in got.shape)]
        if not np.array_equal(got, cut):
            at = tuple(np.argwhere(got != cut)[0])
            before = getattr(case.state, name)[at]
            return (
                f"{case.row['mnemonic']} {case.fields}, literal {case.literal}, MODE {case.state.mode[at[0]]:#x}: "
                f"{name}{[int(n) for n in at]} was {before:#x}, must be {cut[at]:#x}, is {got[at]:#x}"
            )
    return None


def differences(target: str, row: Row, lanes: int, count: int, seed: str = "") -> Iterator[str | None]:
    return (difference(target, case, lanes) for case in itertools.islice(cases(target, row, lanes, seed), count))


def sizes(format_: str) -> tuple[int, ...]:
    """In how many lanes the rows of a format are tried: scalar instructions do not depend on it."""
    return (64,) if format_.startswith("S") else (32, 64)


@pytest.mark.parametrize(
    ("target", "lanes", "format_"),
    [(target, lanes, format_) for target in TARGETS for format_ in FORMATS for lanes in sizes(format_)],
)
def test_arithmetic(target: str, lanes: int, format_: str) -> None:
    of_format = (row for row in ROWS[target] if row["format"] == format_)
    rdna_machine.check_each(of_format, lambda row: differences(target, row, lanes, CASES))


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("target", choices=TARGETS)
    parser.add_argument("--cases", type=int, default=20, help="for each row of the instruction table")
    parser.add_argument("--rows", default="", help="only mnemonics that contain this")
    parser.add_argument("--lanes", type=int, default=32, choices=(32, 64))
    parser.add_argument("--seed", default="")
    arguments = parser.parse_args()
    bad = 0
    for chosen in (row for row in ROWS[arguments.target] if arguments.rows in row["mnemonic"]):
        if arguments.lanes not in sizes(chosen["format"]):
            continue
        made = list(differences(arguments.target, chosen, arguments.lanes, arguments.cases, arguments.seed))
        texts = [text for text in made if text]
        if texts or not made:
            bad += 1
            print(
                f"{chosen['mnemonic']} {chosen['format']}: {len(texts)} of {len(made)} differ; {texts[:1]}", flush=True
            )
    print(f"{bad} of {len(ROWS[arguments.target])} rows differ or are not tried")
    sys.exit(bad > 0)
