"""Every arithmetic instruction against the model: random operands, modifiers, MODE, EXEC; all registers are compared.

`python tests/emulator/test_instructions.py --cases 100` tries more, and prints a table.
"""

from __future__ import annotations

import argparse
import math
import os
import random
import sys
from collections import Counter
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

import machine
import model
import numpy as np
import pytest
from machine import State
from model.draw import FLOAT_TYPES, Case, draw, draw_edges, takes_floats_alone
from model.floating import TWO_OVER_PI
from model.floats import F16, Format
from model.operands import place
from simd_levels import LEVELS, run_again

from wave_runtime import _C

Row = Mapping[str, Any]

CASES = int(os.environ.get("WAVE_RUNTIME_TEST_CASES", "2"))  # of each row, with four waves each
FORMATS = {"SOP1", "SOP2", "SOPK", "SOPC", "VOP1", "VOP2", "VOPC", "VOP3", "VOP3B", "VOP3P"}
FORMATS |= {f"{name}_SDWA" for name in ("VOP1", "VOP2", "VOPC")} | {f"{name}_DPP" for name in ("VOP1", "VOP2")}
# Branches, and what changes how later instructions run: test_control.py and test_indexing.py have them.
CONTROL = {"s_getpc_b64", "s_setpc_b64", "s_swappc_b64", "s_call_b64", "s_rfe_b64", "s_rfe_restore_b64", "s_setvskip"}
CONTROL |= {"s_cbranch_g_fork", "s_cbranch_i_fork", "s_cbranch_join", "s_set_gpr_idx_on"}


def rows_of(processor: str) -> list[Row]:
    implemented = frozenset(_C.implemented_instructions(processor))

    def is_tested(row: Row) -> bool:
        name = row["base_name"]
        arithmetic = row["format"] in FORMATS or name.startswith("v_accvgpr")
        return arithmetic and name in implemented and name not in CONTROL

    return [row for row in machine.isa_rows(processor) if is_tested(row)]


ROWS = rows_of("gfx942")
KNOWN = {row["mnemonic"] for row in ROWS}
OLDER = [row for row in rows_of("gfx90a") if row["mnemonic"] not in KNOWN]  # what gfx942 has no longer


@dataclass(frozen=True)
class Tolerance:
    """What the manual leaves open in a float result, besides which NaN it is."""

    ulps: int
    sign_of_zero: bool

    def same(self, format: Format, expected: int, found: int) -> bool:
        if expected == found or (format.is_nan(expected) and format.is_nan(found)):
            return True
        sizes = [bits & (format.sign_bit - 1) for bits in (expected, found)]
        if sizes == [0, 0]:
            return self.sign_of_zero
        if format.is_nan(expected) or format.is_nan(found) or (expected ^ found) & format.sign_bit:
            return False
        flushed = {0, 1 << format.fraction_bits}  # neighbours where there are no denormals
        return abs(sizes[0] - sizes[1]) <= self.ulps or (self.ulps > 0 and set(sizes) == flushed)

    def same_register(self, format: Format, expected: int, found: int, dwords: int) -> bool:
        mask, positions = (1 << format.width) - 1, range(0, 32 * dwords, format.width)
        return all(self.same(format, expected >> at & mask, found >> at & mask) for at in positions)


def forgive(case: Case, expected: State, found: State) -> None:
    """Makes equal in `expected` what counts as equal: results that are floats."""
    rule = model.RULES.get(case.row["base_name"])
    open_sign = bool(case.fields.get("CLAMP")) or case.row["base_name"].startswith(("v_sin", "v_cos"))
    tolerance = Tolerance(rule.ulps if rule else 0, open_sign)
    for operand in case.row["operands"]:
        format = F16 if case.row["base_name"] == "v_pack_b32_f16" else FLOAT_TYPES.get(operand["type"])
        if not operand["written"] or format is None or operand["kind"] != "Vgpr":
            continue
        first, dwords = place(operand, case.fields, case.literal).number, operand["dwords"]
        wanted, got = (state.v[:, first : first + dwords] for state in (expected, found))
        for wave, lane in np.argwhere((wanted != got).any(axis=1)):
            bits = [sum(int(v[wave, i, lane]) << 32 * i for i in range(dwords)) for v in (wanted, got)]
            if tolerance.same_register(format, bits[0], bits[1], dwords):
                wanted[wave, :, lane] = got[wave, :, lane]


