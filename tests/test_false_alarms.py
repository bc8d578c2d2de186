"""All tools of the sanitizer over the example kernels, which have no mistakes but those that are known."""

from __future__ import annotations

from pathlib import Path

import pytest
import torch
from catalog import CATALOG, Example
from support import KNOWN_FINDINGS, first_or_long

import wave_runtime


@pytest.mark.parametrize("example", CATALOG, ids=lambda example: str(example.name))
def test_an_example_has_no_mistake(example: Example) -> None:
    with wave_runtime.sanitize(fail=True, suppressions=KNOWN_FINDINGS):
        example.check(*example.sizes[0])


@pytest.mark.parametrize("name", ["gelu_f32", "moe_gemm_top2"])
def test_what_is_known_is_found(name: str) -> None:
    """Nobody lists what is no longer there."""
    example = next(example for example in CATALOG if example.name == name)
    with wave_runtime.sanitize("races", "numbers", suppressions=KNOWN_FINDINGS) as report:
        example.check(*example.sizes[0])
    assert report.suppressed > 0


# At -O0 all that has an address is accessed by FLAT instructions, LDS included.
FLAT_LDS = """
struct Pair { int value; short low, high; };

__device__ __attribute__((noinline)) void add(int* to, int value) { *to += value; }

extern "C" __global__ void one_value(int* out) {
  __shared__ int shared;
  if (threadIdx.x == 0) shared = out[0];
  __syncthreads();
  out[1 + threadIdx.x] = shared;
}

extern "C" __global__ void tree(const int* in, int* out) {
  __shared__ int sums[256];
  sums[threadIdx.x] = in[threadIdx.x];
  __syncthreads();
  for (int step = 128; step > 0; step /= 2) {
    if (threadIdx.x < step) add(&sums[threadIdx.x], sums[threadIdx.x + step]);
    __syncthreads();
  }
  if (threadIdx.x == 0) out[0] = sums[0];
}

extern "C" __global__ void reversed(const int* in, int* out) {
  __shared__ Pair pairs[256];
  for (int round = 0; round < 3; ++round) {
    const int value = in[threadIdx.x] + round;
    pairs[threadIdx.x] = {value, (short)(value + 1), (short)(value + 2)};
    __syncthreads();
    const Pair pair = pairs[255 - threadIdx.x];
    out[threadIdx.x] = pair.value + pair.low + pair.high;
    __syncthreads();
  }
}

extern "C" __global__ void tickets(int* count, int* out, int tiles) {
  __shared__ int tile;
  while (true) {
    __syncthreads();
    if (threadIdx.x == 0) tile = atomicAdd(count, 1);
    __syncthreads();
    const int own = tile;
    if (own >= tiles) return;
    out[own * blockDim.x + threadIdx.x] = own;
  }
}

extern "C" __global__ void counts(const int* in, int* out) {
  __shared__ int bins[8];
  if (threadIdx.x < 8) bins[threadIdx.x] = 0;
  __syncthreads();
  atomicAdd(&bins[in[threadIdx.x] & 7], 1);
  __syncthreads();
  if (threadIdx.x < 8) out[threadIdx.x] = bins[threadIdx.x];
}
"""
PROCESSORS = ("gfx942", "gfx90a", "gfx950", "gfx1030", "gfx1100", "gfx1201")


@pytest.mark.needs("clang")
@pytest.mark.parametrize("target", first_or_long(PROCESSORS, 3))
def test_flat_accesses_of_lds_are_in_order(target: str) -> None:
    """A workgroup's fence waits for what they do in LDS alone."""
    module = wave_runtime.compile(FLAT_LDS, target=target, options=["-O0"])
    numbers = torch.arange(256, dtype=torch.int32)
    with wave_runtime.sanitize(fail=True):
        out = torch.full((257,), 7, dtype=torch.int32)
        module["one_value"](out, grid=1, block=256)
        assert (out == 7).all()
        module["tree"](numbers, out, grid=1, block=256)
        assert out[0] == numbers.sum()
        module["reversed"](numbers, out, grid=1, block=256)
        assert torch.equal(out[:256], 3 * (numbers + 2).flip(0) + 3)
        tiles = torch.zeros(20 * 128, dtype=torch.int32)
        module["tickets"](torch.zeros(1, dtype=torch.int32), tiles, 20, grid=4, block=128)
        assert torch.equal(tiles.view(20, 128)[:, 5], numbers[:20])
        module["counts"](numbers, out, grid=1, block=256)
        assert (out[:8] == 32).all()


