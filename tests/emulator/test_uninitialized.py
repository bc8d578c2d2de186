"""The sanitizer's tool for what nobody wrote: what is a use of it, what is none, and where it was read."""

from __future__ import annotations

from collections.abc import Callable

import mistakes
import numpy as np
import pytest
import rdna_machine
import torch
from machine import encode, run
from memory_support import BY_NAME, random_state, set_pair
from test_rdna_instructions import encode as encode_rdna
from waits import waitcnt

import wave_runtime

WHAT = {"register": "register v", "lds": "LDS", "scratch": "scratch"}
PLANTED = [mistake for mistake in mistakes.planted() if mistake.tool == "uninitialized"]


@pytest.mark.parametrize("mistake", PLANTED, ids=lambda mistake: mistake.kernel)
def test_a_finding_names_where_it_was_read(mistake: mistakes.Mistake) -> None:
    with wave_runtime.sanitize("uninitialized") as report:
        mistakes.launch(mistake.kernel, True)
    (finding,) = report.findings
    assert WHAT[finding.kind] in finding.message
    if finding.other is not None:
        reads = ("v_",) if finding.kind == "register" else ("ds_read", "flat_load", "scratch_load")
        assert finding.other.instruction.startswith(reads)


UNDEFINED = 96  # a scalar register that neither the kernels of machine.py nor those of rdna_machine.py write
CLEAR = [word for to in (20, 21, 22) for word in encode(BY_NAME["v_mov_b32_e32"], VDST=to, SRC0=128)]
WAIT = waitcnt(vm=0, lgkm=0)


def stored(register: int) -> list[int]:
    """A sum is stored: to copy is no use of what nobody wrote."""
    words = encode(BY_NAME["v_add_u32_e32"], VDST=22, SRC0=register, VSRC1=10)
    return words + encode(BY_NAME["global_store_dword"], DATA=22, ADDR=8, SADDR=127)


def found(words: list[int], *tools: str) -> list[wave_runtime.Finding]:
    """In the first 16 bytes of a buffer for each lane: v[8:9], and s[8:9], s[12:15]; v11 is a place in LDS."""
    state, memory = random_state(np.random.default_rng(60), 1), torch.zeros(4096, dtype=torch.uint8)
    address = memory.data_ptr()
    set_pair(state.v.transpose(1, 0, 2)[8:10], address + np.arange(64, dtype=np.uint64) * 16)
    state.v[0, 11] = np.arange(64) * 4
    state.s[0, 12:16] = [address & 0xFFFFFFFF, address >> 32, memory.numel(), 0x27000]
    state.s[0, 8:10] = state.s[0, 12:14]
    with wave_runtime.sanitize("uninitialized", *tools) as report:
        run(words + CLEAR + WAIT, state, memory)
    return report.findings


@pytest.mark.parametrize(("name", "base"), [("s_store_dword", 4), ("s_store_dwordx2", 4), ("s_buffer_store_dword", 6)])
def test_scalar_stores_copy(name: str, base: int) -> None:
    """What is stored is no address, and what is loaded from there is as it was."""
    store = encode(BY_NAME[name], SDATA=UNDEFINED, SBASE=base, IMM=1)
    load = encode(BY_NAME["s_load_dword"], SDATA=20, SBASE=4, IMM=1) + WAIT
    assert not found(store + load)
    (finding,) = found(store + load + stored(20))
    assert finding.kind == "global"
    computed = encode(BY_NAME["s_add_u32"], SDST=20, SSRC0=UNDEFINED, SSRC1=22)
    computed += encode(BY_NAME["s_cmp_eq_u32"], SSRC0=22, SSRC1=22)  # SCC is defined again
    clear = encode(BY_NAME["s_mov_b32"], SDST=20, SSRC0=128)
    (finding,) = found(computed + encode(BY_NAME[name], SDATA=20, SBASE=base, IMM=1) + clear)
    assert finding.message.startswith("a computed value that is stored depends on register s96")


def test_the_operand_of_a_scalar_atomic() -> None:
    (finding,) = found(encode(BY_NAME["s_atomic_add"], SDATA=UNDEFINED, SBASE=4, IMM=1))
    assert finding.message.startswith("the operand of an atomic depends on register s96")


def test_a_result_of_a_register_that_it_overwrites() -> None:
    """A shift by 40 moves it to the next one, and leaves zeros, which are defined, in its place."""
    words = [*CLEAR, *encode(BY_NAME["v_mov_b32_e32"], VDST=20, SRC0=UNDEFINED)]
    words += encode(BY_NAME["v_lshlrev_b64"], VDST=20, SRC0=128 + 40, SRC1=256 + 20)
    (finding,) = found(words + stored(256 + 21))
    assert "register s96" in finding.message


