// Compares what this project declares of HIP's interface with HIP's own headers. All is done when it compiles:
//   g++ -std=c++20 -fsyntax-only -D__HIP_PLATFORM_AMD__ -I/opt/rocm/include -Icsrc tests/cpp/hip_types_test.cpp
#include <hip/hip_runtime_api.h>
#if __has_include(<hip/hip_ext.h>)
#include <hip/hip_ext.h>
#endif

#include <type_traits>
#include <utility>

#include "hip_emulator/hip_handles.h"

using wave::hip::DeviceProperties;

#define SAME_VALUE(ours, theirs) static_assert(static_cast<long>(wave::hip::ours) == static_cast<long>(theirs))

SAME_VALUE(kSuccess, hipSuccess);
SAME_VALUE(kErrorNotFound, hipErrorNotFound);
SAME_VALUE(kErrorNoDevice, hipErrorNoDevice);
SAME_VALUE(kCooperativeLaunch, hipDeviceAttributeCooperativeLaunch);
SAME_VALUE(kMaxBlockDimX, hipDeviceAttributeMaxBlockDimX);
SAME_VALUE(kMaxBlockDimY, hipDeviceAttributeMaxBlockDimY);
SAME_VALUE(kMaxBlockDimZ, hipDeviceAttributeMaxBlockDimZ);
SAME_VALUE(kMaxGridDimX, hipDeviceAttributeMaxGridDimX);
SAME_VALUE(kMaxGridDimY, hipDeviceAttributeMaxGridDimY);
SAME_VALUE(kMaxGridDimZ, hipDeviceAttributeMaxGridDimZ);
SAME_VALUE(kMaxThreadsPerBlock, hipDeviceAttributeMaxThreadsPerBlock);
SAME_VALUE(kMultiprocessorCount, hipDeviceAttributeMultiprocessorCount);
SAME_VALUE(kMaxSharedMemoryPerBlock, hipDeviceAttributeMaxSharedMemoryPerBlock);
SAME_VALUE(kFunctionMaxThreadsPerBlock, HIP_FUNC_ATTRIBUTE_MAX_THREADS_PER_BLOCK);
SAME_VALUE(kFunctionSharedSizeBytes, HIP_FUNC_ATTRIBUTE_SHARED_SIZE_BYTES);
SAME_VALUE(kFunctionConstSizeBytes, HIP_FUNC_ATTRIBUTE_CONST_SIZE_BYTES);
SAME_VALUE(kFunctionLocalSizeBytes, HIP_FUNC_ATTRIBUTE_LOCAL_SIZE_BYTES);
SAME_VALUE(kFunctionNumRegs, HIP_FUNC_ATTRIBUTE_NUM_REGS);
SAME_VALUE(kPointerMemoryType, HIP_POINTER_ATTRIBUTE_MEMORY_TYPE);
SAME_VALUE(kPointerDevicePointer, HIP_POINTER_ATTRIBUTE_DEVICE_POINTER);
SAME_VALUE(kPointerHostPointer, HIP_POINTER_ATTRIBUTE_HOST_POINTER);
SAME_VALUE(kPointerIsManaged, HIP_POINTER_ATTRIBUTE_IS_MANAGED);
SAME_VALUE(kPointerDeviceOrdinal, HIP_POINTER_ATTRIBUTE_DEVICE_ORDINAL);
SAME_VALUE(kPointerRangeBegin, HIP_POINTER_ATTRIBUTE_RANGE_START_ADDR);
SAME_VALUE(kPointerRangeSize, HIP_POINTER_ATTRIBUTE_RANGE_SIZE);
SAME_VALUE(kPointerIsMapped, HIP_POINTER_ATTRIBUTE_MAPPED);
SAME_VALUE(kErrorInvalidValue, hipErrorInvalidValue);
SAME_VALUE(kCaptureNone, hipStreamCaptureStatusNone);
SAME_VALUE(kCaptureActive, hipStreamCaptureStatusActive);
SAME_VALUE(kCaptureInvalidated, hipStreamCaptureStatusInvalidated);
SAME_VALUE(kCaptureModeGlobal, hipStreamCaptureModeGlobal);
SAME_VALUE(kCaptureModeThreadLocal, hipStreamCaptureModeThreadLocal);
SAME_VALUE(kCaptureModeRelaxed, hipStreamCaptureModeRelaxed);
SAME_VALUE(kFunctionPtxVersion, HIP_FUNC_ATTRIBUTE_PTX_VERSION);
SAME_VALUE(kFunctionBinaryVersion, HIP_FUNC_ATTRIBUTE_BINARY_VERSION);
SAME_VALUE(kFunctionCacheModeCa, HIP_FUNC_ATTRIBUTE_CACHE_MODE_CA);
SAME_VALUE(kFunctionMaxDynamicSharedSizeBytes, HIP_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES);
SAME_VALUE(kFunctionPreferredSharedMemoryCarveout, HIP_FUNC_ATTRIBUTE_PREFERRED_SHARED_MEMORY_CARVEOUT);
SAME_VALUE(kMaxDynamicSharedMemory, hipFuncAttributeMaxDynamicSharedMemorySize);
SAME_VALUE(kSharedMemoryCarveout, hipFuncAttributePreferredSharedMemoryCarveout);
SAME_VALUE(kHostToHost, hipMemcpyHostToHost);
SAME_VALUE(kHostToDevice, hipMemcpyHostToDevice);
SAME_VALUE(kDeviceToHost, hipMemcpyDeviceToHost);
SAME_VALUE(kDeviceToDevice, hipMemcpyDeviceToDevice);
SAME_VALUE(kCopyDefault, hipMemcpyDefault);
SAME_VALUE(kStreamNonBlocking, hipStreamNonBlocking);
SAME_VALUE(kEventDisableTiming, hipEventDisableTiming);

