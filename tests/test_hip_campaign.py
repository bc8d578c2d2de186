"""What the campaigns over HIP's own tests and HeCBench make of their output, and the toolchain that they need."""

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
    command = [sys.executable, "-m", "wave_emulator", "toolchain", folder, "--headers"]
    environment = {**os.environ, "PYTHONPATH": str(ROOT)}
    subprocess.run([*command, hip, clr], env=environment, check=True)
    source = "#include <hip/hip_runtime.h>\nint version = HIP_VERSION;"
    compile = [folder / "llvm" / "bin" / "clang", "-x", "c", "-E", "-"]
    done = subprocess.run(compile, input=source, capture_output=True, text=True, check=True)
    assert "(6 * 10000000 + 3 * 100000 + 7)" in done.stdout
    assert (folder / "share/hip/version").read_text().split()[0] == "HIP_VERSION_MAJOR=6"
    failed = subprocess.run([*command, clr, hip], env=environment, capture_output=True, text=True)
    assert "are no checkouts of ROCm/HIP and ROCm/clr" in failed.stderr


@pytest.fixture
def hecbench(monkeypatch: pytest.MonkeyPatch) -> ModuleType:
    monkeypatch.syspath_prepend(ROOT / "benchmarks")
    return importlib.import_module("run_hecbench")


def test_constants_of_a_source_get_other_values(hecbench: ModuleType, tmp_path: Path) -> None:
    file = tmp_path / "main.cu"
    file.write_text("#define N 1024\n#define NM 7\nconst int rows = 3, columns = 4;\nint N = 5;\n")
    hecbench.set_values(file, {"N": "16", "columns": "2"})
    assert file.read_text() == "#define N 16\n#define NM 7\nconst int rows = 3, columns = 2;\nint N = 5;\n"
    with pytest.raises(ValueError, match=r"main\.cu has no constant depth"):
        hecbench.set_values(file, {"depth": "1"})


def test_texts_of_a_source_are_replaced(hecbench: ModuleType, tmp_path: Path) -> None:
    file = tmp_path / "main.cu"
    file.write_text("run<7>();\nrun<15>();\n")
    hecbench.replace_texts(file, {"run<15>();\n": ""})
    assert file.read_text() == "run<7>();\n"
    with pytest.raises(ValueError, match=r"main\.cu has no text 'run<16>'"):
        hecbench.replace_texts(file, {"run<16>": ""})


def test_sources_of_other_programs_are_changed_outside_the_checkout(
    hecbench: ModuleType, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(hecbench.SIZES, "add", {"values": {"../add-cuda/sizes.h": {"N": "4"}}})
    for file, contents in (("add-hip/main.cu", ""), ("add-cuda/sizes.h", "#define N 1024\n")):
        path = tmp_path / "src" / file
        path.parent.mkdir(parents=True)
        path.write_text(contents)
    hecbench.link_all(tmp_path / "src", tmp_path / "built")
    hecbench.copy_of(tmp_path / "src" / "add-hip", tmp_path / "built")
    assert (tmp_path / "built" / "add-cuda" / "sizes.h").read_text() == "#define N 4\n"
    assert (tmp_path / "src" / "add-cuda" / "sizes.h").read_text() == "#define N 1024\n"


def test_a_program_may_want_its_fault(hecbench: ModuleType) -> None:
    said = subprocess.CompletedProcess(
        [], 0, "assertion failed as expected: OK\n", "kernel fault: the kernel has aborted\n"
    )
    assert hecbench.verdict(said) == "fault: the kernel has aborted"
    assert hecbench.verdict(said, "as expected: OK") == "PASS"


def test_sizes_are_arguments_and_changes_of_sources(hecbench: ModuleType) -> None:
    for name, own in hecbench.SIZES.items():
        assert own.keys() <= {"arguments", "program", "values", "texts", "wants fault"}, name
        assert isinstance(own["arguments"], str), name
        changes = [new for kind in ("values", "texts") for of in own.get(kind, {}).values() for new in of.values()]
        assert all(isinstance(new, str) for new in changes), name


def test_numbers_that_a_gpu_prints_too(hecbench: ModuleType) -> None:
    output = "N = 512, sum: -1.5e-3\nkernel time 12.5 ms\n2.0 GFLOP/s\nx86_64 v2 [3]\n"
    assert hecbench.numbers_that_repeat(output) == [512, -0.0015, 3]


def test_smaller_numbers_and_one_repetition(hecbench: ModuleType) -> None:
    assert hecbench.smaller(["./main", "4096", "12", "100"], 16) == ["./main", "256", "12", "1"]
    assert hecbench.smaller(["./main", "-n", "4096"], 64) == ["./main", "-n", "64"]


def test_programs_grow_while_they_are_quick(hecbench: ModuleType, tmp_path: Path) -> None:
    program = tmp_path / "main"
    program.write_text("#!/bin/sh\n[ $1 -gt 100 ] && sleep 20\n[ $1 -lt 20 ] && echo FAIL || echo PASS\n")
    program.chmod(0o755)
    found = hecbench.run(tmp_path, ["./main", "1024", "9"], 4.0)
    assert (found["verdict"], found["command"]) == ("PASS", "./main 64 1"), "16 fails, and 256 takes too long"
