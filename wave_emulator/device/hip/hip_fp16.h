// Half precision: __half is the compiler's own type, with its arithmetic.
#pragma once

#include <hip/hip_runtime.h>

#include "wave_device/set_macros_aside.h"

using __half = _Float16;
using half = _Float16;
using __half2 = wave_device::Vector<_Float16, 2>;
using half2 = __half2;

// Bits, under the names of AMD's header. As there the number comes first, so __half_raw{1} is 1; an unsigned short,
// which AMD's takes for none, has the bits.
struct __half_raw {
  union {
    __half data;
    unsigned short x;
  };

  __half_raw() = default;
  __device__ __forceinline__ constexpr __half_raw(__half number) : data(number) {}
  template <class Bits, typename wave_device::Where<__is_same(Bits, unsigned short)>::type = 0>
  __device__ __forceinline__ constexpr __half_raw(Bits bits) : x(bits) {}
  __device__ __forceinline__ operator __half() const { return data; }
};
struct alignas(4) __half2_raw {
  union {
    wave_device::Data<__half, 2>::type data;
    struct {
      unsigned short x, y;
    };
  };

  __half2_raw() = default;
  __device__ __forceinline__ __half2_raw(__half2 pair) : data(pair.data) {}
  __device__ __forceinline__ __half2_raw(__half_raw low, __half_raw high) : data{low.data, high.data} {}
  __device__ __forceinline__ operator __half2() const { return data; }
};

namespace wave_device {

__device__ __forceinline__ __half fused(__half a, __half b, __half c) { return __builtin_elementwise_fma(a, b, c); }
__device__ __forceinline__ __half larger(__half a, __half b) { return __builtin_elementwise_max(a, b); }
__device__ __forceinline__ __half smaller(__half a, __half b) { return __builtin_elementwise_min(a, b); }
__device__ __forceinline__ __half root(__half a) { return __builtin_elementwise_sqrt(a); }

}  // namespace wave_device

#define WAVE_NUMBER __half
#define WAVE_PAIR __half2
#define WAVE_UNORDERED_OF_BOTH(name) name  // as in AMD's header, where a NaN fails them
#include "wave_device/numbers_of_16_bits.h"
#undef WAVE_NUMBER
#undef WAVE_PAIR
#undef WAVE_UNORDERED_OF_BOTH

__device__ __forceinline__ __half __ushort_as_half(unsigned short x) { return __builtin_bit_cast(__half, x); }
__device__ __forceinline__ __half __short_as_half(short x) { return __builtin_bit_cast(__half, x); }
__device__ __forceinline__ unsigned short __half_as_ushort(__half x) { return __builtin_bit_cast(unsigned short, x); }
__device__ __forceinline__ short __half_as_short(__half x) { return __builtin_bit_cast(short, x); }

#define HIPRT_ONE_FP16 __ushort_as_half(0x3c00)
#define HIPRT_ZERO_FP16 __ushort_as_half(0)
#define HIPRT_NEG_ZERO_FP16 __ushort_as_half(0x8000)
#define HIPRT_INF_FP16 __ushort_as_half(0x7c00)
#define HIPRT_NAN_FP16 __ushort_as_half(0x7fff)
#define HIPRT_MAX_NORMAL_FP16 __ushort_as_half(0x7bff)
#define HIPRT_MIN_DENORM_FP16 __ushort_as_half(1)

__device__ __forceinline__ float __half2float(__half x) { return static_cast<float>(x); }
__device__ __forceinline__ __half __float2half(float x) { return static_cast<__half>(x); }
__device__ __forceinline__ __half __float2half_rn(float x) { return static_cast<__half>(x); }
/// Towards zero.
__device__ __forceinline__ __half __float2half_rz(float x) { return __builtin_amdgcn_cvt_pkrtz(x, 0.0f)[0]; }
/// Down: where the nearest one towards zero lies above, the one behind it.
__device__ __forceinline__ __half __float2half_rd(float x) {
  const __half near = __float2half_rz(x);
  return __ushort_as_half(static_cast<unsigned short>(__half_as_ushort(near) + (x < static_cast<float>(near))));
}
/// Up.
__device__ __forceinline__ __half __float2half_ru(float x) {
  const __half near = __float2half_rz(x);
  return __ushort_as_half(static_cast<unsigned short>(__half_as_ushort(near) + (x > static_cast<float>(near))));
}

