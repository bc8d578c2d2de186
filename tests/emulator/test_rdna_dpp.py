"""DPP16 and DPP8 of RDNA, in all forms of all instructions that have it: as the instruction
without, on a source whose lanes were moved before, in the lanes that remain (RDNA3 ISA document, "Data Parallel
Processing (DPP)"). Instructions without are held against a model elsewhere.
"""

from __future__ import annotations

import argparse
import functools
import itertools
import os
import random
import re
from collections.abc import Iterator, Mapping

import machine
import numpy as np
import pytest
import rdna_machine
from rdna_machine import Row, State
from support import first_or_long

from wave_runtime import _C

TARGETS = ("gfx1030", "gfx1100", "gfx1150", "gfx1201")
CASES = int(os.environ.get("WAVE_RUNTIME_TEST_CASES", "1"))
WAVES = 2
FORMATS = tuple(
    f"{base}_{form}" for base in ("VOP1", "VOP2", "VOPC", "VOP3", "VOP3B", "VOP3P") for form in ("DPP", "DPP8")
)
FI_CODE = 234  # of DPP8: disabled lanes are read, too
MOVED, REGISTERS = 40, 32  # where the source's lanes are put; vector registers from which operands are drawn
VCC, EXEC, NULL, VECTOR = 106, 126, 124, 256
OF_DPP = ("DPP_CTRL", "FI", "BOUND_CTRL", "BANK_MASK", "ROW_MASK", "DPP8", "DPP_SRC0")
CONTROLS = [*range(0x101, 0x110), *range(0x111, 0x120), *range(0x121, 0x130), 0x140, 0x141, *range(0x150, 0x170)]


@functools.cache
def fields(target: str) -> Mapping[str, Mapping[str, tuple[int, int]]]:
    return _C.isa_fields(target)


@functools.cache
def rows(target: str) -> list[Row]:
    return list(machine.isa_rows(target))


