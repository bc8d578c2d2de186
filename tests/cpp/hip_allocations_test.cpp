// Tests of memory that programs allocate or register, copy and fill by bytes in a row, and ask about.
#include <sys/mman.h>

#include "hip_program.h"

namespace {

TEST(memory) {
  const std::vector<float> values = ramp(3);
  const Buffer<float> a(values), b(kCount);
  const size_t size = kCount * sizeof(float);
  OK(api.hipMemcpyDtoD(b.data, a.data, size));
  EXPECT_EQ(b.values() == values, true);
  EXPECT_EQ(api.hipMemcpy(b.data, a.data, size + 1, hip::kCopyDefault), 1);
  EXPECT_EQ(api.hipMemcpy(b.data, a.data, size, static_cast<hip::MemcpyKind>(9)), 21);
  OK(api.hipMemsetD32(b.data, 7, kCount));
  OK(api.hipDeviceSynchronize());
  EXPECT_EQ(reinterpret_cast<int*>(b.data)[kCount - 1], 7);
  hip::PointerAttributes attributes{};
  OK(api.hipPointerGetAttributes(&attributes, a.data + 1));
  EXPECT_EQ(static_cast<int>(attributes.type), 2);
  OK(api.hipPointerGetAttributes(&attributes, values.data()));
  EXPECT_EQ(static_cast<int>(attributes.type), 0);  // unregistered
  EXPECT_EQ(attributes.device, hip::kNoDevice);
  int owner = -1;
  OK(api.hipPointerGetAttribute(&owner, hip::kPointerDeviceOrdinal, a.data + 1));
  EXPECT_EQ(owner, 0);
  EXPECT_EQ(api.hipPointerGetAttribute(&owner, hip::kPointerDeviceOrdinal, const_cast<float*>(values.data())), 1);
  // What lies behind an allocation, in its last page, is none, nor is one that was freed.
  char* freed = nullptr;
  OK(api.hipMalloc(reinterpret_cast<void**>(&freed), 100));
  OK(api.hipPointerGetAttribute(&owner, hip::kPointerDeviceOrdinal, freed + 99));
  EXPECT_EQ(api.hipPointerGetAttribute(&owner, hip::kPointerDeviceOrdinal, freed + 100), 1);
  OK(api.hipFree(freed));
  EXPECT_EQ(api.hipPointerGetAttribute(&owner, hip::kPointerDeviceOrdinal, freed), 1);
  void* pinned = nullptr;
  OK(api.hipHostMalloc(&pinned, 64, 0));
  OK(api.hipPointerGetAttributes(&attributes, pinned));
  EXPECT_EQ(static_cast<int>(attributes.type), 1);
  OK(api.hipHostFree(pinned));
  EXPECT_EQ(api.hipFree(pinned), 1);
  void* nothing = nullptr;
  EXPECT_EQ(api.hipMalloc(&nothing, size_t{1} << 60), 2);
  OK(api.hipMalloc(&nothing, 0));
  OK(api.hipFree(nullptr));
  size_t free = 0, total = 0;
  OK(api.hipMemGetInfo(&free, &total));
  EXPECT_EQ(free < total, true);
}

/// Since ROCm 6 a program can ask that no compute units copy, which none do here.
TEST(copies_without_compute_units) {
  constexpr auto kNoUnits = hip::MemcpyKind{1024};
  const Buffer<float> a(ramp(3)), b(kCount);
  OK(api.hipMemcpyAsync(b.data, a.data, kCount * sizeof(float), kNoUnits, nullptr));
  EXPECT_EQ(b.values()[1], 4.0f);
  EXPECT_EQ(api.hipMemcpy(b.data, a.data, 4, hip::MemcpyKind{1023}), 21);
}

TEST(fills_of_16_bits) {
  const Buffer<uint16_t> values(std::vector<uint16_t>(9, 1));
  OK(api.hipMemsetD16(values.data + 1, 0xabcd, 3));
  EXPECT_EQ(values.values() == (std::vector<uint16_t>{1, 0xabcd, 0xabcd, 0xabcd, 1, 1, 1, 1, 1}), true);
  const hip::Stream stream = new_stream();
  OK(api.hipMemsetD16Async(values.data + 6, 7, 2, stream));
  OK(api.hipStreamSynchronize(stream));
  EXPECT_EQ(values.values() == (std::vector<uint16_t>{1, 0xabcd, 0xabcd, 0xabcd, 1, 1, 7, 7, 1}), true);
  EXPECT_EQ(api.hipMemsetD16(values.data, 0, 10), 1);
  EXPECT_EQ(api.hipMemsetD16Async(reinterpret_cast<char*>(values.data) + 1, 0, 1, stream), 1);
  EXPECT_EQ(api.hipMemsetD16(values.data, 0, (size_t{1} << 63) + 1), 1);  // two bytes, where the product wraps
  OK(api.hipStreamDestroy(stream));
}

TEST(registered_memory) {
  constexpr hip::Error kValue = 1, kAlready = 712, kNot = 713;
  std::vector<float> memory = ramp(0);
  const size_t size = kCount * sizeof(float);
  void* pointer = nullptr;
  EXPECT_EQ(api.hipHostGetDevicePointer(&pointer, memory.data(), 0), kValue);
  EXPECT_EQ(api.hipHostUnregister(memory.data()), kNot);
  EXPECT_EQ(api.hipHostRegister(nullptr, size, 0), kValue);
  EXPECT_EQ(api.hipHostRegister(memory.data(), 0, 0), kValue);
  EXPECT_EQ(api.hipHostRegister(memory.data(), size, 16), kValue);
  EXPECT_EQ(api.hipHostRegister(memory.data(), ~size_t{0}, 0), kValue);
  EXPECT_EQ(api.hipHostRegister(reinterpret_cast<void*>(64), 64, 0), kValue);
  void* read_only = mmap(nullptr, 1 << 16, PROT_READ, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  EXPECT_EQ(api.hipHostRegister(read_only, 1 << 16, 0), kValue);
  OK(api.hipSetDevice(1));
  OK(api.hipHostRegister(memory.data(), size, 3));
  OK(api.hipSetDevice(0));
  EXPECT_EQ(api.hipHostRegister(memory.data(), size, 0), kAlready);
  EXPECT_EQ(api.hipHostRegister(&memory[10], 4, 0), kAlready);
  EXPECT_EQ(api.hipHostRegister(&memory[0] - 1, 8, 0), kAlready);
  EXPECT_EQ(api.hipHostRegister(&memory[0] - 1, size + 8, 0), kAlready);
  const Buffer<float> device(ramp(5));
  EXPECT_EQ(api.hipHostRegister(device.data, size, 0), kAlready);
  void* freed = nullptr;
  OK(api.hipMalloc(&freed, size));
  OK(api.hipFree(freed));
  EXPECT_EQ(api.hipHostRegister(freed, size, 0), kValue);

  OK(api.hipHostGetDevicePointer(&pointer, &memory[3], 0));
  EXPECT_EQ(pointer == &memory[3], true);
  EXPECT_EQ(api.hipHostGetDevicePointer(&pointer, &memory[3], 1), kValue);
  EXPECT_EQ(api.hipHostGetDevicePointer(nullptr, &memory[3], 0), kValue);
  EXPECT_EQ(api.hipHostGetDevicePointer(&pointer, nullptr, 0), kValue);
  hip::PointerAttributes attributes{};
  OK(api.hipPointerGetAttributes(&attributes, &memory[3]));
  EXPECT_EQ(static_cast<int>(attributes.type), 1);
  EXPECT_EQ(attributes.device, 1);
  EXPECT_EQ(attributes.allocation_flags, 3u);
  EXPECT_EQ(attributes.host_pointer == &memory[3], true);
  const Loaded module(basics());
  OK(launch(module["vector_add"], 4, 256, nullptr, memory.data(), memory.data(), memory.data(), kCount));
  OK(api.hipDeviceSynchronize());
  EXPECT_EQ(memory[7], 14.0f);

  // A copy from pinned memory reads it when the stream comes to it, one from pageable memory before the call returns.
  std::vector<float> pageable = ramp(0);
  const Buffer<float> copy_of_pinned(kCount), copy_of_pageable(kCount);
  Slow slow;
  const hip::Stream stream = new_stream();
  slow.enqueue(stream);
  OK(api.hipMemcpyAsync(copy_of_pinned.data, memory.data(), size, hip::kHostToDevice, stream));
  OK(api.hipMemcpyAsync(copy_of_pageable.data, pageable.data(), size, hip::kHostToDevice, stream));
  EXPECT_EQ(api.hipStreamQuery(stream), 600);
  memory[7] = pageable[7] = -1;
  OK(api.hipStreamSynchronize(stream));
  EXPECT_EQ(copy_of_pinned.values()[7], -1.0f);
  EXPECT_EQ(copy_of_pageable.values()[7], 7.0f);
  EXPECT_EQ(api.hipMemcpy(device.data, &memory[1], size, hip::kHostToDevice), kValue);  // ends past its end

  EXPECT_EQ(api.hipFree(memory.data()), kValue);
  EXPECT_EQ(api.hipHostUnregister(&memory[1]), kNot);
  EXPECT_EQ(api.hipHostUnregister(device.data), kNot);
  EXPECT_EQ(api.hipHostUnregister(nullptr), kValue);
  slow.enqueue(stream);
  OK(api.hipHostUnregister(memory.data()));  // waits for the devices
  OK(api.hipStreamQuery(stream));
  OK(api.hipPointerGetAttributes(&attributes, memory.data()));
  EXPECT_EQ(static_cast<int>(attributes.type), 0);
  OK(api.hipStreamBeginCapture(stream, hip::kCaptureModeGlobal));
  EXPECT_EQ(api.hipHostRegister(memory.data(), size, 0), 900);
  hip::Graph graph = nullptr;
  EXPECT_EQ(api.hipStreamEndCapture(stream, &graph), 901);
  OK(api.hipStreamDestroy(stream));
}

/// Memory that was unmapped while it was registered.
TEST(registered_memory_that_is_gone) {
  constexpr size_t kSize = 1 << 16;
  void* const memory = mmap(nullptr, kSize, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  OK(api.hipHostRegister(memory, kSize, 0));
  OK(api.hipMemset(memory, 1, kSize));
  munmap(memory, kSize);
  EXPECT_EQ(api.hipMemset(memory, 1, kSize), 1);
  OK(api.hipHostUnregister(memory));
}

TEST(pointer_attributes) {
  const Buffer<int> device(10);
  int* host = nullptr;
  OK(api.hipHostMalloc(reinterpret_cast<void**>(&host), 40, 0));
  uint32_t word = 0;
  void* pointer = nullptr;
  bool flag = true;
  OK(api.hipPointerGetAttribute(&word, hip::kPointerMemoryType, device.data));
  EXPECT_EQ(word, 2u);
  OK(api.hipPointerGetAttribute(&word, hip::kPointerMemoryType, host));
  EXPECT_EQ(word, 1u);
  OK(api.hipPointerGetAttribute(&pointer, hip::kPointerDevicePointer, device.data + 2));
  EXPECT_EQ(pointer == device.data + 2, true);
  OK(api.hipPointerGetAttribute(&pointer, hip::kPointerRangeBegin, device.data + 2));
  EXPECT_EQ(pointer == device.data, true);
  OK(api.hipPointerGetAttribute(&word, hip::kPointerRangeSize, device.data + 2));
  EXPECT_EQ(word, 40u);
  OK(api.hipPointerGetAttribute(&pointer, hip::kPointerHostPointer, host + 2));
  EXPECT_EQ(pointer == host + 2, true);
  EXPECT_EQ(api.hipPointerGetAttribute(&pointer, hip::kPointerHostPointer, device.data), 1);
  OK(api.hipPointerGetAttribute(&flag, hip::kPointerIsManaged, host));
  EXPECT_EQ(flag, false);
  OK(api.hipPointerGetAttribute(&flag, hip::kPointerIsMapped, host));
  EXPECT_EQ(flag, true);
  EXPECT_EQ(api.hipPointerGetAttribute(&pointer, hip::kPointerDevicePointer, &word), 1);  // not HIP's
  EXPECT_EQ(api.hipPointerGetAttribute(nullptr, hip::kPointerDevicePointer, host), 1);
  EXPECT_EQ(api.hipPointerGetAttribute(&pointer, hip::kPointerDevicePointer, nullptr), 1);
  EXPECT_EQ(api.hipPointerGetAttribute(&pointer, static_cast<hip::PointerAttribute>(1), host), 801);
  EXPECT_EQ(api.hipPointerGetAttribute(&pointer, static_cast<hip::PointerAttribute>(18), host), 1);
  OK(api.hipHostFree(host));
}

TEST(managed_memory_is_as_large_as_it_likes) {
  size_t free = 0, total = 0;
  void* data = nullptr;
  OK(api.hipMemGetInfo(&free, &total));
  constexpr unsigned kGlobal = 1;
  constexpr hip::Error kOutOfMemory = 2;
  OK(api.hipMallocManaged(&data, total + 1, kGlobal));
  OK(api.hipFree(data));
  EXPECT_EQ(api.hipMalloc(&data, total + 1), kOutOfMemory);
  for (const size_t size : {~size_t{0}, ~size_t{0} - 4094, ~size_t{0} - 4095, ~size_t{0} - 131072, size_t{1} << 63}) {
    EXPECT_EQ(api.hipMallocManaged(&data, size, kGlobal), kOutOfMemory);  // nor where whole pages of it wrap
  }
}

/// Linux gives a process 65,530 mappings, of which an allocation between pages that nobody may touch takes two.
TEST(more_allocations_than_mappings) {
  constexpr size_t kMany = 40'000, kSize = kCount * sizeof(float);
  size_t before = 0, after = 0, total = 0;
  OK(api.hipMemGetInfo(&before, &total));
  std::vector<float*> all(kMany);
  for (float*& data : all) OK(api.hipMalloc(reinterpret_cast<void**>(&data), kSize));
  float *const first = all.front(), *const last = all.back(), *const freed = all[kMany - 2];
  OK(api.hipMemcpy(first, ramp(1).data(), kSize, hip::kHostToDevice));
  OK(api.hipMemset(last, 0, kSize));
  const Loaded module(basics());
  OK(launch(module["vector_add"], 4, 256, nullptr, first, last, last, kCount));
  OK(api.hipDeviceSynchronize());
  EXPECT_EQ(last[9], 10.0f);
  // The last ones have the bounds that all have, and a freed one is nobody's.
  EXPECT_EQ(api.hipMemset(last, 0, kSize + 1), 1);
  int owner = -1;
  EXPECT_EQ(api.hipPointerGetAttribute(&owner, hip::kPointerDeviceOrdinal, last + kCount), 1);
  OK(api.hipMemset(freed, 7, kSize));
  OK(api.hipFree(freed));
  EXPECT_EQ(api.hipFree(freed), 1);
  float* const between = last + (uint64_t{1} << 20);  // where none is yet
  for (float* const to : {last + 1, freed, between}) {
    OK(launch(module["vector_add"], 4, 256, nullptr, first, first, to, kCount));
    EXPECT_EQ(api.hipDeviceSynchronize(), 700);
    OK(api.hipDeviceReset());
  }
  for (float* const data : all) {
    if (data != freed) OK(api.hipFree(data));
  }
  OK(api.hipMemGetInfo(&after, &total));
  EXPECT_EQ(after, before);
  // Their addresses come again, with zeros.
  for (float*& data : all) {
    OK(api.hipMalloc(reinterpret_cast<void**>(&data), kSize));
    EXPECT_EQ(data[9], 0.0f);
  }
}

}  // namespace
