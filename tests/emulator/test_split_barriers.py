"""Barriers of RDNA4 in two halves: what lies between signal and wait is a wave's own, and nobody waits for it."""

from __future__ import annotations

import contextlib

import pytest
import torch

import wave_runtime

pytestmark = pytest.mark.needs("clang-22")

SOURCE = """
#define SIGNAL() __builtin_amdgcn_s_barrier_signal(-1)
#define WAIT() __builtin_amdgcn_s_barrier_wait(-1)
#define RELEASE() __builtin_amdgcn_fence(__ATOMIC_RELEASE, "workgroup")
#define ACQUIRE() __builtin_amdgcn_fence(__ATOMIC_ACQUIRE, "workgroup")

// The first wave goes on after its signal until another has passed the barrier.
__global__ void works_on(int* out) {
  __shared__ int flag;
  if (threadIdx.x == 0) flag = 0;
  __syncthreads();
  SIGNAL();
  if (threadIdx.x < 32) {
    while (__hip_atomic_load(&flag, __ATOMIC_ACQUIRE, __HIP_MEMORY_SCOPE_WORKGROUP) == 0) __builtin_amdgcn_s_sleep(1);
    WAIT();
  } else {
    WAIT();
    __hip_atomic_store(&flag, 1, __ATOMIC_RELEASE, __HIP_MEMORY_SCOPE_WORKGROUP);
  }
  __syncthreads();
  out[threadIdx.x] = flag + threadIdx.x;
}

__device__ int work(unsigned value) {
  for (int i = 0; i < 30000; ++i) value = value * 77 ^ value >> 3;
  return value;
}

// The first wave signals the second barrier last, and waits for it long after the others have.
__global__ void late_waits(int* out) {
  int value = threadIdx.x;
  SIGNAL();
  if (threadIdx.x < 32) value = work(value);
  WAIT();
  out[threadIdx.x] = value;
  SIGNAL();
  if (threadIdx.x < 32) value = work(value);
  WAIT();
  out[128 + threadIdx.x] = value;
}

__global__ void store_before_signal(int* out) {
  __shared__ int shared[256];
  shared[threadIdx.x] = threadIdx.x + 1;
  RELEASE();
  SIGNAL();
  const int own = out[threadIdx.x] * 3;
  WAIT();
  ACQUIRE();
  out[threadIdx.x] = shared[255 - threadIdx.x] + own;
}

__global__ void store_behind_signal(int* out) {
  __shared__ int shared[256];
  SIGNAL();
  shared[threadIdx.x] = threadIdx.x + 1;
  RELEASE();
  WAIT();
  ACQUIRE();
  out[threadIdx.x] = shared[255 - threadIdx.x];
}

__global__ void load_behind_signal(int* out) {
  __shared__ int shared[256];
  shared[threadIdx.x] = threadIdx.x + 1;
  __syncthreads();
  SIGNAL();
  const int read = shared[255 - threadIdx.x];
  RELEASE();
  WAIT();
  ACQUIRE();
  shared[threadIdx.x] = 7;
  out[threadIdx.x] = read;
}

__global__ void store_to_memory_behind_signal(int* out) {
  SIGNAL();
  out[threadIdx.x] = threadIdx.x + 1;
  RELEASE();
  WAIT();
  ACQUIRE();
  out[256 + threadIdx.x] = out[255 - threadIdx.x];
}
"""


@pytest.fixture(scope="module", params=["gfx1200", "gfx1201"])
def module(request: pytest.FixtureRequest) -> wave_runtime.Module:
    return wave_runtime.compile(SOURCE, target=request.param)


def test_a_wave_works_on_behind_its_signal(module: wave_runtime.Module) -> None:
    for tools in ((), ("races", "waits"), ("barriers",)):
        out = torch.zeros(128, dtype=torch.int32)
        with wave_runtime.sanitize(*tools) if tools else contextlib.nullcontext() as report:
            module["works_on"](out, grid=1, block=128)
        assert out.tolist() == [1 + i for i in range(128)]
        # Its waves wait in two lines, and for ever in none.
        kinds = {finding.kind for finding in report.findings} if report else set()
        assert kinds <= {"different-barriers"}


@pytest.mark.parametrize(
    ("name", "kinds"),
    [
        ("store_before_signal", []),
        ("store_behind_signal", ["lds-race"]),
        ("load_behind_signal", ["lds-race"]),
        ("store_to_memory_behind_signal", ["global-race"]),
    ],
)
def test_what_the_barrier_orders(module: wave_runtime.Module, name: str, kinds: list[str]) -> None:
    with wave_runtime.sanitize("races", "barriers", "waits") as report:
        module[name](torch.zeros(512, dtype=torch.int32), grid=1, block=256)
    assert [finding.kind for finding in report.findings] == kinds


def test_a_wave_may_wait_long_after_the_others(module: wave_runtime.Module) -> None:
    """Where it waited before does not matter any more."""
    with wave_runtime.sanitize("barriers", fail=True):
        module["late_waits"](torch.zeros(256, dtype=torch.int32), grid=1, block=128)
