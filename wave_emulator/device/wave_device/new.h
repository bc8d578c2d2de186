// What C++ asks of its library where kernels allocate objects, or call virtual functions.
#pragma once

#include "wave_device/hostcall.h"

// clang's own <new> has the operators for kernels, and includes that of the library, where there is one.
#if __has_include(<exception>)
#include <new>
#endif

// What tables of virtual functions have where a class has none.
extern "C" {
__attribute__((__weak__, __noreturn__)) __device__ void __cxa_pure_virtual() { __builtin_trap(); }
__attribute__((__weak__, __noreturn__)) __device__ void __cxa_deleted_virtual() { __builtin_trap(); }
}
