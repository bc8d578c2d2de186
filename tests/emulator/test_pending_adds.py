"""Additions to memory that wait to be summed up: nobody can tell that they do."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
import torch

import wave_runtime

pytestmark = pytest.mark.needs("clang-22")

KERNELS = r"""
#define ADD(at, value) asm volatile("global_atomic_add %0, %1, off" :: "v"(at), "v"(value) : "memory")
#define WAIT asm volatile("s_waitcnt vmcnt(0) lgkmcnt(0)" ::: "memory")
#define LOAD(text, to, ...) \
  asm volatile(text "\n s_waitcnt vmcnt(0) lgkmcnt(0)" : "=v"(to) : __VA_ARGS__ : "memory")
typedef unsigned u32;
typedef unsigned long long u64;
typedef int v4i __attribute__((ext_vector_type(4)));

// Each of these reads what the lanes have added just before.
extern "C" __global__ void reads(u32* at, u32* out, u32* counts) {
  u32 value[8] = {};
  __shared__ u32 lds[64];
  ADD(at, 1u); WAIT;
  LOAD("global_load_dword %0, %1, off", value[0], "v"(at));
  ADD(at, 1u); WAIT;
  LOAD("flat_load_dword %0, %1", value[1], "v"(at));
  ADD(at, 1u); WAIT;
  asm volatile("s_load_dword %0, %1, 0x0\n s_waitcnt lgkmcnt(0)" : "=s"(value[2]) : "s"(at) : "memory");
  ADD(at, 1u); WAIT;
  const u64 base = (u64)at;
  const v4i descriptor = {(int)base, (int)(base >> 32), 4, 0x00027000};
  LOAD("buffer_load_dword %0, off, %1, 0", value[3], "s"(descriptor));
  ADD(at, 1u); WAIT;
  LOAD("global_atomic_or %0, %1, %2, off sc0", value[4], "v"(at), "v"(0u));
  ADD(at, 1u); WAIT;
  LOAD("global_load_ushort %0, %1, off", value[5], "v"(at));
  ADD(at, 1u); WAIT;
  LOAD("global_load_dwordx2 %0, %1, off", *(u64*)&value[6], "v"(at));
  if (threadIdx.x == 0) for (int i = 0; i < 7; ++i) out[i] = value[i];
  ADD(at, 1u); WAIT;
  asm volatile("global_store_dword %0, %1, off" :: "v"(at + 1), "v"(0u) : "memory");
  asm volatile("global_atomic_add_x2 %0, %1, off" :: "v"(at), "v"(1ull) : "memory");
  ADD(at, 1u);
  ADD(at, -1u);
  ADD(at + 1, 1u);
}

// What one workgroup adds before it sets a flag, others find when they see the flag.
extern "C" __global__ void before_flag(u32* count, u32* flag, u32* out) {
  if (blockIdx.x == 0) {
    ADD(count, 1u); WAIT;
    __hip_atomic_store(flag, 1u, __ATOMIC_RELEASE, __HIP_MEMORY_SCOPE_AGENT);
  } else {
    while (__hip_atomic_load(flag, __ATOMIC_ACQUIRE, __HIP_MEMORY_SCOPE_AGENT) == 0) ;
    if (threadIdx.x == 0) out[blockIdx.x] = __hip_atomic_load(count, __ATOMIC_RELAXED, __HIP_MEMORY_SCOPE_AGENT);
  }
}

// A workgroup waits for an answer to what it has added, without a sleep.
extern "C" __global__ void answered(u32* count, u32* answer, u32*) {
  if (blockIdx.x == 0) {
    ADD(count, 1u); WAIT;
    while (__hip_atomic_load(answer, __ATOMIC_RELAXED, __HIP_MEMORY_SCOPE_AGENT) == 0) ;
  } else if (threadIdx.x == 0) {
    while (__hip_atomic_load(count, __ATOMIC_RELAXED, __HIP_MEMORY_SCOPE_AGENT) != 64) ;
    __hip_atomic_store(answer, 1u, __ATOMIC_RELAXED, __HIP_MEMORY_SCOPE_AGENT);
  }
}

// The first workgroup goes on when all others have ended, which tell it in no other way.
extern "C" __global__ void awaited(u32* count, u32*, u32*) {
  if (blockIdx.x != 0) {
    ADD(count, 1u);
  } else {
    while (__hip_atomic_load(count, __ATOMIC_RELAXED, __HIP_MEMORY_SCOPE_AGENT) != 64 * (gridDim.x - 1)) ;
  }
}

// More counters than have a place, of both sizes.
extern "C" __global__ void counts(const u32* values, u32* small, u64* large) {
  const u32 i = blockIdx.x * blockDim.x + threadIdx.x;
  ADD(small + values[i], 1u);
  asm volatile("global_atomic_add_x2 %0, %1, off" :: "v"(large + values[i]), "v"(0x100000001ull) : "memory");
}

extern "C" __global__ void outside(u32* count, u32*, u32*) {
  ADD(count, 1u);
  ADD(count + (threadIdx.x == 63 ? 1 << 20 : 0), 1u);
}
"""

FENCE = r"""
typedef unsigned u32;