// Handles are pointers there as here, enumerations of the same size.
static_assert(sizeof(hipError_t) == sizeof(wave::hip::Error));
static_assert(std::is_same_v<hipDevice_t, wave::hip::Device>);
static_assert(std::is_same_v<hipDeviceptr_t, wave::hip::DevicePointer>);
template <class Handle>
constexpr bool is_handle = std::is_pointer_v<Handle> && std::is_class_v<std::remove_pointer_t<Handle>>;
static_assert(is_handle<hipModule_t> && is_handle<hipFunction_t> && is_handle<hipStream_t> && is_handle<hipEvent_t> &&
              is_handle<hipGraph_t> && is_handle<hipGraphExec_t> && is_handle<hipGraphNode_t> && is_handle<hipCtx_t>);
static_assert(sizeof(hipDeviceAttribute_t) == sizeof(wave::hip::DeviceAttribute));
static_assert(sizeof(hipFunction_attribute) == sizeof(wave::hip::FunctionAttribute));
static_assert(sizeof(hipStreamCaptureStatus) == sizeof(wave::hip::CaptureStatus));
static_assert(sizeof(hipStreamCaptureMode) == sizeof(wave::hip::CaptureMode));
static_assert(sizeof(hipMemcpyKind) == sizeof(wave::hip::MemcpyKind));
static_assert(sizeof(hipMemoryType) == sizeof(wave::hip::MemoryType));
static_assert(sizeof(hipJitOption) == sizeof(wave::hip::JitOption));

// Device properties, of which there are two layouts.
static_assert(sizeof(hipDeviceProp_t) <= DeviceProperties::kSize);
static_assert(sizeof(hipDeviceProp_t::name) == DeviceProperties::kNameSize && offsetof(hipDeviceProp_t, name) == 0);
static_assert(sizeof(hipDeviceProp_t::gcnArchName) <= DeviceProperties::kNameSize);
#if HIP_VERSION_MAJOR >= 6
#define OFFSET(offset, old_offset) offset
static_assert(sizeof(hipDeviceProp_t) == 1472);
static_assert(offsetof(hipDeviceProp_t, gcnArchName) == DeviceProperties::kArchOffset);
static_assert(offsetof(hipDeviceProp_t, pciBusID) == 584 && offsetof(hipDeviceProp_t, arch) == 1428 &&
              offsetof(hipDeviceProp_t, uuid) == 256);  // OwnFields
#else
#define OFFSET(offset, old_offset) old_offset
static_assert(sizeof(hipDeviceProp_t) == 792);
static_assert(offsetof(hipDeviceProp_t, gcnArchName) == DeviceProperties::kOldArchOffset);
static_assert(offsetof(hipDeviceProp_t, pciBusID) == 368 && offsetof(hipDeviceProp_t, arch) == 356);  // OwnFields
#endif
#define PROPERTY(type, name, offset, old_offset, attribute, value)              \
  static_assert(offsetof(hipDeviceProp_t, name) == OFFSET(offset, old_offset)); \
  static_assert(std::is_same_v<std::remove_reference_t<decltype((std::declval<hipDeviceProp_t&>().name))>, type>);
