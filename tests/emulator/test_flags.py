"""Flags that workgroups and waves wait for, as programs have them: what they order is no race, nor is it a hang."""

from __future__ import annotations

import pytest
import torch

import wave_runtime

pytestmark = pytest.mark.needs("clang-22")

SOURCE = r"""
#define AGENT __HIP_MEMORY_SCOPE_AGENT
#define GROUP __HIP_MEMORY_SCOPE_WORKGROUP

// Values with flags behind them: those of neighbouring workgroups are neighbouring elements.
template <class Flag>
__device__ void pass(Flag* flags, int* values, int* out) {
  if (threadIdx.x != 0) return;
  const int own = blockIdx.x;
  values[own] = own + 1;
  __threadfence();
  __hip_atomic_store(&flags[own], Flag(1), __ATOMIC_RELAXED, AGENT);
  int sum = 0;
  for (int other = 0; other < own; ++other) {
    while (__hip_atomic_load(&flags[other], __ATOMIC_RELAXED, AGENT) == 0) {}
    __threadfence();
    sum += values[other];
  }
  out[own] = sum;
}
__global__ void bytes(unsigned char* flags, int* values, int* out) { pass(flags, values, out); }
__global__ void halves(unsigned short* flags, int* values, int* out) { pass(flags, values, out); }
__global__ void dwords(unsigned* flags, int* values, int* out) { pass(flags, values, out); }

// One store sets four flags, each of which another workgroup waits for.
__global__ void parts(unsigned char* flags, int* values, int* out) {
  if (threadIdx.x != 0) return;
  if (blockIdx.x == 0) {
    values[0] = 5;
    __threadfence();
    __hip_atomic_store((unsigned*)flags, 0x01010101u, __ATOMIC_RELAXED, AGENT);
  } else {
    while (__hip_atomic_load(&flags[blockIdx.x - 1], __ATOMIC_RELAXED, AGENT) == 0) {}
    __threadfence();
    out[blockIdx.x] = values[0];
  }
}

__global__ void ticket(unsigned char*, int* rounds, int* out) {
  __shared__ int next, serving, data;
  if (threadIdx.x == 0) next = serving = data = 0;
  __syncthreads();
  if (threadIdx.x % 64 == 0) {
    for (int round = 0; round < 3; ++round) {
      const int own = __hip_atomic_fetch_add(&next, 1, __ATOMIC_RELAXED, GROUP);
      while (__hip_atomic_load(&serving, __ATOMIC_ACQUIRE, GROUP) != own) __builtin_amdgcn_s_sleep(1);
      data += threadIdx.x + round + 1;
      __hip_atomic_store(&serving, own + 1, __ATOMIC_RELEASE, GROUP);
    }
  }
  __syncthreads();
  if (threadIdx.x == 0) out[0] = data;
}

__global__ void ring(unsigned char*, int* rounds, int* out) {
  __shared__ int buffer[4], full[4];
  if (threadIdx.x < 4) full[threadIdx.x] = 0;
  __syncthreads();
  if (threadIdx.x == 0) {
    for (int i = 0; i < 20; ++i) {
      while (__hip_atomic_load(&full[i & 3], __ATOMIC_ACQUIRE, GROUP)) __builtin_amdgcn_s_sleep(1);
      buffer[i & 3] = i * i;
      __hip_atomic_store(&full[i & 3], 1, __ATOMIC_RELEASE, GROUP);
    }
  }
  if (threadIdx.x == 64) {
    int sum = 0;
    for (int i = 0; i < 20; ++i) {
      while (!__hip_atomic_load(&full[i & 3], __ATOMIC_ACQUIRE, GROUP)) __builtin_amdgcn_s_sleep(1);
      sum += buffer[i & 3];
      __hip_atomic_store(&full[i & 3], 0, __ATOMIC_RELEASE, GROUP);
    }
    out[0] = sum;
  }
}

__global__ void flag_of_lds(unsigned char*, int* rounds, int* out) {
  __shared__ int data[64], flag;
  if (threadIdx.x == 0) flag = 0;
  __syncthreads();
  if (threadIdx.x == 0) {
    data[0] = 17;
    __hip_atomic_store(&flag, 1, __ATOMIC_RELEASE, GROUP);
  }
  if (threadIdx.x == 64) {
    while (__hip_atomic_load(&flag, __ATOMIC_ACQUIRE, GROUP) == 0) __builtin_amdgcn_s_sleep(1);
    out[0] = data[0];
  }
}

#if __gfx1201__
#define LOAD "ds_load_b32 %"
#define STORE "ds_store_b32 %"
#define WAIT "s_wait_dscnt 0"
#else
#define LOAD "ds_read_b32 %"
#define STORE "ds_write_b32 %"
#define WAIT "s_waitcnt lgkmcnt(0)"
#endif

// Behind a loop that waits, and behind its first turn, the wave goes on above both, where it stores.
__global__ void goes_on_above(unsigned char*, int* rounds, int* out) {
  using Shared = __attribute__((address_space(3))) int*;
  __shared__ int data, flag;
  if (threadIdx.x == 0) flag = data = 0;
  __syncthreads();
  if (threadIdx.x == 0) {
    data = 17;
    __hip_atomic_store(&flag, 1, __ATOMIC_RELEASE, GROUP);
  }
  if (threadIdx.x == 64) {
    int is_set, got, found;
    asm volatile("s_branch 1f\n"
                 "0: " LOAD "1, %4\n" WAIT "\n" STORE "4, %1\n s_branch 3f\n"
                 "1: " LOAD "0, %3\n" WAIT "\n v_readfirstlane_b32 %2, %0\n s_cmp_lg_u32 %2, 0\n s_cbranch_scc1 0b\n"
                 "2: " LOAD "0, %3\n" WAIT "\n v_readfirstlane_b32 %2, %0\n s_cmp_eq_u32 %2, 0\n s_cbranch_scc1 2b\n"
                 "s_branch 0b\n"
                 "3: " WAIT
                 : "=&v"(is_set), "=&v"(got), "=&s"(found)
                 : "v"((Shared)&flag), "v"((Shared)&data)
                 : "scc", "memory");
    out[0] = got;
  }
}

// What is loaded long before a loop that waits is not its first turn, though the same branch passes by both.
__global__ void looks_long_before(unsigned char*, int* rounds, int* out) {
  __shared__ int data, flag;
  if (threadIdx.x == 0) flag = data = 0;
  __syncthreads();
  if (threadIdx.x == 0) {
    data = 17;
    __hip_atomic_store(&flag, 1, __ATOMIC_RELEASE, GROUP);
  }
  if (threadIdx.x == 64) {
    const int early = *(volatile int*)&data;
    asm volatile(".fill 64, 4, 0xbf800000");  // s_nop 0
    if (early != 18) {
      while (__hip_atomic_load(&flag, __ATOMIC_ACQUIRE, GROUP) == 0) {}
    }
    out[0] = data;
  }
}

// What an atomic has found in one workgroup's LDS orders nothing in another's.
__global__ void finds_in_one(unsigned char*, int* which, int* out) {
  __shared__ int data;
  if (threadIdx.x == 0) data = 0;
  __syncthreads();
  if (threadIdx.x == 0) data = 5;
  if (threadIdx.x == 64) {
    if (blockIdx.x == *which) {
      out[blockIdx.x] = __hip_atomic_fetch_add(&data, 1, __ATOMIC_RELAXED, GROUP);
    } else {
      out[blockIdx.x] = data;
    }
  }
}

// The second store is an atomic for all, but what it takes the place of was none for other workgroups.
__global__ void widens_its_scope(unsigned char*, int* first_scope_is_wide, int* out) {
  if (threadIdx.x != 0) return;
  if (blockIdx.x == 0) {
    if (*first_scope_is_wide) {
      __hip_atomic_store(out, 1, __ATOMIC_RELAXED, AGENT);
    } else {
      __hip_atomic_store(out, 1, __ATOMIC_RELAXED, GROUP);
    }
  }
  __hip_atomic_store(out, 2 + blockIdx.x, __ATOMIC_RELAXED, AGENT);
}

__global__ void grid_barrier(unsigned* counter) {
  if (threadIdx.x == 0) {
    atomicAdd(counter, 1u);
    while (__hip_atomic_load(counter, __ATOMIC_RELAXED, AGENT) < gridDim.x) {}
  }
  __syncthreads();
}

// As Triton compiles a loop around an atomic whose result is one number: a work-item asks, LDS tells the others.
__global__ void grid_barrier_by_lds(unsigned* counter) {
  __shared__ unsigned seen;
  if (threadIdx.x == 0) atomicAdd(counter, 1u);
  do {
    __syncthreads();
    if (threadIdx.x == 0) seen = __hip_atomic_fetch_or(counter, 0u, __ATOMIC_RELAXED, AGENT);
    __syncthreads();
  } while (seen < gridDim.x);
}
"""
TARGETS = ("gfx942", "gfx1201")


