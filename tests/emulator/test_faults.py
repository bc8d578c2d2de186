"""What a kernel must not do: each stops the launch with an error that says where, and never the process."""

from __future__ import annotations

import mmap
import warnings
from pathlib import Path

import pytest
import rdna_machine
import torch
import warm_python
from support import EXAMPLES, LoadKernel
from test_rdna_instructions import encode as encode_rdna

import wave_runtime
from wave_runtime import _C

FIRST_POINTER = "*i32, i64, i32, i32"


def alone(values: list[int]) -> torch.Tensor:
    """A tensor whose storage is far from every other, so that what lies around it is no one's memory."""
    margin = 1 << 16
    data = mmap.mmap(-1, 2 * margin + 4 * len(values))
    tensor = torch.frombuffer(data, dtype=torch.int32, count=len(values), offset=margin)
    return tensor.copy_(torch.tensor(values, dtype=torch.int32))


def tensors() -> tuple[torch.Tensor, torch.Tensor]:
    """0 to 63, and zeros."""
    return alone(list(range(64))), alone([0] * 64)


def run(kernel: wave_runtime.Kernel, *arguments: object, **keywords: object) -> wave_runtime.KernelFault:
    """The fault that a launch of one wave ends with."""
    with pytest.raises(wave_runtime.KernelFault) as caught:
        kernel(*arguments, **{"grid": 1, "block": 64, **keywords})
    return caught.value


def test_message_names_everything(probe: LoadKernel) -> None:
    source, out = tensors()
    fault = run(probe("load_at"), source, out, 4096, 0)
    assert str(fault).split("\n") == [
        "kernel 'load_at' on the gfx942 emulator: a load of 4 bytes out of bounds: 3840 bytes past the end of "
        "argument 0 (int32 [64]), which has 256 bytes",
        "  at load_at+0x30: global_load_dword v6, v[4:5], off",
        f"  workgroup (0, 0, 0), wave 0, lane 0 (work-item (0, 0, 0)), address {source.data_ptr() + 4096:#x}",
    ]
    assert fault.kernel == "load_at"
    assert fault.workgroup == (0, 0, 0)
    assert (fault.wave, fault.lane, fault.pc) == (0, 0, 0x30)
    assert fault.instruction == "global_load_dword v6, v[4:5], off"
    assert fault.address == source.data_ptr() + 4096


def test_place_within_the_grid(vector_add: wave_runtime.Kernel) -> None:
    a, b, short = torch.ones(2000), torch.ones(2000), torch.zeros(1300)
    fault = run(vector_add, a, b, short, 2000, grid=8, block=256)
    assert fault.workgroup == (5, 0, 0)
    assert (fault.wave, fault.lane) == (0, 20)
    assert "lane 20 (work-item (20, 0, 0))" in str(fault)
    assert "argument 2 'c' (float32 [1300]), which has 5200 bytes" in str(fault)


def test_load_before_the_begin(probe: LoadKernel) -> None:
    source, out = tensors()
    fault = run(probe("load_at"), source, out, -4, 0)
    assert "a load of 4 bytes out of bounds: 4 bytes before the beginning of argument 0" in str(fault)


def test_store_past_the_end(probe: LoadKernel) -> None:
    source, out = tensors()
    fault = run(probe("store_at", "*i32, *i32 const, i32, i32"), out, source, 4, 0)
    assert fault.lane == 63
    assert "a store of 4 bytes out of bounds: 0 bytes past the end of argument 0" in str(fault)


def test_store_across_the_end(probe: LoadKernel) -> None:
    source, out = tensors()
    fault = run(probe("store_at", "*i32, *i32 const, i32, i32"), out, source, 2, 0)
    assert fault.lane == 63
    assert "a store of 4 bytes out of bounds: from 2 bytes before the end of argument 0" in str(fault)


def test_store_to_const(probe: LoadKernel) -> None:
    source, out = tensors()
    fault = run(probe("store_at", "*i32 const, *i32, i32, i32"), source, out, 8, 0)
    assert (
        "a store of 4 bytes into argument 0 (int32 [64]), 8 bytes from its beginning: the kernel's signature says"
        in str(fault)
    )
    assert torch.equal(source, torch.arange(64, dtype=torch.int32))


def test_store_to_const_beside_a_writable_view(probe: LoadKernel) -> None:
    """Two arguments in one storage: only the written one's own bytes are writable."""
    storage = alone([0] * 128)
    kernel = probe("store_at", "*i32, *i32 const, i32, i32")
    kernel(storage[64:], storage[:64], 0, 0, grid=1, block=64)
    assert storage[64:].tolist() == list(range(64))
    fault = run(kernel, storage[64:], storage[:64], -4, 0)
    assert fault.lane == 0
    assert "a store of 4 bytes into the storage of argument 1 (int32 [64]), 252 bytes from its beginning" in str(fault)
    assert storage[:64].sum() == 0


