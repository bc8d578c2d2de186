// Objects that workgroups allocate side by side, and that later launches use and delete. tests/test_hip_programs.py
// runs it under the sanitizer, which has nothing to find.
// clang-format off: HIP's header of 5.2 comes first
#include <hip/hip_runtime.h>
// clang-format on

#include "check.h"

struct Numbers {
  __device__ virtual int sum() const = 0;
  __device__ virtual ~Numbers() {}
};
template <int kCount>
struct Few : Numbers {
  int values[kCount];
  __device__ explicit Few(int first) {
    for (int i = 0; i < kCount; ++i) values[i] = first + i;
  }
  __device__ int sum() const override {
    int sum = 0;
    for (const int value : values) sum += value;
    return sum;
  }
};

constexpr int kBlocks = 4, kThreads = 64, kItems = kBlocks * kThreads;

__device__ int item() { return blockIdx.x * blockDim.x + threadIdx.x; }

template <int kCount>
__global__ void make(Numbers** all) {
  all[item()] = new Few<kCount>(item());
}

__global__ void add(Numbers* const* all, int* sums) { sums[item()] = all[item()]->sum(); }

__global__ void end(Numbers** all) { delete all[item()]; }

template <int kCount>
void test() {
  Numbers** all = nullptr;
  int *device = nullptr, sums[kItems] = {};
  OK(hipMalloc(&all, kItems * sizeof(*all)));
  OK(hipMalloc(&device, sizeof sums));
  make<kCount><<<kBlocks, kThreads>>>(all);
  add<<<kBlocks, kThreads>>>(all, device);
  end<<<kBlocks, kThreads>>>(all);
  OK(hipMemcpy(sums, device, sizeof sums, hipMemcpyDeviceToHost));
  for (int i = 0; i < kItems; ++i) CHECK(sums[i] == kCount * i + kCount * (kCount - 1) / 2);
  OK(hipFree(all));
  OK(hipFree(device));
}

/// The allocator has blocks of objects of each size of its own.
int main() {
  test<2>();
  test<4>();
  test<6>();
  test<10>();
  test<14>();
  test<22>();
  test<30>();
  test<46>();
  test<60>();
  test<90>();
}
