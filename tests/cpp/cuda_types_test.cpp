// Compares what this project declares of the CUDA driver API with CUDA's own header: when it compiles, and, what no
// constant expression can compare, when it runs. It calls no function of CUDA.
//   g++ -std=c++20 -I/usr/local/cuda/include -Icsrc tests/cpp/cuda_types_test.cpp -o test && ./test
#include "driver/cuda/cuda_types.h"

#include <cuda.h>

#include <type_traits>

#define SAME_VALUE(ours, theirs) static_assert(static_cast<long>(wave::cuda::ours) == static_cast<long>(theirs))

SAME_VALUE(kSuccess, CUDA_SUCCESS);
SAME_VALUE(kErrorInvalidValue, CUDA_ERROR_INVALID_VALUE);
SAME_VALUE(kErrorInvalidContext, CUDA_ERROR_INVALID_CONTEXT);
SAME_VALUE(kPointerDeviceOrdinal, CU_POINTER_ATTRIBUTE_DEVICE_ORDINAL);
SAME_VALUE(kErrorNotFound, CUDA_ERROR_NOT_FOUND);
SAME_VALUE(kMaxThreadsPerBlock, CU_DEVICE_ATTRIBUTE_MAX_THREADS_PER_BLOCK);
SAME_VALUE(kMaxBlockDimX, CU_DEVICE_ATTRIBUTE_MAX_BLOCK_DIM_X);
SAME_VALUE(kMaxBlockDimY, CU_DEVICE_ATTRIBUTE_MAX_BLOCK_DIM_Y);
SAME_VALUE(kMaxBlockDimZ, CU_DEVICE_ATTRIBUTE_MAX_BLOCK_DIM_Z);
SAME_VALUE(kMaxGridDimX, CU_DEVICE_ATTRIBUTE_MAX_GRID_DIM_X);
SAME_VALUE(kMaxGridDimY, CU_DEVICE_ATTRIBUTE_MAX_GRID_DIM_Y);
SAME_VALUE(kMaxGridDimZ, CU_DEVICE_ATTRIBUTE_MAX_GRID_DIM_Z);
SAME_VALUE(kMultiprocessorCount, CU_DEVICE_ATTRIBUTE_MULTIPROCESSOR_COUNT);
SAME_VALUE(kComputeCapabilityMajor, CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MAJOR);
SAME_VALUE(kComputeCapabilityMinor, CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MINOR);
SAME_VALUE(kCooperativeLaunch, CU_DEVICE_ATTRIBUTE_COOPERATIVE_LAUNCH);
SAME_VALUE(kMaxSharedMemoryPerBlockOptin, CU_DEVICE_ATTRIBUTE_MAX_SHARED_MEMORY_PER_BLOCK_OPTIN);
SAME_VALUE(kClusterLaunch, CU_DEVICE_ATTRIBUTE_CLUSTER_LAUNCH);
SAME_VALUE(kFunctionMaxThreadsPerBlock, CU_FUNC_ATTRIBUTE_MAX_THREADS_PER_BLOCK);
SAME_VALUE(kFunctionSharedSizeBytes, CU_FUNC_ATTRIBUTE_SHARED_SIZE_BYTES);
SAME_VALUE(kFunctionConstSizeBytes, CU_FUNC_ATTRIBUTE_CONST_SIZE_BYTES);
SAME_VALUE(kFunctionLocalSizeBytes, CU_FUNC_ATTRIBUTE_LOCAL_SIZE_BYTES);
SAME_VALUE(kFunctionNumRegs, CU_FUNC_ATTRIBUTE_NUM_REGS);
SAME_VALUE(kFunctionMaxDynamicSharedSizeBytes, CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES);
SAME_VALUE(kFunctionNonPortableClusterSizeAllowed, CU_FUNC_ATTRIBUTE_NON_PORTABLE_CLUSTER_SIZE_ALLOWED);
SAME_VALUE(kCaptureNone, CU_STREAM_CAPTURE_STATUS_NONE);
SAME_VALUE(kCaptureActive, CU_STREAM_CAPTURE_STATUS_ACTIVE);
SAME_VALUE(kCaptureInvalidated, CU_STREAM_CAPTURE_STATUS_INVALIDATED);
SAME_VALUE(kCaptureModeGlobal, CU_STREAM_CAPTURE_MODE_GLOBAL);
SAME_VALUE(kCaptureModeThreadLocal, CU_STREAM_CAPTURE_MODE_THREAD_LOCAL);
SAME_VALUE(kCaptureModeRelaxed, CU_STREAM_CAPTURE_MODE_RELAXED);
SAME_VALUE(kJitErrorLogBuffer, CU_JIT_ERROR_LOG_BUFFER);
SAME_VALUE(kJitErrorLogBufferSizeBytes, CU_JIT_ERROR_LOG_BUFFER_SIZE_BYTES);
SAME_VALUE(kAttributeCooperative, CU_LAUNCH_ATTRIBUTE_COOPERATIVE);
SAME_VALUE(kAttributeClusterDimension, CU_LAUNCH_ATTRIBUTE_CLUSTER_DIMENSION);
SAME_VALUE(kAttributeProgrammaticStreamSerialization, CU_LAUNCH_ATTRIBUTE_PROGRAMMATIC_STREAM_SERIALIZATION);
SAME_VALUE(kAttributePriority, CU_LAUNCH_ATTRIBUTE_PRIORITY);

