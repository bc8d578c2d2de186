// What CUDA C++ and HIP have in common, without the headers of either: nvcc, NVRTC, and clang with the AMDGPU target
// compile the same sources. Nothing here depends on how many lanes a wave has.
#pragma once

#if defined(__HIP__) && defined(__forceinline__)  // HIP's headers, or those of wave_runtime.compile, have been included

typedef _Float16 f16;

#elif defined(__HIP__)

#define __device__ __attribute__((device))
#define __global__ __attribute__((global))
#define __shared__ __attribute__((shared))
#define __launch_bounds__(threads) __attribute__((launch_bounds(threads)))

struct Index {
  unsigned x, y, z;
};
#define threadIdx \
  (Index{__builtin_amdgcn_workitem_id_x(), __builtin_amdgcn_workitem_id_y(), __builtin_amdgcn_workitem_id_z()})
#define blockIdx \
  (Index{__builtin_amdgcn_workgroup_id_x(), __builtin_amdgcn_workgroup_id_y(), __builtin_amdgcn_workgroup_id_z()})

static inline __device__ void __syncthreads() {
  __builtin_amdgcn_fence(__ATOMIC_RELEASE, "workgroup");
  __builtin_amdgcn_s_barrier();
  __builtin_amdgcn_fence(__ATOMIC_ACQUIRE, "workgroup");
}
static inline __device__ float exp2f(float x) { return __builtin_exp2f(x); }
static inline __device__ float log2f(float x) { return __builtin_log2f(x); }
static inline __device__ float sqrtf(float x) { return __builtin_sqrtf(x); }
static inline __device__ float fmaxf(float a, float b) { return __builtin_fmaxf(a, b); }

static inline __device__ unsigned __float_as_uint(float x) { return __builtin_bit_cast(unsigned, x); }
static inline __device__ float __uint_as_float(unsigned x) { return __builtin_bit_cast(float, x); }

typedef _Float16 f16;

#else

// As cuda_fp16.h has it, which NVRTC finds only where the toolkit is installed.
struct f16 {
  unsigned short bits;

  f16() = default;
  __device__ f16(float x) { asm("cvt.rn.f16.f32 %0, %1;" : "=h"(bits) : "f"(x)); }
  __device__ operator float() const {
    float x;
    asm("cvt.f32.f16 %0, %1;" : "=f"(x) : "h"(bits));
    return x;
  }
};

#endif

// The upper half of a float, rounded to nearest even.
struct bf16 {
  unsigned short bits;

  bf16() = default;
  __device__ bf16(float x) {
    const unsigned whole = __float_as_uint(x);
    bits = x == x ? (whole + 0x7fff + (whole >> 16 & 1)) >> 16 : 0x7fff;
  }
  __device__ operator float() const { return __uint_as_float((unsigned)bits << 16); }
};

#define KERNEL(threads) extern "C" __global__ void __launch_bounds__(threads)

constexpr float kLog2E = 1.44269504f;  // The hardware's exponential is that of 2.
