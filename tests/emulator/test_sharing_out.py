"""Workgroups that are shared out among threads: each runs once, whoever waits for whom, and the first fault counts."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

import wave_runtime

pytestmark = pytest.mark.needs("clang")

# Workgroups of some ten microseconds, so that those of a launch are worth the help of other threads.
SOURCE = """
__device__ float some_work(int rounds) {
  float x = threadIdx.x;
  for (int i = 0; i < rounds; ++i) x = x * 0.5f + 1;
  return x;
}
extern "C" __global__ void count(const int* rounds, int* runs) {
  const float x = some_work(rounds[blockIdx.x]);
  if (threadIdx.x == 0 && x >= 0) atomicAdd(&runs[blockIdx.x], 1);
}
extern "C" __global__ void fail(const int* fails, int* out, long far) {
  const float x = some_work(200);
  if (threadIdx.x == 0) out[fails[blockIdx.x] ? far : 0] = x >= 0;
}
template <bool kSleeps>
__device__ unsigned wait_for(unsigned* word, unsigned least) {
  unsigned seen;
  while ((seen = __hip_atomic_load(word, __ATOMIC_ACQUIRE, __HIP_MEMORY_SCOPE_AGENT)) < least) {
    if (kSleeps) __builtin_amdgcn_s_sleep(1);
  }
  return seen;
}
template <bool kSleeps>
__device__ void chain(unsigned* sums, int rounds, int step) {
  const float x = some_work(rounds);
  const int before = (int)blockIdx.x - step;
  if (threadIdx.x != 0) return;
  const unsigned sum = before < 0 || before >= gridDim.x ? 1 : wait_for<kSleeps>(&sums[before], 1);
  __hip_atomic_store(&sums[blockIdx.x], sum + (x >= 0), __ATOMIC_RELEASE, __HIP_MEMORY_SCOPE_AGENT);
}
extern "C" __global__ void sleeping_chain(unsigned* sums, int rounds, int step) { chain<true>(sums, rounds, step); }
extern "C" __global__ void spinning_chain(unsigned* sums, int rounds, int step) { chain<false>(sums, rounds, step); }
template <bool kSleeps>
__device__ void meet(unsigned* arrived) {
  if (threadIdx.x == 0) {
    __hip_atomic_fetch_add(arrived, 1u, __ATOMIC_RELAXED, __HIP_MEMORY_SCOPE_AGENT);
    wait_for<kSleeps>(arrived, gridDim.x);
  }
}
extern "C" __global__ void sleeping_meeting(unsigned* arrived) { meet<true>(arrived); }
extern "C" __global__ void spinning_meeting(unsigned* arrived) { meet<false>(arrived); }
"""


@pytest.fixture(scope="module")
def kernels() -> wave_runtime.Module:
    return wave_runtime.compile(SOURCE, target="gfx942")


@pytest.fixture(params=[1, 2, 4, 7], autouse=True)
def threads(request: pytest.FixtureRequest) -> Iterator[int]:
    before = torch.get_num_threads()
    torch.set_num_threads(request.param)
    yield request.param
    torch.set_num_threads(before)


@settings(deadline=None, max_examples=15)
@given(st.lists(st.sampled_from([0, 10, 300, 5000]), min_size=1, max_size=200))
def test_each_runs_once(kernels: wave_runtime.Module, rounds: list[int]) -> None:
    runs = torch.zeros(len(rounds), dtype=torch.int32)
    kernels["count"](torch.tensor(rounds, dtype=torch.int32), runs, grid=len(rounds), block=64)
    assert runs.tolist() == [1] * len(rounds)


def test_more_than_are_resident(kernels: wave_runtime.Module) -> None:
    """Of gfx942's 304 compute units each holds eight workgroups of four waves."""
    n = 304 * 8 + 5
    runs = torch.zeros(n, dtype=torch.int32)
    kernels["count"](torch.full((n,), 20, dtype=torch.int32), runs, grid=n, block=256)
    assert runs.tolist() == [1] * n


@pytest.mark.parametrize("failing", [[100, 300, 450], [511], [0, 511], [255, 256, 257]])
def test_the_first_fault_counts(kernels: wave_runtime.Module, failing: list[int]) -> None:
    fails, out = torch.zeros(512, dtype=torch.int32), torch.zeros(1, dtype=torch.int32)
    fails[failing] = 1
    for _ in range(3):  # what one launch took says how the next is shared out
        with pytest.raises(wave_runtime.KernelFault) as raised:
            kernels["fail"](fails, out, 1 << 40, grid=512, block=64)
        assert raised.value.workgroup == (failing[0], 0, 0)


@pytest.mark.parametrize("waits", ["sleeping", "spinning"])
@pytest.mark.parametrize(("step", "grid"), [(1, 300), (-1, 40), (7, 300)])
def test_each_waits_for_another(kernels: wave_runtime.Module, waits: str, step: int, grid: int) -> None:
    """For an earlier one, or for a later one, which has to begin."""
    expected = torch.arange(grid) // step + 2 if step > 0 else grid + 1 - torch.arange(grid)
    for _ in range(3):  # it is known of the kernel then
        sums = torch.zeros(grid, dtype=torch.uint32)
        kernels[f"{waits}_chain"](sums, 100, step, grid=grid, block=64)
        assert torch.equal(sums.to(torch.int64), expected)


@pytest.mark.parametrize("waits", ["sleeping", "spinning"])
def test_each_waits_for_all(kernels: wave_runtime.Module, waits: str) -> None:
    arrived = torch.zeros(1, dtype=torch.uint32)
    kernels[f"{waits}_meeting"](arrived, grid=100, block=64)
    assert arrived.item() == 100
