// Tests of kernels that fault, and of memory that is gone or was never there.
#include <sys/mman.h>

#include <algorithm>
#include <atomic>
#include <deque>
#include <fstream>

#include "hip_program.h"

namespace {

void fault(hip::Error expected, const char* binary, const char* kernel, float* to) {
  const Loaded module(binary);
  const hip::Stream stream = new_stream();
  const Buffer<float> a(ramp(0));
  OK(launch(module[kernel], 4, 256, stream, a.data, a.data, to, kCount));
  EXPECT_EQ(api.hipStreamSynchronize(stream), expected);
  EXPECT_EQ(api.hipStreamSynchronize(stream), expected);
  EXPECT_EQ(launch(module[kernel], 4, 256, stream, a.data, a.data, a.data, kCount), expected);
  EXPECT_EQ(api.hipDeviceSynchronize(), expected);
  float value = 0;
  EXPECT_EQ(api.hipMemcpy(&value, a.data, 4, hip::kDeviceToHost), expected);
  OK(api.hipDeviceReset());
  OK(launch(module["vector_add"], 4, 256, stream, a.data, a.data, a.data, kCount));
  OK(api.hipStreamSynchronize(stream));
}

TEST(faults) {
  const Buffer<float> small(500);
  fault(700, basics().c_str(), "vector_add", small.data);
  fault(700, basics().c_str(), "vector_add", reinterpret_cast<float*>(0x1000));
  void* read_only = mmap(nullptr, 1 << 16, PROT_READ, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  fault(700, basics().c_str(), "vector_add", static_cast<float*>(read_only));
  void* freed = nullptr;
  OK(api.hipMalloc(&freed, 1 << 16));
  OK(api.hipFree(freed));
  std::deque<Buffer<float>> others;  // whose addresses are new
  for (int i = 0; i < 100; ++i) others.emplace_back(1 << 14);
  fault(700, basics().c_str(), "vector_add", static_cast<float*>(freed));
}

/// Callbacks are told of the error, which programs wait for; host functions do not run.
TEST(what_runs_after_a_fault) {
  const Buffer<float> small(500);
  const Loaded module(basics());
  struct Calls {
    std::atomic<int> error{-1}, functions{0};
  } calls;
  const auto tell = [](hip::Stream, hip::Error error, void* data) { static_cast<Calls*>(data)->error = error; };
  const auto count = [](void* data) { ++static_cast<Calls*>(data)->functions; };
  OK(api.hipStreamAddCallback(nullptr, tell, &calls, 0));
  OK(api.hipLaunchHostFunc(nullptr, count, &calls));
  OK(api.hipDeviceSynchronize());
  EXPECT_EQ(calls.error == 0 && calls.functions == 1, true);
  OK(launch(module["vector_add"], 4, 256, nullptr, small.data, small.data, small.data, kCount));
  OK(api.hipStreamAddCallback(nullptr, tell, &calls, 0));
  OK(api.hipLaunchHostFunc(nullptr, count, &calls));
  constexpr int kIllegalAddress = 700;
  EXPECT_EQ(api.hipDeviceSynchronize(), kIllegalAddress);
  EXPECT_EQ(calls.error.load(), kIllegalAddress);
  EXPECT_EQ(calls.functions.load(), 1);
}

TEST(memory_that_the_process_does_not_have) {
  void* memory = nullptr;
  OK(api.hipMalloc(&memory, 64));
  int value = 0;
  for (const uint64_t at : {~uint64_t{0}, ~uint64_t{3}, ~uint64_t{15}, uint64_t{1} << 63, uint64_t{8}}) {
    void* const wild = reinterpret_cast<void*>(at);
    for (const size_t size : {size_t{4}, size_t{16}, size_t{64}}) {
      EXPECT_EQ(api.hipMemcpy(wild, memory, size, hip::kDeviceToHost), 1);
      EXPECT_EQ(api.hipMemcpy(memory, wild, size, hip::kHostToDevice), 1);
      EXPECT_EQ(api.hipMemcpy(memory, wild, size, hip::kHostToHost), 1);
      EXPECT_EQ(api.hipMemset(wild, 0, size), 1);
    }
  }
  for (const size_t size : {~size_t{0}, ~size_t{0} - 64, size_t{1} << 63}) {
    EXPECT_EQ(api.hipMemcpy(memory, &value, size, hip::kHostToDevice), 1);
    EXPECT_EQ(api.hipMemcpy(&value, memory, size, hip::kDeviceToHost), 1);
    EXPECT_EQ(api.hipMemset(memory, 0, size), 1);
  }
  EXPECT_EQ(api.hipMemsetD32(memory, 0, (size_t{1} << 62) + 1), 1);  // four bytes, where the product wraps
  OK(api.hipFree(memory));
}

TEST(freed_memory) {
  void* freed = nullptr;
  OK(api.hipMalloc(&freed, 1 << 16));
  OK(api.hipFree(freed));
  EXPECT_EQ(api.hipFree(freed), 1);
  EXPECT_EQ(api.hipMemset(freed, 0, 4), 1);
  float value = 0;
  EXPECT_EQ(api.hipMemcpy(&value, freed, 4, hip::kDeviceToHost), 1);
  EXPECT_EQ(api.hipMemcpy(freed, &value, 4, hip::kHostToDevice), 1);
  size_t before = 0, after = 0, total = 0;
  OK(api.hipMemGetInfo(&before, &total));
  for (int i = 0; i < 1500; ++i) {  // more than are kept
    void* memory = nullptr;
    OK(api.hipMalloc(&memory, 1 << 20));
    OK(api.hipMemset(memory, 1, 1 << 20));
    OK(api.hipFree(memory));
  }
  OK(api.hipMemGetInfo(&after, &total));
  EXPECT_EQ(after, before);
  size_t mapped_pages = 0, resident_pages = 0;
  std::ifstream("/proc/self/statm") >> mapped_pages >> resident_pages;
  EXPECT_EQ(resident_pages > 0 && resident_pages < (512 << 20) / 4096, true);  // of 1,500 MiB that were in use
}

/// Of memory that the program has mapped itself, in front of a part that it has registered. Where bounds are exact,
/// only the second half of the loads may be made, and the sanitizer lets the kernel go on to those.
TEST(registered_memory_behind_other) {
  const Loaded module(basics());
  constexpr int kHalf = 512;
  std::vector<float> all(2 * kHalf, 3);
  float* const second = all.data() + kHalf;
  OK(api.hipHostRegister(second, kHalf * sizeof(float), 0));
  const Buffer<float> sums(2 * kHalf);
  OK(launch(module["vector_add"], 4, 256, nullptr, all.data(), all.data(), sums.data, 2 * kHalf));
  OK(api.hipDeviceSynchronize());
  EXPECT_EQ(sums.values()[kHalf], 6.0f);
  EXPECT_EQ(sums.values().back(), 6.0f);
  OK(api.hipHostUnregister(second));
}

TEST(illegal_instruction) {
  const Loaded module(probes());
  void* parameters[] = {nullptr, nullptr, nullptr, nullptr};
  uint64_t zero = 0;
  std::fill_n(parameters, 4, &zero);
  OK(api.hipModuleLaunchKernel(module["unknown_instruction"], 1, 1, 1, 64, 1, 1, 0, nullptr, parameters, nullptr));
  EXPECT_EQ(api.hipDeviceSynchronize(), 719);
}

}  // namespace