@pytest.mark.parametrize(("register", "count"), [(20, 64), (21, 0)])
def test_two_stores_of_which_the_second_is_out_of_bounds(register: int, count: int) -> None:
    """The lanes in bounds do both of theirs once more, and each stores what is its own."""
    words = [*CLEAR, *encode(BY_NAME["v_mov_b32_e32"], VDST=register, SRC0=UNDEFINED)]
    words += encode(BY_NAME["ds_write2_b32"], ADDR=11, DATA0=20, DATA1=21, OFFSET0=0, OFFSET1=200)
    words += encode(BY_NAME["ds_read_b32"], VDST=22, ADDR=11) + WAIT
    findings = found(words + stored(256 + 22), "memory")
    assert [finding.count for finding in findings if finding.tool == "memory"] == [8]
    assert sum(finding.count for finding in findings if finding.tool == "uninitialized") == count


def answers(target: str) -> list[int]:
    return encode_rdna(target, "s_sendmsg_rtn_b64", "SOP1", SDST=UNDEFINED, SSRC0=0x83)


def barrier(target: str) -> list[int]:
    return encode_rdna(target, "s_get_barrier_state", "SOP1", SDST=UNDEFINED, SSRC0=193)


def clock(target: str) -> list[int]:
    """Behind a sum whose carry is undefined."""
    add = "s_add_u32" if target == "gfx1100" else "s_add_co_u32"
    words = encode_rdna(target, add, "SOP2", SDST=20, SSRC0=UNDEFINED + 2, SSRC1=193)
    return words + encode_rdna(target, "s_getreg_b32", "SOPK", SDST=UNDEFINED, SIMM16=29 | 19 << 11)


@pytest.mark.parametrize(
    ("make", "target"),
    [(make, target) for make in (answers, clock) for target in ("gfx1100", "gfx1201")] + [(barrier, "gfx1201")],
)
def test_what_hardware_answers_is_defined(make: Callable[[str], list[int]], target: str) -> None:
    """The time, and the like."""
    state, memory = rdna_machine.State(1, 32), torch.zeros(4096, dtype=torch.uint8)
    set_pair(state.v.transpose(1, 0, 2)[8:10], np.full(32, memory.data_ptr(), dtype=np.uint64))
    state.v[0, 10] = 12345
    wait = "s_waitcnt" if target == "gfx1100" else "s_wait_kmcnt"
    words = make(target) + encode_rdna(target, wait, "SOPP", SIMM16=0)
    words += encode_rdna(target, "v_add_nc_u32_e32", "VOP2", VDST=21, SRC0=UNDEFINED, VSRC1=10)
    words += encode_rdna(target, "global_store_b32", "GLOBAL", DATA=21, ADDR=8, SADDR=124)
    words += encode_rdna(target, "s_cmp_eq_u32", "SOPC", SSRC0=128, SSRC1=128)
    words += encode_rdna(target, "s_mov_b32", "SOP1", SDST=20, SSRC0=128)
    with wave_runtime.sanitize("uninitialized", fail=True):
        rdna_machine.run(target, words, state, memory)


@pytest.mark.needs("clang-22")
@pytest.mark.parametrize("target", ["gfx942", "gfx950"])
def test_an_argument_may_be_what_registers_begin_with(target: str) -> None:
    """Where arguments are preloaded they stand in registers, most of which hold a pattern then."""
    source = """__global__ void run(int* out, int n, int m) {
      out[threadIdx.x] = n + m;
      if (n < 0) out[threadIdx.x + 64] = n;
    }"""
    options = ["-mllvm", "-amdgpu-kernarg-preload-count=8"]
    kernel = wave_runtime.compile(source, target=target, options=options)["run"]
    pattern = -0x80009  # 0xfff7fff7
    out = torch.zeros(128, dtype=torch.int32)
    with wave_runtime.sanitize("uninitialized", fail=True):
        kernel(out, pattern, 1, grid=1, block=64)
    assert (out[:64] == pattern + 1).all()
    assert (out[64:] == pattern).all()