def differences(case: Case, processor: str) -> Iterator[str]:
    """What the emulator does otherwise than the model, in words."""
    expected = model.evaluate(case.row, case.fields, case.literal, case.state)
    found = machine.run(case.words, case.state, processor=processor)
    forgive(case, expected, found)
    for name in ("s", "v", "a", "lds", "vcc", "exec", "scc", "m0", "mode"):
        for at in np.argwhere(getattr(expected, name) != getattr(found, name)):
            before, wanted, got = (int(getattr(state, name)[tuple(at)]) for state in (case.state, expected, found))
            wave, lane = at[0], at[2] if len(at) == 3 else None
            yield (
                f"{name}{at[1:].tolist()} of wave {wave} was {before:#x}, must be {wanted:#x}, is {got:#x}; "
                f"MODE {case.state.mode[wave]:#x}, EXEC {case.state.exec[wave]}, VCC {case.state.vcc[wave]}, "
                f"sources {sources(case, int(wave), lane)}"
            )


def sources(case: Case, wave: int, lane: int | None) -> list[str]:
    texts = []
    for operand in case.row["operands"]:
        if operand["read"]:
            at = place(operand, case.fields, case.literal)
            if at.file in ("v", "a") and lane is not None:
                registers = getattr(case.state, at.file)[wave, :, lane]
            elif at.file == "s" and at.number < machine.SGPRS:
                registers = case.state.s[wave]
            else:
                continue
            words = registers[at.number : at.number + operand["dwords"]]
            texts.append(f"{at.file}{at.number}={''.join(f'{word:08x}' for word in words[::-1])}")
    return texts


def code(case: Case) -> bytes:
    return b"".join(word.to_bytes(4, "little") for word in case.words)


def text(case: Case, processor: str) -> str:
    decoded = _C.decode(processor, code(case))
    drawn = f"{case.row['mnemonic']} {case.fields} {case.words}"
    assert decoded is not None, f"drew no instruction: {drawn}"
    assert decoded["mnemonic"] == case.row["mnemonic"], f"drew {decoded['text']}: {drawn}"
    return str(decoded["text"])


def refusal(case: Case, processor: str) -> str | None:
    """Why the emulator stops at an instruction, where it does: not an error, as it says so."""
    reason: str | None = _C.unsupported(processor, code(case))
    return reason


def cases(row: Row, count: int, seed: str = "") -> Iterator[Case]:
    rng = random.Random(f"{row['mnemonic']} {row['format']} {seed}")
    return (draw(row, rng) for _ in range(count))


@pytest.mark.parametrize(
    ("processor", "row"),
    [*(("gfx942", row) for row in ROWS), *(("gfx90a", row) for row in OLDER)],
    ids=lambda value: value if isinstance(value, str) else str(value["mnemonic"]),
)
def test_instruction(processor: str, row: Row) -> None:
    assert model.is_modelled(row["base_name"]), "the emulator runs it: give it a rule in tests/emulator/model"
    tried, refused = 0, []
    for case in cases(row, 20 * CASES):
        description = text(case, processor)
        if reason := refusal(case, processor):
            refused.append(reason)
            continue
        first = next(differences(case, processor), None)
        assert first is None, f"{description}: {first}"
        tried += 1
        if tried == CASES:
            break
    assert tried == CASES, f"the emulator refuses what is drawn: {set(refused)}"


@pytest.mark.parametrize("row", [row for row in ROWS if takes_floats_alone(row)], ids=lambda row: str(row["mnemonic"]))
def test_floats_at_their_edges(row: Row) -> None:
    """Which meet each other more often here than where all is random."""
    case = draw_edges(row, random.Random(row["mnemonic"]))
    first = next(differences(case, "gfx942"), None)
    assert first is None, f"{text(case, 'gfx942')}: {first}"


