"""What the campaign over HIP's own tests makes of their output, and the toolchain that it needs."""

from __future__ import annotations

import importlib
import os
import subprocess
import sys
from pathlib import Path
from types import ModuleType

import pytest
from support import ROOT


@pytest.fixture
def campaign(monkeypatch: pytest.MonkeyPatch) -> ModuleType:
    monkeypatch.syspath_prepend(ROOT / "benchmarks")
    return importlib.import_module("run_hip_tests")


@pytest.mark.parametrize(
    ("code", "output", "what", "why"),
    [
        (0, "All tests passed", "pass", ""),
        (0, "Skipping test. Reason: one device\nHIP_SKIP_THIS_TEST", "skipped", ""),
        (1, "HIP emulator: hipMemMap: virtual memory\nREQUIRE( 801 == 0 )", "refused", "hipMemMap: virtual memory"),
        (
            1,
            "HIP emulator: hipMemcpy: the copy ends past the end\na.cc:7: FAILED:\n  REQUIRE( 1 == 0 )",
            "fail",
            "1 == 0",
        ),
        (1, "kernel fault: a load of 4 bytes", "fail", "a load of 4 bytes"),
        (-11, "", "fail", "signal 11"),
        (-24, "", "too long", ""),
    ],
)
def test_outcomes(campaign: ModuleType, code: int, output: str, what: str, why: str) -> None:
    found = campaign.outcome(subprocess.CompletedProcess([], code, output, ""))
    assert found[0] == what
    assert why in found[1]


def test_the_limit_is_of_processor_time(campaign: ModuleType, tmp_path: Path) -> None:
    program = tmp_path / "program"
    program.write_text("#!/bin/sh\nsleep 2\n[ $1 = waits ] || while :; do :; done\n")
    program.chmod(0o755)
    assert campaign.run_case(program, "waits", 1)["is"] == "pass"
    assert campaign.run_case(program, "runs", 1)["is"] == "too long"


def test_a_program_that_does_not_start_is_no_empty_list_of_tests(campaign: ModuleType, tmp_path: Path) -> None:
    program = tmp_path / "MemoryTest"
    program.write_text("#!/bin/sh\necho Unit_hipMalloc_Basic\nexit 1\n")  # Catch's status is the number of tests
    program.chmod(0o755)
    assert campaign.cases(program) == ["Unit_hipMalloc_Basic"]
    program.write_text("#!/bin/sh\nexit 0\n")  # all of its tests are for other platforms
    assert campaign.cases(program) == []
    program.write_text("#!/bin/sh\necho libamdhip64.so.6: cannot open shared object file >&2\nexit 127\n")
    with pytest.raises(SystemExit, match=r"MemoryTest does not list its tests: libamdhip64\.so\.6: cannot open"):
        campaign.cases(program)


@pytest.mark.needs("hip-compiler")
def test_toolchain_with_newer_headers(tmp_path: Path) -> None:
    hip, clr, folder = tmp_path / "hip", tmp_path / "clr", tmp_path / "toolchain"
    (hip / "include" / "hip").mkdir(parents=True)
    (clr / "hipamd" / "include" / "hip" / "amd_detail").mkdir(parents=True)
    (hip / "include" / "hip" / "hip_runtime.h").write_text("#include <hip/hip_version.h>\n")
    (hip / "VERSION").write_text("#HIP_VERSION_MAJOR\n6\n#HIP_VERSION_MINOR\n3\n#HIP_VERSION_PATCH\n7\n")
    command = [sys.executable, ROOT / "tools" / "make_hip_toolchain.py", folder, "--headers"]
    environment = {**os.environ, "PYTHONPATH": str(ROOT)}
    subprocess.run([*command, hip, clr], env=environment, check=True)
    source = "#include <hip/hip_runtime.h>\nint version = HIP_VERSION;"
    compile = [folder / "llvm" / "bin" / "clang", "-x", "c", "-E", "-"]
    done = subprocess.run(compile, input=source, capture_output=True, text=True, check=True)
    assert "(6 * 10000000 + 3 * 100000 + 7)" in done.stdout
    assert (folder / "share/hip/version").read_text().split()[0] == "HIP_VERSION_MAJOR=6"
    failed = subprocess.run([*command, clr, hip], env=environment, capture_output=True, text=True)
    assert "are no checkouts of ROCm/HIP and ROCm/clr" in failed.stderr
