// atomicInc and atomicDec, which wrap at a bound: of global memory and of LDS.
#include <hip/hip_runtime.h>

#include <cstdio>

__global__ void count(unsigned* counters, unsigned* seen) {
  __shared__ unsigned shared[2];
  if (threadIdx.x < 2) shared[threadIdx.x] = 0;
  __syncthreads();
  atomicAdd(&seen[atomicInc(&counters[0], 10)], 1u);
  atomicDec(&counters[1], 6);
  atomicInc(&shared[0], 4);
  atomicDec(&shared[1], 4);
  __syncthreads();
  if (blockIdx.x == 0 && threadIdx.x < 2) counters[2 + threadIdx.x] = shared[threadIdx.x];
}

int main() {
  unsigned* memory = nullptr;
  if (hipMalloc(reinterpret_cast<void**>(&memory), 16 * sizeof(unsigned)) != hipSuccess) return 1;
  if (hipMemset(memory, 0, 16 * sizeof(unsigned)) != hipSuccess) return 2;
  count<<<2, 64>>>(memory, memory + 4);
  unsigned results[16];
  if (hipMemcpy(results, memory, sizeof results, hipMemcpyDeviceToHost) != hipSuccess) return 3;
  for (unsigned result : results) std::printf("%u ", result);
}
