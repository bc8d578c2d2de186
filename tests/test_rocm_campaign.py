"""What the campaign over the tests of ROCm's libraries makes of GoogleTest's output."""

from __future__ import annotations

import importlib
from pathlib import Path
from types import ModuleType

import pytest
from support import ROOT

LISTED = """Query device success: there are 1 devices.
quick/axpby.
  level1/i32_f32_r_1200_5  # GetParam() = { function: "axpby" }
  level1/i32_f32_r_1200_10
  level1_ex/f64
DeviceSort/0.  # TypeParam = float
  SortKeys
DeviceSort/1.  # TypeParam = double
  SortKeys
"""


@pytest.fixture
def campaign(monkeypatch: pytest.MonkeyPatch) -> ModuleType:
    monkeypatch.syspath_prepend(ROOT / "benchmarks")
    return importlib.import_module("run_rocm_tests")


def test_groups(campaign: ModuleType) -> None:
    tests = list(campaign.listed(LISTED))
    assert tests == [
        ("quick/axpby/level1", "quick/axpby.level1/i32_f32_r_1200_5"),
        ("quick/axpby/level1", "quick/axpby.level1/i32_f32_r_1200_10"),
        ("quick/axpby/level1_ex", "quick/axpby.level1_ex/f64"),
        ("DeviceSort/", "DeviceSort/0.SortKeys"),
        ("DeviceSort/", "DeviceSort/1.SortKeys"),
    ]
    assert campaign.sample(tests, 2) == [name for _, name in tests]
    one = campaign.sample(tests, 1)
    assert len(one) == 3
    assert campaign.sample(tests, 1) == one


PROGRAM = """#!/bin/sh
IFS=:
for name in ${1#--gtest_filter=}; do
  echo "[ RUN      ] $name"
  case $name in
    A.passes) echo "[       OK ] $name (1 ms)";;
    A.skips) echo "[  SKIPPED ] $name (0 ms)";;
    A.fails) echo "a.cpp:7: Failure"; echo "[  FAILED  ] $name, where GetParam() = 7 (2 ms)";;
    A.faults) echo "kernel fault: a load of 4 bytes"; echo "[  FAILED  ] $name (2 ms)";;
    A.crashes) kill -SEGV $$;;
    A.hangs) exec sleep 60;;
  esac
done
"""


def test_outcomes(campaign: ModuleType, tmp_path: Path) -> None:
    program = tmp_path / "program"
    program.write_text(PROGRAM)
    program.chmod(0o755)
    names = ["A.passes", "A.crashes", "A.skips", "A.hangs", "A.fails", "A.faults"]
    system = campaign.System(Path("/"), tmp_path, "gfx942")
    assert list(system.run(str(program), names, 1)) == [
        ("A.passes", "pass", ""),
        ("A.crashes", "fail", "status -11: "),
        ("A.skips", "skipped", ""),
        ("A.hangs", "too long", ""),
        ("A.fails", "fail", "a.cpp:7: Failure"),
        ("A.faults", "fail", "kernel fault: a load of 4 bytes"),
    ]


def test_a_program_that_does_not_start(campaign: ModuleType, tmp_path: Path) -> None:
    program = tmp_path / "program"
    program.write_text("#!/bin/sh\necho no library\nexit 1\n")
    program.chmod(0o755)
    system = campaign.System(Path("/"), tmp_path, "gfx942")
    assert list(system.run(str(program), ["A.a"], 1)) == [("A.a", "fail", "the program did not run it")]
    with pytest.raises(SystemExit, match="does not list its tests: no library"):
        system.tests(str(program))
