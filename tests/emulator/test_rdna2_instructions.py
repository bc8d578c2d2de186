"""Arithmetic of gfx1030, SDWA and DPP included, against gfx942, which other tests hold against a model: in waves of 64
lanes, and in waves of 32 as half of such a wave."""

from __future__ import annotations

import itertools
import random
import re
from collections.abc import Iterator, Mapping
from typing import Any

import machine
import numpy as np
import pytest
import rdna_machine
from model.draw import Case, draw
from test_instructions import CASES as MORE_CASES
from test_instructions import ROWS, forgive

from wave_runtime import _C

TARGET = "gfx1030"
CASES, ATTEMPTS = max(1, MORE_CASES // 2), 60  # of each row and size of waves, with four waves each
ROWS_OF_TARGET = {(row["format"], row["mnemonic"]): row for row in machine.isa_rows(TARGET)}
FIELDS = _C.isa_fields(TARGET)
IMPLEMENTED = frozenset(_C.implemented_instructions(TARGET))

# What gfx942 calls otherwise.
NEW_NAMES = {f"v_{name}_u32": f"v_{name}_nc_u32" for name in ("add", "sub", "subrev")}
NEW_NAMES |= {f"v_{name}_{type}": f"v_{name}_nc_{type}" for name in ("add", "sub") for type in ("i32", "i16", "u16")}
NEW_NAMES |= {f"v_{old}_co_u32": f"v_{new}_co_ci_u32" for old, new in
              (("addc", "add"), ("subb", "sub"), ("subbrev", "subrev"))}  # fmt: skip
ELSEWHERE = re.compile(r"s_(get|set)reg.*|s_movrel.*")  # registers that the two programs have not alike
# What of a wave of 32 lanes cannot be told from half a wave of 64.
OF_WHOLE_WAVES = re.compile(r"v_(readfirstlane|readlane|writelane|mbcnt_\w+)_b32.*")
OF_WHOLE_MASKS = re.compile(r"\b(exec\w*|vcc_hi|src_\w+z)\b")

BEYOND = re.compile(r"\bs\[?(6[4-9]|[7-9]\d|10\d)\b|flat_scratch|xnack")  # registers that the program lacks

Pair = tuple[Mapping[str, Any], Mapping[str, Any]]


def pairs() -> Iterator[Pair]:
    """Rows of gfx942 and of gfx1030 for one instruction."""
    for row in ROWS:
        base, name = str(row["base_name"]), str(row["mnemonic"])
        new = NEW_NAMES.get(base, base)
        names = (new + name.removeprefix(base), new, f"{new}_e64", f"{new}_e32")
        found = [ROWS_OF_TARGET[row["format"], name] for name in names if (row["format"], name) in ROWS_OF_TARGET]
        if found and found[0]["base_name"] in IMPLEMENTED and not ELSEWHERE.fullmatch(name):
            yield row, found[0]


PAIRS = list(pairs())


def comparable(text: str) -> str:
    """The text without what says how many lanes a mask has, and with one name of what a row of lanes shares."""
    text = re.sub(r"\bvcc_lo\b", "vcc", text).replace("row_newbcast", "row_share")
    return re.sub(r"s\[(\d+):\d+\]", r"s\1", text)


def operands_of(text: str) -> str:
    return comparable(text.partition(" ")[2])


def encoded(row: Mapping[str, Any], values: Mapping[str, int]) -> list[int]:
    bits, places = int(row["match"]), FIELDS[row["format"]]
    for name, value in values.items():
        low, width = places[name]
        bits = bits & ~(((1 << width) - 1) << low) | value << low
    last = max(low + width for low, width in places.values())
    return [bits >> at & 0xFFFFFFFF for at in range(0, last, 32)]


def words_of(case: Case, other: Mapping[str, Any]) -> list[int] | None:
    """The instruction for gfx1030; None where that has no such fields, or reads them otherwise."""
    known, used = FIELDS[other["format"]], {name: value for name, value in case.fields.items() if value}
    if not used.keys() <= known.keys() or any(value >> known[name][1] for name, value in used.items()):
        return None
    is_cmpx = case.row["base_name"].startswith("v_cmpx_")
    for name in ("SDST", "VDST", "SD") if is_cmpx else ():
        used.pop(name, None)
    literal = [] if case.literal is None else [case.literal]
    words = [*encoded(other, used), *literal]
    decoded, before = (
        _C.decode(target, b"".join(word.to_bytes(4, "little") for word in each))
        for target, each in ((TARGET, words), ("gfx942", case.words))
    )
    if decoded is None or before is None or BEYOND.search(before["text"]):
        return None
    if not is_cmpx and operands_of(decoded["text"]) != operands_of(before["text"]):
        return None
    return words


def state_of(state: machine.State, lanes: int) -> rdna_machine.State:
    other = rdna_machine.State(state.waves, lanes)
    other.s, other.v = state.s[:, : rdna_machine.SGPRS].copy(), state.v[:, : rdna_machine.VGPRS, :lanes].copy()
    for name in ("vcc", "exec", "scc", "m0"):
        setattr(other, name, getattr(state, name).copy())
    if lanes == 32:
        other.exec[:, 1] = 0
    other.mode = state.mode & 0xFF
    return other


def expected(case: Case, other: Mapping[str, Any], lanes: int) -> machine.State:
    """What gfx942 does, but for what RDNA does otherwise: results of 16 bits keep the other half of their register,
    v_cmpx writes EXEC alone, and masks of 32 lanes are single registers."""
    after, before = machine.run(case.words, case.state), case.state
    is_half = any(o["written"] and o["kind"] == "Vgpr" and o["type"] in ("B16", "F16") for o in other["operands"])
    selects = "DstSel" in other["modifiers"] or "OpSelDst" in case.row["modifiers"]
    if is_half and not selects and not other["format"].startswith("VOP3P"):
        at = case.fields["VDST"]
        after.v[:, at] = after.v[:, at] & 0xFFFF | before.v[:, at] & np.uint32(0xFFFF0000)
    if case.row["base_name"].startswith("v_cmpx_"):
        after.s, after.vcc = before.s, before.vcc
    if lanes == 32:
        after.exec[:, 1], after.vcc[:, 1] = 0, before.vcc[:, 1]
        mask = case.fields.get("SDST", case.fields.get("VDST", 0))
        if "WritesMask" in other["traits"] and mask + 1 < rdna_machine.SGPRS:
            after.s[:, mask + 1] = before.s[:, mask + 1]
    return after


def cases(row: Mapping[str, Any], other: Mapping[str, Any], lanes: int) -> Iterator[tuple[Case, list[int]]]:
    """With the words for gfx1030."""
    rng = random.Random(f"{TARGET} {row['mnemonic']} {row['format']} {lanes}")
    for _ in range(ATTEMPTS):
        case = draw(row, rng)
        words = words_of(case, other)
        text = _C.decode("gfx942", b"".join(word.to_bytes(4, "little") for word in case.words))["text"]
        if words is not None and not (lanes == 32 and OF_WHOLE_MASKS.search(text)):
            case.state.mode = case.state.mode & 0xFF | 0x300  # as compilers ask for
            yield case, words


TRIED = [(format_, 64) for format_ in sorted({row["format"] for row, _ in PAIRS})]
TRIED += [(format_, 32) for format_, _ in TRIED if format_.startswith("V")]


@pytest.mark.parametrize(("format_", "lanes"), TRIED)
def test_as_on_gfx942(format_: str, lanes: int) -> None:
    wrong, untried = [], []
    for row, other in (pair for pair in PAIRS if pair[0]["format"] == format_):
        if lanes == 32 and OF_WHOLE_WAVES.fullmatch(row["mnemonic"]):
            continue
        done = 0
        for case, words in itertools.islice(cases(row, other, lanes), CASES):
            found, wanted = rdna_machine.run(TARGET, words, state_of(case.state, lanes)), expected(case, other, lanes)
            wanted.v = wanted.v[:, : rdna_machine.VGPRS, :lanes]
            forgive(case, wanted, found)
            for name in ("s", "v", "vcc", "exec", "scc", "m0"):
                got = getattr(found, name)
                if not np.array_equal(got, getattr(wanted, name)[tuple(slice(n) for n in got.shape)]):
                    wrong.append(f"{other['mnemonic']} {case.fields}: {name}")
            done += 1
        if done == 0:
            untried.append(row["mnemonic"])
    assert wrong == []
    assert untried == []


def test_most_arithmetic_is_tried() -> None:
    assert len(PAIRS) > 1170
