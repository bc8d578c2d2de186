"""Known patterns of racy programs, compiled for several processors: each race is found in its lines, and no other."""

from __future__ import annotations

from pathlib import Path

import pytest
import torch
from support import first_or_long

import wave_runtime

pytestmark = pytest.mark.needs("clang-22")

SOURCE = Path(__file__).parent / "kernels" / "patterns.hip"
TARGETS = ("gfx942", "gfx1201", "gfx90a", "gfx950", "gfx1030", "gfx1100")


def zeros(count: int) -> torch.Tensor:
    return torch.zeros(count, dtype=torch.int32)


def launch(module: wave_runtime.Module, name: str, wrong: int) -> torch.Tensor:
    """A pattern on small data. Returns what it makes."""
    ends = torch.arange(2048, dtype=torch.int32) * 7 % 16
    two, one = {"grid": 2, "block": 256}, {"grid": 1, "block": 256}
    kernel = module[name]
    result = zeros(512)
    if name == "degrees":
        kernel(ends, result, 2048, wrong, grid=4, block=128)
    elif name == "worklist":
        kernel(torch.ones(512, dtype=torch.int32), zeros(512), result, 512, wrong, **two)
    elif name == "shortened_paths":
        result = torch.arange(512, dtype=torch.int32) // 2
        kernel(result, 512, wrong, **two)
    elif name in ("locked_sum", "stored_lock", "volatile_lock", "turns"):
        kernel(zeros(1), result, wrong, grid=4, block=64)
    elif name == "reset_counter":
        kernel(zeros(1), result, wrong, grid=16, block=64)
    elif name == "scoped_flag":
        kernel(zeros(1), zeros(1), result, wrong, grid=2, block=64)
    elif name == "last_workgroup":
        kernel(ends, zeros(4), zeros(1), result, wrong, grid=4, block=64)
    elif name == "last_of_waves":
        kernel(ends, zeros(1024), zeros(1), result, wrong, grid=4, block=256)
    elif name == "stores_of_mates":
        kernel(zeros(256), zeros(1), result, wrong, grid=2, block=256)
    elif name in ("grid_sums", "library_grid_sums"):
        kernel(ends, zeros(512), result, wrong, grid=2, block=256, cooperative=True)
    elif name == "stencil":
        result = torch.zeros(256)
        kernel(torch.rand(256), result, wrong, **one)
    elif name == "odd_even_sort":
        result = torch.arange(512, 0, -1, dtype=torch.int32)
        kernel(result, wrong, **one)
    elif name == "lock_of_lds":
        kernel(zeros(1), result, wrong, **one)
    elif name == "reset_counters":
        kernel(zeros(9000), result, wrong, grid=2, block=64)
    elif name == "read_before":
        result = torch.ones(64, dtype=torch.int32)
        kernel(result, zeros(1), wrong, grid=2, block=64)
    elif name == "visited":
        kernel(torch.ones(64, dtype=torch.int32), result, wrong, grid=2, block=64)
    elif name in ("lds_lock", "lds_flag", "lds_slot", "reset_in_lds", "visited_in_lds"):
        kernel(result, wrong, **one)
    elif name == "counter":
        kernel(result, wrong, grid=200, block=128)
    elif name == "second_workgroup":
        kernel(result, wrong, grid=2, block=128)
    elif name == "flags_of_bits":
        kernel(result, torch.zeros(512, dtype=torch.uint8), wrong, **two)
    else:
        kernel(ends, result, wrong, **one)
    return result