// As in AMD's header integers are rounded to the nearest half, and halves towards zero, whatever the name says.
#define WAVE_HALF_CONVERSION(name, T, mode)                                                        \
  __device__ __forceinline__ __half __##name##2half_##mode(T x) { return static_cast<__half>(x); } \
  __device__ __forceinline__ T __half2##name##_##mode(__half x) { return static_cast<T>(x); }
#define WAVE_HALF_CONVERSIONS(name, T) \
  WAVE_HALF_CONVERSION(name, T, rn)    \
  WAVE_HALF_CONVERSION(name, T, rz)    \
  WAVE_HALF_CONVERSION(name, T, rd)    \
  WAVE_HALF_CONVERSION(name, T, ru)
WAVE_HALF_CONVERSIONS(short, short)
WAVE_HALF_CONVERSIONS(ushort, unsigned short)
WAVE_HALF_CONVERSIONS(int, int)
WAVE_HALF_CONVERSIONS(uint, unsigned)
WAVE_HALF_CONVERSIONS(ll, long long)
WAVE_HALF_CONVERSIONS(ull, unsigned long long)
#undef WAVE_HALF_CONVERSIONS
#undef WAVE_HALF_CONVERSION

__device__ __forceinline__ __half2 make_half2(__half x, __half y) { return {x, y}; }
__device__ __forceinline__ __half2 __halves2half2(__half x, __half y) { return {x, y}; }
__device__ __forceinline__ __half2 __half2half2(__half x) { return {x, x}; }
__device__ __forceinline__ __half2 __float2half2_rn(float x) { return __half2half2(__float2half(x)); }
__device__ __forceinline__ __half2 __floats2half2_rn(float x, float y) { return {__float2half(x), __float2half(y)}; }
__device__ __forceinline__ __half2 __float22half2_rn(float2 v) { return __floats2half2_rn(v.x, v.y); }
__device__ __forceinline__ float2 __half22float2(__half2 v) { return {__half2float(v.x), __half2float(v.y)}; }
__device__ __forceinline__ __half __low2half(__half2 v) { return v.x; }
__device__ __forceinline__ __half __high2half(__half2 v) { return v.y; }
__device__ __forceinline__ __half2 __low2half2(__half2 v) { return {v.x, v.x}; }
__device__ __forceinline__ __half2 __high2half2(__half2 v) { return {v.y, v.y}; }
__device__ __forceinline__ __half2 __lows2half2(__half2 a, __half2 b) { return {a.x, b.x}; }
__device__ __forceinline__ __half2 __highs2half2(__half2 a, __half2 b) { return {a.y, b.y}; }

/// a.x * b.x + a.y * b.y + c.
__device__ __forceinline__ float amd_mixed_dot(__half2 a, __half2 b, float c, bool saturate) {
#ifdef __gfx9_generic__  // which may be a processor without the instruction
  const float sum = fmaf(a.x, b.x, fmaf(a.y, b.y, c));
#else
  using Operand = _Float16 __attribute__((ext_vector_type(2)));
  const float sum = __builtin_amdgcn_fdot2(Operand{a.x, a.y}, Operand{b.x, b.y}, c, false);
#endif
  return saturate ? __saturatef(sum) : sum;
}

/// The half beside it stays as it is.
__device__ __forceinline__ __half unsafeAtomicAdd(__half* address, __half value) {
  const unsigned long long place = reinterpret_cast<unsigned long long>(address);
  unsigned* const word = reinterpret_cast<unsigned*>(place & ~3ull);
  const unsigned shift = place & 2 ? 16 : 0;
  unsigned old = __hip_atomic_load(word, __ATOMIC_RELAXED, __HIP_MEMORY_SCOPE_AGENT), wanted;
  const auto half_of = [shift](unsigned both) { return __ushort_as_half(static_cast<unsigned short>(both >> shift)); };
  do {
    wanted = (old & ~(0xffffu << shift)) | static_cast<unsigned>(__half_as_ushort(half_of(old) + value)) << shift;
  } while (!__hip_atomic_compare_exchange_strong(word, &old, wanted, __ATOMIC_RELAXED, __ATOMIC_RELAXED,
                                                 __HIP_MEMORY_SCOPE_AGENT));
  return half_of(old);
}

#include "wave_device/bring_macros_back.h"