IDIOMS = Path(__file__).parent / "emulator" / "kernels" / "idioms.hip"


def launch_idiom(module: wave_runtime.Module, name: str) -> None:
    numbers = torch.arange(2048, dtype=torch.int32) * 7 % 16
    outputs = [torch.zeros(2048, dtype=torch.int32) for _ in range(4)]
    out = outputs[0]
    kernel = module[name]
    if name == "ring":
        kernel(torch.arange(4, dtype=torch.int32), *outputs[1:3], out, grid=8, block=64)
        assert sorted(out[:16].tolist()) == list(range(100, 116))
    elif name == "made_once":
        kernel(*outputs[1:3], out, grid=8, block=64)
        assert (out[:8] == 42).all()
    elif name in ("look_back", "look_back_by_flags"):
        states = [torch.zeros(8, dtype=torch.uint64)] if name == "look_back" else outputs[1:]
        kernel(numbers, *states, out, grid=8, block=64)
        before = torch.cat([torch.zeros(1), numbers[:448].view(7, 64).sum(1).cumsum(0)]).int()
        assert torch.equal(out[:512].view(8, 64), before[:, None] + numbers[:512].view(8, 64))
    elif name == "split_sum":
        kernel(numbers, torch.empty(1024, dtype=torch.int32), outputs[1], out, grid=4, block=256)
        assert torch.equal(out[:256], 2 * numbers[:1024].view(4, 256).sum(0).int())
    elif name == "same_table":
        kernel(numbers, torch.empty(128, dtype=torch.int32), out, grid=8, block=128)
        assert torch.equal(out[:1024].view(8, 2, 64), (numbers[:128].view(2, 64).flip(0) + 1).expand(8, 2, 64))
    elif name == "producers":
        kernel(numbers, out, 6, grid=1, block=128)
        assert torch.equal(out[:64], numbers[:384].view(6, 64).sum(0).int())
    elif name == "padding":
        kernel(*(torch.empty(64 * 24, dtype=torch.uint8) for _ in range(2)), grid=1, block=64)
    elif name == "partly_filled":
        kernel(torch.empty(64 * 32, dtype=torch.uint8), out, grid=1, block=64)
        assert out[:7].tolist() == [0, 0, 0, 0, 1, 1, 1]
    elif name == "masked":
        kernel(numbers[:101].clone(), out, 101, grid=1, block=64)
        assert out.sum() == (numbers[:101] == 7).sum()
    elif name == "masked_softmax":
        values, result = torch.rand(64, 16), torch.empty(64)
        kernel(values, result, grid=1, block=64)
        expected = [torch.logsumexp(row[: i % 16 + 1], 0) for i, row in enumerate(values)]
        torch.testing.assert_close(result, torch.stack(expected))
    else:
        kernel(numbers, torch.empty(64, dtype=torch.float64), out, grid=1, block=64)
        assert torch.equal(out[:64], torch.arange(64, dtype=torch.int32) % 4)


@pytest.mark.needs("clang-22")
@pytest.mark.parametrize("level", ["-O2", pytest.param("-O0", marks=pytest.mark.long)])
@pytest.mark.parametrize("target", first_or_long(PROCESSORS, 1))
def test_idioms_of_correct_kernels(target: str, level: str) -> None:
    module = wave_runtime.compile(IDIOMS, target=target, options=[level])
    for name in module:
        if name == "producers" and level == "-O0" and target == "gfx90a":
            continue  # what a wave polls it keeps in scratch there, and no load says that it is atomic
        with wave_runtime.sanitize(fail=True):
            launch_idiom(module, name)


