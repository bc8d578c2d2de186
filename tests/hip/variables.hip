// Variables of kernels as memory of the device: what is asked of their addresses, and the order of copies from and to
// them. tests/test_hip_programs.py runs it on the emulator.
// clang-format off: HIP's header of 5.2 comes first
#include <hip/hip_runtime.h>
// clang-format on

#include "check.h"

__device__ int numbers[64];
__constant__ int factors[4] = {1, 2, 3, 4};
__managed__ int shared_by_both[3];

/// Takes long enough that a copy which does not wait for it comes too early.
__global__ void fill_slowly(int value) {
  int steps = 0;
  for (int i = 0; i < 20000; ++i) steps += __builtin_amdgcn_readfirstlane(i) & 1;
  numbers[threadIdx.x] = value + steps - 10000;
}

__global__ void multiply(int* out) { out[threadIdx.x] = numbers[threadIdx.x] * factors[threadIdx.x % 4]; }

template <class T>
void asked(const T& symbol, size_t size, bool is_managed) {
  void* address = nullptr;
  OK(hipGetSymbolAddress(&address, symbol));
  hipPointerAttribute_t attributes{};
  char* const inside = static_cast<char*>(address) + 4;
  OK(hipPointerGetAttributes(&attributes, inside));
  CHECK(is_managed || attributes.memoryType == hipMemoryTypeDevice);
  CHECK(attributes.device == 0 && attributes.devicePointer == inside && attributes.isManaged == is_managed);
  hipDeviceptr_t begin = nullptr;
  size_t found = 0;
  OK(hipMemGetAddressRange(&begin, &found, inside));
  CHECK(begin == address && found == size);
  if (!is_managed) CHECK(hipFree(address) == hipErrorInvalidValue);
  CHECK(hipHostUnregister(address) == hipErrorHostMemoryNotRegistered);
  char bytes[sizeof numbers + 4];
  CHECK(hipMemcpy(bytes, address, size + 4, hipMemcpyDeviceToHost) == hipErrorInvalidValue);
  static_cast<void>(hipGetLastError());
}

int main() {
  asked(numbers, sizeof numbers, false);
  asked(factors, sizeof factors, false);

  hipStream_t stream;
  int *copied = nullptr, *out = nullptr, *pinned = nullptr;
  void* address = nullptr;
  OK(hipStreamCreateWithFlags(&stream, hipStreamNonBlocking));
  OK(hipMalloc(&copied, sizeof numbers));
  OK(hipMalloc(&out, sizeof numbers));
  OK(hipHostMalloc(&pinned, sizeof numbers));
  OK(hipGetSymbolAddress(&address, HIP_SYMBOL(numbers)));
  for (int round = 1; round < 4; ++round) {
    // Each copy reads what the kernel before it in the stream has written, by any function.
    fill_slowly<<<1, 64, 0, stream>>>(round);
    if (round == 1) OK(hipMemcpyAsync(copied, address, sizeof numbers, hipMemcpyDeviceToDevice, stream));
    if (round == 2) OK(hipMemcpyFromSymbolAsync(copied, HIP_SYMBOL(numbers), sizeof numbers, 0,
                                                hipMemcpyDeviceToDevice, stream));
    if (round == 3) OK(hipMemcpyDtoDAsync(copied, address, sizeof numbers, stream));
    OK(hipMemcpyFromSymbolAsync(pinned, HIP_SYMBOL(numbers), sizeof numbers, 0, hipMemcpyDeviceToHost, stream));
    OK(hipMemsetAsync(address, 0, sizeof(int), stream));
    multiply<<<1, 64, 0, stream>>>(out);
    OK(hipStreamSynchronize(stream));
    int back[64], products[64];
    OK(hipMemcpy(back, copied, sizeof back, hipMemcpyDeviceToHost));
    OK(hipMemcpy(products, out, sizeof products, hipMemcpyDeviceToHost));
    for (int i = 0; i < 64; ++i) {
      CHECK(back[i] == round && pinned[i] == round);
      CHECK(products[i] == (i == 0 ? 0 : round * (i % 4 + 1)));
    }
  }
  asked(shared_by_both, sizeof shared_by_both, true);
  OK(hipFree(copied));
  OK(hipFree(out));
  OK(hipHostFree(pinned));
  OK(hipStreamDestroy(stream));
}
