"""Launches that do not end by themselves: Ctrl-C, and limits of time, in every mode and for every kind of kernel."""

from __future__ import annotations

import os
import re
import signal
import threading
import time
from pathlib import Path

import pytest
import torch
from machine import encode, with_words
from memory_support import BY_NAME
from support import PROBES, ROOT, LoadKernel
from warm_python import WarmProcess

import wave_emulator
import wave_runtime

FIRST_POINTER = "*i32, i64, i32, i32"
SLOT_WORDS = 24
SLOT = (0xBF80000C).to_bytes(4, "little") * SLOT_WORDS  # of two_waves, in probes.s
HIP_EMULATOR = str(wave_emulator.library("wave_hip_emulator"))

ADD = encode(BY_NAME["v_add_f32_e32"], VDST=9, SRC0=256 + 9, VSRC1=9)
MATRIX = encode(BY_NAME["v_mfma_f32_16x16x16_f16"], VDST=12, ACC_CD=1, SRC0=256 + 8, SRC1=256 + 10, SRC2=256 + 12)
GLOBAL_ATOMIC = encode(BY_NAME["global_atomic_add"], ADDR=3, DATA=5, SADDR=4)
LDS_ATOMIC = encode(BY_NAME["ds_add_u32"], ADDR=3, DATA0=5)
LOAD = encode(BY_NAME["global_load_dword"], ADDR=3, SADDR=4, VDST=9)
SKIP = encode(BY_NAME["s_setvskip"], SSRC0=129, SSRC1=128)
SLEEP = encode(BY_NAME["s_sleep"], SIMM16=1)
BARRIER = encode(BY_NAME["s_barrier"])


def endless(words: list[int], before: list[int]) -> bytes:
    """probes.hsaco, where the kernel two_waves carries out instructions over and over."""
    back = encode(BY_NAME["s_branch"], SIMM16=(-len(words) - 1) & 0xFFFF)
    image = (PROBES / "probes.hsaco").read_bytes()
    return with_words(image, image.index(SLOT), SLOT_WORDS, [*before, *words, *back])


# What runs, and what the environment says. Without a look at the clock a turn of the 16 waves would take minutes in
# some of these.
MODES: dict[str, tuple[list[int], dict[str, str]]] = {
    "plain": (ADD, {}),
    "one-thread": (ADD, {}),
    "exact": (MATRIX * 8, {"WAVE_RUNTIME_MFMA": "exact"}),
    "matrices": (MATRIX * 8, {}),
    "atomics": (GLOBAL_ATOMIC * 8, {}),
    "atomics-in-lds": (LDS_ATOMIC * 8, {}),
    "loads": (LOAD * 8, {}),
    "skipping": (ADD * 8, {}),
    "sleep": (SLEEP, {}),
    "barriers": (BARRIER, {}),
    "hazards": (MATRIX * 2 + ADD, {"WAVE_RUNTIME_CHECK": "hazards"}),
    "races": (LDS_ATOMIC * 8, {"WAVE_RUNTIME_CHECK": "races"}),
    "both-checks-exactly": (MATRIX + LDS_ATOMIC, {"WAVE_RUNTIME_CHECK": "hazards,races", "WAVE_RUNTIME_MFMA": "exact"}),
    "statistics": (ADD * 8, {"WAVE_RUNTIME_STATS": "1"}),
    "trace": (ADD * 8, {"WAVE_RUNTIME_TRACE": "/dev/null"}),
    "deterministic": (ADD * 8, {"WAVE_RUNTIME_DETERMINISTIC": "1"}),
    "portable": (ADD * 8, {"WAVE_RUNTIME_SIMD": "portable"}),
}
HIP = {"WAVE_RUNTIME_CPU_DRIVER": "hip", "WAVE_RUNTIME_LIBHIP": HIP_EMULATOR}

SETUP = f"""
import signal, sys, threading, torch, wave_runtime
signal.signal(signal.SIGINT, signal.default_int_handler)  # background jobs of a shell ignore it
kernel = wave_runtime.load(sys.argv[1], signature={{"two_waves": {FIRST_POINTER!r}}})["two_waves"]
def launch():
    kernel(torch.zeros(1024, dtype=torch.int32), 0, 0, 0, grid=8, block=1024)
"""
INTERRUPTED = """
print("ready", flush=True)
try:
    launch()
except KeyboardInterrupt:
    print("interrupted")
"""


# A kernel that looks at the clock for ages, for the HIP library, which takes only files that list their arguments.
WAITING = f"""
file = {str(ROOT / "tests/conformance/kernels.hsaco")!r}
kernel = wave_runtime.load(file, signature={{"slow_increment": "*i32 const, *i32, i32, i64"}})["slow_increment"]
def launch():
    a = torch.zeros(1024, dtype=torch.int32)
    kernel(a, torch.zeros_like(a), 1024, 1 << 62, grid=16, block=64)
"""


