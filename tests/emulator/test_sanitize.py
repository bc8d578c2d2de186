"""wave_runtime.sanitize: planted mistakes are found, each in its line, and nothing else is."""

from __future__ import annotations

import contextlib
import dataclasses
import json
import re
import threading
from pathlib import Path

import machine
import mistakes
import pytest
import torch
from memory_model import OFF
from memory_support import BY_NAME, set_pair
from mistakes import Mistake, ints
from support import EXAMPLES, PROBES, ROOT

import wave_runtime
from wave_runtime._sanitize._findings import KINDS
from wave_runtime._sanitize._suppressions import Suppression

PLANTED = mistakes.planted()
every_mistake = pytest.mark.parametrize("mistake", PLANTED, ids=lambda mistake: mistake.kernel)
every_target = pytest.mark.parametrize("target", mistakes.TARGETS)


def test_every_kernel_has_a_mistake() -> None:
    assert {mistake.kernel for mistake in PLANTED} == set(mistakes.LAUNCHES)


@every_target
@every_mistake
def test_a_planted_mistake_is_found(mistake: Mistake, target: str) -> None:
    """In the line that has it, and no other finding of the same tool."""
    is_stuck = mistake.kind in mistakes.STUCK
    fails = pytest.raises(wave_runtime.KernelFault, match="a deadlock") if is_stuck else contextlib.nullcontext()
    with wave_runtime.sanitize(mistake.tool, over_reads=True) as report, fails:
        mistakes.launch(mistake.kernel, True, target)
    if (mistake.kernel, target) in mistakes.UNSEEN:
        assert report.findings == []
        return
    assert [(finding.tool, finding.kind) for finding in report.findings] == [(mistake.tool, mistake.kind)]
    (finding,) = report.findings
    assert finding.at.frames[0].file.endswith("mistakes.hip")
    assert finding.at.frames[0].line == mistake.line
    assert finding.kernel == mistake.kernel


@every_target
@pytest.mark.parametrize("kernel", mistakes.LAUNCHES)
def test_without_the_mistake_there_is_no_finding(kernel: str, target: str) -> None:
    with wave_runtime.sanitize(over_reads=True, fail=True):
        mistakes.launch(kernel, False, target)


def test_a_finding_names_the_element_and_the_variable() -> None:
    signature = {"store_past_end": "out: *i32, n: i32, is_wrong: i32"}
    kernel = wave_runtime.load(PROBES / "mistakes_gfx942.hsaco", signature=signature)["store_past_end"]
    with wave_runtime.sanitize("memory") as report:
        table = ints(10, 10)
        kernel(table, 100, 1, grid=2, block=64)
    (finding,) = report.findings
    assert finding.tensor is not None
    assert finding.tensor.parameter == "out"
    assert finding.tensor.variable == "table"
    assert finding.tensor.shape == (10, 10)
    assert finding.tensor.index == (10, 0)
    assert (finding.at.workgroup, finding.at.wave, finding.at.lane) == ((1, 0, 0), 0, 36)
    assert finding.count == 28
    assert finding.launch is not None
    assert finding.launch.file == __file__
    text = str(finding)
    assert "mistakes.hip:" in text.splitlines()[0]
    assert text.splitlines()[0].endswith("[memory:out-of-bounds]")
    assert "out[10, 0] of int32 [10, 10]" in text
    assert "the tensor is 'table' where the kernel is launched" in text
    assert "28 times in all" in text


def test_a_launch_goes_on_behind_a_fault() -> None:
    """What is in bounds is stored; what would have been loaded is poison."""
    with wave_runtime.sanitize("memory"):
        (stored, _) = mistakes.launch("store_past_end", True)
        _, loaded = mistakes.launch("load_far_past_end", True)
    assert torch.equal(stored, ints(10, 10))
    assert set(loaded.tolist()) == {-0x80009}  # 0xfff7fff7
    with pytest.raises(wave_runtime.KernelFault):
        mistakes.launch("store_past_end", True)


def test_lanes_in_bounds_are_loaded() -> None:
    with wave_runtime.sanitize("memory", over_reads=True):
        _, loaded = mistakes.launch("load_past_end", True)
    assert loaded.tolist() == [*range(1, 64), -0x80009]


