// Atomic operations on global memory and LDS, relaxed, with the device's scope; *_system: with the system's.
#pragma once

#define WAVE_ATOMIC(name, builtin)                                                      \
  template <class T>                                                                    \
  __device__ __forceinline__ T name(T* address, __type_identity_of<T> value) {          \
    return builtin(address, value, __ATOMIC_RELAXED, __HIP_MEMORY_SCOPE_AGENT);         \
  }                                                                                     \
  template <class T>                                                                    \
  __device__ __forceinline__ T name##_system(T* address, __type_identity_of<T> value) { \
    return builtin(address, value, __ATOMIC_RELAXED, __HIP_MEMORY_SCOPE_SYSTEM);        \
  }

namespace wave_device {
template <class T>
struct Identity {
  using type = T;
};
}  // namespace wave_device

/// Keeps a parameter out of the deduction of T: atomicAdd(float*, 1).
template <class T>
using __type_identity_of = typename wave_device::Identity<T>::type;

WAVE_ATOMIC(atomicAdd, __hip_atomic_fetch_add)
WAVE_ATOMIC(atomicMin, __hip_atomic_fetch_min)
WAVE_ATOMIC(atomicMax, __hip_atomic_fetch_max)
WAVE_ATOMIC(atomicAnd, __hip_atomic_fetch_and)
WAVE_ATOMIC(atomicOr, __hip_atomic_fetch_or)
WAVE_ATOMIC(atomicXor, __hip_atomic_fetch_xor)
WAVE_ATOMIC(atomicExch, __hip_atomic_exchange)

#undef WAVE_ATOMIC

#define WAVE_ATOMIC(suffix, scope)                                                                              \
  template <class T>                                                                                            \
  __device__ __forceinline__ T atomicSub##suffix(T* address, __type_identity_of<T> value) {                     \
    return atomicAdd##suffix(address, static_cast<T>(-value));                                                  \
  }                                                                                                             \
  template <class T>                                                                                            \
  __device__ __forceinline__ T atomicCAS##suffix(T* address, __type_identity_of<T> expected,                    \
                                                 __type_identity_of<T> value) {                                 \
    __hip_atomic_compare_exchange_strong(address, &expected, value, __ATOMIC_RELAXED, __ATOMIC_RELAXED, scope); \
    return expected;                                                                                            \
  }
WAVE_ATOMIC(, __HIP_MEMORY_SCOPE_AGENT)
WAVE_ATOMIC(_system, __HIP_MEMORY_SCOPE_SYSTEM)
#undef WAVE_ATOMIC

__device__ __forceinline__ unsigned atomicInc(unsigned* address, unsigned last) {
  return __builtin_amdgcn_atomic_inc32(address, last, __ATOMIC_RELAXED, "agent");
}
__device__ __forceinline__ unsigned atomicDec(unsigned* address, unsigned last) {
  return __builtin_amdgcn_atomic_dec32(address, last, __ATOMIC_RELAXED, "agent");
}

// AMD's header has both for floats: by instructions that not all memory has, and by others. Here all memory has them.
#define WAVE_ATOMIC(name, T)                                                                                    \
  __device__ __forceinline__ T unsafeAtomic##name(T* address, T value) { return atomic##name(address, value); } \
  __device__ __forceinline__ T safeAtomic##name(T* address, T value) { return atomic##name(address, value); }
WAVE_ATOMIC(Add, float)
WAVE_ATOMIC(Add, double)
WAVE_ATOMIC(Min, float)
WAVE_ATOMIC(Min, double)
WAVE_ATOMIC(Max, float)
WAVE_ATOMIC(Max, double)
#undef WAVE_ATOMIC
__device__ __forceinline__ void atomicAddNoRet(float* address, float value) { atomicAdd(address, value); }