@pytest.mark.needs("hip-compiler")
@pytest.mark.parametrize("target", ["gfx942", "gfx1201"])
def test_each_workgroup_has_scratch_that_nobody_wrote(target: str) -> None:
    """Whatever another has written there before, and in whatever lane: no sum of it looks like a copy."""
    source = """__global__ void run(int* out, int count) {
      volatile int frame[8];
      if (blockIdx.x % 2 == 0) for (int k = 0; k < count; ++k) frame[k] = k;
      int sum = 0;
      for (int k = 0; k < count; ++k) sum += frame[k];
      out[blockIdx.x * 64 + threadIdx.x] = sum;
    }"""
    kernel = wave_runtime.compile(source, target=target)["run"]
    with wave_runtime.sanitize("uninitialized") as report:
        kernel(torch.zeros(64 * 64, dtype=torch.int32), 8, grid=64, block=64)
    (finding,) = report.findings
    assert (finding.kind, finding.count) == ("scratch", 32 * 64)


@pytest.mark.needs("hip-compiler")
@pytest.mark.parametrize("target", ["gfx942", "gfx1201"])
def test_scratch_keeps_each_bit_of_what_is_saved_there(target: str) -> None:
    """Four dwords at once, of which two are defined, and the second in part."""
    source = """typedef int Four __attribute__((ext_vector_type(4)));
    __global__ void run(int* out, int which, int zero) {
      volatile int nobody[2];
      volatile Four frame[2];
      const int undefined = nobody[zero];
      frame[zero] = Four{int(threadIdx.x), undefined & 0xff00, undefined, 4};
      const Four saved = frame[zero];
      const int sums[4] = {saved.x + saved.w, (saved.y & 0xff) + 1, (saved.y >> 8) + 1, saved.z + 1};
      out[threadIdx.x] = sums[which];
    }"""
    kernel = wave_runtime.compile(source, target=target, options=["-O1"])["run"]
    out = torch.zeros(64, dtype=torch.int32)
    counts = []
    for which in range(4):
        with wave_runtime.sanitize("uninitialized") as report:
            kernel(out, which, 0, grid=1, block=64)
        counts.append([(finding.kind, finding.count) for finding in report.findings])
    assert counts == [[], [], [("scratch", 64)], [("scratch", 64)]]


COMPUTED = ["a + 1", "a * 3 + 1", "a * 77", "__mulhi(a, 12345)", "__popc(a)", "min(a, 5)", "(int)(a * 0.5f)"]
COMPUTED += ["a == 7 ? 1 : 2", "a == threadIdx.x ? 1 : 2", "(a & 255) == 7 ? 1 : 2", "a != 12345 ? 1 : 2"]
COMPUTED += ["__int_as_float(a) == 1.5f ? 1 : 2", "a - 3u < 5u ? 1 : 2", "(a + 1L << 20) == (8L << 20) ? 1 : 2"]
COMPUTED += ["a > 3 ? 1 : 2", "__int_as_float(a) > 0.f ? 1 : 2", "(int)__ballot(a > 3)", "~(5 * a) - 3"]
COPIED = ["a", "a & 255", "2 * a + 1", "a >> 3", "~a", "a ^ 77", "__brev(a)", "__shfl_xor(a, 1)"]
COPIED += ["threadIdx.x > 99 ? a > 3 : 7", "threadIdx.x > 99 ? a == 3 : 7"]
COPIED += ["(a & 0) == 0 ? 1 : 2", "(a | 1) == 8 ? 1 : 2"]


@pytest.mark.needs("hip-compiler")
@pytest.mark.parametrize("level", ["-O0", "-O2"])
@pytest.mark.parametrize("target", ["gfx942", "gfx1201"])
@pytest.mark.parametrize("where", ["threadIdx.x", "0"])
def test_a_branch_that_one_value_would_take(where: str, target: str, level: str) -> None:
    """Of a lane, and of all of them."""
    source = f"""__global__ void run(const int* in, int* out) {{
      if (in[{where}] == 7) {{
        out[threadIdx.x] = 1;
        __builtin_amdgcn_s_sleep(1);
      }}
    }}"""
    kernel = wave_runtime.compile(source, target=target, options=[level])["run"]
    with wave_runtime.sanitize("uninitialized") as report:
        kernel(torch.empty(64, dtype=torch.int32), torch.zeros(64, dtype=torch.int32), grid=1, block=64)
    assert [finding.kind for finding in report.findings] == ["global"]