def test_inlined_functions_are_frames() -> None:
    with wave_runtime.sanitize("memory") as report:
        mistakes.launch("store_inlined", True)
    frames = report.findings[0].at.frames
    assert [frame.function for frame in frames] == ["store_doubled", "store_both", "store_inlined"]
    lines = mistakes.SOURCE.read_text().splitlines()
    assert "out[i] = 2 * value" in lines[frames[0].line - 1]
    assert "store_doubled(out, i, value)" in lines[frames[1].line - 1]
    assert "store_both(out" in lines[frames[2].line - 1]


@pytest.mark.needs("clang")
def test_the_line_is_the_authors_own() -> None:
    """Not that of the function of the package's headers that it calls, which is a frame."""
    source = """extern "C" __global__ void power(float* x) {
      x[threadIdx.x] = __expf(x[threadIdx.x]);
    }"""
    kernel = wave_runtime.compile(source, language="hip")["power"]
    for suppressions, count in (([], 1), (["numbers * source.hip:2"], 0), (["numbers * intrinsics.h:*"], 0)):
        with wave_runtime.sanitize("numbers", suppressions=suppressions) as report:
            kernel(torch.full((64,), 100.0), grid=1, block=64)
        assert len(report.findings) == count
    with wave_runtime.sanitize("numbers") as report:
        kernel(torch.full((64,), 100.0), grid=1, block=64)
    (finding,) = report.findings
    assert finding.at.line == "source.hip:2"
    assert finding.text.partition(": error: ")[0] == "source.hip:2"
    assert [frame.function for frame in finding.at.frames] == ["__expf", "power"]


def test_a_deadlock_names_who_waits_for_what() -> None:
    with wave_runtime.sanitize("barriers") as report, pytest.raises(wave_runtime.KernelFault) as caught:
        mistakes.launch("flag_never_set", True)
    (finding,) = report.findings
    assert finding.tensor is not None
    assert (finding.tensor.parameter, finding.tensor.index) == ("flag", (0,))
    assert (finding.at.workgroup, finding.at.wave, finding.count) == ((1, 0, 0), 0, 1)
    assert "waits for ever for 4 bytes of memory" in finding.message
    assert "none of the 1 workgroups that have not ended can go on" in str(caught.value)
    assert (caught.value.workgroup, caught.value.wave, caught.value.pc) == ((1, 0, 0), 0, finding.at.pc)


def test_a_deadlock_on_several_threads() -> None:
    """All but one workgroup wait, more of them than are begun at once."""
    signature = {"flag_never_set": "flag: *i32, out: *i32, is_wrong: i32"}
    kernel = wave_runtime.load(PROBES / "mistakes_gfx942.hsaco", signature=signature)["flag_never_set"]
    with (
        wave_runtime.sanitize("barriers") as report,
        pytest.raises(wave_runtime.KernelFault, match="for which there is"),
    ):
        kernel(ints(1), ints(128), 1, grid=700, block=1024)
    assert [finding.kind for finding in report.findings] == ["deadlock"]
    assert report.findings[0].count > 100


def test_who_waits_for_a_part_of_a_dword() -> None:
    """The last element of an odd number of them, by compare-and-swap: what lies behind it is nobody's to read."""
    state = machine.State(1)
    state.exec[0] = [1, 0]
    memory = torch.zeros(6, dtype=torch.uint8)
    set_pair(state.v[0, 8:10], memory.data_ptr() + 4)
    state.v[0, 20:22, 0] = [1, 2]
    loop = machine.encode(BY_NAME["global_atomic_cmpswap"], ADDR=8, DATA=20, VDST=28, SADDR=OFF, SC0=1)
    loop += machine.encode(BY_NAME["s_branch"], SIMM16=(-len(loop) - 1) % 0x10000)
    with (
        wave_runtime.sanitize("barriers") as report,
        pytest.raises(wave_runtime.KernelFault, match="waits for ever for 4 bytes of memory"),
    ):
        machine.run(loop, state, memory)
    assert [finding.kind for finding in report.findings] == ["deadlock"]


def test_who_changes_memory_is_not_stuck(monkeypatch: pytest.MonkeyPatch) -> None:
    """Whichever of the bytes it is: here the first one of a tensor stays as it is."""
    monkeypatch.setenv("WAVE_RUNTIME_MAX_INSTRUCTIONS", str(1 << 20))
    state = machine.State(1)
    state.exec[0] = [1, 0]
    memory = torch.zeros(4, dtype=torch.uint8)
    set_pair(state.v[0, 8:10], memory.data_ptr())
    loop = machine.encode(BY_NAME["global_atomic_add"], ADDR=8, DATA=20, SADDR=OFF)
    loop += machine.encode(BY_NAME["s_branch"], SIMM16=(-len(loop) - 1) % 0x10000)
    for added, reason in ((1 << 8, "WAVE_RUNTIME_MAX_INSTRUCTIONS"), (0, "a deadlock: wave 0 waits for ever")):
        state.v[0, 20, 0] = added
        with wave_runtime.sanitize("barriers"), pytest.raises(wave_runtime.KernelFault, match=reason):
            machine.run(loop, state, memory)