#if HIP_VERSION_MAJOR >= 6
#define NEW_PROPERTY(type, name, offset, attribute, value) PROPERTY(type, name, offset, offset, attribute, value)
#define ATTRIBUTE(name, number, value) static_assert(name == number);
static_assert(hipDeviceAttributeMemoryPoolSupportedHandleTypes <= wave::hip::kLastAttribute);
static_assert(hipDeviceAttributeNumberOfXccs <= wave::hip::kLastOwnAttribute);
#else
#define NEW_PROPERTY(type, name, offset, attribute, value)
#define ATTRIBUTE(name, number, value)
#endif
#include "hip_emulator/properties.inc"
#undef PROPERTY
#undef NEW_PROPERTY
#undef ATTRIBUTE
static_assert(hipDeviceAttributePciBusId == wave::hip::kPciBusId);
static_assert(hipDeviceAttributeManagedMemory == 24 && hipDeviceAttributeTotalConstantMemory == 83 &&
              hipDeviceAttributeMaxPitch == 58 && hipDeviceAttributeAsyncEngineCount == 2);

// Attributes by number, for the properties that have one.
static_assert(hipDeviceAttributeTotalGlobalMem == 84 && hipDeviceAttributeMaxSharedMemoryPerBlock == 74 &&
              hipDeviceAttributeMaxRegistersPerBlock == 71 && hipDeviceAttributeWarpSize == 87 &&
              hipDeviceAttributeClockRate == 5 && hipDeviceAttributeComputeCapabilityMajor == 23 &&
              hipDeviceAttributeComputeCapabilityMinor == 61 && hipDeviceAttributeCanMapHostMemory == 3 &&
              hipDeviceAttributeConcurrentKernels == 8 && hipDeviceAttributeMaxThreadsPerMultiProcessor == 57 &&
              hipDeviceAttributeMaxSharedMemoryPerMultiprocessor == 10002);

// Errors that the emulator returns. hipErrorCapturedEvent and the like are in all releases; the numbers never changed.
#define ERROR(name, number, text) static_assert(name == number);
#include "hip_emulator/errors.inc"
#undef ERROR

#if HIP_VERSION_MAJOR >= 6
static_assert(hipMemoryTypeUnregistered == 0 && hipMemoryTypeHost == 1 && hipMemoryTypeDevice == 2 &&
              hipMemoryTypeManaged == 3);  // Release::memory_type
static_assert(offsetof(hipPointerAttribute_t, type) == offsetof(wave::hip::PointerAttributes, type));
#else
static_assert(hipMemoryTypeHost == 0 && hipMemoryTypeDevice == 1);
#endif
static_assert(sizeof(hipPointerAttribute_t) == sizeof(wave::hip::PointerAttributes));
static_assert(offsetof(hipPointerAttribute_t, device) == offsetof(wave::hip::PointerAttributes, device));
static_assert(offsetof(hipPointerAttribute_t, devicePointer) == offsetof(wave::hip::PointerAttributes, device_pointer));
static_assert(offsetof(hipPointerAttribute_t, hostPointer) == offsetof(wave::hip::PointerAttributes, host_pointer));
static_assert(offsetof(hipPointerAttribute_t, isManaged) == offsetof(wave::hip::PointerAttributes, is_managed));

