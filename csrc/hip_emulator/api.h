// Declarations of the exported functions. Each file api_*.cpp defines those of one topic.
#pragma once

#include "hip_emulator/hip_handles.h"
#include "hip_emulator/rtc.h"
#include "hip_emulator/runtime.h"

namespace wave::hip {

using hip_emulator::RtcResult;
using RtcProgramHandle = struct _hiprtcProgram*;  ///< hiprtcProgram

#pragma GCC visibility push(default)
extern "C" {
#define REQUIRED(name, parameters) Error name parameters;
#define OPTIONAL(name, parameters) Error name parameters;
#define FUNCTION(name, parameters) Error name parameters;
#define TEXT(name) const char* name(Error error);
#include "driver/hip/hip_symbols.inc"
#include "hip_emulator/functions.inc"
#undef REQUIRED
#undef OPTIONAL
#undef FUNCTION
#undef TEXT
#define PER_THREAD(name, parameters, arguments) Error name##_spt parameters;
#include "hip_emulator/per_thread.inc"
#undef PER_THREAD

#define RTC(name, parameters) RtcResult name parameters;
#include "hip_emulator/rtc_functions.inc"
#undef RTC
const char* hiprtcGetErrorString(RtcResult result);

// These, for tracers, return no error.
const char* hipApiName(uint32_t id);
const char* hipKernelNameRef(Function function);
const char* hipKernelNameRefByPtr(const void* host, Stream stream);
int hipGetStreamDeviceId(Stream stream);

// What the code calls before main and after it that clang makes of a file in HIP's C++ (CGCUDANV.cpp). Fat binaries,
// kernels and variables are registered once, by addresses in the host.
void** __hipRegisterFatBinary(const void* wrapper);
void __hipUnregisterFatBinary(void** handle);
void __hipRegisterFunction(void** handle, const void* host, char* device_name, const char* name, unsigned thread_limit,
                           void* thread, void* block, Dim3* block_size, Dim3* grid_size, int* warp_size);
void __hipRegisterVar(void** handle, void* host, char* host_name, char* name, int is_external, size_t size,
                      int is_constant, int is_global);
void __hipRegisterManagedVar(void* handle, void** host, void* initial, const char* name, size_t size, unsigned align);
void __hipRegisterSurface(void** handle, void* host, char* host_name, char* name, int type, int is_external);
void __hipRegisterTexture(void** handle, void* host, char* host_name, char* name, int type, int is_normalized,
                          int is_external);
}
#pragma GCC visibility pop

using namespace hip_emulator;

}  // namespace wave::hip
