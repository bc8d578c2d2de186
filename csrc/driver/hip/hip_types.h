// What the HIP driver uses of HIP's interface: types, enumerators and layouts as in hip/hip_runtime_api.h of ROCm 5.2
// to 7.x. Declared here because the product is built without ROCm; tests/cpp/hip_types_test.cpp compares all of it with
// the headers, where there are any.
#pragma once

#include <cstddef>
#include <cstdint>

namespace wave::hip {

using Error = int;  ///< hipError_t
constexpr Error kSuccess = 0;
constexpr Error kErrorInvalidValue = 1;
constexpr Error kErrorNotReady = 600;
constexpr Error kErrorNotFound = 500;
constexpr Error kErrorNoDevice = 100;

using Device = int;                           ///< hipDevice_t, and the ordinals of the runtime's functions
using Module = struct ihipModule_t*;          ///< hipModule_t
using Function = struct ihipModuleSymbol_t*;  ///< hipFunction_t
using Stream = struct ihipStream_t*;          ///< hipStream_t; nullptr is the legacy default stream
using DevicePointer = void*;                  ///< hipDeviceptr_t

/// hipDeviceAttribute_t
enum DeviceAttribute : int {
  kCooperativeLaunch = 10,
  kMaxBlockDimX = 26,
  kMaxBlockDimY = 27,
  kMaxBlockDimZ = 28,
  kMaxGridDimX = 29,
  kMaxGridDimY = 30,
  kMaxGridDimZ = 31,
  kMaxThreadsPerBlock = 56,
  kMultiprocessorCount = 63,
  kMaxSharedMemoryPerBlock = 74,
};

/// hipFunction_attribute
enum FunctionAttribute : int {
  kFunctionMaxThreadsPerBlock = 0,
  kFunctionSharedSizeBytes = 1,
  kFunctionConstSizeBytes = 2,
  kFunctionLocalSizeBytes = 3,
  kFunctionNumRegs = 4,
  kFunctionPtxVersion = 5,
  kFunctionBinaryVersion = 6,
  kFunctionCacheModeCa = 7,
  kFunctionMaxDynamicSharedSizeBytes = 8,
  kFunctionPreferredSharedMemoryCarveout = 9,
};

/// hipPointer_attribute
enum PointerAttribute : int {
  kPointerMemoryType = 2,
  kPointerDevicePointer = 3,
  kPointerHostPointer = 4,
  kPointerBufferId = 7,
  kPointerIsManaged = 8,
  kPointerDeviceOrdinal = 9,
  kPointerRangeBegin = 11,
  kPointerRangeSize = 12,
  kPointerIsMapped = 13,
};

/// hipStreamCaptureStatus and hipStreamCaptureMode
enum CaptureStatus : int { kCaptureNone = 0, kCaptureActive = 1, kCaptureInvalidated = 2 };
enum CaptureMode : int { kCaptureModeGlobal = 0, kCaptureModeThreadLocal = 1, kCaptureModeRelaxed = 2 };

/// HIP_LAUNCH_PARAM_*: keys of the list that passes the arguments as one buffer.
inline void* const kParamBufferPointer = reinterpret_cast<void*>(1);
inline void* const kParamBufferSize = reinterpret_cast<void*>(2);
inline void* const kParamEnd = reinterpret_cast<void*>(3);

/// hipLaunchAttributeID. 4 is the cluster dimension, as in CUDA; headers up to 7.1 have no name for it.
enum LaunchAttributeId : int {
  kAttributeAccessWindow = 1,
  kAttributeCooperative = 2,
  kAttributeClusterDimension = 4,
  kAttributePriority = 8,
};

/// hipAccessPolicyWindow
struct AccessWindow {
  void* begin;
  int hit_property;
  float hit_ratio;
  int miss_property;
  size_t size;
};

/// hipLaunchAttribute
struct LaunchAttribute {
  LaunchAttributeId id;
  char pad[4];
  union {
    char size[64];
    AccessWindow window;
    int32_t cooperative;
    uint32_t cluster[3];
    int32_t priority;
  } value;
};

/// HIP_LAUNCH_CONFIG
struct LaunchConfig {
  uint32_t grid[3];  ///< in workgroups
  uint32_t block[3];
  uint32_t shared_memory;
  Stream stream;
  LaunchAttribute* attributes;
  uint32_t attribute_count;
};

/// hipDeviceProp_t: the fields that attributes do not give. Its layout changed with ROCm 6, which names the function
/// for the new one hipGetDevicePropertiesR0600 and keeps hipGetDeviceProperties for the old.
struct DeviceProperties {
  static constexpr size_t kSize = 4096;  ///< more than any release writes: 792 bytes in 5.2, 1472 in 7.1
  static constexpr size_t kNameSize = 256;
  static constexpr size_t kArchOffset = 1160;    ///< of gcnArchName, "gfx942:sramecc+:xnack-"
  static constexpr size_t kOldArchOffset = 396;  ///< before ROCm 6
  alignas(16) char bytes[kSize];
};

}  // namespace wave::hip
