// Kernels that call what HIP's headers have only since ROCm 6, a wave each: rows of results, in the order of
// tests/test_hip_headers.py.

#include <hip/hip_bf16.h>
#include <hip/hip_cooperative_groups.h>
#include <hip/hip_fp16.h>
#include <hip/hip_math_constants.h>

#define HIPBLAS_USE_HIP_HALF 1
#include <hipblas/hipblas.h>
#include <rocm-core/rocm_version.h>

static_assert(HIP_PI_F == 0x1.921fb6p1f, "constants have HIP's names");
static_assert(ROCM_VERSION_MAJOR == HIP_VERSION_MAJOR && ROCM_VERSION_MINOR == HIP_VERSION_MINOR,
              "ROCm's release is HIP's");
static_assert(__is_same(hipblasHalf, __half), "hipBLAS takes HIP's halves where it is told to");

extern "C" __global__ void shuffles(const double* values, double* results, int lane, int width) {
  const unsigned long long all = __activemask();
  const double value = values[threadIdx.x];
  const __hip_bfloat16 small(static_cast<float>(threadIdx.x));
  const __half half = __float2half(threadIdx.x);
  double* next = results + threadIdx.x;
  const auto add = [&](double result) {
    *next = result;
    next += blockDim.x;
  };
  add(__shfl_sync(all, value, lane, width));
  add(__shfl_up_sync(all, value, lane, width));
  add(__shfl_down_sync(all, value, lane, width));
  add(__shfl_xor_sync(all, value, lane, width));
  add(float(__shfl_xor_sync(all, small, lane)));
  add(float(__shfl_xor_sync(all, __hip_bfloat162(small, -small), lane).y));
  add(__half2float(__shfl_xor_sync(all, half, lane)));
  add(__shfl_xor_sync(all, static_cast<long>(threadIdx.x) << 40, lane));
}

extern "C" __global__ void votes(const int* values, unsigned long long* results, unsigned long long mask) {
  if (!(mask >> threadIdx.x & 1)) return;
  const int value = values[threadIdx.x];
  unsigned long long* next = results + threadIdx.x;
  int is_same = 0;
  const unsigned long long same = __match_all_sync(mask, 0.5 * value, &is_same);
  for (unsigned long long result :
       {__activemask(), __ballot_sync(mask, value), 0ull + __any_sync(mask, value), 0ull + __all_sync(mask, value),
        __ballot_sync(mask & 0xFF, value), __match_any_sync(mask, 0.5 * value), same, 0ull + is_same}) {
    *next = result;
    next += blockDim.x;
  }
  __syncwarp(mask);
}

extern "C" __global__ void halves(const __half2* pairs, float* results) {
  __half2 pair = pairs[threadIdx.x];
  float* next = results + threadIdx.x;
  for (__half result : {pair.x, pair.y, __hmax(pair.x, pair.y), __hmin(pair.x, pair.y), __hmax_nan(pair.x, pair.y),
                        __hmin_nan(pair.x, pair.y)}) {
    *next = __half2float(result);
    next += blockDim.x;
  }
  pair.x = pair.y;
  *next = __low2float(pair);
}

extern "C" __global__ void sums(const __half2* pairs, __half2* halves, __hip_bfloat162* brains) {
  const __half2 pair = pairs[threadIdx.x];
  unsafeAtomicAdd(halves, pair);
  unsafeAtomicAdd(brains, __hip_bfloat162(__low2float(pair), __high2float(pair)));
}

template <class T>
__device__ T with(T one, T other) {
  return one + other;
}

// Operators of a program for its own vectors, which take every type.
namespace vectors {
template <class A, class B>
__device__ A operator*(A a, B b) {
  return A(a.x * b, a.y * b);
}

__device__ unsigned first() { return blockIdx.x * blockDim.x; }
}  // namespace vectors

extern "C" __global__ void places(unsigned* results) {
  auto place = threadIdx.x;
  place += vectors::first();
  const dim3 block = blockDim;
  results[place] = with(blockIdx.y, 2u) + 10 * with(gridDim.x, block.x);
}

extern "C" __global__ void tiles(const int* values, unsigned long long* results) {
  namespace cg = cooperative_groups;
  const cg::thread_block block = cg::this_thread_block();
  const auto tile = cg::tiled_partition<16>(block);
  const auto part = cg::tiled_partition<4>(block);
  const int value = values[block.thread_rank()];
  if (value < 0) return;
  int is_same = 0;
  const unsigned long long same = part.match_all(value, is_same);
  unsigned long long* next = results + block.thread_rank();
  for (unsigned long long result :
       {tile.ballot(value & 1), tile.match_any(value), same, 0ull + is_same, 0ull + part.any(value == 1),
        0ull + part.all(value == 1), 0ull + tile.meta_group_rank(), 0ull + tile.meta_group_size(),
        0ull + part.meta_group_rank(), 0ull + part.meta_group_size()}) {
    *next = result;
    next += blockDim.x;
  }
}
