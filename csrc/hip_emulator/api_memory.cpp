// Memory: allocation, copies, fills.
#include <algorithm>

#include "base/error.h"
#include "hip_emulator/api.h"
#include "hip_emulator/release.h"
#include "hip_emulator/transfer.h"

namespace wave::hip {

namespace {

uint64_t address(const void* pointer) { return reinterpret_cast<uint64_t>(pointer); }

void allocate(void** pointer, size_t size, AllocationKind kind) {
  require(pointer != nullptr);
  check_unsafe_call();
  *pointer = size == 0 ? nullptr : runtime().memory.allocate(size, current_device(), kind);
}

void free(void* pointer) {
  if (pointer == nullptr) return;
  require(runtime().memory.find(address(pointer)).has_value());
  check_unsafe_call();
  wait_for_devices();
  require(runtime().memory.free(pointer));
}

void check_kind(MemcpyKind kind) {
  require(kind >= kHostToHost && kind <= kCopyDefault, hipErrorInvalidMemcpyDirection);
}

Error copy_now(const char* function, void* to, const void* from, size_t size) {
  return call(function, [&] {
    check_unsafe_call();
    copy(to, from, size, nullptr, Wait::Yes);
  });
}

Error copy_later(const char* function, void* to, const void* from, size_t size, Stream stream) {
  return call(function, [&] { copy(to, from, size, stream, Wait::No); });
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
    check_unsafe_call();
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

/// Writes as many bytes as AMD's runtime (ROCm/clr, hipamd/src/hip_memory.cpp): a range's size has four.
void write_attribute(void* data, PointerAttribute attribute, DevicePointer pointer, const Allocation& allocation) {
  switch (attribute) {
    case kPointerMemoryType:
      *static_cast<uint32_t*>(data) = memory_type(allocation);
      return;
    case kPointerHostPointer:
      require(allocation.kind != AllocationKind::Device);
      [[fallthrough]];
    case kPointerDevicePointer:
      *static_cast<void**>(data) = pointer;
      return;
    case kPointerIsManaged:
      *static_cast<bool*>(data) = allocation.kind == AllocationKind::Managed;
      return;
    case kPointerDeviceOrdinal:
      *static_cast<int*>(data) = allocation.device;
      return;
    case kPointerRangeBegin:
      *static_cast<void**>(data) = reinterpret_cast<void*>(allocation.begin);
      return;
    case kPointerRangeSize:
      *static_cast<uint32_t*>(data) = static_cast<uint32_t>(allocation.size);
      return;
    case kPointerIsMapped:
      *static_cast<bool*>(data) = true;
      return;
  }
  constexpr int kFirst = 1, kLast = 17;
  require(attribute >= kFirst && attribute <= kLast);
  throw Failure(hipErrorNotSupported, text("pointer attribute ", static_cast<int>(attribute)));
}

}  // namespace

Error hipMalloc(void** pointer, size_t size) {
  return call(__func__, [&] { allocate(pointer, size, AllocationKind::Device); });
}

Error hipHostMalloc(void** pointer, size_t size, unsigned) {
  return call(__func__, [&] { allocate(pointer, size, AllocationKind::Host); });
}

Error hipFree(void* pointer) {
  return call(__func__, [&] { free(pointer); });
}

Error hipHostFree(void* pointer) {
  return call(__func__, [&] { free(pointer); });
}

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
    require(allocation.has_value());
    write_attribute(data, attribute, pointer, *allocation);
  });
}

Error hipMemcpy(void* to, const void* from, size_t size, MemcpyKind kind) {
  return call(__func__, [&] {
    check_kind(kind);
    check_unsafe_call();
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
