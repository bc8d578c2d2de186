// What C++ asks of its library where kernels allocate objects, or call virtual functions.
#pragma once

#include "wave_device/hostcall.h"

// clang's own <new> has the operators for kernels, and includes that of the library, where there is one.
#if __has_include(<exception>)
#include <new>

#ifdef __HIP_DEVICE_COMPILE__
// The library's std::nothrow is a variable of the host. The operators do not look at it.
namespace std {
inline __device__ const nothrow_t nothrow{};
}
#endif

#ifdef __cpp_aligned_new
namespace wave_device {

/// More than malloc() promises: in front of the memory lies the address that free() takes.
__device__ inline void* allocate_aligned(size_t size, size_t alignment) {
  void* const begin = ::malloc(size + alignment + sizeof(void*));
  if (begin == nullptr) return nullptr;
  const size_t first = reinterpret_cast<size_t>(begin) + sizeof(void*);
  void** const aligned = reinterpret_cast<void**>((first + alignment - 1) / alignment * alignment);
  aligned[-1] = begin;
  return aligned;
}

__device__ inline void free_aligned(void* pointer) {
  if (pointer != nullptr) ::free(static_cast<void**>(pointer)[-1]);
}

}  // namespace wave_device

// Of types that are aligned to more than malloc() aligns to, which clang's header leaves to the host.
__device__ inline void* operator new(size_t size, std::align_val_t alignment) {
  return wave_device::allocate_aligned(size, static_cast<size_t>(alignment));
}
__device__ inline void* operator new[](size_t size, std::align_val_t alignment) {
  return wave_device::allocate_aligned(size, static_cast<size_t>(alignment));
}
__device__ inline void* operator new(size_t size, std::align_val_t alignment, const std::nothrow_t&) noexcept(true) {
  return wave_device::allocate_aligned(size, static_cast<size_t>(alignment));
}
__device__ inline void* operator new[](size_t size, std::align_val_t alignment, const std::nothrow_t&) noexcept(true) {
  return wave_device::allocate_aligned(size, static_cast<size_t>(alignment));
}
__device__ inline void operator delete(void* pointer, std::align_val_t) noexcept(true) {
  wave_device::free_aligned(pointer);
}
__device__ inline void operator delete[](void* pointer, std::align_val_t) noexcept(true) {
  wave_device::free_aligned(pointer);
}
__device__ inline void operator delete(void* pointer, size_t, std::align_val_t) noexcept(true) {
  wave_device::free_aligned(pointer);
}
__device__ inline void operator delete[](void* pointer, size_t, std::align_val_t) noexcept(true) {
  wave_device::free_aligned(pointer);
}
__device__ inline void operator delete(void* pointer, std::align_val_t, const std::nothrow_t&) noexcept(true) {
  wave_device::free_aligned(pointer);
}
__device__ inline void operator delete[](void* pointer, std::align_val_t, const std::nothrow_t&) noexcept(true) {
  wave_device::free_aligned(pointer);
}
#endif
#endif

// What tables of virtual functions have where a class has none.
extern "C" {
__attribute__((__weak__, __noreturn__)) __device__ void __cxa_pure_virtual() { __builtin_trap(); }
__attribute__((__weak__, __noreturn__)) __device__ void __cxa_deleted_virtual() { __builtin_trap(); }
}