// Structures of memory.
static_assert(sizeof(hipExtent) == sizeof(wave::hip::Extent) && sizeof(hipPos) == sizeof(wave::hip::BoxPosition));
static_assert(sizeof(hipIpcMemHandle_t) == sizeof(wave::hip::IpcMemHandle));
static_assert(sizeof(hipPitchedPtr) == sizeof(wave::hip::PitchedPointer));
static_assert(offsetof(hipPitchedPtr, ysize) == offsetof(wave::hip::PitchedPointer, height));
static_assert(sizeof(hipMemcpy3DParms) == sizeof(wave::hip::Copy3d));
static_assert(offsetof(hipMemcpy3DParms, srcPtr) == offsetof(wave::hip::Copy3d, from));
static_assert(offsetof(hipMemcpy3DParms, dstPtr) == offsetof(wave::hip::Copy3d, to));
static_assert(offsetof(hipMemcpy3DParms, kind) == offsetof(wave::hip::Copy3d, kind));
#if HIP_VERSION_MAJOR >= 7
static_assert(sizeof(hipGraphNodeParams) == sizeof(wave::hip::AnyNodeParameters));
static_assert(offsetof(hipGraphNodeParams, kernel) == offsetof(wave::hip::AnyNodeParameters, kernel));
static_assert(offsetof(hipGraphNodeParams, memcpy.copyParams) == offsetof(wave::hip::AnyNodeParameters, copy.copy));
static_assert(hipGraphNodeTypeKernel == 0 && hipGraphNodeTypeEventRecord == 7);
#endif
#if HIP_VERSION_MAJOR >= 6
using CopyLayout = wave::hip::DriverCopyLayout<size_t>;
#else
using CopyLayout = wave::hip::DriverCopyLayout<uint32_t>;
#endif
static_assert(sizeof(HIP_MEMCPY3D) == sizeof(CopyLayout));
static_assert(offsetof(HIP_MEMCPY3D, srcDevice) == offsetof(CopyLayout, from.device));
static_assert(offsetof(HIP_MEMCPY3D, srcHeight) == offsetof(CopyLayout, from.height));
static_assert(offsetof(HIP_MEMCPY3D, dstXInBytes) == offsetof(CopyLayout, to));
static_assert(offsetof(HIP_MEMCPY3D, dstArray) == offsetof(CopyLayout, to.array));
static_assert(offsetof(HIP_MEMCPY3D, WidthInBytes) == offsetof(CopyLayout, width));
static_assert(offsetof(HIP_MEMCPY3D, Depth) == offsetof(CopyLayout, depth));
static_assert(sizeof(hipChannelFormatDesc) == sizeof(wave::hip::ChannelFormat));
static_assert(hipChannelFormatKindSigned == 0 && hipChannelFormatKindUnsigned == 1 && hipChannelFormatKindFloat == 2);
static_assert(sizeof(HIP_ARRAY_DESCRIPTOR) == sizeof(wave::hip::ArrayDescriptor));
static_assert(sizeof(HIP_ARRAY3D_DESCRIPTOR) == sizeof(wave::hip::ArrayDescriptor3d));
static_assert(offsetof(HIP_ARRAY3D_DESCRIPTOR, Flags) == offsetof(wave::hip::ArrayDescriptor3d, flags));
static_assert(hipMemoryTypeArray == (HIP_VERSION_MAJOR >= 6 ? 10 : 2));  // Release::memory_type
static_assert(sizeof(hip_Memcpy2D) == sizeof(wave::hip::Copy2d));
static_assert(offsetof(hip_Memcpy2D, srcDevice) == offsetof(wave::hip::Copy2d, from.device));
static_assert(offsetof(hip_Memcpy2D, dstXInBytes) == offsetof(wave::hip::Copy2d, to));
static_assert(offsetof(hip_Memcpy2D, WidthInBytes) == offsetof(wave::hip::Copy2d, width));
static_assert(sizeof(hipMemPoolProps) == sizeof(wave::hip::PoolProperties));
static_assert(offsetof(hipMemPoolProps, location) == offsetof(wave::hip::PoolProperties, location));
static_assert(sizeof(hipMemAccessDesc) == sizeof(wave::hip::AccessDescription));
static_assert(hipMemLocationTypeDevice == static_cast<int>(wave::hip::kLocationDevice));
static_assert(hipMemAccessFlagsProtReadWrite == static_cast<int>(wave::hip::kReadWrite));
SAME_VALUE(kReuseFollowEventDependencies, hipMemPoolReuseFollowEventDependencies);
SAME_VALUE(kReleaseThreshold, hipMemPoolAttrReleaseThreshold);
SAME_VALUE(kReservedHigh, hipMemPoolAttrReservedMemHigh);
SAME_VALUE(kUsedCurrent, hipMemPoolAttrUsedMemCurrent);
SAME_VALUE(kUsedHigh, hipMemPoolAttrUsedMemHigh);
SAME_VALUE(kWaitAtLeast, hipStreamWaitValueGte);
SAME_VALUE(kWaitNor, hipStreamWaitValueNor);
static_assert(sizeof(hipMemsetParams) == sizeof(wave::hip::FillParameters));
static_assert(offsetof(hipMemsetParams, value) == offsetof(wave::hip::FillParameters, value));
static_assert(sizeof(hipKernelNodeParams) == sizeof(wave::hip::KernelParameters));
static_assert(offsetof(hipKernelNodeParams, func) == offsetof(wave::hip::KernelParameters, function));
static_assert(offsetof(hipKernelNodeParams, kernelParams) == offsetof(wave::hip::KernelParameters, parameters));
static_assert(sizeof(hipHostNodeParams) == sizeof(wave::hip::HostParameters));
SAME_VALUE(kUpdateTopologyChanged, hipGraphExecUpdateErrorTopologyChanged);
SAME_VALUE(kUpdateNodeTypeChanged, hipGraphExecUpdateErrorNodeTypeChanged);
constexpr int kFirstNodeType = HIP_VERSION_MAJOR >= 6 ? 0 : 1;  // Release::first_node_type
static_assert(hipGraphNodeTypeKernel == kFirstNodeType && hipGraphNodeTypeMemset == kFirstNodeType + 2 &&
              hipGraphNodeTypeEmpty == kFirstNodeType + 5 && hipGraphNodeTypeEventRecord == kFirstNodeType + 7);