def campaign(count: int, pattern: str, seed: str, processor: str) -> int:
    """Tries many cases, and prints how many differ: by format, and each row that does."""
    tried, failed, refused = Counter[str](), Counter[str](), Counter[str]()
    bad_rows = 0
    for row in rows_of(processor):
        if pattern not in row["mnemonic"]:
            continue
        first, bad = None, 0
        for case in cases(row, count, seed):
            description = text(case, processor)
            if refusal(case, processor):
                refused[row["format"]] += 1
                continue
            difference = next(differences(case, processor), None) if model.is_modelled(row["base_name"]) else "no model"
            if difference is not None:
                bad, first = bad + 1, first or f"{description}: {difference}"
        tried[row["format"]] += count
        failed[row["format"]] += bad
        if first is not None:
            bad_rows += 1
            print(f"{row['mnemonic']}: {bad} of {count}; {first}", flush=True)
    print(f"\n{'format':12}{'rows':>8}{'cases':>10}{'refused':>10}{'differ':>10}")
    tried["all"], failed["all"], refused["all"] = (sum(counter.values()) for counter in (tried, failed, refused))
    for name in tried:
        print(f"{name:12}{tried[name] // count:8}{tried[name]:10}{refused[name]:10}{failed[name]:10}")
    print(f"{bad_rows} rows differ")
    return int(bad_rows > 0)


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--cases", type=int, default=20, help="for each row of the instruction table")
    parser.add_argument("--rows", default="", help="only mnemonics that contain this")
    parser.add_argument("--seed", default="")
    parser.add_argument("--processor", default="gfx942", choices=("gfx90a", "gfx942"))
    arguments = parser.parse_args()
    sys.exit(campaign(arguments.cases, arguments.rows, arguments.seed, arguments.processor))


@pytest.mark.parametrize("exponent", [0, 1000, 1076, 1077, 1078, 1140, 1967, 1968, 2046])
def test_bits_of_two_over_pi(exponent: int) -> None:
    """Each segment for numbers of every size: behind the last bit that the hardware has there are zeros."""
    row = next(row for row in rows_of("gfx942") if row["mnemonic"] == "v_trig_preop_f64")
    state = State(1)
    state.v[0, 9], state.v[0, 10] = exponent << 20, np.arange(64) % 32
    after = machine.run(machine.encode(row, VDST=12, SRC0=256 + 8, SRC1=256 + 10), state).v[0]
    found = (after[12].astype(np.uint64) | after[13].astype(np.uint64) << np.uint64(32)).view(np.float64)
    bits = [53 * segment + max(0, exponent - 1077) for segment in range(32)]
    wanted = [
        math.ldexp(TWO_OVER_PI << at + 53 >> 1201 & (1 << 53) - 1, -53 - at + 128 * (exponent >= 1968)) for at in bits
    ]
    assert found[:32].tolist() == wanted


@pytest.mark.parametrize(("processor", "expected"), [("gfx90a", 0), ("gfx942", 0xAC800000), ("gfx950", 0xAC800000)])
def test_dot_product_of_a_denormal(processor: str, expected: int) -> None:
    """-2^-24 * 2^-14, as LLVM's authors measured it on a gfx90a and a gfx950 (llvm-project, pull request 205101)."""
    row, state = next(row for row in rows_of(processor) if row["mnemonic"] == "v_dot2_f32_f16"), State(1)
    state.v[0, 0], state.v[0, 1] = 0x8001, 0x0400
    words = machine.encode(row, SRC0=256, SRC1=257, SRC2=128, OP_SEL_HI=3, OP_SEL_HI2=1)
    assert (machine.run(words, state, processor=processor).v[0, 0] == expected).all()


@pytest.mark.parametrize("processor", ["gfx90a", "gfx942", "gfx950"])
def test_both_halves_of_a_constant(processor: str) -> None:
    """LLVM makes `v_pk_add_f32 v[0:1], v[0:1], 1.0` of a sum of which the second element alone counts."""
    state = State(1)
    state.v[:] = 0
    for name, sources in (("v_pk_add_f32", {"SRC1": 242}), ("v_pk_fma_f32", {"SRC1": 256, "SRC2": 242})):
        row = next(row for row in rows_of(processor) if row["mnemonic"] == name)
        words = machine.encode(row, VDST=4, SRC0=256, **sources, OP_SEL_HI=3, OP_SEL_HI2=1)
        after = machine.run(words, state, processor=processor).v[0]
        assert (after[4:6] == 0x3F800000).all()


@pytest.mark.parametrize("level", LEVELS)
def test_simd_levels(level: str) -> None:
    """A process uses one level: what compilers make of floats, carries and 64 bits is tested anew at each."""
    names = "floor or ceil or trunc or rndne or max or med3 or _co_ or perm or f16 or exp or log"
    names += " or mad_u64 or mad_i64 or lshl_add_u64 or lshlrev_b64 or lshrrev_b64 or ashrrev_i64 or pk_mov"
    run_again(level, __file__, "-k", f"test_instruction and ({names})")
