// Launches whose grid ends within a workgroup along each axis. tests/test_hip_programs.py runs it on the emulator.
// clang-format off: HIP's header of 5.2 comes first
#include <hip/hip_runtime.h>
#include <hip/hip_ext.h>
// clang-format on

#include <cstring>
#include <vector>

#include "check.h"

// Which the headers of 5.2 do not declare.
extern "C" hipError_t hipGetFuncBySymbol(hipFunction_t* function, const void* symbol);
extern "C" __device__ size_t __ockl_get_global_size(unsigned);

constexpr unsigned kItems[] = {150, 5, 3}, kBlock[] = {64, 4, 2};
constexpr unsigned kAll = kItems[0] * kItems[1] * kItems[2];

struct Seen {
  unsigned block[3], size[3], grid[3], members, visits;
};

__global__ void look(Seen* seen) {
  __shared__ unsigned members;
  const bool is_first = (threadIdx.x | threadIdx.y | threadIdx.z) == 0;
  if (is_first) members = 0;
  __syncthreads();
  atomicAdd(&members, 1u);
  __syncthreads();
  unsigned id[3], block[] = {blockIdx.x, blockIdx.y, blockIdx.z}, item[] = {threadIdx.x, threadIdx.y, threadIdx.z};
  for (int axis = 0; axis < 3; ++axis) id[axis] = block[axis] * kBlock[axis] + item[axis];
  if (id[0] >= kItems[0] || id[1] >= kItems[1] || id[2] >= kItems[2]) return;
  Seen& own = seen[(id[2] * kItems[1] + id[1]) * kItems[0] + id[0]];
  for (int axis = 0; axis < 3; ++axis) {
    own.block[axis] = block[axis];
    own.size[axis] = static_cast<unsigned>(__ockl_get_local_size(axis));
    own.grid[axis] = static_cast<unsigned>(__ockl_get_global_size(axis));
  }
  own.members = members;
  atomicAdd(&own.visits, 1u);
}

int main(int, char** arguments) {
  hipFunction_t function = nullptr;
  OK(hipGetFuncBySymbol(&function, reinterpret_cast<const void*>(look)));
  Seen* seen = nullptr;
  OK(hipMalloc(&seen, kAll * sizeof(Seen)));
  OK(hipMemset(seen, 0, kAll * sizeof(Seen)));
  void* parameters[] = {&seen};
  const hipError_t error = hipExtModuleLaunchKernel(function, kItems[0], kItems[1], kItems[2], kBlock[0], kBlock[1],
                                                    kBlock[2], 0, nullptr, parameters, nullptr);
  if (std::strcmp(arguments[1], "whole") == 0) {
    CHECK(error == hipErrorInvalidValue);
    return 0;
  }
  CHECK(error == hipSuccess);
  std::vector<Seen> all(kAll);
  OK(hipMemcpy(all.data(), seen, kAll * sizeof(Seen), hipMemcpyDeviceToHost));
  for (unsigned item = 0; item < kAll; ++item) {
    const unsigned id[] = {item % kItems[0], item / kItems[0] % kItems[1], item / kItems[0] / kItems[1]};
    const Seen& own = all[item];
    unsigned members = 1;
    for (int axis = 0; axis < 3; ++axis) {
      const unsigned block = id[axis] / kBlock[axis], left = kItems[axis] - block * kBlock[axis];
      const unsigned size = left < kBlock[axis] ? left : kBlock[axis];
      members *= size;
      CHECK(own.block[axis] == block);
      CHECK(own.size[axis] == size);
      CHECK(own.grid[axis] == kItems[axis]);
    }
    CHECK(own.members == members);
    CHECK(own.visits == 1);
  }
  return 0;
}
