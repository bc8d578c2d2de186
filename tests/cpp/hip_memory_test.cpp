// Tests of memory that programs allocate, copy and fill in other ways than by bytes in a row.
#include <sys/mman.h>
#include <unistd.h>

#include <array>
#include <cstring>

#include "hip_program.h"

namespace {

constexpr int kPitchError = 12, kUnsupported = 801;

TEST(rectangles) {
  constexpr size_t kWidth = 40, kHeight = 5, kHostPitch = 48;
  void* data = nullptr;
  size_t pitch = 0;
  OK(api.hipMallocPitch(&data, &pitch, kWidth, kHeight));
  EXPECT_EQ(pitch, 256u);
  std::vector<uint8_t> host(kHostPitch * kHeight), back(kHostPitch * kHeight, 0xee);
  std::iota(host.begin(), host.end(), uint8_t{0});
  OK(api.hipMemset2D(data, pitch, 7, kWidth, kHeight));
  OK(api.hipMemcpy2D(data, pitch, host.data(), kHostPitch, kWidth - 8, kHeight, hip::kHostToDevice));
  OK(api.hipMemcpy2DAsync(back.data(), kHostPitch, data, pitch, kWidth, kHeight, hip::kDeviceToHost, nullptr));
  for (size_t y = 0; y < kHeight; ++y) {
    for (size_t x = 0; x < kHostPitch; ++x) {
      const size_t at = y * kHostPitch + x;
      EXPECT_EQ(int{back[at]}, x < kWidth - 8 ? int{host[at]} : x < kWidth ? 7 : 0xee);
    }
  }
  EXPECT_EQ(api.hipMemcpy2D(data, 16, host.data(), kHostPitch, kWidth, kHeight, hip::kHostToDevice), kPitchError);
  EXPECT_EQ(api.hipMemcpy2D(data, pitch, host.data(), kHostPitch, kWidth, kHeight + 1, hip::kHostToDevice), 1);
  EXPECT_EQ(api.hipMemcpy2D(data, pitch, host.data(), kHostPitch, kWidth, kHeight, hip::MemcpyKind{9}), 21);
  OK(api.hipMemset2DAsync(data, pitch, 1, kWidth, 2, nullptr));
  EXPECT_EQ(api.hipMemset2D(data, pitch, 1, kWidth, 6), 1);

  hip::Copy2d copy{};
  // The type says which field counts: the others may hold anything.
  constexpr hip::MemoryType kHost{1}, kDevice{2}, kArray{10};
  void* const wild = &copy;
  copy.from = {.x = 4, .y = 1, .type = kDevice, .host = wild, .device = data, .array = nullptr, .pitch = pitch};
  copy.to = {.x = 0, .y = 0, .type = kHost, .host = back.data(), .device = wild, .array = nullptr, .pitch = kHostPitch};
  copy.width = 8;
  copy.height = 1;
  OK(api.hipMemcpyParam2D(&copy));
  EXPECT_EQ(int{back[0]}, 1);
  copy.from.y = 2;
  OK(api.hipMemcpyParam2DAsync(&copy, nullptr));
  EXPECT_EQ(int{back[0]}, int{host[2 * kHostPitch + 4]});
  copy.height = 2;
  copy.to.pitch = 0;  // as long as what is copied
  OK(api.hipDrvMemcpy2DUnaligned(&copy));
  EXPECT_EQ(int{back[8]}, int{host[3 * kHostPitch + 4]});
  copy.from.type = kArray;
  EXPECT_EQ(api.hipDrvMemcpy2DUnaligned(&copy), 1);
  OK(api.hipFree(data));
}

TEST(boxes) {
  hip::PitchedPointer data{};
  OK(api.hipMalloc3D(&data, {12, 3, 2}));
  EXPECT_EQ(data.pitch, 256u);
  EXPECT_EQ(data.height, 3u);
  OK(api.hipMemset3D(data, 5, {12, 3, 2}));
  std::vector<uint8_t> host(2 * 3 * 2, 9), back(12 * 3 * 2);
  hip::Copy3d copy{};
  copy.from = {host.data(), 2, 2, 3};
  copy.to = data;
  copy.to_position = {4, 0, 0};
  copy.extent = {2, 3, 2};
  copy.kind = hip::kHostToDevice;
  OK(api.hipMemcpy3D(&copy));
  hip::Copy3d all{};
  all.from = data;
  all.to = {back.data(), 12, 12, 3};
  all.extent = {12, 3, 2};
  all.kind = hip::kDeviceToHost;
  OK(api.hipMemcpy3DAsync(&all, nullptr));
  for (size_t at = 0; at < back.size(); ++at) EXPECT_EQ(int{back[at]}, at % 12 == 4 || at % 12 == 5 ? 9 : 5);
  all.extent = {13, 1, 1};  // one row may go on behind the pitch
  OK(api.hipMemcpy3D(&all));
  for (const hip::Extent& extent : {hip::Extent{13, 2, 1}, hip::Extent{13, 1, 2}}) {
    all.extent = extent;
    EXPECT_EQ(api.hipMemcpy3D(&all), kPitchError);
  }
  all.extent = {12, 3, 3};
  EXPECT_EQ(api.hipMemcpy3D(&all), 1);
  all.from_array = reinterpret_cast<hip::Array>(&back);
  EXPECT_EQ(api.hipMemcpy3D(&all), 1);  // beside a pointer
  EXPECT_EQ(api.hipMemset3DAsync(data, 5, {12, 4, 2}, nullptr), 1);
  copy.from.height = copy.to.height = 0;  // planes in one place, of more bytes than can be counted
  copy.extent = {2, 1, size_t{1} << 63};
  EXPECT_EQ(api.hipMemcpy3D(&copy), 1);
  OK(api.hipFree(data.pointer));
}

/// Rows and planes that lie over each other, of which there are more bytes than the allocation has.
TEST(boxes_larger_than_memory) {
  constexpr size_t kPitch = 2, kRows = 1 << 10, kSize = kPitch * kRows * 4;
  char *from = nullptr, *to = nullptr;
  OK(api.hipMalloc(reinterpret_cast<void**>(&from), kSize));
  OK(api.hipMalloc(reinterpret_cast<void**>(&to), kSize));
  hip::Copy3d copy{};
  copy.from = {from, kPitch, kPitch, 1};  // planes of one row each
  copy.to = {to, kPitch, kPitch, 1};
  copy.extent = {kPitch, kRows, kRows};
  copy.kind = hip::kCopyDefault;
  EXPECT_EQ(api.hipMemcpy3D(&copy), 1);
  EXPECT_EQ(api.hipMemcpy3DAsync(&copy, nullptr), 1);
  EXPECT_EQ(api.hipMemset3D(copy.to, 0, copy.extent), 1);
  copy.extent.depth = 4;
  OK(api.hipMemcpy3D(&copy));
  OK(api.hipMemset3D(copy.to, 0, copy.extent));
  // A plane of 2^64 bytes is none of 0.
  copy.from = copy.to = {to, size_t{1} << 32, 2, size_t{1} << 32};
  copy.extent = {1, 1, 2};
  EXPECT_EQ(api.hipMemcpy3D(&copy), 1);
  EXPECT_EQ(api.hipMemset3D(copy.to, 0, copy.extent), 1);
  OK(api.hipFree(from));
  OK(api.hipFree(to));
}

/// Elements that do not lie as the host wants them.
TEST(fills_with_any_pitch) {
  uint8_t* data = nullptr;
  OK(api.hipMalloc(reinterpret_cast<void**>(&data), 64));
  std::array<uint8_t, 64> back{};
  OK(api.hipMemset(data, 0, 64));
  OK(api.hipMemsetD2D16(data, 7, 0x0102, 3, 3));
  OK(api.hipMemsetD2D32(data + 32, 9, 0x01020304, 2, 2));
  OK(api.hipMemcpy(back.data(), data, 64, hip::kDeviceToHost));
  for (size_t at = 0; at < 32; ++at) {
    const bool written = at < 21 && at % 7 != 6;
    EXPECT_EQ(int{back[at]}, written ? 2 - static_cast<int>(at % 7 % 2) : 0);
  }
  for (size_t at = 0; at < 32; ++at) {
    const bool written = at < 18 && at % 9 != 8;
    EXPECT_EQ(int{back[32 + at]}, written ? 4 - static_cast<int>(at % 9 % 4) : 0);
  }
  OK(api.hipFree(data));
}

/// As the driver's interface has them since ROCm 6, at once and in graphs.
TEST(boxes_of_the_driver) {
  constexpr int kHost = 1, kDevice = 2;
  hip::PitchedPointer data{};
  OK(api.hipMalloc3D(&data, {12, 3, 2}));
  std::vector<uint8_t> host(12), back(12 * 3 * 2);
  std::iota(host.begin(), host.end(), uint8_t{1});
  using Layout = hip::DriverCopyLayout<size_t>;
  const auto given = [](const Layout& copy) { return reinterpret_cast<const hip::DriverCopy3d*>(&copy); };
  Layout write{};
  write.from = {0, 0, 0, 0, hip::MemoryType{kHost}, host.data(), nullptr, nullptr, 2, 3};
  write.to = {4, 0, 0, 0, hip::MemoryType{kDevice}, nullptr, data.pointer, nullptr, data.pitch, 3};
  write.width = 2, write.height = 3, write.depth = 2;
  Layout read{};
  read.from = {0, 0, 0, 0, hip::MemoryType{kDevice}, nullptr, data.pointer, nullptr, data.pitch, 3};
  read.to = {0, 0, 0, 0, hip::MemoryType{kHost}, back.data(), nullptr, nullptr, 12, 3};
  read.width = 12, read.height = 3, read.depth = 2;
  const auto expect = [&](int value) {
    for (size_t at = 0; at < back.size(); ++at) {
      const bool written = at % 12 == 4 || at % 12 == 5;
      EXPECT_EQ(int{back[at]}, written ? host[at / 12 * 2 + at % 12 - 4] : value);
    }
  };
  OK(api.hipMemset3D(data, 5, {12, 3, 2}));
  OK(api.hipDrvMemcpy3D(given(write)));
  OK(api.hipDrvMemcpy3DAsync(given(read), nullptr));
  OK(api.hipDeviceSynchronize());
  expect(5);

  hip::Graph graph = nullptr;
  hip::GraphExec exec = nullptr;
  hip::GraphNode fill = nullptr, there = nullptr, again = nullptr;
  const hip::FillParameters sevens{data.pointer, 1, 6, data.pitch, 7, 12};
  OK(api.hipGraphCreate(&graph, 0));
  OK(api.hipDrvGraphAddMemsetNode(&fill, graph, nullptr, 0, &sevens, nullptr));
  OK(api.hipDrvGraphAddMemcpyNode(&there, graph, &fill, 1, given(read), nullptr));
  OK(api.hipDrvGraphMemcpyNodeSetParams(there, given(write)));
  OK(api.hipDrvGraphAddMemcpyNode(&again, graph, &there, 1, given(write), nullptr));
  OK(api.hipGraphInstantiate(&exec, graph, nullptr, nullptr, 0));
  OK(api.hipDrvGraphExecMemcpyNodeSetParams(exec, again, given(read), nullptr));
  OK(api.hipGraphLaunch(exec, nullptr));
  OK(api.hipDeviceSynchronize());
  expect(7);
  Layout told{};
  OK(api.hipDrvGraphMemcpyNodeGetParams(there, reinterpret_cast<hip::DriverCopy3d*>(&told)));
  EXPECT_EQ(told.from.host == host.data() && told.from.device == nullptr && told.from.type == kHost, true);
  EXPECT_EQ(static_cast<char*>(told.to.device) + told.to.x - static_cast<char*>(data.pointer), 4);
  EXPECT_EQ(told.to.type == kDevice && told.to.pitch == data.pitch && told.width == 2 && told.depth == 2, true);
  EXPECT_EQ(api.hipDrvMemcpy3D(nullptr), 1);
  read.to.pitch = 11;
  EXPECT_EQ(api.hipDrvMemcpy3D(given(read)), 1);  // another error than hipMemcpy3D's
  write.to.level = 1;
  EXPECT_EQ(api.hipDrvMemcpy3D(given(write)), kUnsupported);
  OK(api.hipGraphExecDestroy(exec));
  OK(api.hipGraphDestroy(graph));
  OK(api.hipFree(data.pointer));
}

/// Kept for each page of managed memory; a property in which pages differ is none.
TEST(advice) {
  constexpr size_t kPages = 4 * 4096;
  constexpr int kNone = -2, kCpu = -1;
  char* memory = nullptr;
  OK(api.hipMallocManaged(reinterpret_cast<void**>(&memory), kPages, 1));
  const auto get = [&](hip::RangeAttribute attribute, size_t offset, size_t size) {
    int value = 77;
    OK(api.hipMemRangeGetAttribute(&value, sizeof value, attribute, memory + offset, size));
    return value;
  };
  EXPECT_EQ(get(hip::kRangeReadMostly, 0, kPages), 0);
  EXPECT_EQ(get(hip::kRangePreferredLocation, 0, kPages), kNone);
  OK(api.hipMemAdvise(memory + 4096, 1, hip::MemoryAdvice{1}, 0));  // mostly read: the second page
  EXPECT_EQ(get(hip::kRangeReadMostly, 4096, 4096), 1);
  EXPECT_EQ(get(hip::kRangeReadMostly, 0, kPages), 0);
  OK(api.hipMemAdvise(memory, kPages, hip::MemoryAdvice{3}, 1));
  EXPECT_EQ(get(hip::kRangePreferredLocation, 100, 8192), 1);
  OK(api.hipMemAdvise(memory, 4096, hip::MemoryAdvice{4}, 1));
  EXPECT_EQ(get(hip::kRangePreferredLocation, 0, kPages), kNone);
  OK(api.hipMemAdvise_v2(memory, kPages, hip::MemoryAdvice{5}, {hip::kLocationDevice, 1}));
  OK(api.hipMemAdvise(memory, kPages, hip::MemoryAdvice{5}, kCpu));
  OK(api.hipMemPrefetchAsync(memory, kPages, kCpu, nullptr));
  OK(api.hipMemPrefetchAsync_v2(memory, 4096, {hip::kLocationDevice, 1}, 0, nullptr));
  EXPECT_EQ(get(hip::kRangeLastPrefetchLocation, 0, 4096), 1);
  EXPECT_EQ(get(hip::kRangeLastPrefetchLocation, 4096, 4096), kCpu);
  OK(api.hipMemAdvise(memory, 4096, hip::MemoryAdvice{100}, 0));
  EXPECT_EQ(get(hip::kRangeCoherencyMode, 0, 4096), 1);
  EXPECT_EQ(get(hip::kRangeCoherencyMode, 0, kPages), 2);
  int devices[3] = {}, prefetched = 0;
  void* data[] = {devices, &prefetched};
  size_t sizes[] = {sizeof devices, sizeof prefetched};
  hip::RangeAttribute attributes[] = {hip::kRangeAccessedBy, hip::kRangeLastPrefetchLocation};
  OK(api.hipMemRangeGetAttributes(data, sizes, attributes, 2, memory, kPages));
  EXPECT_EQ(devices[0] == kCpu && devices[1] == 1 && devices[2] == kNone && prefetched == kNone, true);
  constexpr int kInvalid = 1;
  EXPECT_EQ(api.hipMemRangeGetAttribute(devices, 8, hip::kRangeReadMostly, memory, 1), kInvalid);
  EXPECT_EQ(api.hipMemRangeGetAttribute(devices, 4, hip::RangeAttribute{9}, memory, 1), kInvalid);
  EXPECT_EQ(api.hipMemRangeGetAttribute(devices, 4, hip::kRangeReadMostly, memory, 2 * kPages), kInvalid);
  EXPECT_EQ(api.hipMemAdvise(memory, 1, hip::MemoryAdvice{7}, 0), kInvalid);
  OK(api.hipFree(memory));
  const Buffer<int> other(4);
  EXPECT_EQ(api.hipMemRangeGetAttribute(devices, 4, hip::kRangeReadMostly, other.data, 4), kInvalid);
}

/// Kernels may touch whatever the process has mapped, so that programs may advise of it. AMD's runtime says of all
/// memory whether host and device see each other's writes to it while kernels run.
TEST(advice_about_other_memory) {
  constexpr int kReadMostly = 1, kInvalid = 1, kFineGrained = 0, kCoarse = 1;
  constexpr size_t kSize = 3 * 4096;
  void* const mapped = mmap(nullptr, kSize, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  OK(api.hipMemAdvise(mapped, kSize, hip::MemoryAdvice{kReadMostly}, 0));
  OK(api.hipMemPrefetchAsync(mapped, kSize, 1, nullptr));
  OK(api.hipMemAdvise(mapped, kSize, hip::MemoryAdvice{kReadMostly}, 99));  // which is not about a device
  munmap(mapped, kSize);
  EXPECT_EQ(api.hipMemAdvise(mapped, kSize, hip::MemoryAdvice{kReadMostly}, 0), kInvalid);

  const auto coherency = [&](const void* memory) {
    int value = -1;
    OK(api.hipMemRangeGetAttribute(&value, sizeof value, hip::kRangeCoherencyMode, memory, 4));
    return value;
  };
  constexpr unsigned kFinegrained = 1, kSignal = 2, kUncached = 3, kContiguous = 4, kNonCoherent = 0x80000000;
  void* memory = nullptr;
  OK(api.hipMalloc(&memory, 4));
  EXPECT_EQ(coherency(memory), kCoarse);
  EXPECT_EQ(api.hipMemAdvise(memory, 4, hip::MemoryAdvice{kReadMostly}, 0), kInvalid);
  OK(api.hipFree(memory));
  EXPECT_EQ(api.hipMemAdvise(memory, 4, hip::MemoryAdvice{kReadMostly}, 0), kInvalid);
  for (const unsigned flags : {kUncached, kContiguous}) {
    OK(api.hipExtMallocWithFlags(&memory, 4, flags));
    OK(api.hipFree(memory));
  }
  OK(api.hipExtMallocWithFlags(&memory, 8, kSignal));
  OK(api.hipFree(memory));
  EXPECT_EQ(api.hipExtMallocWithFlags(&memory, 4, kSignal), 1);
  EXPECT_EQ(api.hipExtMallocWithFlags(&memory, 4, kContiguous | kFinegrained), 1);
  OK(api.hipExtMallocWithFlags(&memory, 4, kFinegrained));
  EXPECT_EQ(coherency(memory), kFineGrained);
  OK(api.hipFree(memory));
  OK(api.hipHostMalloc(&memory, 4, 0));
  EXPECT_EQ(coherency(memory), kFineGrained);
  OK(api.hipHostFree(memory));
  OK(api.hipHostMalloc(&memory, 4, kNonCoherent));
  EXPECT_EQ(coherency(memory), kCoarse);
  OK(api.hipHostFree(memory));
}

TEST(wide_fills) {
  const Buffer<uint32_t> data(64);
  OK(api.hipMemsetD2D32(data.data, 64, 0x01020304, 4, 4));
  OK(api.hipMemsetD2D16Async(data.data, 64, 0x0506, 2, 4, nullptr));
  OK(api.hipMemsetD2D8(data.data, 64, 7, 1, 4));
  EXPECT_EQ(data.values()[16], 0x05060507u);
  EXPECT_EQ(data.values()[17], 0x01020304u);
  OK(api.hipMemsetD2D16(data.data, 64, 1, 2, 1));
  OK(api.hipMemsetD2D32Async(data.data, 64, 2, 1, 1, nullptr));
  OK(api.hipMemsetD2D8Async(data.data, 64, 3, 1, 1, nullptr));
  EXPECT_EQ(data.values()[0], 3u);
  EXPECT_EQ(api.hipMemsetD2D32(data.data, 8, 1, 4, 2), kPitchError);
}

/// Memory can be named for other processes, and is opened by none: RCCL names all of its buffers.
TEST(names_of_memory) {
  void *memory = nullptr, *pinned = nullptr, *opened = nullptr;
  OK(api.hipMalloc(&memory, 1 << 16));
  OK(api.hipHostMalloc(&pinned, 64, 0));
  hip::IpcMemHandle one{}, other{};
  OK(api.hipIpcGetMemHandle(&one, memory));
  OK(api.hipIpcGetMemHandle(&other, static_cast<char*>(memory) + 64));
  EXPECT_EQ(std::memcmp(&one, &other, sizeof(one)), 0);
  EXPECT_EQ(api.hipIpcOpenMemHandle(&opened, one, 1), 201);  // in the process that has it
  EXPECT_EQ(api.hipIpcOpenMemHandle(&opened, {}, 1), 1);
  EXPECT_EQ(api.hipIpcOpenMemHandle(&opened, one, 2), 1);
  uint64_t process = 0;
  std::memcpy(&process, one.reserved + 8, sizeof(process));
  EXPECT_EQ(process, static_cast<uint64_t>(getpid()));
  one.reserved[8] ^= 1;
  EXPECT_EQ(api.hipIpcOpenMemHandle(&opened, one, 1), 801);
  EXPECT_EQ(api.hipIpcCloseMemHandle(memory), 1);
  EXPECT_EQ(api.hipIpcGetMemHandle(nullptr, memory), 1);
  EXPECT_EQ(api.hipIpcGetMemHandle(&one, pinned), 1);
  EXPECT_EQ(api.hipIpcGetMemHandle(&one, &one), 1);
  OK(api.hipFree(memory));
  EXPECT_EQ(api.hipIpcGetMemHandle(&one, memory), 1);
  OK(api.hipHostFree(pinned));
}

/// A kernel finds memory of each kind, and what the runtime says of it.
TEST(kinds_of_memory) {
  const Loaded module(basics());
  float *managed = nullptr, *pinned = nullptr;
  OK(api.hipMallocManaged(reinterpret_cast<void**>(&managed), kCount * sizeof(float), 1));
  OK(api.hipHostAlloc(reinterpret_cast<void**>(&pinned), kCount * sizeof(float), 3));
  for (int i = 0; i < kCount; ++i) managed[i] = pinned[i] = static_cast<float>(i);
  OK(launch(module["vector_add"], 4, 256, nullptr, managed, pinned, managed, kCount));
  OK(api.hipDeviceSynchronize());
  EXPECT_EQ(managed[99], 198.0f);
  hip::PointerAttributes attributes{};
  OK(api.hipPointerGetAttributes(&attributes, managed + 1));
  EXPECT_EQ(static_cast<int>(attributes.type), 3);
  EXPECT_EQ(attributes.is_managed, 1);
  unsigned flags = 0;
  OK(api.hipHostGetFlags(&flags, pinned));
  EXPECT_EQ(flags, 3u);
  EXPECT_EQ(api.hipHostGetFlags(&flags, managed), 1);
  EXPECT_EQ(api.hipHostMalloc(reinterpret_cast<void**>(&pinned), 8, 0x80), 1);  // no such flag
  OK(api.hipMemPrefetchAsync(managed, 64, 1, nullptr));
  OK(api.hipMemPrefetchAsync(managed, 64, -1, nullptr));
  EXPECT_EQ(api.hipMemPrefetchAsync(managed, 64, 2, nullptr), 101);
  EXPECT_EQ(api.hipMemPrefetchAsync(managed, 1 << 20, 0, nullptr), 1);
  OK(api.hipMemAdvise(managed, 64, hip::MemoryAdvice{1}, 0));
  constexpr unsigned kGlobal = 1, kHost = 2, kSingle = 4;
  OK(api.hipStreamAttachMemAsync(nullptr, managed, 0, kGlobal));
  EXPECT_EQ(api.hipStreamAttachMemAsync(nullptr, managed, 0, kSingle), 1);  // not to the null stream
  EXPECT_EQ(api.hipStreamAttachMemAsync(nullptr, managed, 0, kGlobal | kHost), 1);
  EXPECT_EQ(api.hipStreamAttachMemAsync(nullptr, nullptr, 0, kGlobal), 1);
  EXPECT_EQ(api.hipStreamAttachMemAsync(nullptr, managed, 1, kGlobal), 1);  // a part of it
  EXPECT_EQ(api.hipStreamAttachMemAsync(reinterpret_cast<hip::Stream>(8), managed, 0, kGlobal), 709);
  int pageable = 0;
  OK(api.hipStreamAttachMemAsync(nullptr, &pageable, sizeof(pageable), kHost));
  EXPECT_EQ(api.hipStreamAttachMemAsync(nullptr, &pageable, 0, kHost), 1);
  void* begin = nullptr;
  size_t size = 0;
  OK(api.hipMemGetAddressRange(&begin, &size, managed + 5));
  EXPECT_EQ(begin == managed && size == kCount * sizeof(float), true);
  OK(api.hipMemPtrGetInfo(managed, &size));
  EXPECT_EQ(size, kCount * sizeof(float));
  EXPECT_EQ(api.hipMemGetAddressRange(&begin, &size, &size), 500);
  unsigned one = 1;
  constexpr hip::PointerAttribute kSyncMemops{6};
  OK(api.hipPointerSetAttribute(&one, kSyncMemops, managed));
  EXPECT_EQ(api.hipPointerSetAttribute(&one, kSyncMemops, nullptr), 1);
  EXPECT_EQ(api.hipPointerSetAttribute(&one, kSyncMemops, &one), 17);
  const unsigned neither = 2;
  EXPECT_EQ(api.hipPointerSetAttribute(&neither, kSyncMemops, managed), 1);
  int device = -1;
  void* data[] = {&begin, &device};
  std::array<hip::PointerAttribute, 2> wanted = {hip::kPointerRangeBegin, hip::kPointerDeviceOrdinal};
  OK(api.hipDrvPointerGetAttributes(2, wanted.data(), data, managed + 3));
  EXPECT_EQ(begin == managed && device == 0, true);
  // Several at once succeed, whatever of them has an answer: the others are 0, and a device -2.
  bool is_managed = true;
  void* three[] = {&begin, &device, &is_managed};
  std::array<hip::PointerAttribute, 3> some = {hip::kPointerHostPointer, hip::kPointerDeviceOrdinal,
                                               hip::kPointerIsManaged};
  void* on_device = nullptr;
  OK(api.hipMalloc(&on_device, 4));
  OK(api.hipDrvPointerGetAttributes(3, some.data(), three, on_device));
  EXPECT_EQ(begin == nullptr && device == 0 && !is_managed, true);
  EXPECT_EQ(api.hipPointerGetAttribute(&begin, hip::kPointerHostPointer, on_device), 1);
  OK(api.hipFree(on_device));
  is_managed = true;
  begin = managed;
  OK(api.hipDrvPointerGetAttributes(3, some.data(), three, &size));
  EXPECT_EQ(begin == nullptr && device == -2 && !is_managed, true);
  unsigned buffer = 0, same = 0, other = 0;
  OK(api.hipPointerGetAttribute(&buffer, hip::kPointerBufferId, managed));
  OK(api.hipPointerGetAttribute(&same, hip::kPointerBufferId, managed + 3));
  OK(api.hipPointerGetAttribute(&other, hip::kPointerBufferId, pinned));
  EXPECT_EQ(buffer == same && buffer != other && other != 0, true);
  OK(api.hipFree(managed));
  OK(api.hipFreeHost(pinned));
}

/// Memory is the stream's: what comes before the free finds it, what comes after does not.
TEST(memory_of_streams) {
  const Loaded module(basics());
  hip::Stream stream = nullptr;
  OK(api.hipStreamCreate(&stream));
  float* data = nullptr;
  OK(api.hipMallocAsync(reinterpret_cast<void**>(&data), kCount * sizeof(float), stream));
  hip::MemoryPool pool = nullptr, own = nullptr, current = nullptr;
  OK(api.hipDeviceGetDefaultMemPool(&pool, 0));
  uint64_t used = 0, high = 0;
  OK(api.hipMemPoolGetAttribute(pool, hip::kUsedCurrent, &used));
  EXPECT_EQ(used, kCount * sizeof(float));
  OK(api.hipMemsetAsync(data, 0, kCount * sizeof(float), stream));
  OK(launch(module["vector_add"], 4, 256, stream, data, data, data, kCount));
  OK(api.hipFreeAsync(data, stream));
  OK(api.hipStreamSynchronize(stream));
  OK(api.hipMemPoolGetAttribute(pool, hip::kUsedCurrent, &used));
  OK(api.hipMemPoolGetAttribute(pool, hip::kUsedHigh, &high));
  EXPECT_EQ(used == 0 && high == kCount * sizeof(float), true);
  EXPECT_EQ(api.hipFreeAsync(data, stream), 1);

  hip::PoolProperties properties{};
  properties.location = {hip::kLocationDevice, 1};
  EXPECT_EQ(api.hipMemPoolCreate(&own, &properties), 1);  // not pinned
  properties.allocation_type = hip::kPinned;
  properties.location = {hip::kLocationDevice, 2};
  EXPECT_EQ(api.hipMemPoolCreate(&own, &properties), 1);
  properties.location = {hip::MemoryLocationType{0}, 1};
  EXPECT_EQ(api.hipMemPoolCreate(&own, &properties), 1);
  properties.location = {hip::kLocationDevice, 1};
  properties.size_limit = 4096;
  OK(api.hipMemPoolCreate(&own, &properties));
  EXPECT_EQ(api.hipDeviceSetMemPool(0, own), 101);
  OK(api.hipDeviceSetMemPool(1, own));
  OK(api.hipDeviceGetMemPool(&current, 1));
  EXPECT_EQ(current == own, true);
  uint64_t threshold = 1 << 20, got = 0;
  OK(api.hipMemPoolSetAttribute(own, hip::kReleaseThreshold, &threshold));
  OK(api.hipMemPoolGetAttribute(own, hip::kReleaseThreshold, &got));
  EXPECT_EQ(got, threshold);
  EXPECT_EQ(api.hipMemPoolSetAttribute(own, hip::kUsedCurrent, &threshold), 1);
  for (const int none : {0, 9}) {
    EXPECT_EQ(api.hipMemPoolSetAttribute(own, static_cast<hip::PoolAttribute>(none), &threshold), 1);
    EXPECT_EQ(api.hipMemPoolGetAttribute(own, static_cast<hip::PoolAttribute>(none), &threshold), 1);
  }
  EXPECT_EQ(api.hipMemPoolGetAttribute(own, hip::PoolAttribute{9}, &got), 1);
  OK(api.hipMallocFromPoolAsync(reinterpret_cast<void**>(&data), 64, own, stream));
  hip::PointerAttributes attributes{};
  OK(api.hipPointerGetAttributes(&attributes, data));
  EXPECT_EQ(attributes.device, 1);
  hip::PoolAccess access{};
  hip::MemoryLocation location{hip::kLocationDevice, 0};
  OK(api.hipMemPoolGetAccess(&access, own, &location));
  EXPECT_EQ(static_cast<int>(access), 3);
  hip::AccessDescription description{location, hip::kReadWrite};
  OK(api.hipMemPoolSetAccess(own, &description, 1));
  EXPECT_EQ(api.hipMemPoolSetAccess(own, nullptr, 0), 1);
  EXPECT_EQ(api.hipMemPoolSetAccess(own, &description, 3), 101);  // more than there are devices
  description.flags = hip::PoolAccess{4};
  EXPECT_EQ(api.hipMemPoolSetAccess(own, &description, 1), 1);
  description.flags = hip::PoolAccess{0};  // which another device may have, but not the pool's own
  OK(api.hipMemPoolSetAccess(own, &description, 1));
  description.location.id = 1;
  EXPECT_EQ(api.hipMemPoolSetAccess(own, &description, 1), 1);
  description = {{hip::kLocationDevice, 2}, hip::kReadWrite};
  EXPECT_EQ(api.hipMemPoolSetAccess(own, &description, 1), 101);
  EXPECT_EQ(api.hipMemPoolGetAccess(&access, own, &description.location), 1);
  description.location = {hip::MemoryLocationType{0}, 0};
  EXPECT_EQ(api.hipMemPoolSetAccess(own, &description, 1), 1);
  EXPECT_EQ(api.hipMemPoolGetAccess(&access, own, &description.location), 1);
  void* more = nullptr;
  EXPECT_EQ(api.hipMallocFromPoolAsync(&more, 4033, own, stream), 2);  // beside the 64 bytes
  OK(api.hipMallocFromPoolAsync(&more, 4032, own, stream));
  EXPECT_EQ(api.hipMallocFromPoolAsync(&more, ~size_t{0}, own, stream), 2);
  OK(api.hipFree(more));
  OK(api.hipMemPoolTrimTo(own, 0));
  OK(api.hipMemPoolDestroy(own));
  OK(api.hipDeviceGetMemPool(&current, 1));
  EXPECT_EQ(current != own, true);
  EXPECT_EQ(api.hipMemPoolDestroy(pool), 1);
  OK(api.hipFree(data));
  OK(api.hipStreamBeginCapture(stream, hip::kCaptureModeGlobal));
  float copied = 0;
  OK(api.hipMallocAsync(reinterpret_cast<void**>(&data), 64, stream));
  OK(api.hipMemsetD32Async(data, 0x40000000, 16, stream));
  OK(api.hipMemcpyDtoHAsync(&copied, data, sizeof(float), stream));
  OK(api.hipFreeAsync(data, stream));
  hip::Graph graph = nullptr;
  hip::GraphExec exec = nullptr;
  OK(api.hipStreamEndCapture(stream, &graph));
  OK(api.hipGraphInstantiate(&exec, graph, nullptr, nullptr, 0));
  for (int i = 0; i < 2; ++i) OK(api.hipGraphLaunch(exec, stream));
  OK(api.hipStreamSynchronize(stream));
  EXPECT_EQ(copied, 2.0f);
  OK(api.hipGraphExecDestroy(exec));
  OK(api.hipGraphDestroy(graph));
  OK(api.hipStreamDestroy(stream));
}

}  // namespace
