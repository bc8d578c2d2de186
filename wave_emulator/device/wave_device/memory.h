// Of C's <string.h> what needs no library. C functions, so that std:: has them, too.
#pragma once

extern "C" {

__device__ __forceinline__ void* memcpy(void* to, const void* from, size_t size) noexcept(true) {
  return __builtin_memcpy(to, from, size);
}
__device__ __forceinline__ void* memmove(void* to, const void* from, size_t size) noexcept(true) {
  return __builtin_memmove(to, from, size);
}
__device__ __forceinline__ void* memset(void* to, int value, size_t size) noexcept(true) {
  return __builtin_memset(to, value, size);
}

}  // extern "C"