@pytest.fixture(scope="module", params=TARGETS)
def module(request: pytest.FixtureRequest) -> wave_runtime.Module:
    """By clang 22: before 21 it had no wait between stores to LDS and the release behind them."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("CLANG", "clang-22")
        return wave_runtime.compile(SOURCE, target=request.param, options=["-O2"])


def found(module: wave_runtime.Module, name: str, grid: int, block: int) -> tuple[list[str], list[int]]:
    """The kinds of what the check for races finds, and the first results."""
    flags = {"halves": torch.uint16, "dwords": torch.uint32}.get(name, torch.uint8)
    values, out = (torch.zeros(32, dtype=torch.int32) for _ in range(2))
    with wave_runtime.sanitize("races") as report:
        module[name](torch.zeros(32, dtype=flags), values, out, grid=grid, block=block)
    return [finding.kind for finding in report.findings], out.tolist()


@pytest.mark.parametrize("name", ["bytes", "halves", "dwords"])
def test_flags_of_few_bytes(module: wave_runtime.Module, name: str) -> None:
    """Neighbours of one dword are flags of their own."""
    assert found(module, name, 32, 64) == ([], [i * (i + 1) // 2 for i in range(32)])


def test_flags_that_one_store_sets(module: wave_runtime.Module) -> None:
    kinds, out = found(module, "parts", 5, 64)
    assert (kinds, out[:5]) == ([], [0, 5, 5, 5, 5])


@pytest.mark.parametrize(
    ("name", "result"), [("ticket", 1176), ("ring", 2470), ("flag_of_lds", 17), ("goes_on_above", 17)]
)
def test_flags_in_lds(module: wave_runtime.Module, name: str, result: int) -> None:
    """Loops that wait may stand below what goes on behind them."""
    kinds, out = found(module, name, 1, 256 if name == "ticket" else 128)
    assert (kinds, out[0]) == ([], result)


def test_a_load_long_before_a_loop_is_none_of_it(module: wave_runtime.Module) -> None:
    assert found(module, "looks_long_before", 1, 128) == (["lds-race"], [17, *[0] * 31])


@pytest.mark.parametrize("which", range(3))
def test_what_an_atomic_finds_is_of_its_workgroup(
    module: wave_runtime.Module, which: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("WAVE_RUNTIME_DETERMINISTIC", "1")  # on one thread
    out = torch.zeros(3, dtype=torch.int32)
    with wave_runtime.sanitize("races") as report:
        module["finds_in_one"](
            torch.zeros(1, dtype=torch.uint8), torch.tensor([which], dtype=torch.int32), out, grid=3, block=128
        )
    (finding,) = report.findings
    assert (finding.kind, finding.count) == ("lds-race", 2)
    assert finding.at.workgroup == (0 if which != 0 else 1, 0, 0)


@pytest.mark.parametrize("is_wide", [0, 1])
def test_a_store_of_wider_scope_does_not_hide_one_before(
    module: wave_runtime.Module, is_wide: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("WAVE_RUNTIME_DETERMINISTIC", "1")  # the workgroups run one after the other
    wide, out = torch.tensor([is_wide], dtype=torch.int32), torch.zeros(1, dtype=torch.int32)
    with wave_runtime.sanitize("races") as report:
        module["widens_its_scope"](torch.zeros(1, dtype=torch.uint8), wide, out, grid=2, block=64)
    assert [finding.kind for finding in report.findings] == ([] if is_wide else ["global-race"])


@pytest.mark.parametrize("name", ["grid_barrier", "grid_barrier_by_lds"])
def test_waiting_workgroups_leave_the_others_their_turn(
    module: wave_runtime.Module, monkeypatch: pytest.MonkeyPatch, name: str
) -> None:
    """So that none carries out many instructions until all are there."""
    monkeypatch.setenv("WAVE_RUNTIME_MAX_INSTRUCTIONS", str(1 << 19))
    counter = torch.zeros(1, dtype=torch.uint32)
    module[name](counter, grid=32, block=256)
    assert counter.item() == 32
