// A program that uses libwave_hip_emulator.so: LIBRARY ROOT TEST. LIBRARY may be "-" where the emulator is linked in.
// Here are the tests of devices, modules and launches; other files of its tests are linked with this one.
#include <algorithm>
#include <array>
#include <cstring>
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
  OK(api.hipFuncSetAttribute(module["vector_add"], hip::kMaxDynamicSharedMemory, 32 << 10));
  EXPECT_EQ(api.hipFuncSetAttribute(module["vector_add"], hip::kMaxDynamicSharedMemory, 1 << 20), 1);
  OK(api.hipModuleOccupancyMaxActiveBlocksPerMultiprocessor(&blocks, module["vector_add"], 256, 0));
  EXPECT_EQ(registers > 0 && blocks == 8, true);
}

/// What Triton's device_print writes, by ROCm's device libraries.
/// A block, or memory, that no multiprocessor has is no error: none of these blocks fits.
TEST(occupancy) {
  const Loaded module(basics());
  const hip::Function function = module["vector_add"];
  int blocks = -1;
  OK(api.hipModuleOccupancyMaxActiveBlocksPerMultiprocessor(&blocks, function, 256, 0));
  EXPECT_EQ(blocks > 0, true);
  OK(api.hipModuleOccupancyMaxActiveBlocksPerMultiprocessor(&blocks, function, 1025, 0));
  EXPECT_EQ(blocks, 0);
  blocks = -1;
  OK(api.hipModuleOccupancyMaxActiveBlocksPerMultiprocessorWithFlags(&blocks, function, 256, size_t{1} << 31, 0));
  EXPECT_EQ(blocks, 0);
  OK(api.hipModuleOccupancyMaxActiveBlocksPerMultiprocessor(&blocks, function, 256, ~size_t{0}));
  EXPECT_EQ(blocks, 0);
  for (const int none : {0, -1}) {
    EXPECT_EQ(api.hipModuleOccupancyMaxActiveBlocksPerMultiprocessor(&blocks, function, none, 0), 1);
  }
}

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
  EXPECT_EQ(api.hipDeviceSynchronize(), 719);  // hipErrorLaunchFailure
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
  void* only_address = nullptr;  // one of both may be all that is asked
  size_t only_size = 0;
  OK(api.hipModuleGetGlobal(&only_address, nullptr, first.module, "counter"));
  OK(api.hipModuleGetGlobal(nullptr, &only_size, first.module, "counter"));
  EXPECT_EQ(only_address == counter, true);
  EXPECT_EQ(only_size, sizeof(int));
  EXPECT_EQ(api.hipModuleGetGlobal(nullptr, nullptr, first.module, "counter"), 1);
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
/// A library's kernels are of the device that is current when they are asked for.
TEST(libraries) {
  constexpr int kHandle = 400, kNotFound = 500;
  const std::vector<char> image = read_file(basics());
  hip::Library library = nullptr, other = nullptr;
  hip::LibraryKernel kernel = nullptr, of_second = nullptr;
  OK(api.hipLibraryLoadData(&library, image.data(), nullptr, nullptr, 0, nullptr, nullptr, 0));
  OK(api.hipLibraryLoadFromFile(&other, basics().c_str(), nullptr, nullptr, 0, nullptr, nullptr, 0));
  unsigned count = 0, from_file = 0;
  OK(api.hipLibraryGetKernelCount(&count, library));
  OK(api.hipLibraryGetKernelCount(&from_file, other));
  EXPECT_EQ(count > 1 && count == from_file, true);
  OK(api.hipLibraryGetKernel(&kernel, library, "vector_add"));
  EXPECT_EQ(api.hipLibraryGetKernel(&kernel, library, "no_such_kernel"), kNotFound);
  OK(api.hipSetDevice(1));
  OK(api.hipLibraryGetKernel(&of_second, library, "vector_add"));
  EXPECT_EQ(kernel != of_second, true);
  for (const int device : {0, 1}) {
    OK(api.hipSetDevice(device));
    const Buffer<float> a(ramp(1)), c(kCount);
    const auto function = reinterpret_cast<hip::Function>(device == 0 ? kernel : of_second);
    OK(launch(function, 4, 256, nullptr, a.data, a.data, c.data, kCount));
    EXPECT_EQ(c.values()[7], 16.0f);
  }
  OK(api.hipLibraryUnload(library));
  int value = 0;
  EXPECT_EQ(api.hipFuncGetAttribute(&value, hip::kFunctionNumRegs, reinterpret_cast<hip::Function>(kernel)), kHandle);
  EXPECT_EQ(api.hipLibraryUnload(library), kHandle);
  EXPECT_EQ(api.hipLibraryGetKernelCount(&count, library), kHandle);
  const std::vector<char> none(4096, 'x');
  EXPECT_EQ(api.hipLibraryLoadData(&library, none.data(), nullptr, nullptr, 0, nullptr, nullptr, 0), 200);
  EXPECT_EQ(api.hipLibraryLoadFromFile(&library, "no such file", nullptr, nullptr, 0, nullptr, nullptr, 0), 301);
  OK(api.hipLibraryUnload(other));
}

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
  EXPECT_EQ(in_items(96, 64, add), kValue);  // a last workgroup of 32, and the kernel is for whole ones

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
