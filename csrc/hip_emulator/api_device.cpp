// Devices, versions, errors.
#include <algorithm>
#include <climits>
#include <cstring>
#include <string_view>
#include <unordered_map>
#include <utility>
#include <vector>

#include "emulator/processor.h"
#include "hip_emulator/api.h"
#include "hip_emulator/release.h"

namespace wave::hip {

#define REFUSED(name, why) extern "C" Error name();
#include "hip_emulator/refused.inc"
#undef REFUSED

namespace {

constexpr size_t kPropertiesSize = 1472, kOldPropertiesSize = 792;

constexpr size_t kNoField = ~size_t{0};

struct Property {
  size_t size;
  size_t offset;      ///< kNoField where it is only an attribute
  size_t old_offset;  ///< kNoField where structures before ROCm 6 have no such field
  int attribute;
  size_t value;
};

/// Of a multiprocessor.
size_t work_items_at_once(const emulator::ProcessorTraits& processor) {
  const ProcessorLimits& limits = processor.limits;
  return size_t{limits.waves_per_simd} * limits.simds * processor.units_per_multiprocessor * processor.lanes;
}

/// What the device's code is built for.
const wave::Processor& target_processor() { return *find_processor(emulator::device_processor().code); }

std::vector<Property> properties_of(const emulator::ProcessorTraits& processor, const wave::Processor& target) {
  return {
#define PROPERTY(type, name, offset, old_offset, attribute, value) {sizeof(type), offset, old_offset, attribute, value},
#define NEW_PROPERTY(type, name, offset, attribute, value) {sizeof(type), offset, kNoField, attribute, value},
#define ATTRIBUTE(name, number, value) {0, kNoField, kNoField, number, value},
#include "hip_emulator/properties.inc"
#undef PROPERTY
#undef NEW_PROPERTY
#undef ATTRIBUTE
  };
}

/// Never destroyed: calls may come from static destructors.
const std::vector<Property>& properties() {
  static const auto& table = *new auto(properties_of(emulator::device_processor(), target_processor()));
  return table;
}

/// Throws hipErrorInvalidValue of a number that is no error's.
void check_is_error(Error error) {
  const std::string_view name = error_name(error);
  require(error == hipErrorUnknown || name != error_name(hipErrorUnknown));
}

/// "Wave Runtime emulator (gfx942)".
std::string device_name() { return text("Wave Runtime emulator (", emulator::device_processor().name, ")"); }

void copy_text(char* to, const std::string& text, size_t size) {
  std::memset(to, 0, size);
  std::strncpy(to, text.c_str(), size - 1);
}

/// Where a layout of hipDeviceProp_t has what a device does not share with others, and what can be done in kernels.
struct OwnFields {
  size_t bus, arch, uuid;  ///< no identifier before ROCm 6
};
constexpr OwnFields kOwnFields{584, 1428, 256}, kOldOwnFields{368, 356, kNoField};

/// hipDeviceArch_t, a bit for each: all but funnel shifts, __syncthreads_count and the like, surfaces, and launches by
/// kernels (__HIP_ARCH_HAS_... in HIP's header).
constexpr uint32_t kArch = 0x1ffff & ~(1u << 11 | 1u << 13 | 1u << 14 | 1u << 16);

void fill_properties(void* to, Device device, size_t size, size_t Property::* offset, size_t arch_offset,
                     const OwnFields& own) {
  require(to != nullptr);
  runtime().device(device);
  char* const begin = static_cast<char*>(to);
  std::memset(begin, 0, size);
  copy_text(begin, device_name(), DeviceProperties::kNameSize);
  copy_text(begin + arch_offset, emulator::device_processor().target().id(), DeviceProperties::kNameSize);
  for (const Property& property : properties()) {
    if (property.*offset != kNoField) std::memcpy(begin + property.*offset, &property.value, property.size);
  }
  std::memcpy(begin + own.bus, &device, sizeof(device));
  std::memcpy(begin + own.arch, &kArch, sizeof(kArch));
  if (own.uuid != kNoField) hipDeviceGetUuid(reinterpret_cast<Uuid*>(begin + own.uuid), device);
}

/// An exported function of this name, which may be one that is refused when it is called; or nullptr.
void* find_function(std::string_view name) {
  static const auto& functions = *new std::unordered_map<std::string_view, void*>{
#define REQUIRED(name, parameters) {#name, reinterpret_cast<void*>(&name)},
#define OPTIONAL REQUIRED
#define FUNCTION REQUIRED
#define TEXT(name) REQUIRED(name, )
#include "driver/hip/hip_symbols.inc"
#include "hip_emulator/functions.inc"
#undef REQUIRED
#undef OPTIONAL
#undef FUNCTION
#undef TEXT
#define PER_THREAD(name, parameters, arguments) {#name "_spt", reinterpret_cast<void*>(&name##_spt)},
#include "hip_emulator/per_thread.inc"
#undef PER_THREAD
#define REFUSED(name, why) {#name, reinterpret_cast<void*>(&name)},
#include "hip_emulator/refused.inc"
#undef REFUSED
  };
  const auto found = functions.find(name);
  return found == functions.end() ? nullptr : found->second;
}

}  // namespace

Error hipInit(unsigned flags) {
  return call(__func__, [&] { require(flags == 0); });
}

Error hipRuntimeGetVersion(int* version) {
  return call(__func__, [&] {
    require(version != nullptr);
    *version = release().version;
  });
}

Error hipDriverGetVersion(int* version) { return hipRuntimeGetVersion(version); }

Error hipGetProcAddress(const char* name, void** function, int version, uint64_t flags, ProcAddressStatus* status) {
  return call(__func__, [&] {
    require(name != nullptr && *name != '\0' && function != nullptr);
    require(flags == 0, hipErrorInvalidValue, "HIP has no flags for it but the default, 0");
    constexpr int kNewProperties = 600;  // ROCm 6.0, in which the structure changed
    std::string_view wanted = name;
    if (wanted == "hipGetDeviceProperties" && version >= kNewProperties) wanted = "hipGetDevicePropertiesR0600";
    *function = find_function(wanted);
    if (status != nullptr) *status = *function != nullptr ? kProcAddressFound : kProcAddressNotFound;
    require(*function != nullptr, hipErrorInvalidValue, text("there is no function '", name, "'").c_str());
  });
}

Error hipGetDeviceCount(int* count) {
  return call(__func__, [&] {
    require(count != nullptr);
    *count = static_cast<int>(runtime().devices.size());
    require(*count != 0, hipErrorNoDevice, "HIP_VISIBLE_DEVICES leaves none");
  });
}

Error hipGetDevice(Device* device) {
  return call(__func__, [&] {
    require(device != nullptr);
    *device = current_device();
  });
}

Error hipSetDevice(Device device) {
  return call(__func__, [&] {
    runtime().device(device);
    current_device() = device;
  });
}

Error hipDeviceGet(Device* device, int ordinal) {
  return call(__func__, [&] {
    require(device != nullptr);
    runtime().device(ordinal);
    *device = ordinal;
  });
}

Error hipDeviceGetName(char* name, int size, Device device) {
  return call(__func__, [&] {
    require(name != nullptr && size > 0);
    runtime().device(device);
    copy_text(name, device_name(), static_cast<size_t>(size));
  });
}

Error hipDeviceTotalMem(size_t* bytes, Device device) {
  return call(__func__, [&] {
    require(bytes != nullptr);
    runtime().device(device);
    *bytes = memory_size();
  });
}

Error hipDeviceComputeCapability(int* major, int* minor, Device device) {
  return call(__func__, [&] {
    require(major != nullptr && minor != nullptr);
    runtime().device(device);
    *major = target_processor().major;
    *minor = target_processor().minor;
  });
}

Error hipDeviceGetAttribute(int* value, DeviceAttribute attribute, Device device) {
  return call(__func__, [&] {
    require(value != nullptr);
    runtime().device(device);
    const bool is_known = (attribute >= 0 && attribute <= kLastAttribute) ||
                          (attribute >= kFirstOwnAttribute && attribute <= kLastOwnAttribute);
    require(is_known, hipErrorInvalidValue, "there is no such attribute");
    const auto found = std::ranges::find(properties(), static_cast<int>(attribute), &Property::attribute);
    if (attribute == kPciBusId) {
      *value = device;
    } else {
      *value = found == properties().end() ? 0 : static_cast<int>(std::min<size_t>(found->value, INT_MAX));
    }
  });
}

Error hipGetDeviceProperties(void* to, Device device) {
  return call(__func__, [&] {
    fill_properties(to, device, kOldPropertiesSize, &Property::old_offset, DeviceProperties::kOldArchOffset,
                    kOldOwnFields);
  });
}

Error hipGetDevicePropertiesR0000(void* to, Device device) { return hipGetDeviceProperties(to, device); }

Error hipGetDevicePropertiesR0600(void* to, Device device) {
  return call(__func__, [&] {
    fill_properties(to, device, kPropertiesSize, &Property::offset, DeviceProperties::kArchOffset, kOwnFields);
  });
}

Error hipDeviceSynchronize() {
  return call(__func__, [&] { synchronize(current_device()); });
}

Error hipDeviceReset() {
  return call(__func__, [&] {
    check_may_wait();
    try {
      synchronize(current_device());
    } catch (const Failure&) {  // which is what this is called for
    }
    runtime().device(current_device()).reset();
  });
}

Error hipGetLastError() { return std::exchange(last_error(), hipSuccess); }

Error hipPeekAtLastError() { return last_error(); }

Error hipExtGetLastError() { return std::exchange(last_result(), hipSuccess); }

Error hipDrvGetErrorName(Error error, const char** name) {
  return call(__func__, [&] {
    require(name != nullptr);
    *name = error_name(error);
    check_is_error(error);
  });
}

Error hipDrvGetErrorString(Error error, const char** text) {
  return call(__func__, [&] {
    require(text != nullptr);
    *text = error_text(error);
    check_is_error(error);
  });
}

const char* hipGetErrorName(Error error) { return error_name(error); }

const char* hipGetErrorString(Error error) { return error_text(error); }

}  // namespace wave::hip
