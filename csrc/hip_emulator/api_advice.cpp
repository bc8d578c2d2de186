// Advice about managed memory, which has no effect but that programs can ask for it.
#include <algorithm>

#include "hip_emulator/api.h"
#include "hip_emulator/transfer.h"

namespace wave::hip {

namespace {

constexpr int kCpu = -1;

enum : int {  // hipMemoryAdvise
  kSetReadMostly = 1,
  kUnsetReadMostly = 2,
  kSetPreferredLocation = 3,
  kUnsetPreferredLocation = 4,
  kSetAccessedBy = 5,
  kUnsetAccessedBy = 6,
  kSetCoarseGrain = 100,
  kUnsetCoarseGrain = 101,
};

/// The allocation that the bytes lie in; nothing where they are the process's own. Throws where they are neither.
std::optional<Allocation> allocation_of(const void* memory, size_t size) {
  require(memory != nullptr && size != 0);
  return check_span({reinterpret_cast<uint64_t>(memory), size});
}

/// What is known of the pages, which only managed memory has; else nullptr.
PageAdvice* advice_of(const void* memory, size_t size) {
  const auto allocation = allocation_of(memory, size);
  return allocation ? allocation->advice.get() : nullptr;
}

/// Whether a kernel's writes are seen while it runs is decided when memory that is not managed is allocated.
bool is_coarse(const Allocation& allocation) {
  constexpr unsigned kNonCoherent = 0x80000000;  // hipHostMallocNonCoherent
  return allocation.kind == AllocationKind::Device ? allocation.flags == 0 : (allocation.flags & kNonCoherent) != 0;
}

void check_device(int device) {
  if (device != kCpu) runtime().device(device);
}

void advise(const void* memory, size_t size, MemoryAdvice advice, int device) {
  const auto allocation = allocation_of(memory, size);
  require(!allocation || allocation->kind != AllocationKind::Device, hipErrorInvalidValue,
          "the memory is a device's own");
  PageAdvice* const pages = allocation ? allocation->advice.get() : nullptr;
  const int what = advice;
  if (what != kSetReadMostly && what != kUnsetReadMostly) check_device(device);  // as in AMD's runtime
  require((what >= kSetReadMostly && what <= kUnsetAccessedBy) || what == kSetCoarseGrain || what == kUnsetCoarseGrain);
  if (pages == nullptr) return;
  pages->change({reinterpret_cast<uint64_t>(memory), size}, [&](AdviceOfPage& page) {
    if (what == kSetReadMostly || what == kUnsetReadMostly) page.is_read_mostly = what == kSetReadMostly;
    if (what == kSetCoarseGrain || what == kUnsetCoarseGrain) page.is_coarse = what == kSetCoarseGrain;
    if (what == kSetPreferredLocation) page.preferred = device;
    if (what == kUnsetPreferredLocation) page.preferred = kNoDevice;
    if (what == kSetAccessedBy) page.accessed_by.insert(device);
    if (what == kUnsetAccessedBy) page.accessed_by.erase(device);
  });
}

void prefetch(const void* memory, size_t size, int device, Stream stream) {
  PageAdvice* const pages = advice_of(memory, size);
  check_device(device);
  find_queue(stream);
  if (pages == nullptr) return;
  pages->change({reinterpret_cast<uint64_t>(memory), size}, [&](AdviceOfPage& page) { page.prefetched = device; });
}

/// As functions say it that take a number: -1 of the host, and of its parts.
int device_of(const MemoryLocation& location) { return location.type == kLocationDevice ? location.id : kCpu; }

void get_attribute(void* data, size_t data_size, RangeAttribute attribute, const void* memory, size_t size) {
  const auto allocation = allocation_of(memory, size);
  require(data != nullptr && data_size != 0 && data_size % sizeof(int) == 0);
  int* const to = static_cast<int*>(data);
  const size_t count = data_size / sizeof(int);
  if (attribute == kRangeCoherencyMode && allocation && allocation->advice == nullptr) {
    require(count == 1);
    *to = is_coarse(*allocation);
    return;
  }
  require(allocation && allocation->advice != nullptr, hipErrorInvalidValue, "the memory is not managed");
  const PageAdvice& advice = *allocation->advice;
  const AddressSpan bytes(reinterpret_cast<uint64_t>(memory), size);
  require(attribute == kRangeAccessedBy || count == 1);
  switch (attribute) {
    case kRangeReadMostly:
      *to = advice.common(bytes, [](const AdviceOfPage& page) { return page.is_read_mostly; }, false);
      return;
    case kRangePreferredLocation:
      *to = advice.common(bytes, [](const AdviceOfPage& page) { return page.preferred; }, kNoDevice);
      return;
    case kRangeLastPrefetchLocation:
      *to = advice.common(bytes, [](const AdviceOfPage& page) { return page.prefetched; }, kNoDevice);
      return;
    case kRangeCoherencyMode: {
      constexpr int kIndeterminate = 2;
      *to = advice.common(bytes, [](const AdviceOfPage& page) { return int{page.is_coarse}; }, kIndeterminate);
      return;
    }
    case kRangeAccessedBy: {
      std::fill_n(to, count, kNoDevice);
      const auto devices =
          advice.common(bytes, [](const AdviceOfPage& page) { return page.accessed_by; }, std::set<int>());
      std::ranges::copy_n(devices.begin(), static_cast<ptrdiff_t>(std::min(count, devices.size())), to);
      return;
    }
  }
  throw Failure(hipErrorInvalidValue);
}

}  // namespace

Error hipMemAdvise(const void* memory, size_t size, MemoryAdvice advice, int device) {
  return call(__func__, [&] { advise(memory, size, advice, device); });
}

Error hipMemAdvise_v2(const void* memory, size_t size, MemoryAdvice advice, MemoryLocation location) {
  return call(__func__, [&] { advise(memory, size, advice, device_of(location)); });
}

Error hipMemPrefetchAsync(const void* memory, size_t size, int device, Stream stream) {
  return call(__func__, [&] { prefetch(memory, size, device, stream); });
}

Error hipMemPrefetchAsync_v2(const void* memory, size_t size, MemoryLocation location, unsigned flags, Stream stream) {
  return call(__func__, [&] {
    require(flags == 0);
    prefetch(memory, size, device_of(location), stream);
  });
}

Error hipMemRangeGetAttribute(void* data, size_t data_size, RangeAttribute attribute, const void* memory, size_t size) {
  return call(__func__, [&] { get_attribute(data, data_size, attribute, memory, size); });
}

Error hipMemRangeGetAttributes(void** data, size_t* data_sizes, RangeAttribute* attributes, size_t count,
                               const void* memory, size_t size) {
  return call(__func__, [&] {
    require(data != nullptr && data_sizes != nullptr && attributes != nullptr && count != 0);
    for (size_t i = 0; i < count; ++i) get_attribute(data[i], data_sizes[i], attributes[i], memory, size);
  });
}

}  // namespace wave::hip