READ_ONLY = """
import ctypes, mmap, sys
import numpy as np, torch, wave_runtime

kernel = wave_runtime.load({file!r}, signature={{"vector_add": "*f32 const, *f32 const, *f32, i32"}})["vector_add"]
if {how!r} == "file":
    np.ones(2048, np.float32).tofile({data!r})
    c = torch.from_numpy(np.memmap({data!r}, np.float32, "r"))
else:  # of two pages the last
    c = torch.frombuffer(mmap.mmap(-1, 2 * mmap.PAGESIZE), dtype=torch.float32)
    assert ctypes.CDLL(None).mprotect(ctypes.c_void_p(c.data_ptr() + mmap.PAGESIZE), mmap.PAGESIZE, 1) == 0
a = torch.ones(2048)
kernel(a, c, torch.empty(2048), 2048, grid=8, block=256)
try:
    kernel(a, a, c, 2048, grid=8, block=256)
except wave_runtime.KernelFault as fault:
    print(str(fault).splitlines()[0], "at", fault.address - c.data_ptr())
with wave_runtime.sanitize("memory") as report:
    kernel(a, a, c, 2048, grid=8, block=256)
print(*((finding.kind, finding.count) for finding in report.findings), c.sum().item())
"""


@pytest.mark.parametrize(("how", "first", "stores", "total"), [("file", 0, 2048, 2048), ("page", 4096, 1024, 2048)])
def test_store_to_what_the_process_may_only_read(how: str, first: int, stores: int, total: int, tmp_path: Path) -> None:
    """A file that was opened to be read, a page of a tensor: the process goes on."""
    file = str(EXAMPLES / "binaries" / "basics.hsaco")
    done = warm_python.run("-c", READ_ONLY.format(file=file, how=how, data=str(tmp_path / "data")))
    assert done.returncode == 0, done.stderr
    fault, findings = done.stdout.splitlines()
    assert "a store of 4 bytes into argument 2 (float32 [2048])" in fault
    assert fault.endswith(f"{first} bytes from its beginning: the process may only read there at {first}")
    assert findings == f"('read-only', {stores}) {total}.0"


def test_over_read_is_zero_and_reported_once(probe: LoadKernel) -> None:
    """Correct kernels read a little past an end what they then discard."""
    source, out = tensors()
    kernel = probe("load_at")
    with pytest.warns(
        RuntimeWarning, match=r"kernel 'load_at': a load of 4 bytes that ends 4 bytes past the end of argument 0"
    ) as caught:
        kernel(source, out, 8, 0, grid=1, block=64)
    assert len(caught) == 1
    assert out.tolist() == [*range(2, 64), 0, 0]
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        kernel(source, out, 512, 0, grid=1, block=1)
    fault = run(kernel, source, out, 512 + 4 * 64, 0)
    assert fault.lane == 0


EMPTY = torch.empty(0)


@pytest.mark.parametrize(
    ("empty", "n", "message"),
    [
        ("b", 64, "a load of 4 bytes at a null pointer: argument 1 'b' is null, or an empty tensor"),
        ("c", 64, "a store of 4 bytes at a null pointer: argument 2 'c' is null, or an empty tensor"),
        ("ab", 64, "at a null pointer: argument 0 'a' and argument 1 'b' are null, or empty tensors"),
        ("abc", 64, "a null pointer: argument 0 'a', argument 1 'b' and argument 2 'c' are null, or empty tensors"),
    ],
)
def test_null_pointers(empty: str, n: int, message: str, vector_add: wave_runtime.Kernel) -> None:
    tensors = [EMPTY if name in empty else torch.ones(64) for name in "abc"]
    fault = run(vector_add, *tensors, n)
    assert f"{message}\n" in str(fault)
    assert fault.address == 0
    with wave_runtime.sanitize("memory") as report:
        vector_add(*tensors, n, grid=1, block=64)
    assert {finding.kind for finding in report.findings} == {"unmapped"}
    assert {finding.message.partition(": ")[2] for finding in report.findings} == {message.partition(": ")[2]}


def test_what_is_near_null(probe: LoadKernel) -> None:
    _, out = tensors()
    load, empty = probe("load_at"), torch.empty(0, dtype=torch.int32)
    fault = run(load, empty, out, 256, 0)
    assert "a load of 4 bytes at a null pointer plus 256 bytes: argument 0 " in str(fault)
    assert fault.address == 256
    assert "a load of 4 bytes at a null pointer minus 4 bytes: argument 0 " in str(run(load, empty, out, -4, 0))
    assert "a load of 4 bytes out of bounds: " in str(run(load, empty, out, 1 << 20, 0))


