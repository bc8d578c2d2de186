"""Memory that the process takes away while a kernel runs on it: a fault of the kernel, and no end of the process."""

from __future__ import annotations

import os
import re
import signal
from pathlib import Path

import pytest
from requirements import does_not_apply
from warm_python import WarmProcess

pytestmark = pytest.mark.needs("clang")

# Each accesses 4,096 bytes, in four workgroups of 256, of which the last ones are in a page that is not there.
ACCESSES = """
load(float) out[AT] = at[AT];
load_wide(float4) if (AT < 256) out[AT] = at[AT].x + at[AT].w;
load_bytes(signed char) out[AT] = at[4 * AT];
load_some(float) if (AT % 3) out[AT] = at[AT];
load_scalar(float) float sum = 0; for (int i = 0; i < 1024; ++i) sum += at[i]; out[AT] = sum;
load_same(float) out[AT] = at[1020 + blockIdx.x];
load_flat(float) __shared__ float own[256]; own[threadIdx.x] = AT; out[AT] = *(AT % 7 ? &at[AT] : &own[AT % 256]);
store(float) at[AT] = 1;
store_wide(float4) if (AT < 256) at[AT] = {1, 2, 3, 4};
store_bytes(char) if (AT % 3) at[4 * AT] = 7;
add(int) atomicAdd(&at[AT], 2);
add_float(float) atomicAdd(&at[AT], 2.0f);
fetch_add(int) out[AT] = atomicAdd(&at[AT], 2);
fetch_add_wide(unsigned long long) if (AT < 512) out[AT] = atomicAdd(&at[AT], 2ull);
compare(int) out[AT] = atomicCAS(&at[AT], 0, 5);
through_lds(float) __shared__ float a[256]; a[threadIdx.x] = at[AT]; __syncthreads(); out[AT] = a[255 - threadIdx.x];
"""
NAMES = re.findall(r"^(\w+)\(", ACCESSES, re.MULTILINE)
KERNEL = """
extern "C" __global__ void \\1(void* memory, void* results) {
  \\2* const at = (\\2*)memory;
  float* const out = (float*)results;
  const unsigned AT = blockIdx.x * blockDim.x + threadIdx.x;
  \\3
}
"""
KERNELS = (
    re.sub(r"^(\w+)\((.*?)\) (.*)$", KERNEL, ACCESSES, flags=re.MULTILINE)
    + """
extern "C" __global__ void poll(void* flag, void* out) {
  while (__atomic_load_n((int*)flag, __ATOMIC_RELAXED) == 0) __builtin_amdgcn_s_sleep(1);
  *(int*)out = 1;
}
"""
)

SETUP = """
import ctypes, mmap, sys, threading, time, torch, wave_runtime
libc = ctypes.CDLL(None)
PAGE = mmap.PAGESIZE
module = wave_runtime.compile(sys.argv[1], target=sys.argv[2], language="hip")
kept = []
def pages(count):
    kept.append(mmap.mmap(-1, count * PAGE))
    return torch.frombuffer(kept[-1], dtype=torch.int32)
def take(tensor, begin, how="munmap"):
    address = ctypes.c_void_p(tensor.data_ptr() + begin)
    assert getattr(libc, how)(address, ctypes.c_size_t(PAGE), *([0] if how == "mprotect" else [])) == 0
"""
EACH = """
for name in sys.argv[4].split(","):
    words = pages(8)
    take(words, 2 * PAGE, how=sys.argv[3])
    data, out = words[(PAGE + PAGE // 4) // 4 :], torch.zeros(1024)
    tools = sys.argv[5:]
    try:
        if tools:
            with wave_runtime.sanitize(*tools) as report:
                module[name](data, out, grid=4, block=256)
            print(name, *{f"{finding.tool}:{finding.kind}" for finding in report.findings})
        else:
            module[name](data, out, grid=4, block=256)
            print(name, "ran")
    except wave_runtime.KernelFault as fault:
        page = (fault.address - words.data_ptr()) // PAGE
        print(name, page, "unmapped, protected or truncated while the kernel ran" in str(fault))
# Behind it all launches work as ever.
out = torch.zeros(1024, dtype=torch.int32)
module["add"](out, torch.zeros(1), grid=4, block=256)
print(int(out.sum()))
"""


@pytest.fixture(scope="module")
def source(tmp_path_factory: pytest.TempPathFactory) -> Path:
    if "asan" in os.environ.get("LD_PRELOAD", ""):
        does_not_apply("AddressSanitizer copies and compares memory in functions of its own")
    file = tmp_path_factory.mktemp("lost") / "lost.hip"
    file.write_text(KERNELS)
    return file