# A flag in LDS: kept in a register, or in scratch; behind a pointer; by functions, which the kernel calls.
POLLED = """
#define ATOMIC(operation, flag, ...) \\
  __hip_atomic_##operation(flag, __VA_ARGS__, __HIP_MEMORY_SCOPE_WORKGROUP)

__device__ void wait_for(int* flag) {
  while (ATOMIC(load, flag, __ATOMIC_ACQUIRE) == 0) {}
}
__device__ void tell(int* flag) { ATOMIC(store, flag, 1, __ATOMIC_RELEASE); }
__device__ __attribute__((noinline)) void called_wait_for(int* flag) { wait_for(flag); }
__device__ __attribute__((noinline)) void called_tell(int* flag) { tell(flag); }

#define POLLED(name, flag, wait_for, tell)                  \\
  extern "C" __global__ void name(int* out) {               \\
    __shared__ int flags[4], data;                          \\
    if (threadIdx.x < 4) flags[threadIdx.x] = 0;            \\
    __syncthreads();                                        \\
    if (threadIdx.x == 64) {                                \\
      data = 7;                                             \\
      tell(flag);                                           \\
    }                                                       \\
    if (threadIdx.x < 64) {                                 \\
      wait_for(flag);                                       \\
      out[threadIdx.x] = data;                              \\
    }                                                       \\
  }
#define NOTHING(flag)
POLLED(plain, flags, wait_for, tell)
POLLED(by_pointer, &flags[blockIdx.x], wait_for, tell)
POLLED(in_functions, flags, called_wait_for, called_tell)
POLLED(racy, flags, NOTHING, called_tell)
"""


@pytest.mark.needs("clang")
@pytest.mark.parametrize("level", ["-O0", "-O2"])
@pytest.mark.parametrize("target", first_or_long(PROCESSORS, 3))
def test_flags_in_lds(target: str, level: str) -> None:
    """At -O0 no load of gfx90a says that it is atomic."""
    module = wave_runtime.compile(POLLED, target=target, options=[level])
    for name in module:
        if target == "gfx90a" and level == "-O0" and name != "racy":
            continue
        out = torch.zeros(64, dtype=torch.int32)
        with wave_runtime.sanitize("races") as report:
            module[name](out, grid=1, block=128)
        assert [finding.kind for finding in report.findings] == ["lds-race"] * (name == "racy")
        assert name == "racy" or (out == 7).all()


# What stands in LDS orders what waves of a workgroup do in memory: a flag, a lock, the number of those that are done.
ORDER_IN_LDS = """
extern "C" __global__ void flag(int* out, int* data, int wrong) {
  __shared__ int flags[2];
  if (threadIdx.x < 2) flags[threadIdx.x] = wrong;
  __syncthreads();
  if (threadIdx.x == 64) {
    data[0] = 7;
    __hip_atomic_store(&flags[0], 1, __ATOMIC_RELEASE, __HIP_MEMORY_SCOPE_WORKGROUP);
  }
  if (threadIdx.x < 64) {
    while (__hip_atomic_load(&flags[wrong], __ATOMIC_ACQUIRE, __HIP_MEMORY_SCOPE_WORKGROUP) == 0) {}
    out[threadIdx.x] = data[0];
  }
}
extern "C" __global__ void lock(int* out, int* data, int wrong) {
  __shared__ int locks[2];
  if (threadIdx.x < 2) locks[threadIdx.x] = 0;
  __syncthreads();
  if (threadIdx.x % warpSize != 0) return;
  int* const own = &locks[wrong && threadIdx.x == 0];
  while (atomicCAS(own, 0, 1) != 0) __builtin_amdgcn_s_sleep(1);
  __threadfence_block();
  data[0] += threadIdx.x + 1;
  __threadfence_block();
  atomicExch(own, 0);
}
extern "C" __global__ void last(int* out, int* data, int wrong) {
  __shared__ int done;
  if (threadIdx.x == 0) done = 0;
  __syncthreads();
  data[threadIdx.x] = threadIdx.x + 1;
  __threadfence_block();
  if (threadIdx.x % warpSize != 0 || atomicAdd(&done, 1) + 1 + wrong != blockDim.x / warpSize) return;
  __threadfence_block();
  for (int i = 0; i < blockDim.x; ++i) out[0] += data[i];
}
"""


