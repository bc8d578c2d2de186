// The kernels of the conformance suite, in one source for AMD and NVIDIA GPUs.
#include "../../examples/kernels/sources/gpu.h"

#ifdef __HIP__

#undef __launch_bounds__  // what says it in the binary, too
#define __launch_bounds__(threads) __attribute__((amdgpu_flat_work_group_size(1, threads)))
#define __constant__ __attribute__((constant))
#define THREADS __builtin_amdgcn_workgroup_size_x()

static inline __device__ int add_atomically(int* to, int value) {
  return __hip_atomic_fetch_add(to, value, __ATOMIC_ACQ_REL, __HIP_MEMORY_SCOPE_AGENT);
}
static inline __device__ void stop() { __builtin_trap(); }
static inline __device__ unsigned rank_in_cluster() { return 0; }

#else

#define THREADS blockDim.x

static inline __device__ int add_atomically(int* to, int value) {
  __threadfence();
  const int before = atomicAdd(to, value);
  __threadfence();
  return before;
}
static inline __device__ void stop() { asm volatile("trap;"); }
static inline __device__ unsigned rank_in_cluster() {
  unsigned rank = 0;
#if __CUDA_ARCH__ >= 900
  asm("mov.u32 %0, %%cluster_ctarank;" : "=r"(rank));
#endif
  return rank;
}

#endif

// c = a + b
KERNEL(1024) vector_add(const float* a, const float* b, float* c, int n) {
  const int i = blockIdx.x * THREADS + threadIdx.x;
  if (i < n) c[i] = a[i] + b[i];
}

struct Mixed {
  float x;
  short y;
  double z;
  signed char w[3];
};

// Each argument at the next multiple of 8 bytes.
KERNEL(64)
store_scalars(unsigned char* out, signed char i8, unsigned char u8, short i16, unsigned short u16, int i32,
              unsigned u32, long long i64, unsigned long long u64, bool flag, f16 half, float single, double twice,
              Mixed mixed) {
  if (threadIdx.x != 0) return;
  *(signed char*)(out + 0) = i8;
  *(unsigned char*)(out + 8) = u8;
  *(short*)(out + 16) = i16;
  *(unsigned short*)(out + 24) = u16;
  *(int*)(out + 32) = i32;
  *(unsigned*)(out + 40) = u32;
  *(long long*)(out + 48) = i64;
  *(unsigned long long*)(out + 56) = u64;
  *(unsigned char*)(out + 64) = flag;
  *(f16*)(out + 72) = half;
  *(float*)(out + 80) = single;
  *(double*)(out + 88) = twice;
  *(float*)(out + 96) = mixed.x;
  *(short*)(out + 104) = mixed.y;
  *(double*)(out + 112) = mixed.z;
  for (int i = 0; i < 3; ++i) *(signed char*)(out + 120 + i) = mixed.w[i];
}

struct Large {
  int values[400];
};

KERNEL(64) copy_large(int* out, Large large) {
  for (int i = threadIdx.x; i < 400; i += THREADS) out[i] = large.values[i];
}

extern __shared__ int dynamic_memory[];

// b = a in reverse, through dynamic shared memory of n ints.
KERNEL(1024) reverse_dynamic(const int* a, int* b, int n) {
  for (int i = threadIdx.x; i < n; i += THREADS) dynamic_memory[i] = a[i];
  __syncthreads();
  for (int i = threadIdx.x; i < n; i += THREADS) b[i] = dynamic_memory[n - 1 - i];
}

// The same for 256 ints, through static shared memory.
KERNEL(256) reverse_static(const int* a, int* b) {
  __shared__ int memory[256];
  memory[threadIdx.x] = a[threadIdx.x];
  __syncthreads();
  b[threadIdx.x] = memory[255 - threadIdx.x];
}

extern "C" {
__device__ int counter = 5;
__constant__ int table[8] = {1, 2, 4, 8, 16, 32, 64, 128};
}

// Takes `step` numbers from the counter, and says the first of them and an entry of the table.
KERNEL(64) take(int* out, int step, int entry) {
  if (threadIdx.x != 0) return;
  out[0] = add_atomically(&counter, step);
  out[1] = table[entry];
}

// b = a + 1, after a while. The cycles are a GPU's; AMD's loop is not timed.
KERNEL(64) slow_increment(const int* a, int* b, int n, long long cycles) {
#ifdef __HIP__
  for (long long i = 0; i < cycles; ++i) asm volatile("");
#else
  const long long start = clock64();
  while (clock64() - start < cycles) {
  }
#endif
  const int i = blockIdx.x * THREADS + threadIdx.x;
  if (i < n) b[i] = a[i] + 1;
}

// Every workgroup waits for all others: out[i] is the sum of a. `sum` is a zero, then the sum; `arrived` counts.
KERNEL(64) sum_over_grid(const int* a, int* sum, int* arrived, int* out, int workgroups) {
  if (threadIdx.x != 0) return;
  add_atomically(sum, a[blockIdx.x]);
  add_atomically(arrived, 1);
  while (add_atomically(arrived, 0) < workgroups) {
  }
  out[blockIdx.x] = add_atomically(sum, 0);
}

// The rank of each workgroup in its cluster.
KERNEL(64) cluster_rank(int* out) {
  if (threadIdx.x == 0) out[blockIdx.x] = rank_in_cluster();
}

KERNEL(64) store_at(int* out, long long index, int value) {
  if (threadIdx.x == 0) out[index] = value;
}

KERNEL(64) trap(int* out) {
  out[0] = 1;
  stop();
}
