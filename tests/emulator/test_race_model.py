"""Random accesses of waves: races are found where a model of every byte has one, and only there."""

from __future__ import annotations

import random

import pytest
import torch
from race_model import BYTES, LANES, ROW, Model, Program, random_program
from support import PROBES

import wave_runtime

SIGNATURE = {"accesses": "table: *i32 const, rows: i32, memory: *u8, flags: *i32"}
KINDS = {True: "lds-race", False: "global-race"}


def found(program: Program) -> set[str]:
    """The kinds of races that the sanitizer reports."""
    rows = max(len(wave) for group in program for wave in group)
    table = torch.zeros(len(program), len(program[0]), rows, ROW, dtype=torch.int32)
    for i, group in enumerate(program):
        for j, wave in enumerate(group):
            for k, row in enumerate(wave):
                table[i, j, k] = torch.tensor(row.words(), dtype=torch.int32)
    memory, flags = torch.zeros(BYTES, dtype=torch.uint8), torch.zeros(16, dtype=torch.int32)
    kernel = wave_runtime.load(PROBES / "accesses.hsaco", signature=SIGNATURE)["accesses"]
    with wave_runtime.sanitize("races") as report:
        kernel(table, rows, memory, flags, grid=len(program), block=LANES * len(program[0]))
    return {finding.kind for finding in report.findings}


def check(seeds: range) -> dict[str, int]:
    """Compares some programs with the model. How many had races of each kind that must be found, and how many none."""
    seen = {"lds-race": 0, "global-race": 0, "none": 0}
    for seed in seeds:
        program = random_program(random.Random(seed))
        model, kinds = Model(program), found(program)
        for is_lds, kind in KINDS.items():
            must, may = model.races(is_lds)
            assert not must or kind in kinds, f"program {seed}: no {kind} was found"
            assert may or kind not in kinds, f"program {seed}: a {kind} was found that is none"
            seen[kind] += must
            seen["none"] += not may
    return seen


@pytest.mark.parametrize("part", range(4))
def test_races_are_those_of_the_model(part: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("WAVE_RUNTIME_DETERMINISTIC", "1")  # the model has workgroups run one after the other
    seen = check(range(60 * part, 60 * part + 60))
    assert min(seen.values()) >= 5, seen
