// Memory that streams allocate and free in their order, and pools of it.
#include <algorithm>
#include <cstring>

#include "base/error.h"
#include "hip_emulator/api.h"
#include "hip_emulator/graph_memory.h"

namespace wave::hip {

namespace {

PoolState& pool_of_device(int device) { return *runtime().pools.find(runtime().device(device).current_pool()); }

/// Of these functions a stream that is none is another error than elsewhere.
std::shared_ptr<Queue> queue_of(Stream stream) { return hip_emulator::find_queue(stream, hipErrorInvalidHandle); }

/// Becomes a node of the graph that is captured.
void capture_allocation(void** pointer, size_t size, int device, const std::shared_ptr<Queue>& queue) {
  AllocationParameters parameters{};
  parameters.pool = {kPinned, 0, {kLocationDevice, device}, nullptr, 0, {}};
  parameters.size = size;
  submit_locked(queue, allocate_operation(&parameters));
  *pointer = parameters.pointer;
}

/// Memory is there at once, but in graphs.
void allocate(void** pointer, size_t size, const PoolState& pool, Stream stream) {
  require(pointer != nullptr);
  const auto queue = queue_of(stream);
  *pointer = nullptr;
  if (size == 0) return;
  {
    std::lock_guard lock(runtime().order);
    if (queue->capture != nullptr) return capture_allocation(pointer, size, pool.device, queue);
  }
  require(pool.size_limit == 0 || size <= pool.size_limit - std::min(pool.size_limit, pool.use->current.load()),
          hipErrorOutOfMemory, "the pool would become larger than its maxSize");
  *pointer = runtime().memory.allocate(size, pool.device, AllocationKind::Device, 0, pool.use);
}

bool is_use(PoolAttribute attribute) { return attribute >= kReservedCurrent; }

std::atomic<uint64_t>& use_of(const PoolState& pool, PoolAttribute attribute) {
  const bool is_high = attribute == kReservedHigh || attribute == kUsedHigh;
  return is_high ? pool.use->high : pool.use->current;
}

void check_attribute(PoolAttribute attribute) {
  require(attribute >= kReuseFollowEventDependencies && attribute <= kUsedHigh);
}

/// Three attributes are an int, the others 64 bits.
size_t size_of(PoolAttribute attribute) { return attribute < kReleaseThreshold ? sizeof(int) : sizeof(uint64_t); }

bool is_device(int ordinal) { return ordinal >= 0 && static_cast<size_t>(ordinal) < runtime().devices.size(); }

}  // namespace

Error hipMallocAsync(void** pointer, size_t size, Stream stream) {
  return call(__func__, [&] { allocate(pointer, size, pool_of_device(queue_of(stream)->device), stream); });
}

Error hipMallocFromPoolAsync(void** pointer, size_t size, MemoryPool pool, Stream stream) {
  return call(__func__, [&] { allocate(pointer, size, *runtime().pools.find(pool), stream); });
}

Error hipFreeAsync(void* pointer, Stream stream) {
  return call(__func__, [&] {
    const auto queue = queue_of(stream);
    require(pointer != nullptr);
    if (submit(queue, release_operation(pointer)) == nullptr) return;
    runtime().memory.promise(pointer, false);
    runtime().memory.leave(pointer);
  });
}

Error hipMemPoolCreate(MemoryPool* pool, const PoolProperties* properties) {
  return call(__func__, [&] {
    require(pool != nullptr && properties != nullptr && properties->allocation_type == kPinned);
    require(properties->location.type == kLocationDevice && is_device(properties->location.id));
    require(properties->handle_types == 0, hipErrorNotSupported, "a pool is not shared with other processes");
    *pool = runtime().pools.add(std::make_shared<PoolState>(properties->location.id, properties->size_limit));
  });
}

Error hipMemPoolDestroy(MemoryPool pool) {
  return call(__func__, [&] {
    const int device = runtime().pools.find(pool)->device;
    require(runtime().device(device).default_pool() != pool, hipErrorInvalidValue, "the device's own pool stays");
    runtime().pools.remove(pool);
    runtime().device(device).forget_pool(pool);
  });
}

Error hipDeviceGetDefaultMemPool(MemoryPool* pool, int device) {
  return call(__func__, [&] {
    require(pool != nullptr);
    *pool = runtime().device(device).default_pool();
  });
}

Error hipDeviceGetMemPool(MemoryPool* pool, int device) {
  return call(__func__, [&] {
    require(pool != nullptr && is_device(device));
    *pool = runtime().device(device).current_pool();
  });
}

Error hipDeviceSetMemPool(int device, MemoryPool pool) {
  return call(__func__, [&] {
    require(is_device(device));
    require(runtime().pools.find(pool)->device == device, hipErrorInvalidDevice, "the pool is another device's");
    runtime().device(device).set_pool(pool);
  });
}

Error hipMemPoolSetAttribute(MemoryPool pool, PoolAttribute attribute, void* value) {
  return call(__func__, [&] {
    check_attribute(attribute);
    require(value != nullptr);
    uint64_t given = 0;
    std::memcpy(&given, value, size_of(attribute));
    const auto found = runtime().pools.find(pool);
    if (!is_use(attribute)) {
      found->settings[attribute] = given;
      return;
    }
    require((attribute == kReservedHigh || attribute == kUsedHigh) && given == 0, hipErrorInvalidValue,
            "of what is in use only the highest values can be set, to 0");
    found->use->high = found->use->current.load();
  });
}

Error hipMemPoolGetAttribute(MemoryPool pool, PoolAttribute attribute, void* value) {
  return call(__func__, [&] {
    check_attribute(attribute);
    require(value != nullptr);
    const auto found = runtime().pools.find(pool);
    const uint64_t result = is_use(attribute) ? use_of(*found, attribute).load() : found->settings[attribute].load();
    std::memcpy(value, &result, size_of(attribute));
  });
}

/// Nothing is held that is not in use.
Error hipMemPoolTrimTo(MemoryPool pool, size_t) {
  return call(__func__, [&] { runtime().pools.find(pool); });
}

Error hipMemPoolSetAccess(MemoryPool pool, const AccessDescription* descriptions, size_t count) {
  return call(__func__, [&] {
    const auto found = runtime().pools.find(pool);
    require(descriptions != nullptr);
    require(count <= runtime().devices.size(), hipErrorInvalidDevice);
    for (size_t i = 0; i < count; ++i) {
      require(descriptions[i].location.type == kLocationDevice);
      runtime().device(descriptions[i].location.id);
      require(descriptions[i].flags >= kNoAccess && descriptions[i].flags <= kReadWrite);
      const bool takes_own = descriptions[i].location.id == found->device && descriptions[i].flags != kReadWrite;
      require(!takes_own, hipErrorInvalidValue, "a device has access to its own pool");
    }
  });
}

/// All devices share the process's memory.
Error hipMemPoolGetAccess(PoolAccess* flags, MemoryPool pool, MemoryLocation* location) {
  return call(__func__, [&] {
    require(flags != nullptr && location != nullptr);
    runtime().pools.find(pool);
    require(location->type == kLocationDevice && is_device(location->id));
    *flags = kReadWrite;
  });
}

}  // namespace wave::hip
