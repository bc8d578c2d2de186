"""Programs in HIP, compiled for gfx90a, give what torch gives: matrices, and scratch, which its kernels set up."""

from __future__ import annotations

import pytest
import torch
from support import ROOT

import wave_runtime

pytestmark = pytest.mark.needs("clang-22")

KERNELS = r"""
typedef short short4v __attribute__((ext_vector_type(4)));
typedef float float4v __attribute__((ext_vector_type(4)));
typedef double double4v __attribute__((ext_vector_type(4)));
typedef _Float16 half4v __attribute__((ext_vector_type(4)));

// C = A * B^T in blocks of 16 x 16, a wave each.
#define GEMM(name, Element, Sum, Value, depth, product)                                              \
  extern "C" __global__ void name(const Element* a, const Element* b, Value* c, int n, int k) {     \
    const int lane = threadIdx.x, row = 16 * blockIdx.y + lane % 16, column = 16 * blockIdx.x + lane % 16; \
    Sum sum = {};                                                                                    \
    for (int at = 0; at < k; at += depth) {                                                          \
      const int place = at / (depth / 4) + lane / 16;                                                \
      sum = product(a[row * (k / (depth / 4)) + place], b[column * (k / (depth / 4)) + place], sum, 0, 0, 0); \
    }                                                                                                \
    for (int i = 0; i < 4; ++i) {                                                                    \
      const int y = sizeof(Value) == 8 ? 4 * i + lane / 16 : lane / 16 * 4 + i;                      \
      c[(16 * blockIdx.y + y) * n + column] = sum[i];                                                \
    }                                                                                                \
  }
GEMM(gemm_f16, half4v, float4v, float, 16, __builtin_amdgcn_mfma_f32_16x16x16f16)
GEMM(gemm_bf16, short4v, float4v, float, 16, __builtin_amdgcn_mfma_f32_16x16x16bf16_1k)
GEMM(gemm_f32, float, float4v, float, 4, __builtin_amdgcn_mfma_f32_16x16x4f32)
GEMM(gemm_f64, double, double4v, double, 4, __builtin_amdgcn_mfma_f64_16x16x4f64)

// Arrays in scratch, by buffer instructions here and through a pointer there.
__device__ __attribute__((noinline)) float sum_of(const float* values, int count) {
  float sum = 0;
  for (int i = 0; i < count; ++i) sum += values[i];
  return sum;
}
__device__ __attribute__((noinline)) int fibonacci(int n) { return n < 2 ? n : fibonacci(n - 1) + fibonacci(n - 2); }

extern "C" __global__ void rotate(const float* from, float* to, const int* order, int count) {
  const int item = blockIdx.x * blockDim.x + threadIdx.x;
  float kept[64];
  char bytes[64];
  for (int i = 0; i < count; ++i) kept[order[i]] = from[item * count + i], bytes[order[i]] = i;
  for (int i = 0; i < count; ++i) to[item * count + i] = kept[i] + bytes[i];
}

// Numbers that begin anywhere in it.
extern "C" __global__ void pack(const int* from, long long* to, const int* order) {
  struct __attribute__((packed)) Place { char first; int number; short half; long long wide; } places[8];
  const int item = threadIdx.x;
  for (int i = 0; i < 8; ++i) {
    Place& place = places[order[i]];
    place.first = i, place.number = from[item] + i, place.half = i * 1000, place.wide = from[item] * 5000000000ll + i;
  }
  for (int i = 0; i < 8; ++i) {
    const Place& place = places[order[7 - i]];
    to[item * 8 + i] = place.first + place.number + place.half + place.wide;
  }
}

extern "C" __global__ void call(const float* from, float* sums, int* numbers, const int* order, int count) {
  const int item = blockIdx.x * blockDim.x + threadIdx.x;
  float kept[64];
  for (int i = 0; i < count; ++i) kept[order[i]] = from[item * count + i];
  sums[item] = sum_of(kept, count) + sum_of(from, 1);
  numbers[item] = fibonacci(item % 8);
}

extern "C" __global__ void add(float* f, double* d, float x, double y) {
  __shared__ double kept;
  if (threadIdx.x == 0) kept = 0;
  __syncthreads();
  __builtin_amdgcn_ds_atomic_fadd_f64((__attribute__((address_space(3))) double*)&kept, y);
  __builtin_amdgcn_global_atomic_fadd_f32((__attribute__((address_space(1))) float*)f, x);
  __builtin_amdgcn_global_atomic_fadd_f64((__attribute__((address_space(1))) double*)d, y);
  __syncthreads();
  if (threadIdx.x == 0) d[1] = kept;
}
"""


@pytest.fixture(scope="module", params=["buffers", "instructions"])
def kernels(request: pytest.FixtureRequest) -> wave_runtime.Module:
    """Compiled to reach scratch by buffer instructions, as clang does, or by those of scratch."""
    flat_scratch = ["-Xclang", "-target-feature", "-Xclang", "+enable-flat-scratch"]
    options = flat_scratch if request.param == "instructions" else []
    return wave_runtime.compile(KERNELS, target="gfx90a", language="hip", options=options)


