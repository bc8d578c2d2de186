"""Barriers of a whole grid: workgroups of a cooperative launch wait for one another."""

from __future__ import annotations

import pytest
import torch

import wave_runtime

pytestmark = pytest.mark.needs("clang-22")

# How ROCm's device libraries synchronise a grid: by GWS, or by a record that a hidden argument points to.
KERNELS = r"""
__device__ void by_gws() {
  __builtin_amdgcn_fence(__ATOMIC_SEQ_CST, "agent");
  __syncthreads();
  if (threadIdx.x == 0) __builtin_amdgcn_ds_gws_barrier(gridDim.x - 1, 0);
  __syncthreads();
}

struct Record {
  unsigned long long grids;
  unsigned grid, grids_count;
  unsigned long long before, all;
  unsigned arrived, unused, workgroups;
};

__device__ void by_record() {
  __builtin_amdgcn_fence(__ATOMIC_SEQ_CST, "agent");
  __syncthreads();
  if (threadIdx.x == 0) {
    auto* hidden = (__attribute__((address_space(4))) char*)__builtin_amdgcn_implicitarg_ptr();
    Record* record = *(Record* __attribute__((address_space(4)))*)(hidden + 88);
    const unsigned old = __hip_atomic_fetch_add(&record->arrived, 1u, __ATOMIC_RELAXED, __HIP_MEMORY_SCOPE_AGENT);
    if ((old & 0xffff) == record->workgroups - 1) {
      const unsigned rest = 0x10000 - record->workgroups;
      __hip_atomic_fetch_add(&record->arrived, rest, __ATOMIC_RELAXED, __HIP_MEMORY_SCOPE_AGENT);
    } else {
      while (((__hip_atomic_load(&record->arrived, __ATOMIC_RELAXED, __HIP_MEMORY_SCOPE_AGENT) ^ old) & ~0xffffu) == 0)
        __builtin_amdgcn_s_sleep(1);
    }
  }
  __syncthreads();
}

// Each workgroup adds up what the others have written in the round before.
template <void (*kSync)()>
__device__ void rounds(int* values, int* sums, int count) {
  for (int round = 0; round < count; ++round) {
    if (threadIdx.x == 0) values[blockIdx.x] = round * 100 + blockIdx.x;
    kSync();
    int sum = 0;
    for (int i = 0; i < gridDim.x; ++i)
      sum += __hip_atomic_load(&values[i], __ATOMIC_RELAXED, __HIP_MEMORY_SCOPE_AGENT);
    if (threadIdx.x == 0) sums[round * gridDim.x + blockIdx.x] = sum;
    kSync();
  }
}
extern "C" __global__ void gws(int* values, int* sums, int count) { rounds<by_gws>(values, sums, count); }
extern "C" __global__ void record(int* values, int* sums, int count) { rounds<by_record>(values, sums, count); }

// Compilers list all hidden arguments for a kernel that calls what they do not see.
struct Node { int values[10], field; };
extern "C" __global__ void field(Node* node, long function) {
  if (function != 0) ((void (*)())function)();
  node->field = 3;
}

// A counter of two waves of one workgroup, set anew by the kernel.
extern "C" __global__ void own_counter(int* to) {
  if (threadIdx.x == 0) __builtin_amdgcn_ds_gws_init(1, 5);
  __syncthreads();
  if (threadIdx.x == 0) to[0] = 7;
  __builtin_amdgcn_fence(__ATOMIC_SEQ_CST, "agent");
  __builtin_amdgcn_ds_gws_barrier(1, 5);
  if (threadIdx.x == 64) to[1] = to[0];
}

// Two counters whose numbers M0 has. The first wave waits for the second at one of them; the other is for one wave.
extern "C" __global__ void counters_by_number(int* to, unsigned first, unsigned second) {
  if (threadIdx.x == 0) {
    __builtin_amdgcn_ds_gws_init(1, first);
    __builtin_amdgcn_ds_gws_init(0, second);
  }
  __syncthreads();
  if (threadIdx.x == 64) to[0] = 7;
  __builtin_amdgcn_fence(__ATOMIC_SEQ_CST, "agent");
  __builtin_amdgcn_ds_gws_barrier(1, first);
  if (threadIdx.x == 0) to[1] = to[0];
}
"""


@pytest.fixture(scope="module", params=["gfx90a", "gfx942", "gfx1030", "gfx1100"])
def kernels(request: pytest.FixtureRequest) -> wave_runtime.Module:
    options = ["-mwavefrontsize64"] if request.param.startswith("gfx1") else []
    return wave_runtime.compile(KERNELS, target=request.param, language="hip", options=options)


@pytest.mark.parametrize("name", ["gws", "record"])
def test_all_workgroups_wait(kernels: wave_runtime.Module, name: str) -> None:
    grid, count = 24, 4
    values, sums = torch.zeros(grid, dtype=torch.int32), torch.zeros(count, grid, dtype=torch.int32)
    kernels[name](values, sums, count, grid=grid, block=128, cooperative=True)
    wanted = torch.arange(grid).sum() + 100 * grid * torch.arange(count)
    assert torch.equal(sums.long(), wanted[:, None].expand(count, grid))


@pytest.mark.parametrize("name", ["gws", "record"])
def test_a_barrier_orders_what_all_workgroups_store(kernels: wave_runtime.Module, name: str) -> None:
    """Each of them reads what each of the others has written before."""
    values, sums = torch.zeros(6, dtype=torch.int32), torch.zeros(12, dtype=torch.int32)
    with wave_runtime.sanitize("races", fail=True):
        kernels[name](values, sums, 2, grid=6, block=128, cooperative=True)


def test_a_counter_that_the_kernel_sets(kernels: wave_runtime.Module) -> None:
    to = torch.zeros(2, dtype=torch.int32)
    kernels["own_counter"](to, grid=1, block=128, cooperative=True)
    assert to.tolist() == [7, 7]


def test_the_field_of_a_null_pointer_is_no_barrier(kernels: wave_runtime.Module) -> None:
    with pytest.raises(wave_runtime.KernelFault, match="at a null pointer plus 40 bytes: argument 0 ") as raised:
        kernels["field"](torch.empty(0, dtype=torch.int32), 0, grid=1, block=64)
    assert "barrier" not in str(raised.value)


@pytest.mark.parametrize(("first", "second"), [(0, 1), (1, 0), (63, 62), (5, 37)])
def test_counters_have_numbers(kernels: wave_runtime.Module, first: int, second: int) -> None:
    """What is set of one is not set of another, and there are 64."""
    to = torch.zeros(2, dtype=torch.int32)
    kernels["counters_by_number"](to, first, second, grid=1, block=128, cooperative=True)
    assert to.tolist() == [7, 7]


def test_other_launches_have_no_barrier_of_the_grid(kernels: wave_runtime.Module) -> None:
    values, sums = torch.zeros(2, dtype=torch.int32), torch.zeros(2, dtype=torch.int32)
    with pytest.raises(wave_runtime.KernelFault, match="a barrier of the grid in a launch that is not cooperative"):
        kernels["gws"](values, sums, 1, grid=2, block=64)
    with pytest.raises(wave_runtime.KernelFault, match=r"at a null pointer( plus \d+ bytes)?: .*with cooperative=True"):
        kernels["record"](values, sums, 1, grid=2, block=64)