def run(code: str, *arguments: object, **variables: str) -> tuple[int, str, str]:
    with WarmProcess("-c", SETUP + code, *arguments, env={**os.environ, **variables}) as process:
        output, errors = process.communicate(timeout=300)
    return process.returncode, output, errors


FAULTS = [*(f"{name} 2 True" for name in NAMES), "2048"]
MODES = {
    "plain": {},
    "portable": {"WAVE_RUNTIME_SIMD": "portable"},
    "one-thread": {"WAVE_RUNTIME_DETERMINISTIC": "1"},
    "statistics": {"WAVE_RUNTIME_STATS": "1"},
    "trace": {"WAVE_RUNTIME_TRACE": "/dev/null"},
    "checks": {"WAVE_RUNTIME_CHECK": "hazards,races"},
}


@pytest.mark.parametrize("target", ["gfx942", "gfx1201"])
@pytest.mark.parametrize("mode", MODES)
def test_memory_that_is_gone_is_a_fault(mode: str, target: str, source: Path) -> None:
    status, output, errors = run(EACH, source, target, "munmap", ",".join(NAMES), **MODES[mode])
    assert (status, output.splitlines()) == (0, FAULTS), errors


@pytest.mark.parametrize("tool", ["races", "waits", "barriers", "numbers", "uninitialized", "lanes"])
def test_whoever_looks_on(tool: str, source: Path) -> None:
    status, output, errors = run(EACH, source, "gfx942", "mprotect", ",".join(NAMES), tool)
    assert (status, output.splitlines()) == (0, FAULTS), errors


def test_the_sanitizer_goes_on_behind_it(source: Path) -> None:
    status, output, errors = run(EACH, source, "gfx942", "munmap", ",".join(NAMES), "memory")
    found = dict(line.split(maxsplit=1) for line in output.splitlines()[:-1])
    assert (status, set(found)) == (0, set(NAMES)), errors
    # Additions whose results nobody wants are made when the instruction is over.
    assert {name for name, kinds in found.items() if kinds != "memory:unmapped"} <= {"add"}, found


def test_while_a_kernel_runs(source: Path) -> None:
    code = """
words = pages(2)
def later():
    time.sleep(0.3)
    take(words, 0)
thread = threading.Thread(target=later)
thread.start()
try:
    module["poll"](words, torch.zeros(1), grid=1, block=64)
except wave_runtime.KernelFault as fault:
    print(fault.address == words.data_ptr(), fault.instruction.split()[0])
thread.join()
"""
    status, output, errors = run(code, source, "gfx942")
    assert (status, output) == (0, "True global_load_dword\n"), errors


def test_a_file_that_is_truncated(source: Path, tmp_path: Path) -> None:
    code = """
with open(sys.argv[3], "wb+") as file:
    file.truncate(8 * PAGE)
    kept.append(mmap.mmap(file.fileno(), 8 * PAGE))
    words = torch.frombuffer(kept[-1], dtype=torch.int32)
    def later():
        time.sleep(0.3)
        file.truncate(0)
    thread = threading.Thread(target=later)
    thread.start()
    try:
        module["poll"](words[1024 * 4 :], torch.zeros(1), grid=1, block=64)
    except wave_runtime.KernelFault as fault:
        print("truncated" in str(fault))
    thread.join()
"""
    status, output, errors = run(code, source, "gfx942", tmp_path / "file")
    assert (status, output) == (0, "True\n"), errors


@pytest.mark.parametrize("handler", ["none", "faulthandler", "own", "with information"])
def test_what_no_kernel_accesses_ends_the_process_as_ever(handler: str, source: Path) -> None:
    code = """
import faulthandler, os
if sys.argv[3] == "faulthandler":
    faulthandler.enable()
if sys.argv[3] == "own":
    own = ctypes.CFUNCTYPE(None, ctypes.c_int)(lambda number: os._exit(77))
    libc.signal(11, own)
if sys.argv[3] == "with information":  # where it was, which sigaction's handlers get
    def told(number, information, context):
        os._exit(88 if ctypes.c_uint64.from_address(information + 16).value == 8 else 1)
    own = ctypes.CFUNCTYPE(None, ctypes.c_int, ctypes.c_void_p, ctypes.c_void_p)(told)
    handler = ctypes.cast(own, ctypes.c_void_p).value
    libc.sigaction(11, handler.to_bytes(8, "little") + bytes(128) + (4).to_bytes(4, "little") + bytes(12), None)
out = torch.zeros(1024, dtype=torch.int32)
module["add"](out, torch.zeros(1), grid=4, block=256)
print(int(out.sum()), flush=True)
ctypes.string_at(8)
"""
    status, output, errors = run(code, source, "gfx942", handler)
    assert output == "2048\n"
    assert status == {"own": 77, "with information": 88}.get(handler, -signal.SIGSEGV)
    assert ("Segmentation fault" in errors) == (handler == "faulthandler")