@pytest.fixture(params=["", "hazards,races"])
def checked(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> None:
    if request.param:
        monkeypatch.setenv("WAVE_RUNTIME_CHECK", request.param)


@pytest.mark.usefixtures("checked")
@pytest.mark.parametrize("kind", [torch.float16, torch.bfloat16, torch.float32, torch.float64], ids=str)
def test_products(kernels: wave_runtime.Module, kind: torch.dtype) -> None:
    m, n, k = 32, 48, 64
    name = {torch.float16: "f16", torch.bfloat16: "bf16", torch.float32: "f32", torch.float64: "f64"}[kind]
    to = torch.float64 if kind == torch.float64 else torch.float32
    a, b, c = torch.randn(m, k).to(kind), torch.randn(n, k).to(kind), torch.zeros(m, n, dtype=to)
    given = [x.view(torch.int16) if kind == torch.bfloat16 else x for x in (a, b)]
    kernels[f"gemm_{name}"](*given, c, n, k, grid=(n // 16, m // 16), block=64)
    bound = k * (2.0**-53 if kind == torch.float64 else 2.0**-24) * (a.double().abs() @ b.double().abs().T)
    assert bool(((c.double() - a.double() @ b.double().T).abs() <= bound).all())


@pytest.mark.usefixtures("checked")
def test_arrays_of_work_items(kernels: wave_runtime.Module) -> None:
    count, items = 48, 192
    values, order = torch.randn(items, count), torch.randperm(count, dtype=torch.int32)
    found, wanted = torch.zeros(items, count), torch.zeros(items, count)
    kernels["rotate"](values, found, order, count, grid=2, block=items // 2)
    wanted[:, order.long()] = values + torch.arange(count)
    assert torch.equal(found, wanted)
    sums, numbers = torch.zeros(items), torch.zeros(items, dtype=torch.int32)
    kernels["call"](values, sums, numbers, order, count, grid=2, block=items // 2)
    torch.testing.assert_close(sums, values.sum(1) + values[0, 0])
    assert numbers[:8].tolist() == [0, 1, 1, 2, 3, 5, 8, 13]


def test_numbers_that_are_not_aligned(kernels: wave_runtime.Module) -> None:
    values, order = torch.randint(-1000, 1000, (64,), dtype=torch.int32), torch.randperm(8, dtype=torch.int32)
    found, i = torch.zeros(64, 8, dtype=torch.int64), torch.arange(8).flip(0)
    kernels["pack"](values, found, order, grid=1, block=64)
    numbers = values.long()[:, None]
    assert torch.equal(found, i + numbers + i + i * 1000 + numbers * 5000000000 + i)


def test_past_the_end_of_scratch(kernels: wave_runtime.Module) -> None:
    order = torch.full((1,), 1 << 20, dtype=torch.int32)
    with pytest.raises(wave_runtime.KernelFault, match=r"a store of 4 bytes of scratch, of which a work-item has"):
        kernels["rotate"](torch.zeros(64), torch.zeros(64), order, 1, grid=1, block=64)


def test_atomics_of_floats(kernels: wave_runtime.Module) -> None:
    """Those of f32 in memory know no denormals."""
    f, d = torch.zeros(1), torch.zeros(2, dtype=torch.float64)
    kernels["add"](f, d, 0.25, 0.5, grid=1, block=128)
    assert [f.item(), *d.tolist()] == [32.0, 64.0, 64.0]
    f.fill_(1e-40)
    kernels["add"](f, d, 1e-40, 0.5, grid=1, block=64)
    assert f.item() == 0


@pytest.mark.usefixtures("checked")
def test_the_example_kernels_for_gfx90a() -> None:
    module = wave_runtime.compile(ROOT / "examples/kernels/sources/basics.hip", target="gfx90a")
    a, b, c = torch.randn(1000), torch.randn(1000), torch.zeros(1000)
    module["vector_add"](a, b, c, 1000, grid=4, block=256)
    assert torch.equal(c, a + b)
    x, y, z = torch.randn(64, 64), torch.randn(64, 64), torch.zeros(64, 64)
    module["matmul_tiled"](x, y, z, 64, grid=(4, 4), block=(16, 16))
    torch.testing.assert_close(z, x @ y, rtol=1e-5, atol=1e-4)


@pytest.mark.parametrize(("target", "wait"), [("gfx90a", "s_waitcnt vmcnt(0)"), ("gfx1030", "s_waitcnt_vscnt null, 0")])
def test_offsets_into_scratch_have_32_bits(target: str, wait: str) -> None:
    """Compilers count from negative offsets on, to which the instruction's own is added."""
    source = f"""
    extern "C" __global__ void store(int* out) {{
      int numbers[8];
      for (int i = 0; i < 8; ++i) numbers[i] = out[i];
      auto* own = (__attribute__((address_space(5))) int*)numbers;
      asm volatile("buffer_store_dword %0, %1, s[0:3], 0 offen offset:4092\\n{wait}"
                   :: "v"(70), "v"((int)own + 4 * out[3] - 4092) : "memory");
      for (int i = 0; i < 8; ++i) out[i] = numbers[i];
    }}"""
    out = torch.arange(8, dtype=torch.int32)
    wave_runtime.compile(source, target=target, options=["-O1"])["store"](out, grid=1, block=1)
    assert out.tolist() == [0, 1, 2, 70, 4, 5, 6, 7]