def start(tmp_path: Path, mode: str, code: str, **more: str) -> WarmProcess:
    words, variables = MODES[mode]
    file = tmp_path / "endless.hsaco"
    file.write_bytes(endless(words, before=SKIP if mode == "skipping" else []))
    setup = SETUP + ("torch.set_num_threads(1)\n" if mode == "one-thread" else "")
    return WarmProcess("-c", setup + code, file, env={**os.environ, **variables, **more})


def after_interrupt(process: WarmProcess) -> str:
    """What a program writes after "ready" that is interrupted then. It fails where the program goes on."""
    with process:
        try:
            assert process.stdout.readline() == "ready\n", process.stderr.read()
            time.sleep(0.2)  # until it is in the launch
            process.send_signal(signal.SIGINT)
            output, errors = process.communicate(timeout=60)
        finally:
            process.kill()
    assert process.returncode == 0, errors
    return output


def ended(process: WarmProcess) -> tuple[str, str]:
    """What a program writes that ends well."""
    with process:
        output, errors = process.communicate(timeout=120)
    assert process.returncode == 0, errors
    return output, errors


@pytest.mark.parametrize("mode", MODES)
def test_keyboard_interrupt(mode: str, tmp_path: Path) -> None:
    assert after_interrupt(start(tmp_path, mode, INTERRUPTED)) == "interrupted\n"


def test_keyboard_interrupt_of_the_hip_library(tmp_path: Path) -> None:
    assert after_interrupt(start(tmp_path, "plain", WAITING + INTERRUPTED, **HIP)) == "interrupted\n"


def test_a_strict_launch_is_interrupted(tmp_path: Path) -> None:
    code = 'kernel = wave_runtime.load(sys.argv[1], signature={"two_waves": "*i32, i64, i32, i32"}, strict=True)'
    assert after_interrupt(start(tmp_path, "loads", code + '["two_waves"]' + INTERRUPTED)) == "interrupted\n"


@pytest.mark.parametrize("is_hip", [False, True])
def test_the_next_launch_runs(is_hip: bool, tmp_path: Path) -> None:
    """Who catches the interrupt can go on, and nothing writes to the tensors of the launch that was stopped."""
    code = f"""
add = wave_runtime.load({str(ROOT / "examples/kernels/binaries/basics.hsaco")!r},
    signature={{"vector_add": "*f32 const, *f32 const, *f32, i32"}})["vector_add"]
a = torch.arange(1000.0)
b = torch.empty(1000)
add(a, a, b, 1000, grid=4, block=256)
print(torch.equal(b, 2 * a))
"""
    variables = HIP if is_hip else {}
    program = (WAITING if is_hip else "") + INTERRUPTED + code
    assert after_interrupt(start(tmp_path, "plain", program, **variables)) == "interrupted\nTrue\n"


def test_a_trace_that_nobody_reads_is_interrupted(tmp_path: Path) -> None:
    """Into a pipe that is full the launch waits, in the system."""
    fifo = tmp_path / "fifo"
    os.mkfifo(fifo)
    reader = os.open(fifo, os.O_RDONLY | os.O_NONBLOCK)
    try:
        process = start(tmp_path, "trace", INTERRUPTED, WAVE_RUNTIME_TRACE=str(fifo))
        assert after_interrupt(process) == "interrupted\n"
    finally:
        os.close(reader)


# A kernel that prints, where nobody reads what it does.
PRINTING = f"""
import os
file = {str(PROBES / "triton_print.hsaco")!r}
kernel = wave_runtime.load(file, signature={{"print_kernel": "*f32, i32, *i8 const, *i8 const"}})["print_kernel"]
def launch():
    none = torch.zeros(1, dtype=torch.int8)
    kernel(torch.zeros(1000), 1000, none, none, grid=1 << 20, block=64)
sys.stdout = os.fdopen(os.dup(1), "w")
os.dup2(os.open(sys.argv[2], os.O_RDWR), 1)
"""


def start_printing(tmp_path: Path, code: str, **more: str) -> WarmProcess:
    fifo = tmp_path / "fifo"
    os.mkfifo(fifo)
    return WarmProcess("-c", SETUP + PRINTING + code, PROBES / "probes.hsaco", fifo, env={**os.environ, **more})


@pytest.mark.parametrize("threads", [1, 4])
def test_a_kernel_that_prints_where_nobody_reads_is_interrupted(threads: int, tmp_path: Path) -> None:
    code = f"torch.set_num_threads({threads})\n" + INTERRUPTED
    assert after_interrupt(start_printing(tmp_path, code)) == "interrupted\n"


@pytest.mark.parametrize("threads", [1, 4])
def test_time_limit_of_a_kernel_that_prints_where_nobody_reads(threads: int, tmp_path: Path) -> None:
    code = f"torch.set_num_threads({threads})\n" + LIMITED.replace("print(fault.kernel", "print() #")
    with start_printing(tmp_path, code, WAVE_RUNTIME_TIME_LIMIT="0.3") as process:
        output, errors = process.communicate(timeout=60)
    assert process.returncode == 0, errors
    assert "the launch ran longer than 0.3 seconds, the limit that WAVE_RUNTIME_TIME_LIMIT sets" in output