static_assert(sizeof(hipUUID) == sizeof(wave::hip::Uuid));

static_assert(sizeof(hipFuncAttributes) == sizeof(wave::hip::FunctionAttributes));
static_assert(offsetof(hipFuncAttributes, sharedSizeBytes) == offsetof(wave::hip::FunctionAttributes, shared_bytes));
static_assert(offsetof(hipFuncAttributes, numRegs) == offsetof(wave::hip::FunctionAttributes, registers));
static_assert(sizeof(dim3) == sizeof(wave::hip::Dim3));

#ifdef HIP_HAS_LAUNCH_EX  // ROCm 6.4 and later
static_assert(sizeof(hipLaunchConfig_t) == sizeof(wave::hip::ProgramLaunchConfig));
static_assert(offsetof(hipLaunchConfig_t, dynamicSmemBytes) == offsetof(wave::hip::ProgramLaunchConfig, shared_memory));
static_assert(offsetof(hipLaunchConfig_t, numAttrs) == offsetof(wave::hip::ProgramLaunchConfig, attribute_count));
SAME_VALUE(kAttributeCooperative, hipLaunchAttributeCooperative);
SAME_VALUE(kAttributePriority, hipLaunchAttributePriority);
SAME_VALUE(kAttributeAccessWindow, hipLaunchAttributeAccessPolicyWindow);
static_assert(sizeof(hipLaunchAttribute) == sizeof(wave::hip::LaunchAttribute));
static_assert(offsetof(hipLaunchAttribute, id) == offsetof(wave::hip::LaunchAttribute, id));
static_assert(offsetof(hipLaunchAttribute, val) == offsetof(wave::hip::LaunchAttribute, value));
static_assert(sizeof(hipLaunchAttributeValue) == sizeof(wave::hip::LaunchAttribute::value));
static_assert(sizeof(HIP_LAUNCH_CONFIG) == sizeof(wave::hip::LaunchConfig));
static_assert(offsetof(HIP_LAUNCH_CONFIG, gridDimX) == offsetof(wave::hip::LaunchConfig, grid));
static_assert(offsetof(HIP_LAUNCH_CONFIG, blockDimX) == offsetof(wave::hip::LaunchConfig, block));
static_assert(offsetof(HIP_LAUNCH_CONFIG, sharedMemBytes) == offsetof(wave::hip::LaunchConfig, shared_memory));
static_assert(offsetof(HIP_LAUNCH_CONFIG, hStream) == offsetof(wave::hip::LaunchConfig, stream));
static_assert(offsetof(HIP_LAUNCH_CONFIG, attrs) == offsetof(wave::hip::LaunchConfig, attributes));
static_assert(offsetof(HIP_LAUNCH_CONFIG, numAttrs) == offsetof(wave::hip::LaunchConfig, attribute_count));
#endif

// Signatures: each row of the tables declares its function once more, with HIP's own types. Where the header has
// declared it differently, that is an error.
#undef hipGetDeviceProperties
#define hipGetDeviceProperties not_compared_hipGetDeviceProperties  // takes hipDeviceProp_t, of which there are two
#define hipGetDevicePropertiesR0600 not_compared_hipGetDevicePropertiesR0600
#define hipExtModuleLaunchKernel not_compared_hipExtModuleLaunchKernel  // a C++ function
#undef hipChooseDevice
#define hipChooseDevice not_compared_hipChooseDevice  // takes hipDeviceProp_t
#define hipChooseDeviceR0600 not_compared_hipChooseDeviceR0600

