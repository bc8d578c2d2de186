"""GEMMs in HIP by WMMA, of each type, in waves of 32 lanes and of 64, beside torch; the checks raise no alarm."""

from __future__ import annotations

import functools
import itertools

import pytest
import torch

import wave_runtime

pytestmark = pytest.mark.needs("clang-22")

# C = A * B^T in blocks of 16 x 16, a wave each. Where a lane's values of A and B begin, and its rows of C, say macros.
KERNELS = r"""
typedef float f8 __attribute__((ext_vector_type(8)));
typedef float f4 __attribute__((ext_vector_type(4)));
typedef int int8v __attribute__((ext_vector_type(8)));
typedef int i4 __attribute__((ext_vector_type(4)));
typedef int i2 __attribute__((ext_vector_type(2)));
typedef _Float16 h16 __attribute__((ext_vector_type(16)));
typedef _Float16 h8 __attribute__((ext_vector_type(8)));
typedef _Float16 h4 __attribute__((ext_vector_type(4)));
typedef short s16 __attribute__((ext_vector_type(16)));
typedef short s8 __attribute__((ext_vector_type(8)));
typedef short s4 __attribute__((ext_vector_type(4)));

#if defined(__GFX12__)
#if WAVE == 32
typedef h8 Half; typedef s8 Brain; typedef i2 Bytes; typedef f8 Sums; typedef int8v Counts; typedef h8 HalfSums;
#define PRODUCT(type) __builtin_amdgcn_wmma_##type##_w32_gfx12
#else
typedef h4 Half; typedef s4 Brain; typedef int Bytes; typedef f4 Sums; typedef i4 Counts; typedef h4 HalfSums;
#define PRODUCT(type) __builtin_amdgcn_wmma_##type##_w64_gfx12
#endif
constexpr int kPerLane = 512 / WAVE / 2;  // values of k: 8 or 4
__device__ int first(int group) { return group * kPerLane; }
__device__ int row(int group, int i) { return WAVE == 32 ? 8 * group + i : group % 2 * 8 + group / 2 * 4 + i; }
#else
typedef h16 Half; typedef s16 Brain; typedef i4 Bytes; typedef h16 HalfSums;
#if WAVE == 32
typedef f8 Sums; typedef int8v Counts;
#define PRODUCT(type) __builtin_amdgcn_wmma_##type##_w32
#else
typedef f4 Sums; typedef i4 Counts;
#define PRODUCT(type) __builtin_amdgcn_wmma_##type##_w64
#endif
constexpr int kPerLane = 16;
__device__ int first(int) { return 0; }
__device__ int row(int group, int i) { return WAVE / 16 * i + group; }
#endif

#define GEMM(name, Element, Factor, Result, D, multiply, get)                                     \
  extern "C" __global__ void name(const Element* a, const Element* b, D* c, int n, int k) {        \
    const int lane = threadIdx.x, group = lane / 16;                                                \
    const int i = 16 * blockIdx.y + lane % 16, j = 16 * blockIdx.x + lane % 16;                      \
    Result sum = {};                                                                                \
    for (int at = first(group); at < k; at += 16) {                                                 \
      const Factor x = *(const Factor*)(a + i * k + at), y = *(const Factor*)(b + j * k + at);       \
      sum = multiply;                                                                               \
    }                                                                                               \
    for (int r = 0; r < 256 / WAVE; ++r) c[(16 * blockIdx.y + row(group, r)) * n + j] = get;          \
  }

GEMM(f16, _Float16, Half, Sums, float, PRODUCT(f32_16x16x16_f16)(x, y, sum), sum[r])
GEMM(bf16, short, Brain, Sums, float, PRODUCT(f32_16x16x16_bf16)(x, y, sum), sum[r])
GEMM(int8, signed char, Bytes, Counts, int, PRODUCT(i32_16x16x16_iu8)(true, x, true, y, sum, false), sum[r])
GEMM(u8, unsigned char, Bytes, Counts, int, PRODUCT(i32_16x16x16_iu8)(false, x, false, y, sum, true), sum[r])
#if defined(__GFX12__)
GEMM(f16_f16, _Float16, Half, HalfSums, _Float16, PRODUCT(f16_16x16x16_f16)(x, y, sum), sum[r])
GEMM(fp8, unsigned char, Bytes, Sums, float, PRODUCT(f32_16x16x16_fp8_fp8)(x, y, sum), sum[r])
GEMM(bf8, unsigned char, Bytes, Sums, float, PRODUCT(f32_16x16x16_fp8_bf8)(x, y, sum), sum[r])
#elif WAVE == 32
// Elements of D are in the upper halves of registers.
GEMM(f16_f16, _Float16, Half, HalfSums, _Float16, PRODUCT(f16_16x16x16_f16)(x, y, sum, true), sum[2 * r + 1])
#endif
"""
TYPES = {
    "f16": (torch.float16, torch.float16, torch.float32),
    "bf16": (torch.bfloat16, torch.bfloat16, torch.float32),
    "int8": (torch.int8, torch.int8, torch.int32),
    "u8": (torch.uint8, torch.uint8, torch.int32),
    "f16_f16": (torch.float16, torch.float16, torch.float16),
    "fp8": (torch.float8_e4m3fn, torch.float8_e4m3fn, torch.float32),
    "bf8": (torch.float8_e4m3fn, torch.float8_e5m2, torch.float32),
}
SIGNATURE = "a: *{} const, b: *{} const, c: *{}, n: i32, k: i32"
ELEMENTS = {
    torch.float16: "f16",
    torch.bfloat16: "bf16",
    torch.int8: "i8",
    torch.uint8: "u8",
    torch.float8_e4m3fn: "f8e4m3fn",
    torch.float8_e5m2: "f8e5m2",
    torch.float32: "f32",
    torch.int32: "i32",
}
PROCESSORS = ("gfx1100", "gfx1150", "gfx1201")