@pytest.mark.needs("hip-compiler")
@pytest.mark.parametrize("target", ["gfx942", "gfx1201"])
@pytest.mark.parametrize(
    ("expression", "is_use"), [*((text, True) for text in COMPUTED), *((text, False) for text in COPIED)]
)
def test_what_is_computed_and_what_is_copied(expression: str, is_use: bool, target: str) -> None:
    """A store of what was computed is a use; bits that stay bits, wherever they are moved, were copied."""
    source = f"""__global__ void run(const int* in, int* out) {{
      const int a = in[threadIdx.x];
      out[threadIdx.x] = {expression};
    }}"""
    kernel = wave_runtime.compile(source, target=target)["run"]
    with wave_runtime.sanitize("uninitialized") as report:
        kernel(torch.empty(64, dtype=torch.int32), torch.zeros(64, dtype=torch.int32), grid=1, block=64)
    assert [finding.kind for finding in report.findings] == ["global"] * is_use


@pytest.mark.needs("hip-compiler")
@pytest.mark.parametrize("rows", [8, 16])
def test_rows_of_a_matrix_that_nobody_wrote(rows: int) -> None:
    """Of which RDNA3 has two copies, alike: those of another product's rows are not stored."""
    source = """
    typedef int i4 __attribute__((ext_vector_type(4)));
    typedef int i8 __attribute__((ext_vector_type(8)));
    __global__ void run(const int* in, int* out, int rows) {
      __shared__ __align__(16) int a[16 * 4];
      const int lane = threadIdx.x;
      for (int i = lane; i < rows * 4; i += 32) a[i] = in[i];
      __syncthreads();
      const i4 b = {1, 2, 3, 4};
      const i8 d = __builtin_amdgcn_wmma_i32_16x16x16_iu8_w32(true, *(i4*)&a[lane % 16 * 4], true, b, i8{}, true);
      for (int i = 0; i < 8; ++i)
        if (2 * i + lane / 16 < 8) out[(2 * i + lane / 16) * 16 + lane % 16] = d[i];
    }"""
    kernel = wave_runtime.compile(source, target="gfx1100")["run"]
    with wave_runtime.sanitize("uninitialized", fail=True):
        kernel(torch.ones(64, dtype=torch.int32), torch.zeros(128, dtype=torch.int32), rows, grid=1, block=32)


@pytest.mark.needs("hip-compiler")
@pytest.mark.parametrize("target", ["gfx942", "gfx1100", "gfx1201"])
@pytest.mark.parametrize("dtype", [torch.int32, torch.int64])
@pytest.mark.parametrize("where", ["global", "lds"])
def test_an_exchange_depends_on_nothing_that_was_there(where: str, dtype: torch.dtype, target: str) -> None:
    """It defines memory, and what it returns is a copy; of two lanes that exchange in one place the second finds what
    the first has stored."""
    c_type = "int" if dtype is torch.int32 else "long"
    source = f"""
    __device__ {c_type} exchange({c_type}* place) {{
      return __hip_atomic_exchange(place, ({c_type})threadIdx.x, __ATOMIC_RELAXED, __HIP_MEMORY_SCOPE_AGENT);
    }}
    __global__ void run({c_type}* memory, {c_type}* out, int step, int use) {{
      __shared__ {c_type} shared[64];
      {c_type}* place = &{"memory" if where == "global" else "shared"}[threadIdx.x / step];
      const {c_type} old = exchange(place);
      out[threadIdx.x] = use == 0 ? *place + 1 : use == 1 ? old : old + 1;
    }}
    __global__ void unused({c_type}* memory, {c_type}* out) {{
      __shared__ {c_type} shared[64];
      {c_type}* place = &{"memory" if where == "global" else "shared"}[threadIdx.x];
      exchange(place);
      out[threadIdx.x] = *place + 1;
    }}"""
    module = wave_runtime.compile(source, target=target)
    out = torch.zeros(64, dtype=dtype)
    with wave_runtime.sanitize("uninitialized", fail=True):
        module["unused"](torch.empty(64, dtype=dtype), out, grid=1, block=64)
        assert torch.equal(out, torch.arange(1, 65, dtype=dtype))
        module["run"](torch.empty(64, dtype=dtype), out, 1, 0, grid=1, block=64)
        assert torch.equal(out, torch.arange(1, 65, dtype=dtype))
        module["run"](torch.empty(64, dtype=dtype), out, 1, 1, grid=1, block=64)
    for step in (1, 2):
        with wave_runtime.sanitize("uninitialized") as report:
            module["run"](torch.empty(64, dtype=dtype), torch.zeros(64, dtype=dtype), step, 2, grid=1, block=64)
        (finding,) = report.findings
        assert (finding.kind, finding.count) == (where, 64 // step)
        assert finding.message.startswith("a computed value that is stored")