@pytest.mark.needs("clang")
@pytest.mark.parametrize("level", ["-O0", "-O2"])
@pytest.mark.parametrize("target", first_or_long(("gfx942", "gfx1100", *PROCESSORS), 2))
def test_what_stands_in_lds_orders_memory(target: str, level: str) -> None:
    """At -O0 no load of gfx90a says that it is atomic."""
    module = wave_runtime.compile(ORDER_IN_LDS, target=target, options=[level])
    for name in module:
        for wrong in (False, True):
            if (target, level, name, wrong) == ("gfx90a", "-O0", "flag", False):
                continue
            out, data = torch.zeros(2, 128, dtype=torch.int32).unbind()
            with wave_runtime.sanitize("races") as report:
                module[name](out.clone(), data.clone(), int(wrong), grid=1, block=128)
            kinds = {finding.kind for finding in report.findings}
            assert kinds == ({"global-race"} if wrong else set()), (name, wrong)


# Where LDS has no sums of doubles, atomicAdd is such a loop, too. The first load in it is a plain one.
COMPARE_AND_SWAP = """
__device__ void add(float* to, float value) {
  int found = *(int*)to;
  for (int wanted;; ) {
    wanted = found;
    found = atomicCAS((int*)to, wanted, __float_as_int(value + __int_as_float(wanted)));
    if (found == wanted) return;
  }
}

extern "C" __global__ void sum(double* out, int has_barrier) {
  __shared__ double doubles;
  __shared__ float floats;
  if (threadIdx.x == 0) doubles = floats = 0;
  __syncthreads();
  atomicAdd(&doubles, threadIdx.x + 0.5);
  add(&floats, 1);
  if (has_barrier) __syncthreads();
  if (threadIdx.x == 0) out[0] = doubles + floats;
}
"""


@pytest.mark.needs("clang")
@pytest.mark.parametrize("target", ["gfx942", "gfx1100", "gfx1201"])
def test_loops_of_compare_and_swap_are_atomic_in_lds(target: str) -> None:
    """But not the loads after them, which come before other waves' atomics."""
    kernel = wave_runtime.compile(COMPARE_AND_SWAP, target=target)["sum"]
    out = torch.zeros(1, dtype=torch.float64)
    with wave_runtime.sanitize("races") as report:
        kernel(out, 1, grid=1, block=256)
    assert out.item() == 255 * 128 + 128 + 256
    assert report.findings == []
    with wave_runtime.sanitize("races") as report:
        kernel(out, 0, grid=1, block=256)
    assert {finding.kind for finding in report.findings} == {"lds-race"}


# Waves that are left over do what others do, and throw it away, as those of Triton's programs with small blocks.
LEFT_OVER = """
extern "C" __global__ void doubled(float* x, float* out, int* flag, int mode) {
  __shared__ volatile float shared[256];
  const int i = threadIdx.x % 64;
  if (mode == 4) out[threadIdx.x] = 1;
  const float value = 2 * x[i];
  asm volatile("" : : "v"(value));  // so that all waves load it
  if (mode == 1) out[threadIdx.x] = value;
  if (mode == 2) shared[threadIdx.x] = value;
  if (mode == 3 && value > 1e9f) atomicAdd(flag, 1);
  if (mode == 5) atomicAdd(flag, 1);
  if (threadIdx.x < 64) x[i] = value;
  if (mode >= 6) __syncthreads();
  if (mode == 7) out[threadIdx.x] = value;
}
"""


@pytest.mark.needs("clang")
@pytest.mark.parametrize("target", ["gfx942", "gfx1100", "gfx1201"])
def test_loads_of_waves_that_store_nothing(target: str) -> None:
    """They race, but nobody can tell. It is told where the wave stores behind the load, with a barrier or without."""
    kernel = wave_runtime.compile(LEFT_OVER, target=target)["doubled"]
    for mode in range(8):
        x, out = torch.arange(64, dtype=torch.float32), torch.zeros(256)
        with wave_runtime.sanitize("races") as report:
            kernel(x, out, torch.zeros(1, dtype=torch.int32), mode, grid=1, block=256)
        kinds = {finding.kind for finding in report.findings}
        assert kinds == ({"global-race"} if mode in (1, 2, 5, 7) else set()), mode