@pytest.mark.needs("clang")
def test_null_addresses() -> None:
    """Of launches on plain addresses, and of raw arguments, as other languages make them."""
    source = 'extern "C" __global__ void copy(const int* from, int* to) { to[threadIdx.x + 2] = from[threadIdx.x]; }'
    kernel = wave_runtime.compile(source)["copy"]
    tensor = torch.zeros(80, dtype=torch.int32)
    arguments = tensor.data_ptr().to_bytes(8, "little") + bytes(8)
    with pytest.raises(wave_runtime.KernelFault, match="a null pointer plus 8 bytes: argument 1 'to' is null"):
        kernel.launch_raw(arguments, grid=1, block=64, memory=[tensor])


@pytest.mark.needs("clang")
def test_functions_that_lie_before_the_kernel() -> None:
    source = """
__device__ __attribute__((noinline)) void before(int* to) { to[1 << 20] = 1; }
extern "C" __global__ void store(int* to) { before(to); }
"""
    kernel = wave_runtime.compile(source)["store"]
    fault = run(kernel, torch.zeros(4, dtype=torch.int32), grid=1, block=1)
    assert -4096 < fault.pc < 0
    with wave_runtime.sanitize("memory") as report:
        kernel(torch.zeros(4, dtype=torch.int32), grid=1, block=1)
    (finding,) = report.findings
    assert finding.at.pc == fault.pc


SHARED = """
extern "C" __global__ void dynamic(int* to) {
  extern __shared__ int values[];
  values[threadIdx.x] = threadIdx.x;
  to[0] = values[threadIdx.x];
}

extern "C" __global__ void fixed(int* to, int offset) {
  __shared__ int values[64];
  values[threadIdx.x + offset] = to[0];
  to[0] = values[threadIdx.x];
}
"""


@pytest.mark.needs("clang")
@pytest.mark.parametrize("level", ["-O0", "-O3"])
def test_dynamic_lds_that_was_forgotten(level: str) -> None:
    module = wave_runtime.compile(SHARED, options=[level])
    out = torch.zeros(64, dtype=torch.int32)
    expected = "of which the workgroup has 0 bytes: the launch was given no dynamic LDS, which shared_memory= is for"
    assert expected in str(run(module["dynamic"], out))
    expected = "of which the workgroup has 16 bytes, 16 of them from shared_memory= of the launch"
    assert expected in str(run(module["dynamic"], out, shared_memory=16))
    assert "of which the workgroup has 256 bytes\n" in str(run(module["fixed"], out, 4096))


def test_lds(probe: LoadKernel) -> None:
    _, out = tensors()
    load, store = probe("load_lds", FIRST_POINTER), probe("store_lds", FIRST_POINTER)
    load(out, 0, 252, 0, grid=1, block=64)
    assert out.tolist() == [7] * 64
    with pytest.warns(RuntimeWarning, match="past the end of LDS"):
        load(out, 0, 256, 0, grid=1, block=64)
    assert out.tolist() == [0] * 64
    with pytest.warns(RuntimeWarning, match="ends 131072 bytes past the end of LDS"):
        load(out, 0, 256 + 131068, 0, grid=1, block=64)
    assert out.tolist() == [0] * 64
    expected = "131069 bytes past the end of LDS, of which the workgroup has 256 bytes"
    assert expected in str(run(load, out, 0, 256 + 131069, 0))
    assert "a store of 4 bytes out of bounds: 0 bytes past the end of LDS" in str(run(store, out, 0, 256, 0))


def test_loads_far_past_the_end_of_lds_are_found(probe: LoadKernel) -> None:
    """Without the tool they read zeros, as on hardware: hipCUB's reductions load for work-items that have no part."""
    _, out = tensors()
    load = probe("load_lds", FIRST_POINTER)
    for past, kinds in ((1020, []), (1021, ["out-of-bounds"]), (131068, ["out-of-bounds"])):
        with wave_runtime.sanitize("memory") as report, warnings.catch_warnings():
            warnings.simplefilter("ignore", RuntimeWarning)
            load(out, 0, 256 + past, 0, grid=1, block=64)
        assert [finding.kind for finding in report.findings] == kinds


def test_zeros_that_tensile_loads_from_where_no_lds_is(probe: LoadKernel) -> None:
    _, out = tensors()
    load, store = probe("load_lds", FIRST_POINTER), probe("store_lds", FIRST_POINTER)
    with wave_runtime.sanitize(fail=True, over_reads=True):
        load(out, 0, 0xF00000, 0, grid=1, block=64)
    assert out.tolist() == [0] * 64
    assert "past the end of LDS" in str(run(load, out, 0, 0xEFFFFC, 0))
    assert "past the end of LDS" in str(run(load, out, 0, 0xF10000, 0))
    assert "a store of 4 bytes out of bounds" in str(run(store, out, 0, 0xF00000, 0))


