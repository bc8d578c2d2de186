// Memory of the process that it takes away while kernels and copies work on it. tests/test_hip_programs.py runs it on the
// emulator.
// clang-format off: HIP's header of 5.2 comes first
#include <hip/hip_runtime.h>
// clang-format on

#include <sys/mman.h>

#include <cstring>

#include "check.h"

constexpr size_t kPage = 4096, kSize = 16 * kPage;

__global__ void poll(int* flag, int* has_begun) {
  while (__atomic_load_n(flag, __ATOMIC_RELAXED) == 0) __atomic_store_n(has_begun, 1, __ATOMIC_RELAXED);
}

void* pages() {
  void* const memory = mmap(nullptr, kSize, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  CHECK(memory != MAP_FAILED);
  return memory;
}

/// What a page is missing of, in the middle.
char* with_a_hole() {
  char* const memory = static_cast<char*>(pages());
  CHECK(munmap(memory + 8 * kPage, kPage) == 0);
  return memory;
}

int main(int, char** arguments) {
  void* device = nullptr;
  OK(hipMalloc(&device, kSize));
  if (std::strcmp(arguments[1], "kernel") == 0) {
    char* const memory = static_cast<char*>(pages());
    int* has_begun = nullptr;
    OK(hipHostMalloc(&has_begun, sizeof(int)));
    *has_begun = 0;
    poll<<<1, 64>>>(reinterpret_cast<int*>(memory), has_begun);
    while (__atomic_load_n(has_begun, __ATOMIC_RELAXED) == 0) continue;
    CHECK(munmap(memory, kSize) == 0);
    CHECK(hipDeviceSynchronize() == hipErrorIllegalAddress);
  } else if (std::strcmp(arguments[1], "from") == 0) {
    CHECK(hipMemcpy(device, with_a_hole(), kSize, hipMemcpyHostToDevice) == hipErrorIllegalAddress);
    OK(hipMemset(device, 0, kSize));
  } else if (std::strcmp(arguments[1], "to") == 0) {
    CHECK(hipMemcpy(with_a_hole(), device, kSize, hipMemcpyDeviceToHost) == hipErrorIllegalAddress);
  } else {
    char* const memory = static_cast<char*>(pages());
    OK(hipHostRegister(memory, kSize, 0));
    CHECK(munmap(memory + 8 * kPage, kPage) == 0);
    OK(hipMemsetAsync(memory, 1, kSize, nullptr));
    CHECK(hipDeviceSynchronize() == hipErrorIllegalAddress);
  }
  return 0;
}
