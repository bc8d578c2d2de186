"""The goals that the emulator's benchmark prints."""

from __future__ import annotations

from typing import Any

import emulator_goals
import emulator_memory
import pytest


def report(cores: int, all_cores_ms: float) -> dict[str, Any]:
    names = [*emulator_goals.SCALING, emulator_goals.TILED, emulator_goals.FP8_GEMM, "collatz"]
    rows = [
        {"kernel": name, "gflops": 50.0, "one_core_ms": 100.0, "all_cores_ms": all_cores_ms,
         "host_ms": 40.0 if name == "collatz" else None}
        for name in names
    ]  # fmt: skip
    memory = {"growth_bytes": 1.0}
    return {"threads": cores, "results": rows, "torch_mm_gflops": 100.0, "exact_ms": 300.0, "launch_us": 4.1,
            "first_launch_ms": 0.9, "memory": memory}  # fmt: skip


@pytest.mark.parametrize(("cores", "times"), [(2, 1.9), (16, 12), (64, 48)])
def test_goals_of_scaling(cores: int, times: float) -> None:
    assert emulator_goals.scaling_goal(emulator_goals.GEMM, cores) == pytest.approx(times)
    assert 1.3 < emulator_goals.scaling_goal("histogram", 4) < 2.6


def test_each_figure_has_its_goal() -> None:
    goals = {goal.name: goal for goal in emulator_goals.goals(report(16, 10.0))}
    met = {name for name, goal in goals.items() if goal.is_met}
    assert not goals[f"{emulator_goals.GEMM} / torch.mm, f32, one core"].is_met
    assert f"{emulator_goals.TILED} / torch.mm, f32, one core" in met
    assert goals["collatz / the host's code, one core"].value == 2.5
    assert "MISSED" in goals[f"{emulator_goals.GEMM}: 16 cores against one"].line()
    assert "vector_add: 16 cores against one" in met
    against = f"{emulator_goals.FP8_GEMM} 1024^3, {{}}: times faster than rocjitsu on {{}}"
    assert goals[against.format("one core", "one thread")].value == pytest.approx(42.1)
    assert goals[against.format("16 cores", "some sixty threads")].line().split()[-4:] == ["52.500", ">=", "30", "met"]
    assert "launch of one workgroup, us" not in met


@pytest.mark.parametrize("cores", [1, 2])
def test_one_core_has_no_goals_of_several(cores: int) -> None:
    names = [goal.name for goal in emulator_goals.goals(report(cores, 100.0))]
    of_several = [name for name in names if f"{cores} cores" in name]
    assert len(of_several) == (0 if cores == 1 else len(emulator_goals.SCALING) + 1)


def test_memory_that_a_program_takes_is_seen(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(emulator_memory, "CODE_OBJECTS", 20)
    monkeypatch.setattr(emulator_memory, "LAUNCHES", 200)
    memory = emulator_memory.of_many_code_objects()
    assert 10e3 < memory["code_object_bytes"] < 10e6
    assert memory["growth_bytes"] < 10e3
