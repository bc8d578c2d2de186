// A kernel that finds its values by pointers in memory, 250 of them, and another one before it.
#include <hip/hip_runtime.h>

#include <cstdio>

struct List {
  float* values;
};

__global__ void fill(float* values) { values[threadIdx.x] = threadIdx.x; }

__global__ void scale(const List* lists, float factor) {
  const unsigned i = blockIdx.x * blockDim.x + threadIdx.x;
  lists[1].values[i] *= factor;
}

int main(int count, char**) {
  float* values = nullptr;
  List* lists = nullptr;
  bool is_done = hipMalloc(&values, 250 * sizeof(float)) == hipSuccess;
  is_done &= hipMalloc(&lists, 2 * sizeof(List)) == hipSuccess;
  const List host[2] = {{nullptr}, {values}};
  is_done &= hipMemcpy(lists, host, sizeof(host), hipMemcpyHostToDevice) == hipSuccess;
  fill<<<1, 250>>>(values);
  const unsigned workgroups = count > 1 ? 4 : 3;  // with an argument it stores past the values' end
  scale<<<workgroups, 64>>>(lists, 2);
  std::puts(hipGetErrorName(hipDeviceSynchronize()));
  return is_done ? 0 : 1;
}
