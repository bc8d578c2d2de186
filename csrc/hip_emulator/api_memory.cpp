// Memory: allocation, copies, fills.
#include <algorithm>
#include <utility>

#include "base/error.h"
#include "hip_emulator/api.h"
#include "hip_emulator/release.h"
#include "hip_emulator/transfer.h"

namespace wave::hip {

namespace {

uint64_t address(const void* pointer) { return reinterpret_cast<uint64_t>(pointer); }

void allocate(void** pointer, size_t size, AllocationKind kind, unsigned flags = 0) {
  require(pointer != nullptr);
  check_unsafe_call();
  *pointer = size == 0 ? nullptr : runtime().memory.allocate(size, current_device(), kind, flags);
}

void free(void* pointer) {
  if (pointer == nullptr) return;
  require(runtime().memory.find(address(pointer)) || runtime().memory.reserved_at(address(pointer)));
  check_unsafe_call();
  wait_for_devices();
  runtime().memory.promise(pointer, false);
  require(runtime().memory.free(pointer));
}

Error copy_now(const char* function, void* to, const void* from, size_t size) {
  return call(function, [&] {
    check_unsafe_copy();
    copy(to, from, size, nullptr, Wait::Yes);
  });
}

Error copy_later(const char* function, void* to, const void* from, size_t size, Stream stream) {
  return call(function, [&] { copy(to, from, size, stream, Wait::No); });
}

/// Rows of `width` bytes, each at a multiple of 256 bytes, as AMD's devices ask of images.
size_t allocate_rows(void** pointer, size_t width, size_t height, size_t depth) {
  constexpr size_t kAlignment = 256;
  require(pointer != nullptr && width <= ~size_t{0} - kAlignment);
  const size_t pitch = (width + kAlignment - 1) / kAlignment * kAlignment;
  size_t size = 0;
  const bool overflows = __builtin_mul_overflow(pitch, height, &size) || __builtin_mul_overflow(size, depth, &size);
  require(!overflows, hipErrorOutOfMemory);
  allocate(pointer, size, AllocationKind::Device);
  return pitch;
}

Allocation find_allocation(const void* pointer, Code code = hipErrorInvalidValue) {
  auto allocation = runtime().memory.find(address(pointer));
  require(allocation.has_value(), code);
  return *std::move(allocation);
}

/// One row of elements, or hipErrorInvalidValue where they have no addresses.
template <class T>
RowCounts row_of(size_t count) {
  require(count <= ~size_t{0} / sizeof(T));
  return {count * sizeof(T)};
}

template <class T>
Error fill_now(const char* function, void* to, T value, size_t count) {
  return call(function, [&] {
    check_unsafe_copy();
    fill({to}, row_of<T>(count), {static_cast<uint32_t>(value), sizeof(T)}, nullptr, Wait::Yes);
  });
}

template <class T>
Error fill_later(const char* function, void* to, T value, size_t count, Stream stream) {
  return call(function,
              [&] { fill({to}, row_of<T>(count), {static_cast<uint32_t>(value), sizeof(T)}, stream, Wait::No); });
}

MemoryType memory_type(const Allocation& allocation) {
  const auto& types = release().memory_type;
  switch (allocation.kind) {
    case AllocationKind::Device:
      return static_cast<MemoryType>(types.device);
    case AllocationKind::Host:
      return static_cast<MemoryType>(types.host);
    case AllocationKind::Managed:
      break;
  }
  return static_cast<MemoryType>(types.managed);
}

/// Writes as many bytes as AMD's runtime (ROCm/clr, hipamd/src/hip_memory.cpp): a range's size has four. Of memory that
/// has no answer zeros, and of a device kNoDevice, with an error.
Code write_attribute(void* data, PointerAttribute attribute, DevicePointer pointer, const Allocation* allocation) {
  const auto write = [&]<class T>(T none, const auto& value) {
    *static_cast<T*>(data) = allocation != nullptr ? static_cast<T>(value(*allocation)) : none;
    return allocation != nullptr ? hipSuccess : hipErrorInvalidValue;
  };
  const auto same = [&](const Allocation&) { return pointer; };
  switch (attribute) {
    case kPointerMemoryType:
      return write(uint32_t{0}, memory_type);
    case kPointerHostPointer:
      if (allocation != nullptr && allocation->kind == AllocationKind::Device) allocation = nullptr;
      return write(DevicePointer{nullptr}, same);
    case kPointerDevicePointer:
      return write(DevicePointer{nullptr}, same);
    case kPointerIsManaged:
      return write(false, [](const Allocation& of) { return of.kind == AllocationKind::Managed; });
    case kPointerDeviceOrdinal:
      return write(kNoDevice, [](const Allocation& of) { return of.device; });
    case kPointerRangeBegin:
      return write(DevicePointer{nullptr}, [](const Allocation& of) { return reinterpret_cast<void*>(of.begin); });
    case kPointerRangeSize:
      return write(uint32_t{0}, [](const Allocation& of) { return of.size; });
    case kPointerBufferId:
      return write(uint32_t{0}, [](const Allocation& of) { return of.id; });
    case kPointerIsMapped:
      return write(false, [](const Allocation&) { return true; });
  }
  constexpr int kFirst = 1, kLast = 17;
  return attribute >= kFirst && attribute <= kLast ? hipErrorNotSupported : hipErrorInvalidValue;
}

}  // namespace

Error hipMalloc(void** pointer, size_t size) {
  return call(__func__, [&] { allocate(pointer, size, AllocationKind::Device); });
}

Error hipExtMallocWithFlags(void** pointer, size_t size, unsigned flags) {
  return call(__func__, [&] {
    constexpr unsigned kSignal = 2, kContiguous = 4;
    require(flags <= kContiguous);
    require(flags != kSignal || size == sizeof(uint64_t), hipErrorInvalidValue, "a signal has 8 bytes");
    allocate(pointer, size, AllocationKind::Device, flags);
  });
}

Error hipHostMalloc(void** pointer, size_t size, unsigned flags) {
  return call(__func__, [&] {
    constexpr unsigned kPortable = 1, kMapped = 2, kWriteCombined = 4, kUncached = 0x10000000, kNumaUser = 0x20000000;
    constexpr unsigned kCoherent = 0x40000000, kNonCoherent = 0x80000000;
    constexpr unsigned kAll = kPortable | kMapped | kWriteCombined | kUncached | kNumaUser | kCoherent | kNonCoherent;
    require((flags & ~kAll) == 0 && (flags & (kCoherent | kNonCoherent)) != (kCoherent | kNonCoherent));
    allocate(pointer, size, AllocationKind::Host, flags);
  });
}

Error hipHostAlloc(void** pointer, size_t size, unsigned flags) { return hipHostMalloc(pointer, size, flags); }
Error hipExtHostAlloc(void** pointer, size_t size, unsigned flags) { return hipHostMalloc(pointer, size, flags); }
Error hipMallocHost(void** pointer, size_t size) { return hipHostMalloc(pointer, size, 0); }
Error hipMemAllocHost(void** pointer, size_t size) { return hipHostMalloc(pointer, size, 0); }

Error hipHostGetFlags(unsigned* flags, void* memory) {
  return call(__func__, [&] {
    require(flags != nullptr && memory != nullptr);
    const Allocation allocation = find_allocation(memory);
    require(allocation.kind == AllocationKind::Host);
    *flags = allocation.flags;
  });
}

Error hipMallocManaged(void** pointer, size_t size, unsigned flags) {
  return call(__func__, [&] {
    constexpr unsigned kAttachGlobal = 1, kAttachHost = 2;
    require(size != 0 && (flags == kAttachGlobal || flags == kAttachHost));
    allocate(pointer, size, AllocationKind::Managed, flags);
  });
}

Error hipMallocPitch(void** pointer, size_t* pitch, size_t width, size_t height) {
  return call(__func__, [&] {
    require(pitch != nullptr);
    *pitch = allocate_rows(pointer, width, height, 1);
  });
}

Error hipMemAllocPitch(DevicePointer* pointer, size_t* pitch, size_t width, size_t height, unsigned element_size) {
  return call(__func__, [&] {
    require(pitch != nullptr && width != 0 && height != 0);
    require(element_size == 4 || element_size == 8 || element_size == 16);
    *pitch = allocate_rows(pointer, width, height, 1);
  });
}

Error hipMalloc3D(PitchedPointer* pointer, Extent extent) {
  return call(__func__, [&] {
    require(pointer != nullptr);
    pointer->pitch = allocate_rows(&pointer->pointer, extent.width, extent.height, extent.depth);
    pointer->width = extent.width;
    pointer->height = extent.height;
  });
}

Error hipFree(void* pointer) {
  return call(__func__, [&] { free(pointer); });
}

Error hipHostFree(void* pointer) {
  return call(__func__, [&] { free(pointer); });
}

Error hipFreeHost(void* pointer) { return hipHostFree(pointer); }

Error hipHostRegister(void* memory, size_t size, unsigned flags) {
  return call(__func__, [&] {
    constexpr unsigned kAllFlags = 15;
    require(memory != nullptr && size != 0 && flags <= kAllFlags);
    check_unsafe_call();
    runtime().memory.add(memory, size, current_device(), flags);
  });
}

Error hipHostUnregister(void* memory) {
  return call(__func__, [&] {
    require(memory != nullptr);
    check_unsafe_call();
    wait_for_devices();
    require(runtime().memory.remove(memory), hipErrorHostMemoryNotRegistered);
  });
}

Error hipHostGetDevicePointer(void** device_pointer, void* memory, unsigned flags) {
  return call(__func__, [&] {
    require(device_pointer != nullptr && flags == 0);
    require(runtime().memory.find(address(memory)).has_value());
    *device_pointer = memory;
  });
}

Error hipMemGetAddressRange(DevicePointer* begin, size_t* size, DevicePointer pointer) {
  return call(__func__, [&] {
    const Allocation allocation = find_allocation(pointer, hipErrorNotFound);
    if (begin != nullptr) *begin = reinterpret_cast<void*>(allocation.begin);
    if (size != nullptr) *size = allocation.size;
  });
}

Error hipMemPtrGetInfo(void* pointer, size_t* size) {
  return call(__func__, [&] {
    require(size != nullptr);
    *size = pointer == nullptr ? 0 : find_allocation(pointer).size;
  });
}

/// All memory is the process's: there is nothing to be moved, and nothing to be advised.
Error hipStreamAttachMemAsync(Stream stream, void* memory, size_t size, unsigned flags) {
  return call(__func__, [&] {
    constexpr unsigned kGlobal = 1, kHost = 2, kSingle = 4;
    require(memory != nullptr);
    const auto queue = find_queue(stream);
    require(flags == kGlobal || flags == kHost || (flags == kSingle && !queue->is_null));
    const auto allocation = runtime().memory.find(address(memory));
    if (!allocation) {
      require(size != 0, hipErrorInvalidValue, "of memory that HIP did not allocate the size is not known");
    } else if (allocation->kind == AllocationKind::Managed) {
      require(size == 0 || size == allocation->size, hipErrorInvalidValue, "a part of an allocation is not attached");
    }
  });
}

Error hipMemGetInfo(size_t* free, size_t* total) {
  return call(__func__, [&] {
    require(free != nullptr && total != nullptr);
    *total = memory_size();
    *free = *total - std::min<uint64_t>(*total, runtime().memory.used());
  });
}

Error hipPointerGetAttributes(PointerAttributes* attributes, const void* pointer) {
  return call(__func__, [&] {
    require(attributes != nullptr && pointer != nullptr);
    *attributes = {};
    const auto allocation = runtime().memory.find(address(pointer));
    if (!allocation) {
      require(release().knows_unregistered);
      attributes->type = static_cast<MemoryType>(release().memory_type.unregistered);
      attributes->device = kNoDevice;
      return;
    }
    void* const same = const_cast<void*>(pointer);
    *attributes = {memory_type(*allocation),
                   allocation->device,
                   same,
                   allocation->kind == AllocationKind::Device ? nullptr : same,
                   allocation->kind == AllocationKind::Managed,
                   allocation->flags};
  });
}

Error hipPointerGetAttribute(void* data, PointerAttribute attribute, DevicePointer pointer) {
  return call(__func__, [&] {
    require(data != nullptr && pointer != nullptr);
    const auto allocation = runtime().memory.find(address(pointer));
    const Code error = write_attribute(data, attribute, pointer, allocation ? &*allocation : nullptr);
    require(error == hipSuccess, error, error == hipErrorNotSupported ? "there is no such attribute here" : "");
  });
}

/// As in AMD's runtime it is no error that some of them have no answer.
Error hipDrvPointerGetAttributes(unsigned count, PointerAttribute* attributes, void** data, DevicePointer pointer) {
  return call(__func__, [&] {
    require(count != 0 && attributes != nullptr && data != nullptr && pointer != nullptr);
    const auto allocation = runtime().memory.find(address(pointer));
    for (unsigned i = 0; i < count; ++i)
      write_attribute(data[i], attributes[i], pointer, allocation ? &*allocation : nullptr);
  });
}

/// hipPointerAttributeSyncMemops, which is so here always.
Error hipPointerSetAttribute(const void* value, PointerAttribute attribute, DevicePointer pointer) {
  return call(__func__, [&] {
    constexpr int kSyncMemops = 6;
    require(value != nullptr && attribute == kSyncMemops && pointer != nullptr);
    require(*static_cast<const unsigned*>(value) <= 1);
    find_allocation(pointer, hipErrorInvalidDevicePointer);
  });
}

Error hipMemcpy(void* to, const void* from, size_t size, MemcpyKind kind) {
  return call(__func__, [&] {
    check_kind(kind);
    check_unsafe_copy();
    copy(to, from, size, nullptr, Wait::Yes);
  });
}

Error hipMemcpyAsync(void* to, const void* from, size_t size, MemcpyKind kind, Stream stream) {
  return call(__func__, [&] {
    check_kind(kind);
    copy(to, from, size, stream, Wait::No);
  });
}

Error hipMemcpyHtoD(DevicePointer to, HostSource from, size_t size) { return copy_now(__func__, to, from, size); }
Error hipMemcpyDtoH(void* to, DevicePointer from, size_t size) { return copy_now(__func__, to, from, size); }
Error hipMemcpyDtoD(DevicePointer to, DevicePointer from, size_t size) { return copy_now(__func__, to, from, size); }

Error hipMemcpyHtoDAsync(DevicePointer to, HostSource from, size_t size, Stream stream) {
  return copy_later(__func__, to, from, size, stream);
}
Error hipMemcpyDtoHAsync(void* to, DevicePointer from, size_t size, Stream stream) {
  return copy_later(__func__, to, from, size, stream);
}
Error hipMemcpyDtoDAsync(DevicePointer to, DevicePointer from, size_t size, Stream stream) {
  return copy_later(__func__, to, from, size, stream);
}

Error hipMemset(void* to, int value, size_t size) { return fill_now(__func__, to, static_cast<uint8_t>(value), size); }
Error hipMemsetAsync(void* to, int value, size_t size, Stream stream) {
  return fill_later(__func__, to, static_cast<uint8_t>(value), size, stream);
}
Error hipMemsetD8(DevicePointer to, unsigned char value, size_t count) { return fill_now(__func__, to, value, count); }
Error hipMemsetD8Async(DevicePointer to, unsigned char value, size_t count, Stream stream) {
  return fill_later(__func__, to, value, count, stream);
}
Error hipMemsetD16(DevicePointer to, unsigned short value, size_t count) {
  return fill_now(__func__, to, value, count);
}
Error hipMemsetD16Async(DevicePointer to, unsigned short value, size_t count, Stream stream) {
  return fill_later(__func__, to, value, count, stream);
}
Error hipMemsetD32(DevicePointer to, int value, size_t count) { return fill_now(__func__, to, value, count); }
Error hipMemsetD32Async(DevicePointer to, int value, size_t count, Stream stream) {
  return fill_later(__func__, to, value, count, stream);
}

}  // namespace wave::hip