def test_without_the_tool_nobody_looks(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("WAVE_RUNTIME_TIME_LIMIT", "0.3")
    with wave_runtime.sanitize("memory"), pytest.raises(wave_runtime.KernelFault, match="WAVE_RUNTIME_TIME_LIMIT"):
        mistakes.launch("flag_never_set", True)


def test_f8_overflow_names_format_and_value() -> None:
    for target, least in (("gfx942", 248), ("gfx950", 472)):  # halfway to 480 still rounds to 448
        with wave_runtime.sanitize("numbers") as report:
            mistakes.launch("fp8_too_large", True, target)
        (finding,) = report.findings
        assert finding.at.lane == least // 8
        assert f"a conversion to FP8 makes no number of {least}, " in finding.message


def test_several_findings_of_a_run() -> None:
    with wave_runtime.sanitize() as report:
        for kernel in ("store_past_end", "lds_without_barrier", "load_without_wait", "store_past_end"):
            mistakes.launch(kernel, True)
    assert [(finding.kernel, finding.tool) for finding in report.findings] == [
        ("store_past_end", "memory"),
        ("lds_without_barrier", "races"),
        ("load_without_wait", "waits"),
    ]
    assert report.findings[0].count == 2 * 28
    assert str(report).splitlines()[-1].startswith("wave_runtime.sanitize (memory, races, waits")
    assert ": 3 findings, seen " in str(report).splitlines()[-1]


def test_both_sides_of_a_race() -> None:
    with wave_runtime.sanitize("races") as report:
        mistakes.launch("lds_without_barrier", True)
    (finding,) = report.findings
    assert finding.other is not None
    lines = mistakes.SOURCE.read_text().splitlines()
    assert "out[i] = tile[127 - i]" in lines[finding.at.frames[0].line - 1]
    assert "tile[i] = i;" in lines[finding.other.frames[0].line - 1]
    assert finding.at.wave != finding.other.wave
    assert finding.other.lane is not None
    assert "note: the other access is here" in str(finding)


def test_findings_are_the_same_on_any_number_of_threads(monkeypatch: pytest.MonkeyPatch) -> None:
    def found() -> list[wave_runtime.Finding]:
        signature = {"lds_without_barrier": "out: *i32, is_wrong: i32"}
        kernel = wave_runtime.load(PROBES / "mistakes_gfx942.hsaco", signature=signature)["lds_without_barrier"]
        with wave_runtime.sanitize("races") as report:
            kernel(ints(128), 1, grid=1000, block=128)
        return report.findings

    many = found()
    monkeypatch.setenv("WAVE_RUNTIME_DETERMINISTIC", "1")
    assert many == found()
    assert many[0].at.workgroup == (0, 0, 0)
    assert many[0].count >= 1000


@pytest.mark.parametrize(
    "line",
    [
        "memory",
        "memory:out-of-bounds store_past_end",
        "*:out-of-* store_* mistakes.hip:*  # known",
        "memory * store_past_end+*",
        "memory * */mistakes.hip:23",
    ],
)
def test_suppressions(line: str, tmp_path: Path) -> None:
    number = next(mistake.line for mistake in PLANTED if mistake.kernel == "store_past_end")
    path = tmp_path / "known"
    path.write_text(f"# What is known.\n\n{line.replace('23', str(number))}\n")
    for source in (path, [line.replace("23", str(number))]):
        with wave_runtime.sanitize("memory", suppressions=source, fail=True) as report:
            mistakes.launch("store_past_end", True)
        assert (report.findings, report.suppressed) == ([], 28)


@pytest.mark.parametrize("line", ["races", "memory:read-only", "memory other", "memory * other.hip:*"])
def test_what_suppressions_do_not_name(line: str) -> None:
    with wave_runtime.sanitize("memory", suppressions=[line]) as report:
        mistakes.launch("store_past_end", True)
    assert len(report.findings) == 1
    assert report.suppressed == 0


@pytest.mark.parametrize("name", ["_ZN4mine6reduceIfEEvPKT_i", "mine::reduce<float>", "reduce<*"])
def test_suppressions_name_kernels_as_sources_do(name: str) -> None:
    with wave_runtime.sanitize("memory") as report:
        mistakes.launch("store_past_end", True)
    finding = dataclasses.replace(report.findings[0], kernel="_ZN4mine6reduceIfEEvPKT_i")
    assert Suppression("memory", name).matches(finding)
    assert not Suppression("memory", "mine").matches(finding)


@pytest.mark.needs("clang")
def test_over_reads_of_lds() -> None:
    source = """extern "C" __global__ void shift(int* out) {
      extern __shared__ int shared[];
      shared[threadIdx.x] = threadIdx.x;
      __syncthreads();
      out[threadIdx.x] = shared[threadIdx.x + 8];
    }"""
    out = torch.full((64,), -1, dtype=torch.int32)
    kernel = wave_runtime.compile(source, target="gfx942")["shift"]
    with wave_runtime.sanitize("memory", over_reads=True) as report:
        kernel(out, grid=1, block=64, shared_memory=256)
    assert [(finding.kind, finding.count) for finding in report.findings] == [("over-read", 8)]
    assert out[:56].tolist() == list(range(8, 64))


def test_wrong_suppressions() -> None:
    with pytest.raises(ValueError, match=r"expected KIND \[KERNEL \[PLACE\]\]"):
        wave_runtime.sanitize("memory", suppressions=["memory a b c"])


@pytest.mark.parametrize(
    ("line", "message"),
    [
        ("memry:foo w", f"there is no tool 'memry': expected {', '.join(KINDS)}"),
        ("Memory", "there is no tool 'Memory': expected memory, races"),
        ("memory:oob w", "there is no kind 'memory:oob': expected memory or memory: and one of out-of-bounds"),
        ("memory:lds-race", "there is no kind 'memory:lds-race': expected memory or"),
        ("waits:", "there is no kind 'waits:': expected waits or waits: and one of missing-wait"),
        ("*:oob", r"there is no kind '\*:oob': expected one of memory:out-of-bounds, memory:over-read"),
        ("out-of-bounds", "there is no tool 'out-of-bounds'"),
        ("memory out-of-bounds w", "no kernel is called 'out-of-bounds': of this kind are memory:out-of-bounds"),
    ],
)
def test_suppressions_of_what_there_is_not(line: str, message: str, tmp_path: Path) -> None:
    path = tmp_path / "known"
    path.write_text(f"races\n{line}  # misspelt\n")
    with pytest.raises(ValueError, match=f"^{re.escape(str(path))}:2: {message}"):
        wave_runtime.sanitize("memory", suppressions=path)
    with pytest.raises(ValueError, match=f"^suppression '{re.escape(line)}': {message}"):
        wave_runtime.sanitize("memory", suppressions=[line])


def test_suppressions_know_all_kinds() -> None:
    """Those of the page's table, and all that the planted mistakes are of."""
    page = (ROOT / "docs" / "sanitize.md").read_text()
    table = page.partition("## Tools")[2].partition("\n\nWith the tool")[0]
    tool, told = "", []
    for line in table.splitlines():
        if (row := re.match(r"\|(?: `(\w+)`)? \| ((?:`[a-z0-9-]+`(?:, )?)+) \|", line)) is not None:
            tool = row[1] or tool
            told += [f"{tool}:{kind}" for kind in re.findall(r"`([a-z0-9-]+)`", row[2])]
    assert sorted(told) == sorted(f"{tool}:{kind}" for tool, kinds in KINDS.items() for kind in kinds)
    for kind in told:
        wave_runtime.sanitize("memory", suppressions=[kind, f"{kind[:-1]}?"]).stop()


def test_there_is_no_such_tool() -> None:
    with pytest.raises(ValueError, match="there is no tool 'leaks': expected memory, races, waits"):
        wave_runtime.sanitize("leaks")
    with pytest.raises(ValueError, match=r"no tool 'memory,races': expected .* or all, each an argument of its own"):
        wave_runtime.sanitize("memory,races")
    with pytest.raises(TypeError, match='expected names of tools, as in "memory", "races", given list'):
        wave_runtime.sanitize(["memory"])  # type: ignore[arg-type]


def test_a_context_may_fail() -> None:
    report = wave_runtime.sanitize("memory", fail=True)
    mistakes.launch("store_past_end", True)
    with pytest.raises(wave_runtime.SanitizeError, match=r"\[memory:out-of-bounds\]") as caught:
        report.__exit__(None, None, None)
    assert caught.value.report is report


def test_another_error_is_not_hidden() -> None:
    with pytest.raises(wave_runtime.KernelFault), wave_runtime.sanitize("memory", "waits", fail=True):
        raise_behind_finding()


def raise_behind_finding() -> None:
    mistakes.launch("store_past_end", True)
    raise wave_runtime.KernelFault


def test_the_innermost_context_is_told() -> None:
    with wave_runtime.sanitize("memory") as outer, wave_runtime.sanitize("memory", "waits") as inner:
        mistakes.launch("store_past_end", True)
    assert (len(outer.findings), len(inner.findings)) == (0, 1)


def test_it_lasts_until_it_is_stopped() -> None:
    report = wave_runtime.sanitize("memory")
    mistakes.launch("store_past_end", True)
    report.stop()
    report.stop()
    assert "1 findings" in repr(report)
    with pytest.raises(wave_runtime.KernelFault):
        mistakes.launch("store_past_end", True)


def test_other_threads_are_looked_at() -> None:
    with wave_runtime.sanitize("memory") as report:
        thread = threading.Thread(target=lambda: mistakes.launch("store_past_end", True))
        thread.start()
        thread.join()
    assert len(report.findings) == 1


def test_operators_are_looked_at() -> None:
    """Launches that go through PyTorch's dispatcher."""
    signature = {"vector_add": "a: *f32 const, b: *f32 const, c: *f32, n: i32"}
    kernel = wave_runtime.load(EXAMPLES / "binaries" / "basics.hsaco", signature=signature)["vector_add"]
    a, c = torch.ones(100), torch.zeros(90)
    with wave_runtime.sanitize("memory") as report:
        torch.compile(lambda: kernel(a, a, c, 100, grid=1, block=128), backend="eager")()
    assert [finding.tensor and finding.tensor.parameter for finding in report.findings] == ["c"]
    assert torch.equal(c, torch.full((90,), 2.0))


def test_json(tmp_path: Path) -> None:
    path = tmp_path / "findings.json"
    with wave_runtime.sanitize("memory", "races") as report:
        mistakes.launch("lds_without_barrier", True)
        mistakes.launch("store_past_end", True)
    report.save(path)
    saved = json.loads(path.read_text())
    assert saved["schema"] == 1
    assert saved["tools"] == ["memory", "races"]
    assert saved["suppressed"] == 0
    assert [wave_runtime.Finding.from_json(finding) for finding in saved["findings"]] == report.findings


def test_a_check_of_the_environment_still_fails_the_launch(monkeypatch: pytest.MonkeyPatch) -> None:
    """WAVE_RUNTIME_CHECK still makes the launch fail at its end, and the sanitizer is told as well."""
    monkeypatch.setenv("WAVE_RUNTIME_CHECK", "races")
    with wave_runtime.sanitize("races", "memory") as report, pytest.raises(wave_runtime.KernelFault, match="1 race in"):
        mistakes.launch("lds_without_barrier", True)
    assert [finding.tool for finding in report.findings] == ["races"]
    with wave_runtime.sanitize("memory") as report, pytest.raises(wave_runtime.KernelFault, match="1 race in"):
        mistakes.launch("lds_without_barrier", True)
    assert report.findings == []


def test_code_that_goes_on_behind_its_end(monkeypatch: pytest.MonkeyPatch) -> None:
    """Each tool looks at the operation there, which is none of the function's: `make asan` sees where it looks."""
    monkeypatch.setenv("WAVE_RUNTIME_MAX_INSTRUCTIONS", "10000")
    code = (EXAMPLES / "binaries" / "basics.hsaco").read_bytes()
    end, nothing = (machine.encode(BY_NAME[name], SIMM16=0)[0].to_bytes(4, "little") for name in ("s_endpgm", "s_nop"))
    signature = "*f32 const, *f32 const, *f32, i32"
    kernel = wave_runtime.load(code.replace(end, nothing), signature={"vector_add": signature})["vector_add"]
    a, out = torch.ones(64), torch.empty(64)
    with wave_runtime.sanitize(), pytest.raises(wave_runtime.KernelFault):
        kernel(a, a, out, 64, grid=1, block=64)