RESULTS = {  # of those that do not race
    "degrees": [128] * 16,
    "worklist": [512],
    "locked_sum": [1 + 2 + 3 + 4],
    "stored_lock": [1 + 2 + 3 + 4],
    "volatile_lock": [1 + 2 + 3 + 4],
    "reset_counter": [15],
    "turns": [((1 * 3 + 2) * 3 + 3) * 3 + 4],
    "scoped_flag": [0, 7],
    "last_workgroup": [sum(64 * i * 7 % 16 + 1 for i in range(4))],
    "last_of_waves": [sum(i * 7 % 16 + 1 for i in range(1024))],
    "grid_sums": [sum(i * 7 % 16 + 1 for i in range(512))] * 512,
    "library_grid_sums": [sum(i * 7 % 16 + 1 for i in range(512))] * 512,
    "stores_of_mates": [256] * 512,
    "scan": [1, 9],
    "wave_sum": [sum(i * 7 % 16 + 1 for i in range(256))],
    "lds_counts": [16] * 16,
    "flags_of_bits": [-1, -1],
    "reset_counters": [15],
    "read_before": [5] * 64,
    "visited": [1] * 128,
    "counter": [200 * 128],
    "lds_lock": [1] * 256,
    "second_workgroup": [19] * 256,
}
IN_LDS = (
    "visited_in_lds",
    "lds_flag",
    "lds_slot",
    "lock_of_lds",
    "reset_in_lds",
    "last_wave",
    "stencil",
    "odd_even_sort",
)
NAMES = (*RESULTS, *IN_LDS, "shortened_paths")


# Atomic stores look like all others there, so that a plain store counts as atomic where the wave's atomics have read.
EQUAL_STORES = ("gfx90a", "gfx1030", "gfx1100")
# Where a pattern's mistake is none: there, and where stores that a barrier has waited for need not be written back.
NO_RACE = {"reset_counter": EQUAL_STORES, "reset_counters": EQUAL_STORES, "stores_of_mates": (*EQUAL_STORES, "gfx1201")}


@pytest.fixture(scope="module", params=first_or_long(TARGETS, 2))
def target(request: pytest.FixtureRequest) -> str:
    return str(request.param)


@pytest.fixture(scope="module")
def module(target: str) -> wave_runtime.Module:
    return wave_runtime.compile(SOURCE, target=target, options=["-O1"])


def sites(finding: wave_runtime.Finding) -> list[str]:
    """Both lines of a finding."""
    assert finding.other is not None
    lines = SOURCE.read_text().splitlines()
    return [lines[int(site.line.rpartition(":")[2]) - 1] for site in (finding.at, finding.other)]


@pytest.mark.parametrize("name", NAMES)
def test_a_race_is_found_in_its_lines(
    module: wave_runtime.Module, target: str, name: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    if name == "second_workgroup":
        monkeypatch.setenv("WAVE_RUNTIME_DETERMINISTIC", "1")  # on the thread of the first one
    with wave_runtime.sanitize("races") as report:
        launch(module, name, 1)
    assert bool(report.findings) == (target not in NO_RACE.get(name, ()))
    for finding in report.findings:
        assert finding.kernel == name
        assert all(f"// race in {name}" in line for line in sites(finding)), finding


@pytest.mark.parametrize("name", NAMES)
def test_without_the_race_there_is_no_finding(module: wave_runtime.Module, name: str) -> None:
    with wave_runtime.sanitize(fail=True):
        result = launch(module, name, 0)
    if name in RESULTS:
        assert result[: len(RESULTS[name])].tolist() == RESULTS[name]


def test_a_lock_that_a_plain_store_lets_go_of(
    module: wave_runtime.Module, target: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Others need not see the store before the kernel ends: one finding. What the lock guards is no race besides.

    On several threads it may be found as well: whoever takes the lock meanwhile may not have seen the store.
    """
    monkeypatch.setenv("WAVE_RUNTIME_DETERMINISTIC", "1")
    with wave_runtime.sanitize("races") as report:
        module["plain_lock"](zeros(1), zeros(1), grid=4, block=64)
    if target in EQUAL_STORES:
        assert not report.findings
        return
    (finding,) = report.findings
    assert [line.partition("// ")[2] for line in sites(finding)] == ["takes it", "lets it go"]
    assert "one of the two is no atomic" in finding.message
