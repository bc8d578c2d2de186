"""Random accesses of waves: races are found where a model of every byte has one, and only there."""

from __future__ import annotations

import random
from collections.abc import Callable

import pytest
import torch
from race_model import (
    ADD,
    BYTES,
    LANES,
    LDS,
    LOAD,
    ROW,
    STORE,
    Model,
    Pair,
    Program,
    Row,
    counting_program,
    crowded_program,
    lds_program,
    orders,
    random_program,
    small_program,
)
from support import PROBES, first_or_long

import wave_runtime
from wave_runtime._sanitize import Site

SIGNATURE = {"accesses": "table: *i32 const, rows: i32, memory: *u8, flags: *i32"}
KINDS = {True: "lds-race", False: "global-race"}
WIDTHS = {
    False: (["ubyte", "ushort", "dword", "dwordx2", "dwordx4"], ["byte", "short", "dword", "dwordx2", "dwordx4"]),
    True: (["u8", "u16", "b32", "b64", "b128"], ["b8", "b16", "b32", "b64", "b128"]),
}
NAMES = {
    **{f"global_load_{width}": LOAD + i for i, width in enumerate(WIDTHS[False][0])},
    **{f"global_store_{width}": STORE + i for i, width in enumerate(WIDTHS[False][1])},
    "global_atomic_add": ADD,
    **{f"ds_read_{width}": LDS + LOAD + i for i, width in enumerate(WIDTHS[True][0])},
    **{f"ds_write_{width}": LDS + STORE + i for i, width in enumerate(WIDTHS[True][1])},
    "ds_add_u32": LDS + ADD,
}


def code(site: Site | None) -> int:
    """The access that an instruction makes."""
    assert site is not None
    return NAMES[site.instruction.split()[0]]


def accesses(program: Program, site: Site, dword: int) -> bool:
    """Whether the lane that a finding names accesses some of a dword by its instruction."""
    assert site.lane is not None
    rows = [row for row in program[site.workgroup[0]][site.wave] if row.access == code(site)]
    begins = [row.begins[site.lane] for row in rows]
    return any(
        begin >= 0 and begin < dword + 4 and dword < begin + row.size for begin, row in zip(begins, rows, strict=True)
    )


def found(program: Program, idle: int = 0) -> dict[str, set[Pair]]:
    """The races that the sanitizer reports, by their kind. Each wave may have rows of nothing, before what it does.

    Each ends with a store of its own: loads of a wave that stores nothing are no races.
    """
    rows = idle + max(len(wave) for group in program for wave in group) + 1
    table = torch.zeros(len(program), len(program[0]), rows, ROW, dtype=torch.int32)
    for i, group in enumerate(program):
        for j, wave in enumerate(group):
            for k, row in enumerate(wave):
                table[i, j, idle + k] = torch.tensor(row.words(), dtype=torch.int32)
            own = BYTES + 4 * (i * len(group) + j)
            last = Row(STORE + 2, 1, begins=[own, *[-1] * (LANES - 1)])
            table[i, j, rows - 1] = torch.tensor(last.words(), dtype=torch.int32)
    memory = torch.zeros(BYTES + 4 * len(program) * len(program[0]), dtype=torch.uint8)
    flags = torch.zeros(16, dtype=torch.int32)
    kernel = wave_runtime.load(PROBES / "accesses.hsaco", signature=SIGNATURE)["accesses"]
    with wave_runtime.sanitize("races") as report:
        kernel(table, rows, memory, flags, grid=len(program), block=LANES * len(program[0]))
    races: dict[str, set[Pair]] = {kind: set() for kind in KINDS.values()}
    for finding in report.findings:
        one, other = sorted([code(finding.at), code(finding.other)])
        races[finding.kind].add((one, other))
        for site in (finding.at, finding.other):
            if finding.address is not None:
                assert accesses(program, site, finding.address - memory.data_ptr()), f"{site} does not access it"
    return races