@pytest.mark.parametrize(
    ("name", "message"),
    [
        (
            "unknown_instruction",
            "an instruction that gfx942 does not have\n  at unknown_instruction+0x4: .long 0xffffffff",
        ),
        ("not_implemented", "ds_gws_sema_v is not implemented\n  at not_implemented+0x0: ds_gws_sema_v gds"),
        (
            "missing_register",
            "a register that the kernel does not have: its descriptor allocates fewer\n  at missing_register+0x0",
        ),
    ],
)
def test_instructions_that_cannot_run(probe: LoadKernel, name: str, message: str) -> None:
    _, out = tensors()
    assert message in str(run(probe(name, FIRST_POINTER), out, 0, 0, 0))


@pytest.mark.parametrize(
    ("target", "message"),
    [
        (0, "a jump to 0x0, which is not in the code object's code"),
        (2**40, "a jump to 0x10000000000, which is not in the code object's code"),
        (2**63 + 4, "a jump to 0x8000000000000004, which is not in the code object's code"),
        (3, "a jump to 0x3, which is no multiple of 4"),
    ],
)
def test_jumps_outside_of_the_code(probe: LoadKernel, target: int, message: str) -> None:
    _, out = tensors()
    fault = run(probe("jump_to", "u64, *i32, i32, i32"), target, out, 0, 0)
    assert message in str(fault)
    assert fault.instruction == "s_setpc_b64 s[4:5]"


@pytest.mark.parametrize("name", ["spin", "spin_at_barrier"])
def test_instruction_budget(probe: LoadKernel, name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("WAVE_RUNTIME_MAX_INSTRUCTIONS", "100000")
    _, out = tensors()
    fault = run(probe(name, FIRST_POINTER), out, 0, 0, 0, block=256)
    assert "a wave ran more than 100000 instructions, the limit that WAVE_RUNTIME_MAX_INSTRUCTIONS sets" in str(fault)


def test_the_instruction_budget_is_of_one_wave(
    vector_add: wave_runtime.Kernel, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Workgroups that run one after the other, in the same place, have as many each. All of them are counted."""
    monkeypatch.setenv("WAVE_RUNTIME_MAX_INSTRUCTIONS", "100")
    monkeypatch.setenv("WAVE_RUNTIME_DETERMINISTIC", "1")
    counts = []
    for grid in (1, 100):
        a, c = torch.ones(256 * grid), torch.zeros(256 * grid)
        vector_add(a, a, c, 256 * grid, grid=grid, block=256)
        assert bool((c == 2).all())
        counts.append(_C.emulator_statistics()["instructions"])
    assert counts[1] == 100 * counts[0]


def test_the_fault_of_the_first_workgroup_is_reported(vector_add: wave_runtime.Kernel) -> None:
    """With several threads later workgroups fail, too; with one thread the first to fail is the first there is."""
    threads = torch.get_num_threads()
    torch.set_num_threads(1)
    try:
        fault = run(vector_add, torch.ones(10**5), torch.ones(10**5), torch.zeros(256 * 9), 10**5, grid=391, block=256)
    finally:
        torch.set_num_threads(threads)
    assert fault.workgroup == (9, 0, 0)


def test_the_operator_raises_the_same(vector_add: wave_runtime.Kernel) -> None:
    with pytest.raises(wave_runtime.KernelFault, match="argument 2 'c'") as caught:
        torch.ops.wave.launch(
            vector_add.handle, [torch.ones(64), torch.ones(64)], [torch.zeros(8)], [64], [], [1], [64]
        )
    assert caught.value.lane == 8


@pytest.mark.parametrize("target", ["gfx1030", "gfx1100", "gfx1201"])
def test_a_load_into_nothing_that_is_left_out(target: str) -> None:
    """Nothing is poisoned: null has the number that M0 has elsewhere."""
    null = 125 if target == "gfx1030" else 124
    state = rdna_machine.State(1, 32)
    state.m0[0], state.s[0, 8:10] = 77, (0x1000, 0)
    load = encode_rdna(
        target, "s_load_dword" if target == "gfx1030" else "s_load_b32", "SMEM", SBASE=4, SDATA=null, SOFFSET=null
    )
    with wave_runtime.sanitize("memory") as report:
        after = rdna_machine.run(target, load, state)
    assert len(report.findings) == 1
    assert after.m0[0] == 77