// Each of two workgroups adds and looks, behind a fence, for what the other one adds: one of them at least sees it.
extern "C" __global__ void behind_fence(u32* arrived, u32* added, u32* seen) {
  if (threadIdx.x != 0) return;
  for (u32 round = 0; round < 200; ++round) {
    __hip_atomic_fetch_add(arrived, 1u, __ATOMIC_ACQ_REL, __HIP_MEMORY_SCOPE_AGENT);
    while (__hip_atomic_load(arrived, __ATOMIC_ACQUIRE, __HIP_MEMORY_SCOPE_AGENT) < 2 * (round + 1)) ;
    u32 *mine = added + 2 * round + blockIdx.x, *other = added + 2 * round + 1 - blockIdx.x;
    (void)__hip_atomic_fetch_add(mine, 1u, __ATOMIC_RELAXED, __HIP_MEMORY_SCOPE_AGENT);
    __builtin_amdgcn_fence(__ATOMIC_SEQ_CST, "agent");
    seen[2 * round + blockIdx.x] = __hip_atomic_load(other, __ATOMIC_RELAXED, __HIP_MEMORY_SCOPE_AGENT);
  }
}
"""

SIGNATURE = "*u32, *u32, *u32"


@pytest.fixture(scope="module")
def kernels() -> wave_runtime.Module:
    return wave_runtime.compile(
        KERNELS,
        target="gfx942",
        language="hip",
        signature=dict.fromkeys(["reads", "before_flag", "answered", "awaited", "outside"], SIGNATURE)
        | {"counts": "*u32 const, *u32, *u64"},
    )


@pytest.fixture(params=[1, 2, 4])
def threads(request: pytest.FixtureRequest) -> Iterator[int]:
    before = torch.get_num_threads()
    torch.set_num_threads(request.param)
    yield request.param
    torch.set_num_threads(before)


def zeros(count: int) -> torch.Tensor:
    return torch.zeros(count, dtype=torch.uint32)


def test_every_way_to_read_finds_them(kernels: wave_runtime.Module) -> None:
    at, out = zeros(2), zeros(8)
    kernels["reads"](at, out, zeros(1), grid=1, block=64)
    assert out.tolist() == [64, 128, 192, 256, 320, 384, 448, 0]
    assert at.tolist() == [64 * 9, 64]


@pytest.mark.parametrize("grid", [2, 16])
def test_they_come_before_a_later_store(kernels: wave_runtime.Module, threads: int, grid: int) -> None:
    count, flag, out = zeros(1), zeros(1), zeros(grid)
    kernels["before_flag"](count, flag, out, grid=grid, block=64)
    assert out.tolist() == [0] + [64] * (grid - 1)


def test_a_workgroup_that_waits_for_an_answer_has_made_them(kernels: wave_runtime.Module, threads: int) -> None:
    count, answer = zeros(1), zeros(1)
    kernels["answered"](count, answer, zeros(1), grid=2, block=64)
    assert count.item() == 64


@pytest.mark.parametrize("grid", [2, 16, 1000])
def test_those_of_workgroups_that_have_ended_are_made(kernels: wave_runtime.Module, threads: int, grid: int) -> None:
    """Though nothing comes behind them that could tell."""
    count = zeros(1)
    kernels["awaited"](count, zeros(1), zeros(1), grid=grid, block=64)
    assert count.item() == 64 * (grid - 1)


@pytest.mark.parametrize("target", ["gfx90a", "gfx942", "gfx1030", "gfx1100", "gfx1201"])
@pytest.mark.parametrize("threads", [2], indirect=True)
def test_they_come_before_a_fence_ends(target: str, threads: int) -> None:
    kernel = wave_runtime.compile(FENCE, target=target, language="hip", signature={"behind_fence": SIGNATURE})
    added, seen = zeros(400), zeros(400)
    kernel["behind_fence"](zeros(1), added, seen, grid=2, block=64)
    assert added.tolist() == [1] * 400
    assert seen.view(torch.int32).view(200, 2).sum(1).min() >= 1


@pytest.mark.parametrize("counters", [3, 1000, 5000])
def test_histograms(kernels: wave_runtime.Module, threads: int, counters: int) -> None:
    values = torch.randint(0, counters, (64 * 1000,), generator=torch.Generator().manual_seed(counters))
    small, large = zeros(counters), torch.zeros(counters, dtype=torch.uint64)
    kernels["counts"](values.to(torch.uint32), small, large, grid=1000, block=64)
    expected = torch.bincount(values, minlength=counters)
    assert torch.equal(small.long(), expected)
    assert torch.equal(large.view(torch.int64), expected * 0x100000001)


def test_those_of_a_launch_that_fails_are_made(kernels: wave_runtime.Module) -> None:
    """All that came before the access that is a fault."""
    count = zeros(1)
    with pytest.raises(wave_runtime.KernelFault, match="out of bounds"):
        kernels["outside"](count, zeros(1), zeros(1), grid=1, block=64)
    assert count.item() >= 64