using Error = hipError_t;
using Device = hipDevice_t;
using Module = hipModule_t;
using Function = hipFunction_t;
using Stream = hipStream_t;
using DevicePointer = hipDeviceptr_t;
using DeviceAttribute = hipDeviceAttribute_t;
using FunctionAttribute = hipFunction_attribute;
using PointerAttribute = hipPointer_attribute;
using CaptureStatus = hipStreamCaptureStatus;
using CaptureMode = hipStreamCaptureMode;
using Event = hipEvent_t;
using Graph = hipGraph_t;
using GraphExec = hipGraphExec_t;
using GraphNode = hipGraphNode_t;
#if HIP_VERSION_MAJOR * 100 + HIP_VERSION_MINOR >= 503
using UserObject = hipUserObject_t;
#else
using UserObject = struct hipUserObject*;
#endif
using Context = hipCtx_t;
using JitOption = hipJitOption;
using MemcpyKind = hipMemcpyKind;
using Dim3 = dim3;
using Extent = hipExtent;
using IpcMemHandle = hipIpcMemHandle_t;
using PitchedPointer = hipPitchedPtr;
using Array = hipArray_t;
using ConstArray = hipArray_const_t;
using ChannelFormat = hipChannelFormatDesc;
using ArrayDescriptor = HIP_ARRAY_DESCRIPTOR;
using ArrayDescriptor3d = HIP_ARRAY3D_DESCRIPTOR;
#if HIP_VERSION_MAJOR >= 7
using Library = hipLibrary_t;
using LibraryKernel = hipKernel_t;
using LibraryOption = hipLibraryOption;
using PeerCopy3d = hipMemcpy3DPeerParms;
static_assert(sizeof(hipMemcpy3DPeerParms) == sizeof(wave::hip::PeerCopy3d));
static_assert(offsetof(hipMemcpy3DPeerParms, dstArray) == offsetof(wave::hip::PeerCopy3d, to));
static_assert(offsetof(hipMemcpy3DPeerParms, dstDevice) == offsetof(wave::hip::PeerCopy3d, to.device));
#else
using Library = struct LibraryOfLaterReleases*;
using LibraryKernel = struct KernelOfLaterReleases*;
enum LibraryOption : int;
struct PeerCopy3d;
#endif
using Copy3d = hipMemcpy3DParms;
using Copy2d = hip_Memcpy2D;
using DriverCopy3d = HIP_MEMCPY3D;
using RangeAttribute = hipMemRangeAttribute;
#if HIP_VERSION_MAJOR >= 7
using AnyNodeParameters = hipGraphNodeParams;
#else
struct AnyNodeParameters;
#endif
#if HIP_VERSION_MAJOR >= 6
using AllocationParameters = hipMemAllocNodeParams;
using GraphMemoryAttribute = hipGraphMemAttributeType;
static_assert(sizeof(hipMemAllocNodeParams) == sizeof(wave::hip::AllocationParameters));
static_assert(offsetof(hipMemAllocNodeParams, bytesize) == offsetof(wave::hip::AllocationParameters, size));
static_assert(offsetof(hipMemAllocNodeParams, dptr) == offsetof(wave::hip::AllocationParameters, pointer));
static_assert(hipMemAllocationTypePinned == 1 && hipGraphInstantiateFlagAutoFreeOnLaunch == 1);
static_assert(hipGraphNodeTypeMemAlloc == 10 && hipGraphNodeTypeMemFree == 11);
SAME_VALUE(kGraphUsed, hipGraphMemAttrUsedMemCurrent);
SAME_VALUE(kGraphUsedHigh, hipGraphMemAttrUsedMemHigh);
SAME_VALUE(kGraphReserved, hipGraphMemAttrReservedMemCurrent);
SAME_VALUE(kGraphReservedHigh, hipGraphMemAttrReservedMemHigh);
#else
struct AllocationParameters;
enum GraphMemoryAttribute : int;
#endif
#define hipHccModuleLaunchKernel hipHccModuleLaunchKernelInC  // which is a C++ function in hip_ext.h before ROCm 6
using MemoryPool = hipMemPool_t;
using PoolProperties = hipMemPoolProps;
using PoolAttribute = hipMemPoolAttr;
using AccessDescription = hipMemAccessDesc;
using PoolAccess = hipMemAccessFlags;
using MemoryLocation = hipMemLocation;
using MemoryAdvice = hipMemoryAdvise;
using DeviceLimit = hipLimit_t;
using PeerAttribute = hipDeviceP2PAttr;
using Uuid = hipUUID;
using StreamCallback = hipStreamCallback_t;
using FillParameters = hipMemsetParams;
using KernelParameters = hipKernelNodeParams;
using HostParameters = hipHostNodeParams;
using NodeType = hipGraphNodeType;
using UpdateResult = hipGraphExecUpdateResult;
#if HIP_VERSION_MAJOR >= 6
using HostFunction = hipHostFn_t;
#else
using HostFunction = void (*)(void* data);
#endif
using FunctionAttributes = hipFuncAttributes;
using FunctionSetting = hipFuncAttribute;
using CacheConfig = hipFuncCache_t;
using SharedMemoryConfig = hipSharedMemConfig;
using PointerAttributes = hipPointerAttribute_t;
#if HIP_VERSION_MAJOR >= 7
using HostSource = const void*;
using ApiVersion = unsigned;
#else
using HostSource = void*;
using ApiVersion = int;
#endif
#if HIP_VERSION_MAJOR * 100 + HIP_VERSION_MINOR >= 602
using ProcAddressStatus = hipDriverProcAddressQueryResult;
SAME_VALUE(kProcAddressFound, HIP_GET_PROC_ADDRESS_SUCCESS);
SAME_VALUE(kProcAddressNotFound, HIP_GET_PROC_ADDRESS_SYMBOL_NOT_FOUND);
#else
enum ProcAddressStatus : int {};
#endif
#ifdef HIP_HAS_LAUNCH_EX
using LaunchConfig = HIP_LAUNCH_CONFIG;
using ProgramLaunchConfig = hipLaunchConfig_t;
#else
struct LaunchConfig;
struct ProgramLaunchConfig;
#endif

