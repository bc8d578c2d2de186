// Memory: allocation, copies, fills.
#include <algorithm>
#include <cstring>
#include <vector>

#include "base/error.h"
#include "emulator/process_memory.h"
#include "hip_emulator/api.h"

namespace wave::hip {

namespace {

uint64_t address(const void* pointer) { return reinterpret_cast<uint64_t>(pointer); }

/// Whether bytes lie in an allocation. Throws where it was freed or they end past its end, and where the process has no
/// such memory, as far as the first and the last of them tell.
bool is_allocated(AddressSpan bytes) {
  require(!runtime().memory.was_freed(bytes.begin()), hipErrorInvalidValue, "a copy or fill of memory that was freed");
  const auto allocation = runtime().memory.find(bytes.begin());
  require(!allocation || allocation->bytes().contains(bytes), hipErrorInvalidValue,
          "the copy or fill ends past the allocation's end");
  const bool is_ours = allocation && !allocation->is_registered;
  require(is_ours || bytes.is_empty() || emulator::has_ends_of(bytes), hipErrorInvalidValue,
          "a copy or fill of memory that the process does not have");
  return allocation.has_value();
}

/// Of a copy or fill in a graph: memory may have been freed since it was captured. An error of the device then.
void check_again(Via via, AddressSpan bytes) {
  if (via != Via::Graph) return;
  try {
    is_allocated(bytes);
  } catch (const Failure& failure) {
    throw Failure(hipErrorIllegalAddress, text("a graph makes ", failure.what()));
  }
}

void allocate(void** pointer, size_t size, bool host) {
  require(pointer != nullptr);
  check_unsafe_call();
  *pointer = size == 0 ? nullptr : runtime().memory.allocate(size, current_device(), host);
}

/// Waits until nothing on any device can still use memory.
void synchronize_all() {
  for (size_t device = 0; device < runtime().devices.size(); ++device) {
    try {
      synchronize(static_cast<int>(device));
    } catch (const Failure&) {  // a device that failed runs nothing any more
    }
  }
}

void free(void* pointer) {
  if (pointer == nullptr) return;
  require(runtime().memory.find(address(pointer)).has_value());
  check_unsafe_call();
  synchronize_all();
  require(runtime().memory.free(pointer));
}

enum class Wait { No, Yes };

/// Memory that the runtime did not allocate is pageable: the source is read before the call returns, and what such a
/// destination gets is there when it returns (HIP's "Memory copy" semantics). Under capture both wait for the replay.
void copy(void* to, const void* from, size_t size, Stream stream, Wait wait) {
  require(size == 0 || (to != nullptr && from != nullptr));
  const std::shared_ptr<Queue> queue = find_queue(stream);
  runtime().device(queue->device).check();
  const bool to_allocated = is_allocated({address(to), size}), from_allocated = is_allocated({address(from), size});
  std::unique_lock lock(runtime().order);
  std::shared_ptr<Marker> marker;
  if (to_allocated && !from_allocated && queue->capture == nullptr) {
    const auto* begin = static_cast<const uint8_t*>(from);
    marker = submit_locked(queue, [to, staged = std::vector<uint8_t>(begin, begin + size)](Via) {
      std::memcpy(to, staged.data(), staged.size());
    });
  } else {
    marker = submit_locked(queue, [to, from, size](Via via) {
      check_again(via, {address(to), size});
      check_again(via, {address(from), size});
      std::memmove(to, from, size);
    });
  }
  lock.unlock();
  if (marker == nullptr || (wait == Wait::No && to_allocated)) return;
  marker->wait();
  runtime().device(queue->device).check();
}

void check_kind(MemcpyKind kind) {
  require(kind >= kHostToHost && kind <= kCopyDefault, hipErrorInvalidMemcpyDirection);
}

template <class T>
void fill(void* to, T value, size_t count, Stream stream, Wait wait) {
  require(count == 0 || to != nullptr);
  require(address(to) % sizeof(T) == 0);
  const AddressSpan bytes = AddressSpan::of_values(address(to), count, sizeof(T));
  is_allocated(bytes);
  const std::shared_ptr<Queue> queue = find_queue(stream);
  runtime().device(queue->device).check();
  const auto marker = submit(queue, [to, value, count, bytes](Via via) {
    check_again(via, bytes);
    std::fill_n(static_cast<T*>(to), count, value);
  });
  if (marker == nullptr || wait == Wait::No) return;
  marker->wait();
  runtime().device(queue->device).check();
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

template <class T>
Error fill_now(const char* function, void* to, T value, size_t count) {
  return call(function, [&] {
    check_unsafe_call();
    fill(to, value, count, nullptr, Wait::Yes);
  });
}

template <class T>
Error fill_later(const char* function, void* to, T value, size_t count, Stream stream) {
  return call(function, [&] { fill(to, value, count, stream, Wait::No); });
}

/// Writes as many bytes as AMD's runtime (ROCm/clr, hipamd/src/hip_memory.cpp): a range's size has four.
void write_attribute(void* data, PointerAttribute attribute, DevicePointer pointer, const Allocation& allocation) {
  switch (attribute) {
    case kPointerMemoryType:
      *static_cast<uint32_t*>(data) = allocation.host ? kMemoryHost : kMemoryDevice;
      return;
    case kPointerHostPointer:
      require(allocation.host);
      [[fallthrough]];
    case kPointerDevicePointer:
      *static_cast<void**>(data) = pointer;
      return;
    case kPointerIsManaged:
      *static_cast<bool*>(data) = false;
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
  return call(__func__, [&] { allocate(pointer, size, false); });
}

Error hipHostMalloc(void** pointer, size_t size, unsigned) {
  return call(__func__, [&] { allocate(pointer, size, true); });
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
    synchronize_all();
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
    require(allocation.has_value());
    void* const same = const_cast<void*>(pointer);
    *attributes = {allocation->host ? kMemoryHost : kMemoryDevice,
                   allocation->device,
                   same,
                   allocation->host ? same : nullptr,
                   0,
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
