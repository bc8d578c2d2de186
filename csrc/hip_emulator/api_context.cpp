// Contexts, which are the devices' own, and what devices are asked about each other and themselves.
#include <cstdio>
#include <cstring>
#include <vector>

#include "hip_emulator/api.h"

namespace wave::hip {

namespace {

/// What they are is not looked at.
Context context_of(Device device) { return reinterpret_cast<Context>(static_cast<uintptr_t>(device) + 1); }

/// Throws hipErrorInvalidContext.
Device device_of(Context context) {
  const auto number = reinterpret_cast<uintptr_t>(context);
  require(number != 0 && number <= runtime().devices.size(), hipErrorInvalidContext);
  return static_cast<Device>(number - 1);
}

/// The devices that were current before contexts were pushed.
std::vector<Device>& pushed() {
  thread_local std::vector<Device> stack;
  return stack;
}

void check_pair(Device device, Device peer) {
  runtime().device(device);
  runtime().device(peer);
}

template <class T>
Error answer(const char* function, T* to, T value) {
  return call(function, [&] {
    require(to != nullptr);
    *to = value;
  });
}

}  // namespace

Error hipCtxGetCurrent(Context* context) { return answer(__func__, context, context_of(current_device())); }

Error hipCtxSetCurrent(Context context) {
  return call(__func__, [&] {
    if (context != nullptr) current_device() = device_of(context);
  });
}

Error hipCtxGetDevice(Device* device) { return hipGetDevice(device); }

Error hipCtxCreate(Context* context, unsigned, Device device) {
  return call(__func__, [&] {
    require(context != nullptr);
    runtime().device(device);
    *context = context_of(device);
    pushed().push_back(current_device());
    current_device() = device;
  });
}

Error hipCtxDestroy(Context context) {
  return call(__func__, [&] { device_of(context); });
}

Error hipCtxPushCurrent(Context context) {
  return call(__func__, [&] {
    const Device device = device_of(context);
    pushed().push_back(current_device());
    current_device() = device;
  });
}

Error hipCtxPopCurrent(Context* context) {
  return call(__func__, [&] {
    require(!pushed().empty(), hipErrorInvalidContext, "no context was pushed");
    if (context != nullptr) *context = context_of(current_device());
    current_device() = pushed().back();
    pushed().pop_back();
  });
}

Error hipCtxSynchronize() { return hipDeviceSynchronize(); }
Error hipCtxGetFlags(unsigned* flags) { return hipGetDeviceFlags(flags); }
Error hipCtxGetApiVersion(Context, ApiVersion* version) {
  return answer(__func__, version, ApiVersion{4});
}  // as AMD's, always
Error hipCtxGetCacheConfig(CacheConfig* config) { return hipDeviceGetCacheConfig(config); }
Error hipCtxSetCacheConfig(CacheConfig config) { return hipDeviceSetCacheConfig(config); }
Error hipCtxGetSharedMemConfig(SharedMemoryConfig* config) { return hipDeviceGetSharedMemConfig(config); }
Error hipCtxSetSharedMemConfig(SharedMemoryConfig config) { return hipDeviceSetSharedMemConfig(config); }

Error hipCtxEnablePeerAccess(Context peer, unsigned flags) {
  return call(__func__, [&] {
    const Error error = hipDeviceEnablePeerAccess(device_of(peer), flags);
    require(error == hipSuccess, static_cast<Code>(error));
  });
}

Error hipCtxDisablePeerAccess(Context peer) {
  return call(__func__, [&] {
    const Error error = hipDeviceDisablePeerAccess(device_of(peer));
    require(error == hipSuccess, static_cast<Code>(error));
  });
}

Error hipDevicePrimaryCtxRetain(Context* context, Device device) {
  return call(__func__, [&] {
    require(context != nullptr);
    runtime().device(device);
    *context = context_of(device);
  });
}

Error hipDevicePrimaryCtxRelease(Device device) {
  return call(__func__, [&] { runtime().device(device); });
}

Error hipDevicePrimaryCtxReset(Device device) {
  return call(__func__, [&] { runtime().device(device); });
}

Error hipDevicePrimaryCtxGetState(Device device, unsigned* flags, int* active) {
  return call(__func__, [&] {
    require(flags != nullptr && active != nullptr);
    *flags = runtime().device(device).flags;
    *active = 1;
  });
}

Error hipDevicePrimaryCtxSetFlags(Device device, unsigned flags) {
  return call(__func__, [&] { runtime().device(device).flags = flags; });
}

Error hipSetDeviceFlags(unsigned flags) {
  return call(__func__, [&] {
    constexpr unsigned kSchedules = 7, kAll = 0x1f;  // of the schedules only one
    require(flags <= kAll && ((flags & kSchedules) & ((flags & kSchedules) - 1)) == 0);
    runtime().device(current_device()).flags = flags;
  });
}

Error hipGetDeviceFlags(unsigned* flags) {
  return call(__func__, [&] {
    require(flags != nullptr);
    constexpr unsigned kSchedules = 7;  // AMD's runtime forgets the others
    *flags = runtime().device(current_device()).flags & kSchedules;
  });
}

/// The device has no caches and banks to be configured: what is asked for is taken, as AMD's runtime takes it.
Error hipDeviceGetCacheConfig(CacheConfig* config) { return answer(__func__, config, CacheConfig{}); }
Error hipDeviceSetCacheConfig(CacheConfig) {
  return call(__func__, [] {});
}
Error hipDeviceGetSharedMemConfig(SharedMemoryConfig* config) {
  constexpr SharedMemoryConfig kFourBytes{1};
  return answer(__func__, config, kFourBytes);
}
Error hipDeviceSetSharedMemConfig(SharedMemoryConfig config) {
  return call(__func__, [&] {
    constexpr int kEightBytes = 2;
    require(config >= 0 && config <= kEightBytes);
  });
}

Error hipDeviceGetLimit(size_t* value, DeviceLimit limit) {
  return call(__func__, [&] {
    require(value != nullptr);
    auto& limits = runtime().device(current_device()).limits;
    require(limit >= 0 && static_cast<size_t>(limit) < limits.size(), hipErrorUnsupportedLimit);
    *value = limits[static_cast<size_t>(limit)];
  });
}

/// A kernel's stack, its output and its heap are as large as they need to be: what is set is only told again.
Error hipDeviceSetLimit(DeviceLimit limit, size_t value) {
  return call(__func__, [&] {
    auto& limits = runtime().device(current_device()).limits;
    require(limit >= 0 && static_cast<size_t>(limit) < limits.size());
    limits[static_cast<size_t>(limit)] = value;
  });
}

Error hipDeviceCanAccessPeer(int* can, Device device, Device peer) {
  return call(__func__, [&] {
    require(can != nullptr);
    check_pair(device, peer);
    *can = device != peer;
  });
}

Error hipDeviceEnablePeerAccess(Device peer, unsigned flags) {
  return call(__func__, [&] {
    require(flags == 0);
    runtime().device(peer);
    require(peer != current_device(), hipErrorInvalidDevice);
    require(runtime().device(current_device()).add_peer(peer), hipErrorPeerAccessAlreadyEnabled);
  });
}

Error hipDeviceDisablePeerAccess(Device peer) {
  return call(__func__, [&] {
    runtime().device(peer);
    require(runtime().device(current_device()).remove_peer(peer), hipErrorPeerAccessNotEnabled);
  });
}

Error hipDeviceGetP2PAttribute(int* value, PeerAttribute attribute, Device device, Device peer) {
  return call(__func__, [&] {
    constexpr int kRank = 0, kArrayAccess = 3;
    require(value != nullptr && attribute >= kRank && attribute <= kArrayAccess);
    require(device != peer, hipErrorInvalidDevice);
    check_pair(device, peer);
    *value = attribute != kRank && attribute != kArrayAccess;
  });
}

/// "0000:03:00.0": a bus of its own for each device, which is its ordinal.
Error hipDeviceGetPCIBusId(char* id, int length, Device device) {
  return call(__func__, [&] {
    require(id != nullptr && length > 0);
    runtime().device(device);
    std::snprintf(id, static_cast<size_t>(length), "0000:%02x:00.0", static_cast<unsigned>(device));
  });
}

Error hipDeviceGetByPCIBusId(Device* device, const char* id) {
  return call(__func__, [&] {
    require(device != nullptr && id != nullptr);
    unsigned domain = 0, bus = 0, slot = 0, function = 0;
    require(std::sscanf(id, "%x:%x:%x.%x", &domain, &bus, &slot, &function) >= 3);
    require(domain == 0 && slot == 0 && bus < runtime().devices.size(), hipErrorInvalidValue, "no device is there");
    *device = static_cast<Device>(bus);
  });
}

Error hipDeviceGetUuid(Uuid* uuid, Device device) {
  return call(__func__, [&] {
    require(uuid != nullptr);
    runtime().device(device);
    *uuid = {};
    std::snprintf(uuid->bytes, sizeof(uuid->bytes), "emulator-%d", device);
  });
}

/// As if each were linked with each by xGMI.
Error hipExtGetLinkTypeAndHopCount(int device, int peer, uint32_t* type, uint32_t* hops) {
  return call(__func__, [&] {
    constexpr uint32_t kXgmi = 4;
    require(type != nullptr && hops != nullptr && device != peer && device >= 0 && peer >= 0);
    check_pair(device, peer);
    *type = kXgmi;
    *hops = 1;
  });
}

/// Each device suits as well as the first.
Error hipChooseDevice(Device* device, const void* properties) {
  return call(__func__, [&] {
    require(device != nullptr && properties != nullptr);
    *device = 0;
  });
}
Error hipChooseDeviceR0000(Device* device, const void* properties) { return hipChooseDevice(device, properties); }
Error hipChooseDeviceR0600(Device* device, const void* properties) { return hipChooseDevice(device, properties); }

}  // namespace wave::hip
