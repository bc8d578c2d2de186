// What the CUDA driver uses of the CUDA driver API: types, enumerators and layouts as in cuda.h of CUDA 11.8 and later.
// Declared here because the product is built without CUDA; tests/cpp/cuda_types_test.cpp compares all of it with the
// header, where there is one.
#pragma once

#include <cstddef>
#include <cstdint>

namespace wave::cuda {

using Error = int;  ///< CUresult
constexpr Error kSuccess = 0;
constexpr Error kErrorInvalidValue = 1;
constexpr Error kErrorInvalidContext = 201;
constexpr Error kErrorNotFound = 500;

using Device = int;                        ///< CUdevice
using Context = struct CUctx_st*;          ///< CUcontext
using Module = struct CUmod_st*;           ///< CUmodule
using Function = struct CUfunc_st*;        ///< CUfunction
using Stream = struct CUstream_st*;        ///< CUstream; nullptr is the legacy default stream
using DevicePointer = unsigned long long;  ///< CUdeviceptr

/// CUdevice_attribute
enum DeviceAttribute : int {
  kMaxThreadsPerBlock = 1,
  kMaxBlockDimX = 2,
  kMaxBlockDimY = 3,
  kMaxBlockDimZ = 4,
  kMaxGridDimX = 5,
  kMaxGridDimY = 6,
  kMaxGridDimZ = 7,
  kMultiprocessorCount = 16,
  kComputeCapabilityMajor = 75,
  kComputeCapabilityMinor = 76,
  kCooperativeLaunch = 95,
  kMaxSharedMemoryPerBlockOptin = 97,
  kClusterLaunch = 120,
};

/// CUfunction_attribute
enum FunctionAttribute : int {
  kFunctionMaxThreadsPerBlock = 0,
  kFunctionSharedSizeBytes = 1,
  kFunctionConstSizeBytes = 2,
  kFunctionLocalSizeBytes = 3,
  kFunctionNumRegs = 4,
  kFunctionMaxDynamicSharedSizeBytes = 8,
  kFunctionNonPortableClusterSizeAllowed = 14,
};

/// CUpointer_attribute
enum PointerAttribute : int { kPointerDeviceOrdinal = 9 };

/// CUstreamCaptureStatus and CUstreamCaptureMode
enum CaptureStatus : int { kCaptureNone = 0, kCaptureActive = 1, kCaptureInvalidated = 2 };
enum CaptureMode : int { kCaptureModeGlobal = 0, kCaptureModeThreadLocal = 1, kCaptureModeRelaxed = 2 };

/// CUjit_option
enum JitOption : int { kJitErrorLogBuffer = 5, kJitErrorLogBufferSizeBytes = 6 };

/// CUlaunchAttributeID
enum LaunchAttributeId : int {
  kAttributeCooperative = 2,
  kAttributeClusterDimension = 4,
  kAttributeProgrammaticStreamSerialization = 6,
  kAttributePriority = 8,
};

/// CUlaunchAttribute
struct LaunchAttribute {
  LaunchAttributeId id;
  char pad[4];
  union {
    char size[64];
    int32_t cooperative;
    uint32_t cluster[3];
    int32_t programmatic;
    int32_t priority;
  } value;
};

/// CUlaunchConfig
struct LaunchConfig {
  uint32_t grid[3];  ///< in blocks
  uint32_t block[3];
  uint32_t shared_memory;
  Stream stream;
  LaunchAttribute* attributes;
  uint32_t attribute_count;
};

/// CU_LAUNCH_PARAM_*: keys of the list that passes the arguments as one buffer.
inline void* const kParamBufferPointer = reinterpret_cast<void*>(1);
inline void* const kParamBufferSize = reinterpret_cast<void*>(2);
inline void* const kParamEnd = nullptr;

}  // namespace wave::cuda
