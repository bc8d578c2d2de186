"""VOPD of gfx1100, gfx1150 and gfx1201: each pair as its two instructions, both on the registers that were there before
(RDNA3 ISA document, "Dual Issue VALU"). The instructions themselves are held against a model elsewhere.
"""

from __future__ import annotations

import itertools
import os
import random
from collections.abc import Iterator, Mapping

import numpy as np
import pytest
import rdna_machine
from rdna_machine import Row, State
from support import first_or_long
from test_rdna_dpp import VECTOR, draw_registers, encode, rows

from wave_runtime import _C

CASES = int(os.environ.get("WAVE_RUNTIME_TEST_CASES", "1"))
TARGETS = ("gfx1100", "gfx1150", "gfx1201")
LITERAL = 255


def single(target: str, name: str) -> Row:
    """The instruction that is half of a pair."""
    name, formats = name.replace("v_dual_", "v_"), ["VOP1", "VOP2"]
    if name.startswith("v_dot2acc"):
        name, formats = name.replace("dot2acc", "dot2"), ["VOP3P"]
    return next(row for row in rows(target) if row["base_name"] == name and row["format"] in formats)


def result(target: str, name: str, fields: Mapping[str, int], literal: int, state: State) -> np.ndarray:
    """What one half leaves in its destination."""
    row = single(target, name)
    if row["format"] == "VOP3P":
        to_be_added = {"SRC2": VECTOR + fields["VDST"], "OP_SEL_HI": 3, "OP_SEL_HI2": 1}
        fields = {"SRC0": fields["SRC0"], "SRC1": VECTOR + fields["VSRC1"], "VDST": fields["VDST"], **to_be_added}
    words = [*encode(target, row, fields), literal]
    takes_literal = fields["SRC0"] == LITERAL or name.startswith(("v_dual_fmaak", "v_dual_fmamk"))
    return rdna_machine.run(target, words if takes_literal else words[:-1], state).v[:, fields["VDST"]]


def difference(target: str, row: Row, rng: random.Random) -> str | None:
    """Of one case; an empty text where the emulator does not take the fields."""
    state, literal = draw_registers(rng, 32), rng.choice((rng.getrandbits(32), 0x40490FDB, 1))
    values = {}
    for half in "XY":
        source = rng.choice(
            [VECTOR + rng.randrange(32)] * 5 + [rng.randrange(40), rng.randrange(128, 209), 240, LITERAL]
        )
        values[f"SRC{half}0"] = source
        if any(operand["field"] == f"VSRC{half}1" for operand in row["operands"]):
            values[f"VSRC{half}1"] = rng.randrange(32)
    values["VDSTX"], values["VDSTY"] = rng.randrange(32), rng.randrange(16)
    has_literal = LITERAL in (values["SRCX0"], values["SRCY0"]) or "v_dual_fma" in row["mnemonic"].replace("fmac", "")
    words = encode(target, row, values) + ([literal] if has_literal else [])
    decoded = _C.decode(target, b"".join(word.to_bytes(4, "little") for word in words))
    if decoded is None or decoded["dwords"] != len(words):
        return ""
    found, wanted = rdna_machine.run(target, words, state).v, state.v.copy()
    for half, name in zip("XY", row["mnemonic"].split(" :: "), strict=True):
        to = values["VDSTX"] if half == "X" else values["VDSTY"] * 2 + 1 - values["VDSTX"] % 2
        fields = {"SRC0": values[f"SRC{half}0"], "VDST": to}
        if f"VSRC{half}1" in values:
            fields["VSRC1"] = values[f"VSRC{half}1"]
        wanted[:, to] = result(target, name, fields, literal, state)
    if np.array_equal(found, wanted):
        return None
    at = tuple(int(n) for n in np.argwhere(found != wanted)[0])
    return f"{decoded['text']} (MODE {state.mode[0]:#x}): v{list(at)} must be {wanted[at]:#x}, is {found[at]:#x}"


@pytest.mark.parametrize("target", first_or_long(reversed(TARGETS), 1))
def test_pairs(target: str) -> None:
    def differences(row: Row) -> Iterator[str | None]:
        rng = random.Random(f"{target} {row['mnemonic']}")
        drawn = (difference(target, row, rng) for _ in range(10 * CASES))
        return itertools.islice((text for text in drawn if text != ""), CASES)

    rdna_machine.check_each((row for row in rows(target) if row["format"] == "VOPD"), differences)
