"""What launches do, counted: by kernel, line and instruction, as tables, files and a page."""

from __future__ import annotations

import csv
import json
import os
import shutil
import subprocess
import sys
import threading
from pathlib import Path

import pytest
import torch
import warm_python
from support import EXAMPLES, ROOT

import wave_emulator
import wave_runtime
from wave_runtime import _C
from wave_runtime.__main__ import main
from wave_runtime._profile._counts import KernelProfile
from wave_runtime._profile._peaks import bounds, peaks_of
from wave_runtime._profile._text import amount, seconds

N = 1000
GRID = {"grid": 4, "block": 256}
BASICS = EXAMPLES / "binaries" / "basics.hsaco"
SIGNATURE = {"vector_add": "a: *f32 const, b: *f32 const, c: *f32, n: i32"}
LINE = 128


@pytest.fixture(scope="module")
def kernel() -> wave_runtime.Kernel:
    return wave_runtime.load(BASICS, signature=SIGNATURE)["vector_add"]


def launch(kernel: wave_runtime.Kernel, n: int = N) -> None:
    kernel(torch.ones(n), torch.ones(n), torch.empty(n), n, grid=-(-n // 256), block=256)


def only(profile: wave_runtime.Profile) -> KernelProfile:
    (counted,) = profile.kernels
    return counted


def test_counts_of_a_vector_add(kernel: wave_runtime.Kernel) -> None:
    with wave_runtime.profile() as p:
        launch(kernel)
        launch(kernel)
    counted = only(p)
    assert (counted.name, counted.target, len(counted.launches)) == ("vector_add", "gfx942", 2)
    first = counted.launches[0]
    assert (first.grid, first.block, first.waves, first.workgroups) == ((4, 1, 1), (256, 1, 1), 16, 4)
    assert first.instructions * 2 == counted.count == sum(item.count for item in counted.instructions)
    texts = {item.text.split()[0]: item for item in counted.instructions if item.count}
    load, end = texts["global_load_dword"], texts["s_endpgm"]
    assert end.count == 2 * 16
    assert load.lanes == 2 * N, "of the last wave 40 lanes of 64 have work"
    assert counted.asked == 2 * 3 * 4 * N
    assert 2 * 3 * 16 * 2 * LINE <= counted.moved <= 2 * 3 * 16 * 3 * LINE, "256 bytes lie in two lines or three"
    tensors = 2 * 3 * 32 * LINE
    assert tensors <= counted.touched <= tensors + 2 * (3 + 4) * LINE, "ends of lines, arguments, the packet"
    assert counted.lane_share == pytest.approx(1, abs=0.03)
    assert counted.waves == [first.instructions // 16] * 16
    assert counted.info["name"] == "vector_add"


def test_only_launches_of_the_block(kernel: wave_runtime.Kernel) -> None:
    with wave_runtime.profile() as outer:
        launch(kernel)
        with wave_runtime.profile() as inner:
            thread = threading.Thread(target=launch, args=(kernel,))
            thread.start()
            thread.join()
        launch(kernel)
    launch(kernel)
    assert (len(only(outer).launches), len(only(inner).launches)) == (2, 1), "the inner one takes what is its own"
    outer.stop()
    assert len(only(outer).launches) == 2


def test_the_same_on_any_number_of_threads(kernel: wave_runtime.Kernel) -> None:
    counts = []
    before = torch.get_num_threads()
    try:
        for threads in (1, 4):
            torch.set_num_threads(threads)
            a = torch.ones(1 << 16)
            with wave_runtime.profile() as p:
                kernel(a, a, c := torch.empty_like(a), a.numel(), grid=256, block=256)
            assert torch.equal(c, 2 * a)
            counted = only(p)
            counts.append(
                (counted.count, counted.kinds, counted.traffic, [item.count for item in counted.instructions])
            )
    finally:
        torch.set_num_threads(before)
    assert counts[0] == counts[1]


STRIDED = """
extern "C" __global__ void strided(const float* a, float* b, int stride) {
  __shared__ float tile[64 * 32];
  tile[threadIdx.x * stride] = a[threadIdx.x * stride];
  __syncthreads();
  b[threadIdx.x] = tile[threadIdx.x * stride];
}
"""


@pytest.mark.needs("clang")
@pytest.mark.parametrize(("stride", "lines", "conflicts"), [(1, 2, 0.0), (32, 64, 62 / 64)])
def test_accesses_far_apart(stride: int, lines: int, conflicts: float, tmp_path: Path) -> None:
    """64 lanes side by side take two lines, and LDS two cycles; 32 numbers apart they take a line and a cycle each."""
    source = tmp_path / "strided.hip"
    source.write_text(STRIDED)
    storage = torch.zeros(64 * 32 + 32)
    offset = -storage.data_ptr() % LINE // 4
    a = storage[offset : offset + 64 * 32]
    with wave_runtime.profile() as p:
        wave_runtime.compile(source)["strided"](a, torch.empty(64), stride, grid=1, block=64)
    counted = only(p)
    load = next(item for item in counted.instructions if item.text.startswith("global_load"))
    assert (load.bytes, load.moved) == (64 * 4, lines * LINE)
    write = next(item for item in counted.instructions if item.text.startswith("ds_write"))
    assert write.lds_conflict_cycles / write.lds_cycles == conflicts
    by_line = {line.line: line for line in counted.lines if line.file == str(source)}
    assert by_line[4].text == "tile[threadIdx.x * stride] = a[threadIdx.x * stride];"
    assert by_line[4].moved == lines * LINE
    assert "strided.hip:4" in p.table(by="line")


@pytest.mark.needs("clang")
def test_matrix_operations_and_bounds() -> None:
    source = """
    typedef _Float16 half4 __attribute__((ext_vector_type(4)));
    typedef float float4v __attribute__((ext_vector_type(4)));
    extern "C" __global__ void product(float* c, int n) {
      float4v sum = {};
      for (int i = 0; i < n; ++i) sum = __builtin_amdgcn_mfma_f32_16x16x16f16(half4(1), half4(1), sum, 0, 0, 0);
      c[threadIdx.x] = sum[0];
    }
    """
    with wave_runtime.profile() as p:
        wave_runtime.compile(source, target="gfx942")["product"](torch.empty(64), 10, grid=1, block=64)
    counted = only(p)
    assert counted.matrix_operations == {"f16": 10 * 2 * 16**3}
    assert counted.operations == 10 * 2 * 16**3
    by_pipe = {bound.pipe: bound.seconds for bound in bounds(counted)}
    assert by_pipe["matrix"] == pytest.approx(10 * 2 * 16**3 / 1307.4e12, rel=1e-4)
    assert by_pipe["memory"] == counted.touched / 5.3e12
    assert list(by_pipe.values()) == sorted(by_pipe.values(), reverse=True)


def test_tables(kernel: wave_runtime.Kernel) -> None:
    with wave_runtime.profile() as p:
        launch(kernel)
    header, row = str(p).splitlines()
    assert header.split()[0] == "launches"
    assert row.split()[0] == "1"
    assert row.endswith("vector_add (gfx942)")
    assert "global_load_dword" in p.table(by="instruction")
    assert "no line table" in p.table(by="line")
    with pytest.raises(ValueError, match="by='wave': expected kernel, line or instruction"):
        p.table(by="wave")


@pytest.mark.parametrize(
    ("value", "text"),
    [(0, "0"), (999, "999"), (12_345, "12.3k"), (999_499, "999k"), (999_500, "1M"), (999_999_999, "1G")],
)
def test_numbers_in_tables(value: int, text: str) -> None:
    """Rounded to three digits, in the unit in which that is less than a thousand."""
    assert amount(value) == text


def test_times_in_tables() -> None:
    times = (0.0, 2e-10, 9.996e-4, 1.5e-3, 12)
    assert [seconds(time) for time in times] == ["0 ns", "0.2 ns", "1 ms", "1.5 ms", "12 s"]


@pytest.mark.needs("clang")
@pytest.mark.parametrize(
    ("target", "lanes", "in_a_cycle", "text"),
    [
        ("gfx1100", 32, 64, "64 lanes a cycle, 96 compute units at 2.5"),
        ("gfx1100", 64, 128, "128 lanes a cycle, 96 compute units at 2.5"),
        ("gfx1030", 32, 64, "64 lanes a cycle, 80 compute units at 2.25"),
        (
            "gfx1030",
            64,
            128,
            "64 lanes a cycle, if half of each wave is disabled and skipped, 80 compute units at 2.25",
        ),
    ],
)
def test_long_waves_of_rdna_may_take_one_pass(target: str, lanes: int, in_a_cycle: int, text: str) -> None:
    """A bound is to hold whatever the device does: half of a wave of 64 lanes at once with the other, or not at all."""
    options = [f"-mwavefrontsize{lanes}"] if lanes == 64 else []
    with wave_runtime.profile() as p:
        wave_runtime.compile(STRIDED, target=target, options=options)["strided"](
            torch.zeros(64 * 32), torch.empty(64), 1, grid=1, block=64
        )
    counted = only(p)
    assert counted.wave_lanes == lanes
    bound = next(bound for bound in bounds(counted) if bound.pipe == "vector ALU")
    assert bound.explanation.startswith(text)
    clock, units = float(bound.explanation.split()[-2]) * 1e9, int(bound.explanation.split()[-6])
    assert bound.seconds == pytest.approx(counted.kinds["vector ALU"] * lanes / in_a_cycle / units / clock)


# Tera-operations a second, on AMD's data sheets and product pages; of graphics in Ryzens, whose pages say none, what
# their compute units and clocks come to.
PUBLISHED = {
    "gfx90a": {"f64": 45.3, "f32": 45.3, "f16": 181.0, "bf16": 181.0, "i8": 181.0},
    "gfx942": {"f64": 163.4, "f32": 163.4, "xf32": 653.7, "f16": 1307.4, "bf16": 1307.4, "f8": 2614.9, "i8": 2614.9},
    "gfx950": {"f64": 78.6, "f32": 157.3, "f16": 2516.6, "bf16": 2516.6, "f8": 5033.2, "i8": 5033.2, "f8f6f4": 10066.3},
    **{f"gfx103{last}": {} for last in range(7)},
    "gfx1100": {"f16": 122.8, "bf16": 122.8, "i8": 122.8, "i4": 245.7},
    "gfx1101": {"f16": 74.6},
    "gfx1102": {"f16": 43.5},
    "gfx1103": {"f16": 16.6},
    "gfx1150": {"f16": 23.7},
    "gfx1151": {"f16": 59.4},
    "gfx1152": {"f16": 12.3},
    "gfx1153": {"f16": 2.87},
    "gfx1200": {"f16": 103},
    "gfx1201": {"f16": 195.0, "bf16": 195.0, "f8": 389.0, "i8": 389.0, "i4": 779.0},
    "gfx9-generic": {},
}


def test_peaks_are_those_that_the_vendor_publishes() -> None:
    """They are computed, from compute units and clocks. Every processor has them."""
    assert set(PUBLISHED) == set(_C.emulator_processors(generic=True))
    for processor, published in PUBLISHED.items():
        peaks = peaks_of(processor)
        assert peaks is not None
        assert bool(peaks.matrix) == bool(published)
        for name, operations in published.items():
            assert peaks.matrix[name] == pytest.approx(operations * 1e12, rel=5e-3), (processor, name)
    assert peaks_of("sm_90") is None


@pytest.mark.needs("clang")
@pytest.mark.parametrize(
    ("target", "units"),
    [
        ("gfx9-generic", 60),
        ("gfx9-4-generic", 304),
        ("gfx10-3-generic", 80),
        ("gfx11-generic", 96),
        ("gfx12-generic", 32),
        ("gfx1036", 2),
        ("gfx1102", 32),
    ],
)
def test_bounds_are_those_of_the_processor_that_runs_the_code(target: str, units: int) -> None:
    with wave_runtime.profile() as p:
        wave_runtime.compile(STRIDED, target=target)["strided"](
            torch.zeros(64 * 32), torch.empty(64), 1, grid=1, block=64
        )
    by_pipe = {bound.pipe: bound for bound in bounds(only(p))}
    assert {"memory", "vector ALU"} <= set(by_pipe)
    assert f" {units} compute units at " in by_pipe["vector ALU"].explanation


def test_nothing_was_launched() -> None:
    with wave_runtime.profile() as p:
        pass
    assert p.kernels == []
    assert len(p.table().splitlines()) == 1


def test_files(kernel: wave_runtime.Kernel, tmp_path: Path) -> None:
    with wave_runtime.profile() as p:
        launch(kernel)
    for name in ("profile.json", "profile.csv", "profile.html"):
        p.save(tmp_path / name)
    found = json.loads((tmp_path / "profile.json").read_text())
    (counted,) = found["kernels"]
    assert found["format"] == 1
    assert counted["asked"] == 3 * 4 * N
    assert counted["peaks"]["device"] == "Instinct MI300X"
    rows = list(csv.DictReader((tmp_path / "profile.csv").read_text().splitlines()))
    assert sum(int(row["count"]) for row in rows) == counted["count"]
    assert "global_store_dword" in (tmp_path / "profile.html").read_text()
    with pytest.raises(ValueError, match=r"profile.txt: a profile is saved as .html, .json, .csv"):
        p.save(tmp_path / "profile.txt")


def test_the_page_in_a_locale_of_ascii(tmp_path: Path) -> None:
    code = f"import wave_runtime; wave_runtime.profile().save({str(tmp_path / 'profile.html')!r})"
    locale = {"LC_ALL": "C", "PYTHONUTF8": "0", "PYTHONCOERCECLOCALE": "0"}
    environment = {**os.environ, "PYTHONPATH": str(ROOT), **locale}
    done = subprocess.run([sys.executable, "-c", code], env=environment, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    assert "· wave_runtime" in (tmp_path / "profile.html").read_text(encoding="utf-8")


@pytest.mark.needs("chromium", "clang")
def test_the_page_in_a_browser(tmp_path: Path) -> None:
    """Its program runs to its end, and shows the kernel, the source and the instructions."""
    source = tmp_path / "strided.hip"
    source.write_text(STRIDED + "// </script>\n")
    with wave_runtime.profile() as p:
        wave_runtime.compile(source)["strided"](torch.zeros(64 * 32), torch.empty(64), 1, grid=1, block=64)
    p.save(tmp_path / "profile.html")
    chromium = shutil.which("chromium")
    assert chromium is not None
    options = ("--headless", "--no-sandbox", "--disable-gpu", "--dump-dom", f"--user-data-dir={tmp_path / 'browser'}")
    done = subprocess.run(
        [chromium, *options, f"file://{tmp_path / 'profile.html'}"], capture_output=True, text=True, timeout=120
    )
    page = done.stdout
    assert 'data-ready="yes"' in page, done.stderr
    assert '<tr class="chosen"><td>strided (gfx942)</td>' in page
    assert page.count('class="row"') > 30
    assert "<rect" in page
    assert "s_endpgm" in page.split("<script")[0]


def test_the_command(tmp_path: Path) -> None:
    program = tmp_path / "program.py"
    program.write_text(
        "import torch, wave_runtime\n"
        f"kernel = wave_runtime.load({str(BASICS)!r}, signature={SIGNATURE!r})['vector_add']\n"
        "a = torch.ones(1000, device='cuda')\n"
        "kernel(a, a, torch.empty_like(a), 1000, grid=4, block=256)\n"
    )
    environment = {**os.environ, "PYTHONPATH": str(ROOT)}
    command = ["-m", "wave_runtime", "profile", "-o", tmp_path / "p.json", "--", sys.executable, program]
    done = warm_python.run(*command, env=environment)
    assert done.returncode == 0, done.stderr
    assert "vector_add (gfx942)" in done.stderr
    assert json.loads((tmp_path / "p.json").read_text())["kernels"][0]["asked"] == 3 * 4 * N


# A HIP program without wave_runtime, as those in C++ are: each of its kernels is launched as often as its place says.
WITHOUT_TORCH = f"""
import ctypes, sys
hip = ctypes.CDLL({str(wave_emulator.library("wave_hip_emulator"))!r})
def check(code):
    assert code == 0, code
module, kernel, data = ctypes.c_void_p(), ctypes.c_void_p(), ctypes.c_void_p()
check(hip.hipModuleLoad(ctypes.byref(module), {os.fsencode(BASICS)!r}))
check(hip.hipMalloc(ctypes.byref(data), ctypes.c_size_t(4000)))
arguments = [data, data, data, ctypes.c_int(1000)]
pointers = (ctypes.c_void_p * 4)(*(ctypes.addressof(argument) for argument in arguments))
check(hip.hipModuleGetFunction(ctypes.byref(kernel), module, b"vector_add"))
for _ in range(int(sys.argv[1])):
    check(hip.hipModuleLaunchKernel(kernel, 4, 1, 1, 256, 1, 1, 0, None, pointers, None))
check(hip.hipDeviceSynchronize())
sys.exit(3)
"""


def test_the_command_with_a_program_that_is_not_in_python(tmp_path: Path, kernel: wave_runtime.Kernel) -> None:
    output = tmp_path / "p.json"
    command = ["-m", "wave_runtime", "profile", "-o", output, "--", sys.executable, "-S", "-c", WITHOUT_TORCH]

    def profiled(launches: int) -> subprocess.CompletedProcess[str]:
        return warm_python.run(*command, launches)

    done = profiled(0)
    assert done.returncode == 3
    assert "no launch of the program came to its end on the emulator" in done.stderr
    assert not output.exists()
    done = profiled(2)
    assert done.returncode == 3, done.stderr
    assert "vector_add (gfx942)" in done.stderr
    (counted,) = json.loads(output.read_text())["kernels"]
    a, b, c = torch.zeros(3, 1000).unbind()
    with wave_runtime.profile() as here:
        kernel(a, b, c, 1000, grid=4, block=256)
        kernel(a, b, c, 1000, grid=4, block=256)
    here.save(tmp_path / "here.json")
    (expected,) = json.loads((tmp_path / "here.json").read_text())["kernels"]
    for launch in (*counted["launches"], *expected["launches"]):
        del launch["seconds"]
    for counts in (counted, expected):  # which depend on where memory lies
        counts["touched"] = counts["moved"] = 0
        del counts["bounds"]
        for instruction in counts["instructions"]:
            instruction["moved"] = 0
    assert counted == expected


def test_a_file_that_cannot_be_written_is_told_before_the_program(tmp_path: Path) -> None:
    (tmp_path / "folder.json").mkdir()
    for name, reason in (("none/p.json", "No such file or directory"), ("folder.json", "Is a directory")):
        command = ["-m", "wave_runtime", "profile", "-o", tmp_path / name, "--", "echo", "started"]
        done = warm_python.run(*command)
        assert (done.returncode, done.stdout) == (2, "")
        assert f"cannot write {tmp_path / name}: {reason}" in done.stderr


def test_run_with_a_profile(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    arguments = ["random:f32:1000", "random:f32:1000", "zeros:f32:1000", "1000"]
    given = [word for argument in arguments for word in ("--arg", argument)]
    command = ["run", str(BASICS), "vector_add", "--grid", "4", "--block", "256", *given]
    command += ["--signature", SIGNATURE["vector_add"], "--profile"]
    assert main([*command, str(tmp_path / "p.html")]) == 0
    assert (tmp_path / "p.html").stat().st_size > 10_000
    assert "vector_add (gfx942)" in capsys.readouterr().out
    assert main([*command, str(tmp_path / "p.txt")]) == 2
    assert "a profile is saved as" in capsys.readouterr().err


def test_launches_of_the_hip_library(tmp_path: Path) -> None:
    """In the same process, by HIP: they report to the same session."""
    code = f"""
import torch, wave_runtime
kernel = wave_runtime.load({str(BASICS)!r}, signature={SIGNATURE!r})["vector_add"]
a = torch.ones(1000)
with wave_runtime.profile() as p:
    kernel(a, a, torch.empty_like(a), 1000, grid=4, block=256)
print(p.kernels[0].name, p.kernels[0].asked)
"""
    library = wave_emulator.library("wave_hip_emulator")
    variables = {"WAVE_RUNTIME_CPU_DRIVER": "hip", "WAVE_RUNTIME_LIBHIP": str(library)}
    done = warm_python.run("-c", code, env={**os.environ, **variables})
    assert done.stdout.split() == ["vector_add", str(3 * 4 * N)], done.stderr
