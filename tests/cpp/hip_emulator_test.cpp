// A program that uses libwave_hip_emulator.so: LIBRARY ROOT TEST. LIBRARY may be "-" where the emulator is linked in.
// Here are the tests of devices, modules, launches, memory and faults.
#include <sys/mman.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <cstring>
#include <deque>
#include <thread>
#include <utility>

#include "hip_program.h"

namespace {

TEST(devices) {
  OK(api.hipInit(0));
  int count = 0, value = 0;
  OK(api.hipGetDeviceCount(&count));
  EXPECT_EQ(count, 2);  // the test sets WAVE_RUNTIME_EMULATOR_DEVICES
  std::vector<char> properties(1472 + 8, 'x');
  OK(api.hipGetDevicePropertiesR0600(properties.data(), 1));
  EXPECT_EQ(std::strcmp(&properties[0], "Wave Runtime emulator (gfx942)"), 0);
  EXPECT_EQ(std::strcmp(&properties[1160], "gfx942:sramecc+:xnack-"), 0);
  EXPECT_EQ(properties[1472], 'x');
  OK(api.hipGetDeviceProperties(properties.data(), 0));
  EXPECT_EQ(std::strcmp(&properties[396], "gfx942:sramecc+:xnack-"), 0);
  OK(api.hipDeviceGetAttribute(&value, hip::kMaxThreadsPerBlock, 0));
  EXPECT_EQ(value, 1024);
  EXPECT_EQ(api.hipSetDevice(2), 101);
  EXPECT_EQ(api.hipGetLastError(), 101);
  EXPECT_EQ(api.hipGetLastError(), 0);
  EXPECT_EQ(api.hipGetDevicePropertiesR0600(properties.data(), -1), 101);
  OK(api.hipSetDevice(1));
  std::thread([] {  // each thread begins with device 0
    int device = -1;
    OK(api.hipGetDevice(&device));
    EXPECT_EQ(device, 0);
  })
      .join();
  EXPECT_EQ(std::strcmp(api.hipGetErrorName(700), "hipErrorIllegalAddress"), 0);
}

TEST(launches) {
  const Loaded module(basics());
  const Buffer<float> a(ramp(0)), b(ramp(1)), c(kCount);
  OK(launch(module["vector_add"], 4, 256, nullptr, a.data, b.data, c.data, kCount));
  OK(api.hipDeviceSynchronize());
  for (int i = 0; i < kCount; ++i) EXPECT_EQ(c.values()[i], 2.0f * i + 1);

  struct {
    const float *a, *b;
    float* c;
    int n;
  } packed{b.data, b.data, c.data, kCount};
  size_t size = sizeof(packed);
  void* extra[] = {reinterpret_cast<void*>(1), &packed, reinterpret_cast<void*>(2), &size, reinterpret_cast<void*>(3)};
  OK(api.hipModuleLaunchKernel(module["vector_add"], 4, 1, 1, 256, 1, 1, 0, nullptr, nullptr, extra));
  packed.c = nullptr;  // was copied
  EXPECT_EQ(c.values()[10], 22.0f);

  hip::LaunchAttribute attribute{};
  attribute.id = hip::kAttributeClusterDimension;
  std::fill_n(attribute.value.cluster, 3, 1u);
  hip::LaunchConfig config{{4, 1, 1}, {256, 1, 1}, 0, nullptr, &attribute, 1};
  OK(api.hipMemset(c.data, 0, kCount * sizeof(float)));
  packed.c = c.data;
  OK(api.hipDrvLaunchKernelEx(&config, module["vector_add"], nullptr, extra));
  EXPECT_EQ(c.values()[kCount - 1], 2.0f * kCount);
  std::fill_n(attribute.value.cluster, 2, 1u << 16);  // whose product wraps to 0
  EXPECT_EQ(api.hipDrvLaunchKernelEx(&config, module["vector_add"], nullptr, extra), 801);
  std::fill_n(attribute.value.cluster, 3, 1u);
  attribute.value.cluster[0] = 2;
  EXPECT_EQ(api.hipDrvLaunchKernelEx(&config, module["vector_add"], nullptr, extra), 801);

  OK(api.hipMemset(c.data, 0, kCount * sizeof(float)));
  OK(api.hipExtModuleLaunchKernel(module["vector_add"], 1024, 1, 1, 256, 1, 1, 0, nullptr, nullptr, extra, nullptr,
                                  nullptr, 0));
  EXPECT_EQ(c.values()[kCount - 1], 2.0f * kCount);
  EXPECT_EQ(api.hipExtModuleLaunchKernel(module["matmul_tiled"], 256, 1, 1, 256, 1, 1, ~size_t{0}, nullptr, nullptr,
                                         extra, nullptr, nullptr, 0),
            1);  // more LDS than there is, where its sum with the kernel's own wraps
  void* parameters[] = {&packed.a, &packed.b, &packed.c, &packed.n};
  OK(api.hipModuleLaunchCooperativeKernel(module["vector_add"], 4, 1, 1, 256, 1, 1, 0, nullptr, parameters));
  EXPECT_EQ(
      api.hipModuleLaunchCooperativeKernel(module["vector_add"], 1u << 20, 1, 1, 256, 1, 1, 0, nullptr, parameters),
      720);
  OK(api.hipDeviceSynchronize());
  int registers = 0, blocks = 0;
  OK(api.hipFuncGetAttribute(&registers, hip::kFunctionNumRegs, module["vector_add"]));
  OK(api.hipModuleOccupancyMaxActiveBlocksPerMultiprocessor(&blocks, module["vector_add"], 256, 0));
  EXPECT_EQ(registers > 0 && blocks == 8, true);
}

/// What Triton's device_print writes, by ROCm's device libraries.
TEST(printing) {
  const Loaded module(root + "/tests/emulator/kernels/triton_print.hsaco");
  const Buffer<float> x(ramp(0));
  for (int launches = 0; launches < 2; ++launches) {
    OK(launch(module["print_kernel"], 2, 64, nullptr, x.data, 100, nullptr, nullptr));
  }
  OK(api.hipDeviceSynchronize());
}

TEST(assertion) {
  const Loaded module(root + "/tests/emulator/kernels/triton_assert.hsaco");
  const Buffer<float> x(ramp(0));
  OK(launch(module["assert_kernel"], 1, 64, nullptr, x.data, 64, nullptr, nullptr));
  OK(api.hipDeviceSynchronize());
  EXPECT_EQ(x.values()[63], 64.0f);
  OK(launch(module["assert_kernel"], 2, 64, nullptr, x.data, 128, nullptr, nullptr));
  EXPECT_EQ(api.hipDeviceSynchronize(), 710);
  EXPECT_EQ(std::string(api.hipGetErrorName(710)) == "hipErrorAssert", true);
}

/// Of a buffer of arguments arrives what the file's metadata lists, as on AMD's runtime: nothing where it lists none.
TEST(unlisted_arguments) {
  const Loaded module(probes());
  const Buffer<int> from(std::vector<int>(64, 7)), to(std::vector<int>(64, 0));
  struct {
    int *from, *to;
    int offset, unused;
  } packed{from.data, to.data, 0, 0};
  size_t size = sizeof packed;
  void* extra[] = {reinterpret_cast<void*>(1), &packed, reinterpret_cast<void*>(2), &size, reinterpret_cast<void*>(3)};
  OK(api.hipModuleLaunchKernel(module["load_at"], 1, 1, 1, 64, 1, 1, 0, nullptr, nullptr, extra));
  EXPECT_EQ(api.hipDeviceSynchronize(), 700);  // its pointers are null
}

/// Every hidden argument is the runtime's, and the block may have three dimensions.
TEST(hidden) {
  const Loaded module(language());
  const Buffer<int> out(16);
  void* parameters[] = {const_cast<int**>(&out.data)};
  // One workgroup: several would write the same place, a race that ThreadSanitizer finds.
  OK(api.hipModuleLaunchKernel(module["hidden_arguments"], 1, 1, 1, 4, 3, 2, 0, nullptr, parameters, nullptr));
  const std::vector<int> expected{4, 3, 2, 4, 3, 2, 1, 1, 1, 0, 3};
  const std::vector<int> values = out.values();
  for (size_t i = 0; i < expected.size(); ++i) EXPECT_EQ(values[i], expected[i]);
}

TEST(globals) {
  const Loaded first(language()), second(language());
  const Buffer<int> out(2);
  for (int launches = 1; launches <= 3; ++launches) {
    OK(launch(first["use_globals"], 1, 1, nullptr, out.data));
    EXPECT_EQ(out.values()[0], 40 + launches);
    EXPECT_EQ(out.values()[1], 7);
  }
  OK(launch(second["use_globals"], 1, 1, nullptr, out.data));  // each module has its own
  EXPECT_EQ(out.values()[0], 41);
  void* counter = nullptr;
  size_t size = 0;
  OK(api.hipModuleGetGlobal(&counter, &size, first.module, "counter"));
  EXPECT_EQ(size, sizeof(int));
  const int value = 100;
  OK(api.hipMemcpyHtoD(counter, &value, sizeof(value)));
  OK(launch(first["use_globals"], 1, 1, nullptr, out.data));
  EXPECT_EQ(out.values()[0], 101);
  EXPECT_EQ(api.hipModuleGetGlobal(&counter, &size, first.module, "nothing"), 500);
}

TEST(modules) {
  hip::Module module = nullptr;
  hip::Function function = nullptr;
  EXPECT_EQ(api.hipModuleLoadData(&module, "no code object, whatever it is"), 200);
  EXPECT_EQ(api.hipModuleLoadData(&module, reinterpret_cast<void*>(64)), 1);
  EXPECT_EQ(api.hipModuleLoad(&module, "/nowhere"), 301);
  const std::string corpus = root + "/tests/code_object/corpus/";
  EXPECT_EQ(api.hipModuleLoad(&module, (corpus + "other_text").c_str()), 200);
  EXPECT_EQ(api.hipModuleLoad(&module, (corpus + "clang_v5_gfx1100.co").c_str()), 209);
  for (const char* name : {"clang_v5_gfx942.co", "bundle_plain.hipfb", "bundle_zstd_v1.hipfb", "bundle_zstd_v3.hipfb",
                           "host_library.elf"}) {
    const std::vector<char> image = read_file(corpus + name);
    OK(api.hipModuleLoadData(&module, image.data()));
    OK(api.hipModuleUnload(module));
  }
  OK(api.hipModuleLoad(&module, basics().c_str()));
  EXPECT_EQ(api.hipModuleGetFunction(&function, module, "nothing"), 500);
  EXPECT_EQ(api.hipModuleGetFunction(&function, module, ""), 1);
  EXPECT_EQ(api.hipModuleGetFunction(&function, module, nullptr), 1);
  OK(api.hipModuleGetFunction(&function, module, "vector_add"));
  OK(api.hipModuleUnload(module));
  constexpr int kNotFound = 500;
  EXPECT_EQ(api.hipModuleUnload(module), kNotFound);
  EXPECT_EQ(api.hipModuleUnload(nullptr), 400);
  EXPECT_EQ(api.hipModuleLoad(&module, ""), 1);
  EXPECT_EQ(launch(function, 1, 64, nullptr, nullptr, nullptr, nullptr, 0), 400);

  Slow slow;  // modules stay usable while launches are queued
  const hip::Stream stream = new_stream();
  slow.enqueue(stream);
  slow.enqueue(stream);
  OK(api.hipModuleUnload(std::exchange(slow.module.module, nullptr)));
  OK(api.hipStreamSynchronize(stream));
  EXPECT_EQ(slow.is_done(), true);
  OK(api.hipStreamDestroy(stream));
}

/// The caller of hipModuleLoadData does not say how long an image is: its headers do.
TEST(images_that_say_they_are_longer) {
  const auto load = [](std::vector<char> image, size_t at, uint64_t value, size_t size) {
    std::memcpy(&image[at], &value, size);
    hip::Module module = nullptr;
    EXPECT_EQ(api.hipModuleLoadData(&module, image.data()), 200);
  };
  constexpr size_t kSegments = 32, kSegmentCount = 56, kSectionOffset = 24, kSectionSize = 32, kHeader = 64;
  for (const std::string& path : {basics(), root + "/tests/code_object/corpus/host_library.elf"}) {
    std::vector<char> image = read_file(path);
    uint64_t sections = 0;
    uint16_t count = 0;
    std::memcpy(&sections, &image[40], sizeof(sections));
    std::memcpy(&count, &image[60], sizeof(count));
    // Of the last section, which nobody reads or which holds the names.
    const size_t last = sections + (count - 1) * kHeader;
    for (const uint64_t wild : {~uint64_t{0}, ~uint64_t{0} - 64, uint64_t{1} << 62, uint64_t{1} << 40}) {
      load(image, last + kSectionOffset, wild, 8);
      load(image, last + kSectionSize, wild, 8);
    }
    std::memset(&image[kSegmentCount], 0, 2);  // a table of no entries, wherever it is said to be
    std::memset(&image[kSegments], 0xff, 8);
    hip::Module module = nullptr;
    if (path != basics()) OK(api.hipModuleLoadData(&module, image.data()));
  }
}

/// What ROCm 6.4 answers (ROCm/clr, hipamd/src/hip_module.cpp).
TEST(geometry) {
  constexpr hip::Error kValue = 1, kConfiguration = 9, kHandle = 400, kLaunchFailure = 719, kTooLarge = 720;
  const Loaded module(basics()), others(language());
  const hip::Function add = module["vector_add"];
  const Buffer<float> a(ramp(0));
  int count = 0;
  void* parameters[] = {const_cast<float**>(&a.data), const_cast<float**>(&a.data), const_cast<float**>(&a.data),
                        &count};
  using Sizes = std::array<unsigned, 3>;
  const auto with = [&](Sizes grid, Sizes block, unsigned shared = 0, hip::Function function = nullptr) {
    return api.hipModuleLaunchKernel(function == nullptr ? add : function, grid[0], grid[1], grid[2], block[0],
                                     block[1], block[2], shared, nullptr, parameters, nullptr);
  };
  EXPECT_EQ(with({0, 1, 1}, {64, 1, 1}), kValue);
  EXPECT_EQ(with({1, 1, 0}, {64, 1, 1}), kValue);
  EXPECT_EQ(with({1, 1, 1}, {0, 1, 1}), kValue);  // so many work-items are none, which is what it looks at
  EXPECT_EQ(with({1, 1, 1}, {1025, 1, 1}), kValue);
  EXPECT_EQ(with({1, 1, 1}, {32, 32, 2}), kValue);
  EXPECT_EQ(with({1, 1, 1}, {1u << 31, 1u << 31, 4}), kValue);  // where the product wraps to 0
  EXPECT_EQ(with({1u << 31, 1, 1}, {1, 1, 1}), kValue);
  EXPECT_EQ(with({1, 65537, 1}, {1, 1, 1}), kValue);
  EXPECT_EQ(with({1, 1, 65537}, {1, 1, 1}), kValue);
  EXPECT_EQ(with({(1u << 31) - 1, 1, 1}, {64, 1, 1}), kConfiguration);
  EXPECT_EQ(with({1, 1, 1}, {64, 1, 1}, (64 << 10) + 1), kValue);
  EXPECT_EQ(api.hipModuleLaunchKernel(add, 1, 1, 1, 64, 1, 1, 0, nullptr, nullptr, nullptr), kValue);
  EXPECT_EQ(api.hipModuleLaunchKernel(add, 1, 1, 1, 64, 1, 1, 0, nullptr, parameters, parameters), kValue);
  EXPECT_EQ(api.hipModuleLaunchKernel(nullptr, 1, 1, 1, 64, 1, 1, 0, nullptr, parameters, nullptr), kHandle);
  const Loaded bounded(conformance());
  EXPECT_EQ(with({1, 1, 1}, {257, 1, 1}, 0, bounded["reverse_static"]), kLaunchFailure);

  const auto in_items = [&](unsigned items, unsigned block, hip::Function function) {
    return api.hipExtModuleLaunchKernel(function, items, 1, 1, block, 1, 1, 0, nullptr, parameters, nullptr, nullptr,
                                        nullptr, 0);
  };
  EXPECT_EQ(in_items(0, 64, add), kValue);
  EXPECT_EQ(in_items(64, 0, add), kConfiguration);
  EXPECT_EQ(in_items(64, 1025, add), kValue);
  EXPECT_EQ(in_items(64, 64, nullptr), kHandle);
  EXPECT_EQ(in_items(64, 257, bounded["reverse_static"]), kLaunchFailure);
  EXPECT_EQ(in_items(96, 64, add), kValue);  // a last workgroup of 32, which the emulator does not run

  const auto cooperative = [&](Sizes grid, Sizes block) {
    return api.hipModuleLaunchCooperativeKernel(add, grid[0], grid[1], grid[2], block[0], block[1], block[2], 0,
                                                nullptr, parameters);
  };
  EXPECT_EQ(cooperative({0, 1, 1}, {64, 1, 1}), kValue);
  EXPECT_EQ(cooperative({1, 1, 1}, {1025, 1, 1}), kValue);
  EXPECT_EQ(cooperative({1, 1u << 31, 1}, {1, 2, 1}), kConfiguration);
  EXPECT_EQ(cooperative({1u << 22, 1u << 22, 1u << 20}, {1, 1, 1}), kTooLarge);  // where the product wraps to 0
  OK(with({1, 1, 1}, {64, 1, 1}));
  OK(in_items(64, 64, add));
  OK(api.hipDeviceSynchronize());

  count = 40;  // a block that is larger than the grid is made as small
  OK(api.hipMemsetD32(a.data, 0x3f800000, kCount));
  OK(in_items(20, 64, add));
  OK(api.hipDeviceSynchronize());
  EXPECT_EQ(a.values()[19], 2.0f);
  EXPECT_EQ(a.values()[20], 1.0f);
}

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

TEST(functions_by_name) {
  constexpr int kVersion = 604;
  void* function = nullptr;
  auto status = hip::kProcAddressNotFound;
  OK(api.hipGetProcAddress("hipGetDevice", &function, kVersion, 0, &status));
  EXPECT_EQ(function == reinterpret_cast<void*>(api.hipGetDevice), true);
  EXPECT_EQ(static_cast<int>(status), 0);
  OK(api.hipGetProcAddress("hipGetErrorString", &function, kVersion, 0, nullptr));
  EXPECT_EQ(function == reinterpret_cast<void*>(api.hipGetErrorString), true);
  OK(api.hipGetProcAddress("hipGetDeviceProperties", &function, kVersion, 0, nullptr));
  EXPECT_EQ(function == reinterpret_cast<void*>(api.hipGetDevicePropertiesR0600), true);
  OK(api.hipGetProcAddress("hipGetDeviceProperties", &function, 502, 0, nullptr));
  EXPECT_EQ(function == reinterpret_cast<void*>(api.hipGetDeviceProperties), true);
  EXPECT_EQ(api.hipGetProcAddress("hipNothing", &function, kVersion, 0, &status), 1);
  EXPECT_EQ(static_cast<int>(status), 1);
  EXPECT_EQ(function == nullptr, true);
  EXPECT_EQ(api.hipGetProcAddress("", &function, kVersion, 0, nullptr), 1);
  EXPECT_EQ(api.hipGetProcAddress(nullptr, &function, kVersion, 0, nullptr), 1);
  EXPECT_EQ(api.hipGetProcAddress("hipGetDevice", nullptr, kVersion, 0, nullptr), 1);
  EXPECT_EQ(api.hipGetProcAddress("hipGetDevice", &function, kVersion, 1, nullptr), 1);
}

/// Kernels reach memory that the program did not get from HIP.
TEST(process_memory) {
  const Loaded module(basics());
  std::vector<float> a = ramp(0), c(kCount);
  OK(launch(module["vector_add"], 4, 256, nullptr, a.data(), a.data(), c.data(), kCount));
  OK(api.hipDeviceSynchronize());
  EXPECT_EQ(c[kCount - 1], 2.0f * (kCount - 1));
}

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

TEST(illegal_instruction) {
  const Loaded module(probes());
  void* parameters[] = {nullptr, nullptr, nullptr, nullptr};
  uint64_t zero = 0;
  std::fill_n(parameters, 4, &zero);
  OK(api.hipModuleLaunchKernel(module["unknown_instruction"], 1, 1, 1, 64, 1, 1, 0, nullptr, parameters, nullptr));
  EXPECT_EQ(api.hipDeviceSynchronize(), 719);
}

}  // namespace

int main(int count, char** arguments) {
  if (count != 4) return 2;
  api.open(std::strcmp(arguments[1], "-") == 0 ? nullptr : arguments[1]);
  root = arguments[2];
  for (const Test& test : tests()) {
    if (std::strcmp(arguments[3], test.name) != 0) continue;
    test.run();
    return 0;
  }
  std::fprintf(stderr, "no test '%s'\n", arguments[3]);
  return 2;
}