// Handles are pointers there as here, enumerations of the same size.
static_assert(sizeof(CUresult) == sizeof(wave::cuda::Error));
static_assert(std::is_same_v<CUdevice, wave::cuda::Device>);
static_assert(std::is_same_v<CUdeviceptr, wave::cuda::DevicePointer>);
template <class Handle>
constexpr bool is_handle = std::is_pointer_v<Handle> && std::is_class_v<std::remove_pointer_t<Handle>>;
static_assert(is_handle<CUcontext> && is_handle<CUmodule> && is_handle<CUfunction> && is_handle<CUstream>);
static_assert(sizeof(CUdevice_attribute) == sizeof(wave::cuda::DeviceAttribute));
static_assert(sizeof(CUfunction_attribute) == sizeof(wave::cuda::FunctionAttribute));
static_assert(sizeof(CUstreamCaptureStatus) == sizeof(wave::cuda::CaptureStatus));
static_assert(sizeof(CUstreamCaptureMode) == sizeof(wave::cuda::CaptureMode));
static_assert(sizeof(CUjit_option) == sizeof(wave::cuda::JitOption));

// What a launch with attributes takes.
static_assert(sizeof(CUlaunchAttributeID) == sizeof(wave::cuda::LaunchAttributeId));
static_assert(sizeof(CUlaunchAttribute) == sizeof(wave::cuda::LaunchAttribute));
static_assert(offsetof(CUlaunchAttribute, id) == offsetof(wave::cuda::LaunchAttribute, id));
static_assert(offsetof(CUlaunchAttribute, value) == offsetof(wave::cuda::LaunchAttribute, value));
static_assert(std::is_same_v<decltype(CUlaunchAttributeValue::cooperative), int32_t>);
static_assert(std::is_same_v<decltype(CUlaunchAttributeValue::programmaticStreamSerializationAllowed), int32_t>);
static_assert(std::is_same_v<decltype(CUlaunchAttributeValue::priority), int32_t>);
static_assert(sizeof(CUlaunchAttributeValue::clusterDim) == sizeof(wave::cuda::LaunchAttribute::value.cluster));
static_assert(sizeof(CUlaunchConfig) == sizeof(wave::cuda::LaunchConfig));
static_assert(offsetof(CUlaunchConfig, gridDimX) == offsetof(wave::cuda::LaunchConfig, grid));
static_assert(offsetof(CUlaunchConfig, blockDimX) == offsetof(wave::cuda::LaunchConfig, block));
static_assert(offsetof(CUlaunchConfig, sharedMemBytes) == offsetof(wave::cuda::LaunchConfig, shared_memory));
static_assert(offsetof(CUlaunchConfig, hStream) == offsetof(wave::cuda::LaunchConfig, stream));
static_assert(offsetof(CUlaunchConfig, attrs) == offsetof(wave::cuda::LaunchConfig, attributes));
static_assert(offsetof(CUlaunchConfig, numAttrs) == offsetof(wave::cuda::LaunchConfig, attribute_count));

// Signatures: each row of the table declares its function once more, with CUDA's own types. Where the header has
// declared it differently, that is an error.
using Error = CUresult;
using Device = CUdevice;
using Context = CUcontext;
using Module = CUmodule;
using Function = CUfunction;
using Stream = CUstream;
using DevicePointer = CUdeviceptr;
using DeviceAttribute = CUdevice_attribute;
using FunctionAttribute = CUfunction_attribute;
using PointerAttribute = CUpointer_attribute;
using CaptureStatus = CUstreamCaptureStatus;
using CaptureMode = CUstreamCaptureMode;
using JitOption = CUjit_option;
using LaunchConfig = CUlaunchConfig;

// The header must have declared them before; from 12.4 on it has all.
#define REQUIRED(name, parameters) static_assert(std::is_function_v<decltype(name)>);
#if CUDA_VERSION >= 12040
#define OPTIONAL(name, parameters) static_assert(std::is_function_v<decltype(name)>);
#else
#define OPTIONAL(name, parameters)
#endif
#include "driver/cuda/cuda_symbols.inc"
#undef REQUIRED
#undef OPTIONAL

extern "C" {
#define REQUIRED(name, parameters) Error name parameters;
#define OPTIONAL(name, parameters) Error name parameters;
#include "driver/cuda/cuda_symbols.inc"
}

int main() {
  using namespace wave::cuda;
  const bool same_keys = kParamBufferPointer == CU_LAUNCH_PARAM_BUFFER_POINTER &&
                         kParamBufferSize == CU_LAUNCH_PARAM_BUFFER_SIZE && kParamEnd == CU_LAUNCH_PARAM_END;
  return same_keys ? 0 : 1;
}