def check(make: Callable[[random.Random], Program], seeds: range, *, is_in_order: bool = True) -> dict[str, int]:
    """Compares some programs with the model. How many had races of each kind that must be found, and how many none.

    Where workgroups do not run one after the other a flag may be read before it is set, and then it orders nothing.
    They last long enough for several threads there.
    """
    seen = {"lds-race": 0, "global-race": 0, "none": 0}
    for seed in seeds:
        program = make(random.Random(seed))
        model, pairs = Model(program), found(program, 0 if is_in_order else 200)
        least = model if is_in_order else Model(program, has_flags=False)
        for is_lds, kind in KINDS.items():
            must, may = model.races(is_lds).must, least.races(is_lds).may
            missed = [sorted(some) for some in must if not some & pairs[kind]]
            assert not missed, f"program {seed}: no {kind} was found of {missed}"
            wrong = pairs[kind] - may
            assert not wrong, f"program {seed}: a {kind} was found that is none: {wrong}"
            seen[kind] += bool(must)
            seen["none"] += not may
    return seen


@pytest.mark.parametrize("part", first_or_long(range(4), 1))
def test_races_are_those_of_the_model(part: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("WAVE_RUNTIME_DETERMINISTIC", "1")  # the model has workgroups run one after the other
    seen = check(random_program, range(60 * part, 60 * part + 60))
    assert min(seen.values()) >= 5, seen


@pytest.mark.parametrize("part", first_or_long(range(4), 1))
def test_single_races_are_those_of_the_model(part: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """Parts of a dword, in each order: what one access leaves of what was known before is what the next one meets."""
    monkeypatch.setenv("WAVE_RUNTIME_DETERMINISTIC", "1")
    seen = check(small_program, range(300 * part, 300 * part + 300))
    assert min(seen.values()) >= 10, seen


@pytest.mark.parametrize("part", first_or_long(range(4), 1))
def test_races_with_counts_are_those_of_the_model(part: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """Who has counted last does not stand for who has counted before."""
    monkeypatch.setenv("WAVE_RUNTIME_DETERMINISTIC", "1")
    seen = check(counting_program, range(60 * part, 60 * part + 60))
    assert min(seen["global-race"], seen["none"] - 60) >= 10, seen


@pytest.mark.parametrize("part", first_or_long(range(4), 1))
def test_races_of_many_waves_in_lds_are_those_of_the_model(part: int) -> None:
    """Each race by itself, whoever accessed the byte between the two: what knows of two waves forgets the third."""
    seen = check(crowded_program, range(200 * part, 200 * part + 200))
    assert min(seen["lds-race"], seen["none"]) >= 10, seen


@pytest.mark.parametrize(("make", "count"), [(random_program, 60), (small_program, 300)])
def test_races_of_workgroups_side_by_side(
    make: Callable[[random.Random], Program], count: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("WAVE_RUNTIME_DETERMINISTIC", raising=False)
    seen = check(make, range(count), is_in_order=False)
    assert min(seen.values()) >= 5, seen


def test_workgroups_that_store_the_same_at_once(monkeypatch: pytest.MonkeyPatch) -> None:
    """Who comes second changes nothing, wherever the lanes store: in two pages here. One launch in twenty was wrong."""
    monkeypatch.delenv("WAVE_RUNTIME_DETERMINISTIC", raising=False)
    lanes, step = range(LANES), BYTES // LANES
    wave = [
        Row(NAMES["global_store_dword"], 7, 0, [step * lane + begin for lane in lanes]) for begin in range(0, step, 4)
    ]
    for _ in range(100):
        assert not found([[wave]] * 8, 50)["global-race"]


@pytest.mark.parametrize("part", range(4))
def test_single_races_in_lds_are_those_of_the_model(part: int) -> None:
    """Of what the waves do in one of the orders that the barriers leave."""
    seen = 0
    for seed in range(150 * part, 150 * part + 150):
        program = lds_program(random.Random(seed))
        pairs = found(program)["lds-race"]
        races = [Model(program, order=order).races(is_lds=True) for order in orders(program)]
        fits = [pairs <= one.may and all(some & pairs for some in one.must) for one in races]
        assert any(fits), f"program {seed}: {pairs} was found where {races} are"
        seen += all(one.must for one in races)
    assert seen >= 20