def names(processor: str, lanes: int) -> list[str]:
    lacks = set() if processor == "gfx1201" else {"fp8", "bf8"} | ({"f16_f16"} if lanes == 64 else set())
    return [name for name in TYPES if name not in lacks]


@functools.cache
def kernels(processor: str, lanes: int) -> wave_runtime.Module:
    options = [f"-DWAVE={lanes}", *(["-mwavefrontsize64"] if lanes == 64 else [])]
    signatures = {name: SIGNATURE.format(*(ELEMENTS[kind] for kind in TYPES[name])) for name in names(processor, lanes)}
    return wave_runtime.compile(KERNELS, target=processor, language="hip", options=options, signature=signatures)


CASES = [
    (processor, lanes, name)
    for processor, lanes in itertools.product(PROCESSORS, (32, 64))
    for name in names(processor, lanes)
]


def matrix(kind: torch.dtype, rows: int, columns: int) -> torch.Tensor:
    if not kind.is_floating_point:
        limits = torch.iinfo(kind)
        return torch.randint(limits.min, limits.max + 1, (rows, columns), dtype=kind)
    return torch.randint(-3, 4, (rows, columns)).float().to(kind)  # whose sums are exact


@pytest.mark.parametrize(("processor", "lanes", "name"), CASES)
@pytest.mark.parametrize("checks", ["", "hazards,races"])
def test_gemm(processor: str, lanes: int, name: str, checks: str, monkeypatch: pytest.MonkeyPatch) -> None:
    if checks:
        monkeypatch.setenv("WAVE_RUNTIME_CHECK", checks)
    first, second, result = TYPES[name]
    m, n, k = 32, 48, 64
    a, b, c = matrix(first, m, k), matrix(second, n, k), torch.zeros(m, n, dtype=result)
    kernel = kernels(processor, lanes)[name]
    kernel(a, b, c, n, k, grid=(n // 16, m // 16), block=lanes)
    kind = torch.float64 if result.is_floating_point else torch.int64
    assert torch.equal(c, (a.to(kind) @ b.to(kind).T).to(result))