using KernelAttributeId = hipKernelNodeAttrID;
using KernelAttributeValue = hipKernelNodeAttrValue;
static_assert(sizeof(hipAccessPolicyWindow) == sizeof(wave::hip::AccessWindow));
static_assert(offsetof(hipAccessPolicyWindow, hitRatio) == offsetof(wave::hip::AccessWindow, hit_ratio));
static_assert(offsetof(hipAccessPolicyWindow, num_bytes) == offsetof(wave::hip::AccessWindow, size));
#if HIP_VERSION_MAJOR * 100 + HIP_VERSION_MINOR >= 602
using EdgeData = hipGraphEdgeData;
using InstantiateParameters = hipGraphInstantiateParams;
static_assert(sizeof(hipGraphInstantiateParams) == sizeof(wave::hip::InstantiateParameters));
static_assert(offsetof(hipGraphInstantiateParams, result_out) == offsetof(wave::hip::InstantiateParameters, result));
static_assert(offsetof(hipGraphInstantiateParams, flags) == offsetof(wave::hip::InstantiateParameters, flags));
#else
struct EdgeData;
struct InstantiateParameters;
#endif
#ifdef HIP_HAS_LAUNCH_EX  // and the linker
using LinkState = hipLinkState_t;
using JitInput = hipJitInputType;
SAME_VALUE(kBitcode, hipJitInputLLVMBitcode);
SAME_VALUE(kBundledBitcode, hipJitInputLLVMBundledBitcode);
SAME_VALUE(kSpirv, hipJitInputSpirv);
SAME_VALUE(kCompilerOptions, hipJitOptionIRtoISAOptExt);
SAME_VALUE(kCompilerOptionCount, hipJitOptionIRtoISAOptCountExt);
#else
using LinkState = struct LinkStateOfLaterReleases*;
enum JitInput : int {};
#endif

extern "C" {
#define REQUIRED(name, parameters) Error name parameters;
#define OPTIONAL(name, parameters) Error name parameters;
#define FUNCTION(name, parameters) Error name parameters;
#define TEXT(name) const char* name(Error error);
#include "driver/hip/hip_symbols.inc"
#include "hip_emulator/functions.inc"
#define PER_THREAD(name, parameters, arguments) Error name##_spt parameters;
#include "hip_emulator/per_thread.inc"
}