@pytest.mark.needs("clang")
def test_time_limit_between_requests_to_the_host(monkeypatch: pytest.MonkeyPatch) -> None:
    """Of which a wave makes many in a turn that has few instructions."""
    source = """
extern "C" __global__ void churn(long* sum) {
  for (int i = 0; i < 4000; ++i) {
    void* block = malloc(1 << 20);
    *(int*)block = 1;
    *sum += (long)block;
    free(block);
  }
}"""
    kernel = wave_runtime.compile(source)["churn"]
    monkeypatch.setenv("WAVE_RUNTIME_TIME_LIMIT", "0.1")
    with pytest.raises(wave_runtime.KernelFault, match=r"longer than 0\.1 seconds"):
        kernel(torch.zeros(1, dtype=torch.int64), grid=1, block=64)


def test_an_interrupt_is_the_main_threads(tmp_path: Path) -> None:
    """Where another thread launches, the main thread is told, and the process ends when it does."""
    code = """
thread = threading.Thread(target=launch, daemon=True)
thread.start()
print("ready", flush=True)
try:
    thread.join()
except KeyboardInterrupt:
    print("interrupted")
"""
    assert after_interrupt(start(tmp_path, "plain", code)) == "interrupted\n"


LIMITED = """
try:
    launch()
except wave_runtime.KernelFault as fault:
    print(fault)
    print(fault.kernel, fault.workgroup in [(i, 0, 0) for i in range(8)], hex(fault.pc), fault.instruction)
"""


@pytest.mark.parametrize("mode", MODES)
def test_time_limit(mode: str, tmp_path: Path) -> None:
    output, _ = ended(start(tmp_path, mode, LIMITED, WAVE_RUNTIME_TIME_LIMIT="0.1"))
    first, *rest = output.splitlines()
    assert first == (
        "kernel 'two_waves' on the gfx942 emulator: the launch ran longer than 0.1 seconds, the limit that "
        "WAVE_RUNTIME_TIME_LIMIT sets; 0 of 8 workgroups had finished"
    )
    # On a busy machine the time may be up before the first instruction, at 0.
    caught = re.fullmatch(r"two_waves True (0x[0-9a-f]+) (\S.*)", rest[-1])
    assert caught
    assert rest[0].startswith(f"  at two_waves+{caught[1]}: {caught[2]}")
    assert rest[1].startswith("  workgroup (")


def test_time_limit_of_the_hip_library(tmp_path: Path) -> None:
    code = "try:\n    launch()\nexcept RuntimeError as error:\n    print(error)\n"
    output, errors = ended(start(tmp_path, "plain", WAITING + code, WAVE_RUNTIME_TIME_LIMIT="0.1", **HIP))
    assert "hipErrorLaunchFailure" in output
    assert "the launch ran longer than 0.1 seconds, the limit that WAVE_RUNTIME_TIME_LIMIT sets" in errors


def test_time_limit_tells_how_far_a_launch_got(probe: LoadKernel, monkeypatch: pytest.MonkeyPatch) -> None:
    """Workgroup 0 waits for a flag that nobody sets; those behind it end."""
    monkeypatch.setenv("WAVE_RUNTIME_TIME_LIMIT", "0.3")
    image = (PROBES / "probes.hsaco").read_bytes()
    wait = wave_runtime.load(image, signature={"wait_for_other": FIRST_POINTER})["wait_for_other"]
    with pytest.raises(wave_runtime.KernelFault, match="0 of 1 workgroups had finished") as caught:
        wait(torch.zeros(2, dtype=torch.int32), 0, 0, 0, grid=1, block=64)
    assert caught.value.workgroup == (0, 0, 0)
    spin = probe("spin", FIRST_POINTER)
    with pytest.raises(wave_runtime.KernelFault, match="WAVE_RUNTIME_TIME_LIMIT"):
        spin(torch.zeros(4, dtype=torch.int32), 0, 0, 0, grid=1, block=64)


def test_time_limit_on_a_thread(probe: LoadKernel, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("WAVE_RUNTIME_TIME_LIMIT", "0.3")
    faults: list[wave_runtime.KernelFault] = []

    def launch() -> None:
        try:
            probe("spin_at_barrier", FIRST_POINTER)(torch.zeros(4, dtype=torch.int32), 0, 0, 0, grid=8, block=256)
        except wave_runtime.KernelFault as fault:
            faults.append(fault)

    thread = threading.Thread(target=launch)
    thread.start()
    thread.join()
    assert "the launch ran longer than 0.3 seconds" in str(faults[0])


def test_launches_within_the_limit(vector_add: wave_runtime.Kernel, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("WAVE_RUNTIME_TIME_LIMIT", "3600")
    a, c = torch.ones(10**5), torch.zeros(10**5)
    vector_add(a, a, c, 10**5, grid=391, block=256)
    assert bool((c == 2).all())