def encode(target: str, row: Row, values: Mapping[str, int]) -> list[int]:
    bits, places = int(row["match"]), fields(target)[row["format"]]
    for name, value in values.items():
        low, width = places[name]
        assert 0 <= value < 1 << width, (name, value)
        bits = bits & ~(((1 << width) - 1) << low) | value << low
    last = max(low + width for low, width in places.values())
    return [bits >> at & 0xFFFFFFFF for at in range(0, -(-last // 32) * 32, 32)]


def without_dpp(target: str, row: Row) -> Row | None:
    format_ = row["format"].partition("_")[0]
    found = [r for r in rows(target) if r["base_name"] == row["base_name"] and r["format"] == format_]
    return found[0] if found else None


def source_lane(values: Mapping[str, int], lane: int) -> int | None:
    """None where there is none in the row."""
    if "DPP8" in values:
        return lane & ~7 | values["DPP8"] >> 3 * (lane & 7) & 7
    control, row, column = values["DPP_CTRL"], lane & ~15, lane & 15
    if control < 0x100:
        return lane & ~3 | control >> 2 * (lane & 3) & 3
    kind, amount = control >> 4, control & 15
    if kind == 0x10:
        return lane + amount if column + amount < 16 else None
    if kind == 0x11:
        return lane - amount if column >= amount else None
    moved = {
        0x12: column - amount & 15,
        0x14: 15 - column if amount == 0 else column & 8 | 7 - (column & 7),
        0x15: amount,
        0x16: column ^ amount,
    }
    return row | moved[kind]


def draw_registers(rng: random.Random, lanes: int) -> State:
    """Values of all kinds, some lanes disabled, and modes."""
    state = State(WAVES, lanes)
    single = int(np.array(rng.gauss(0, 3), np.float32).view(np.uint32))
    half = int(np.array(rng.gauss(0, 3), np.float16).view(np.uint16))
    pool = [
        rng.getrandbits(32),
        rng.randrange(64),
        0x3C003C00,
        0x3F800000,
        0xBF800001,
        0x80000000,
        0x7FC00000,
        0x7E007E00,
    ]
    pool += [single, half * 0x10001, 0x00010003, 0xFC007C00, 0x7F800000]
    state.v[:] = np.array([rng.choice(pool) if rng.random() < 0.5 else rng.getrandbits(32)
                           for _ in range(state.v.size)], np.uint32).reshape(state.v.shape)  # fmt: skip
    for wave in range(WAVES):
        mask = rng.choice([rng.getrandbits(lanes), rng.getrandbits(lanes) | rng.getrandbits(lanes), (1 << lanes) - 1])
        state.exec[wave, : lanes // 32] = [mask >> at & 0xFFFFFFFF for at in range(0, lanes, 32)]
        state.vcc[wave] = rng.getrandbits(32), rng.getrandbits(32)
    state.s[:] = np.array([rng.choice(pool) for _ in range(state.s.size)], np.uint32).reshape(state.s.shape)
    state.mode[:] = rng.choice((0xF0, 0x3F0, 0x0, 0x30, 0xC0)) | rng.choice((0, 0, rng.randrange(16)))
    return state


def draw(target: str, row: Row, rng: random.Random) -> tuple[dict[str, int], State]:
    """Fields, and registers with values of all kinds."""
    state = draw_registers(rng, rng.choice((32, 64)))
    places, values = fields(target)[row["format"]], {}
    for operand in row["operands"]:
        name, width = operand["field"], places.get(operand["field"], (0, 0))[1]
        if name == "NONE" or name in values:
            continue
        if operand["kind"] == "Vgpr":
            is_short = target != "gfx1030" and row["format"].startswith(("VOP1", "VOP2", "VOPC"))
            is_half = operand["type"] in ("B16", "F16", "Bf16") and is_short
            number = rng.randrange(0, REGISTERS, 2) | (rng.randrange(2) << 7 if is_half else 0)
            values[name] = number + (VECTOR if width == 9 else 0)
        elif operand["kind"] == "VectorSource":
            scalar = rng.choice([rng.randrange(0, 40, 2), rng.choice([128, 129, 193, 240, 242, 245, 248])])
            takes_scalar = rng.random() < 0.3 and target != "gfx1100"  # which takes none in SRC1
            values[name] = scalar if takes_scalar else VECTOR + rng.randrange(0, REGISTERS, 2)
        elif operand["kind"] == "Sgpr":
            values[name] = rng.randrange(40, 60, 2)
    for name, modifier in (("CLAMP", "Clamp"), ("OMOD", "Omod"), ("OP_SEL", "OpSel"), ("OP_SEL_HI", "OpSelHi"),
                           ("OP_SEL_HI2", "OpSelHi"), ("NEG_HI", "NegHi"), ("NEG", "Neg"), ("NEG", "NegLo"),
                           ("ABS", "Abs"), ("SRC0_NEG", "Neg"), ("SRC1_NEG", "Neg"), ("SRC0_ABS", "Abs"),
                           ("SRC1_ABS", "Abs")):  # fmt: skip
        # What NEG and ABS of the short encodings do to pairs no document says.
        is_of_pair = name.startswith("SRC") and row["base_name"].startswith(("v_dot2", "v_pk_"))
        if name in places and modifier in row["modifiers"] and not is_of_pair and rng.random() < 0.5:
            values[name] = rng.getrandbits(places[name][1])
    if "Mix" in row["modifiers"]:
        values |= {name: rng.getrandbits(places[name][1]) for name in ("OP_SEL", "OP_SEL_HI", "OP_SEL_HI2")}
    if "DPP8" in places:
        values["DPP8"], values["DPP_SRC0"] = rng.getrandbits(24), rng.choice((233, FI_CODE))
    else:
        values["DPP_CTRL"] = rng.choice([rng.randrange(256), rng.choice(CONTROLS), rng.choice(CONTROLS)])
        values["FI"], values["BOUND_CTRL"] = rng.randrange(2), rng.randrange(2)
        values["BANK_MASK"], values["ROW_MASK"] = (rng.choice((15, 15, rng.randrange(16))) for _ in range(2))
    return values, state


def mask_of(state: State, wave: int) -> int:
    return int(state.exec[wave, 0]) | int(state.exec[wave, 1]) << 32


def modified(bits: np.ndarray, operand: Row, negates: bool, absolute: bool, high: bool) -> np.ndarray:
    """Input modifiers of the encodings of 32 bits, which the plain instruction has none of."""
    sign = np.uint32(0x80000000 if operand["type"] == "F32" or high else 0x8000)
    bits = bits & ~sign if absolute else bits
    return bits ^ sign if negates else bits


def moved(row: Row, values: Mapping[str, int], state: State) -> tuple[State, list[int]]:
    """The state with the first source's lanes moved to a register of its own, and the lanes that remain."""
    after = State(state.waves, state.lanes)
    for name in rdna_machine.NAMES:
        setattr(after, name, getattr(state, name).copy())
    register, masks = values["SRC0"] & 127 if not row["format"].startswith("VOP3") else values["SRC0"], []
    fetches = values["DPP_SRC0"] == FI_CODE if "DPP8" in values else bool(values["FI"])
    bounded = "DPP8" in values or bool(values["BOUND_CTRL"])
    for wave in range(state.waves):
        exec_, mask = mask_of(state, wave), 0
        for lane in range(state.lanes):
            source = source_lane(values, lane)
            is_there = source is not None and (fetches or exec_ >> source & 1)
            after.v[wave, MOVED, lane] = state.v[wave, register, source] if is_there else 0
            in_masks = "DPP8" in values or (
                values["ROW_MASK"] >> lane // 16 & 1 and values["BANK_MASK"] >> lane % 16 // 4 & 1
            )
            mask |= (exec_ >> lane & 1 and (is_there or bounded) and bool(in_masks)) << lane
        masks.append(mask)
        after.exec[wave] = mask & 0xFFFFFFFF, mask >> 32
    return after, masks


def plain(row: Row, values: Mapping[str, int], state: State) -> tuple[dict[str, int], State, list[int]]:
    """Fields and state of the same instruction without DPP."""
    state, masks = moved(row, values, state)
    kept = {name: value for name, value in values.items() if name not in OF_DPP}
    is_short = not row["format"].startswith("VOP3")
    kept["SRC0"] = VECTOR + MOVED + (values["SRC0"] & 128 if is_short else 0)
    operands = {operand["field"]: operand for operand in row["operands"]}
    for index, field in enumerate(("SRC0", "VSRC1")):
        negates, absolute = kept.pop(f"SRC{index}_NEG", 0), kept.pop(f"SRC{index}_ABS", 0)
        is_exponent = field == "VSRC1" and row["base_name"].startswith("v_ldexp")
        if not (negates or absolute) or field not in operands or is_exponent:
            continue
        is_half = operands[field]["type"] in ("F16", "Bf16")
        if not (is_half or operands[field]["type"] == "F32"):
            continue
        high = is_half and bool(kept[field] & 128)
        to = MOVED if index == 0 else MOVED + 1
        from_ = MOVED if index == 0 else kept[field] & (127 if is_half else 255)
        state.v[:, to] = modified(state.v[:, from_], operands[field], bool(negates), bool(absolute), high)
        if index == 1:
            kept[field] = to | (128 if high else 0)
    return kept, state, masks


def difference(target: str, row: Row, rng: random.Random) -> str | None:
    """Of one case; an empty text where LLVM and we do not take the fields."""
    other = without_dpp(target, row)
    if other is None:
        return ""
    values, state = draw(target, row, rng)
    words = encode(target, row, values)
    decoded = _C.decode(target, b"".join(word.to_bytes(4, "little") for word in words))
    if decoded is None or decoded["mnemonic"] != row["mnemonic"]:
        return ""
    fields_, before, _ = plain(row, values, state)
    found = rdna_machine.run(target, words, state)
    wanted = rdna_machine.run(target, encode(target, other, fields_), before)
    writes_exec = "WritesExec" in row["traits"]
    wanted.v[:, MOVED : MOVED + 2] = state.v[:, MOVED : MOVED + 2]
    for name in ("s", "v", "vcc", *(["exec"] if writes_exec else [])):
        got, must = getattr(found, name), getattr(wanted, name)
        if not np.array_equal(got, must):
            at = tuple(int(n) for n in np.argwhere(got != must)[0])
            return (
                f"{decoded['text']} (lanes {state.lanes}, MODE {state.mode[0]:#x}, EXEC {mask_of(state, at[0]):#x}): "
                f"{name}{list(at)} was {getattr(state, name)[at]:#x}, must be {must[at]:#x}, is {got[at]:#x}"
            )
    return None


def differences(target: str, row: Row, count: int, seed: str = "") -> Iterator[str | None]:
    rng = random.Random(f"{target} {row['mnemonic']} {row['format']} {seed}")
    found = (difference(target, row, rng) for _ in range(20 * count))
    return itertools.islice((text for text in found if text != ""), count)


def rows_of(target: str, format_: str) -> list[Row]:
    implemented = set(_C.implemented_instructions(target))
    # Modifiers of moves between relative registers are refused.
    names = {name for name in implemented if not name.startswith("v_movrel")}
    return [row for row in rows(target) if row["format"] == format_ and row["base_name"] in names and row["operands"]]


@pytest.mark.parametrize("format_", FORMATS)
@pytest.mark.parametrize("target", first_or_long(reversed(TARGETS), 1))
def test_lanes_are_moved_before(target: str, format_: str) -> None:
    rdna_machine.check_each(rows_of(target, format_), lambda row: differences(target, row, CASES))


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("target", choices=TARGETS)
    parser.add_argument("--cases", type=int, default=10, help="for each row of the instruction table")
    parser.add_argument("--rows", default="", help="only mnemonics that match this")
    parser.add_argument("--seed", default="")
    arguments = parser.parse_args()
    for each in FORMATS:
        for chosen in rows_of(arguments.target, each):
            if not re.search(arguments.rows, chosen["mnemonic"]):
                continue
            made = list(differences(arguments.target, chosen, arguments.cases, arguments.seed))
            texts = [text for text in made if text]
            if texts or not made:
                print(f"{chosen['mnemonic']} {each}: {len(texts)} of {len(made)} differ; {texts[:1]}", flush=True)
