// Bits and integers.
#pragma once

__device__ __forceinline__ int __clz(int x) { return x == 0 ? 32 : __builtin_clz(x); }
__device__ __forceinline__ int __clzll(long long x) { return x == 0 ? 64 : __builtin_clzll(x); }
__device__ __forceinline__ int __ffs(unsigned x) { return __builtin_ffs(x); }
__device__ __forceinline__ int __ffsll(unsigned long long x) { return __builtin_ffsll(x); }
__device__ __forceinline__ int __popc(unsigned x) { return __builtin_popcount(x); }
__device__ __forceinline__ int __popcll(unsigned long long x) { return __builtin_popcountll(x); }
__device__ __forceinline__ unsigned __brev(unsigned x) { return __builtin_bitreverse32(x); }
__device__ __forceinline__ unsigned long long __brevll(unsigned long long x) { return __builtin_bitreverse64(x); }
__device__ __forceinline__ int __mulhi(int a, int b) { return static_cast<int>((static_cast<long long>(a) * b) >> 32); }
__device__ __forceinline__ unsigned __umulhi(unsigned a, unsigned b) {
  return static_cast<unsigned>((static_cast<unsigned long long>(a) * b) >> 32);
}
__device__ __forceinline__ unsigned long long __umul64hi(unsigned long long a, unsigned long long b) {
  return static_cast<unsigned long long>((static_cast<unsigned __int128>(a) * b) >> 64);
}
__device__ __forceinline__ int __mul24(int a, int b) { return (a << 8 >> 8) * (b << 8 >> 8); }
__device__ __forceinline__ unsigned __umul24(unsigned a, unsigned b) { return (a & 0xffffff) * (b & 0xffffff); }

__device__ __forceinline__ long long __mul64hi(long long a, long long b) {
  return static_cast<long long>((static_cast<__int128>(a) * b) >> 64);
}
// The position of the lowest bit, -1 where there is none.
__device__ __forceinline__ unsigned __lastbit_u32_u32(unsigned x) { return static_cast<unsigned>(__ffs(x) - 1); }
__device__ __forceinline__ unsigned __lastbit_u32_u64(unsigned long long x) {
  return static_cast<unsigned>(__ffsll(x) - 1);
}
/// Byte i of the result is the byte of y:x that digit i of the selector names.
__device__ __forceinline__ unsigned __byte_perm(unsigned x, unsigned y, unsigned selector) {
  const unsigned long long both = static_cast<unsigned long long>(y) << 32 | x;
  unsigned result = 0;
  for (int i = 0; i < 4; ++i) {
    const unsigned source = selector >> 4 * i & 7;
    result |= static_cast<unsigned>(both >> 8 * source & 0xff) << 8 * i;
  }
  return result;
}
__device__ __forceinline__ unsigned __funnelshift_l(unsigned low, unsigned high, unsigned shift) {
  const unsigned long long both = static_cast<unsigned long long>(high) << 32 | low;
  return static_cast<unsigned>(both << (shift & 31) >> 32);
}
__device__ __forceinline__ unsigned __funnelshift_lc(unsigned low, unsigned high, unsigned shift) {
  return shift < 32 ? __funnelshift_l(low, high, shift) : low;
}
__device__ __forceinline__ unsigned __funnelshift_r(unsigned low, unsigned high, unsigned shift) {
  const unsigned long long both = static_cast<unsigned long long>(high) << 32 | low;
  return static_cast<unsigned>(both >> (shift & 31));
}
__device__ __forceinline__ unsigned __funnelshift_rc(unsigned low, unsigned high, unsigned shift) {
  return shift < 32 ? __funnelshift_r(low, high, shift) : high;
}
// Averages, rounded down or (r) up, of sums that may not fit.
__device__ __forceinline__ int __hadd(int x, int y) { return static_cast<int>((static_cast<long long>(x) + y) >> 1); }
__device__ __forceinline__ int __rhadd(int x, int y) {
  return static_cast<int>((static_cast<long long>(x) + y + 1) >> 1);
}
__device__ __forceinline__ unsigned __uhadd(unsigned x, unsigned y) {
  return static_cast<unsigned>((static_cast<unsigned long long>(x) + y) >> 1);
}
__device__ __forceinline__ unsigned __urhadd(unsigned x, unsigned y) {
  return static_cast<unsigned>((static_cast<unsigned long long>(x) + y + 1) >> 1);
}
// z + |x - y|
__device__ __forceinline__ unsigned __usad(unsigned x, unsigned y, unsigned z) { return z + (x > y ? x - y : y - x); }
__device__ __forceinline__ unsigned __sad(int x, int y, unsigned z) {
  return z + (x > y ? static_cast<unsigned>(x) - y : static_cast<unsigned>(y) - x);
}

namespace wave_device {

/// The position of the n-th bit that is set, from `base` upwards (n > 0) or downwards (n < 0); of n = 0, whether that
/// one is. -1 where there are not so many.
template <class T>
__device__ __forceinline__ unsigned nth_bit(T mask, unsigned base, int n) {
  const int step = n < 0 ? -1 : 1, bits = 8 * sizeof(T);
  int left = n < 0 ? -n : n;
  if (n == 0) return base < static_cast<unsigned>(bits) && (mask >> base & 1) != 0 ? base : ~0u;
  for (int i = static_cast<int>(base); i >= 0 && i < bits; i += step) {
    left -= static_cast<int>(mask >> i & 1);
    if (left == 0) return static_cast<unsigned>(i);
  }
  return ~0u;
}

}  // namespace wave_device

__device__ __forceinline__ unsigned __fns32(unsigned long long mask, unsigned base, int n) {
  return wave_device::nth_bit(static_cast<unsigned>(mask), base, n);
}
__device__ __forceinline__ unsigned __fns64(unsigned long long mask, unsigned base, int n) {
  return wave_device::nth_bit(mask, base, n);
}
__device__ __forceinline__ int __fns(unsigned mask, unsigned base, int n) {
  return static_cast<int>(__fns32(mask, base, n));
}

// Fields of `width` bits from bit `offset` on; of both numbers the low bits count, as in instructions.
#define WAVE_FIELD(suffix, T, bits)                                                                  \
  __device__ __forceinline__ T __bitextract_##suffix(T x, unsigned offset, unsigned width) {         \
    return x >> offset % bits & ((T{1} << width % bits) - 1);                                        \
  }                                                                                                  \
  __device__ __forceinline__ T __bitinsert_##suffix(T x, T field, unsigned offset, unsigned width) { \
    const T mask = (T{1} << width % bits) - 1;                                                       \
    return (x & ~(mask << offset % bits)) | (field & mask) << offset % bits;                         \
  }
WAVE_FIELD(u32, unsigned, 32)
WAVE_FIELD(u64, uint64_t, 64)
#undef WAVE_FIELD

#define WAVE_MIN_MAX(T)                                                                   \
  __host__ __device__ __forceinline__ constexpr T min(T a, T b) { return b < a ? b : a; } \
  __host__ __device__ __forceinline__ constexpr T max(T a, T b) { return a < b ? b : a; }

WAVE_MIN_MAX(int)
WAVE_MIN_MAX(unsigned)
WAVE_MIN_MAX(long)
WAVE_MIN_MAX(unsigned long)
WAVE_MIN_MAX(long long)
WAVE_MIN_MAX(unsigned long long)
// Mixed signs compare as unsigned numbers, as in HIP.
__host__ __device__ __forceinline__ constexpr unsigned min(int a, unsigned b) {
  return min(static_cast<unsigned>(a), b);
}
__host__ __device__ __forceinline__ constexpr unsigned min(unsigned a, int b) {
  return min(a, static_cast<unsigned>(b));
}
__host__ __device__ __forceinline__ constexpr unsigned max(int a, unsigned b) {
  return max(static_cast<unsigned>(a), b);
}
__host__ __device__ __forceinline__ constexpr unsigned max(unsigned a, int b) {
  return max(a, static_cast<unsigned>(b));
}

#undef WAVE_MIN_MAX

__device__ __forceinline__ constexpr int abs(int x) { return x < 0 ? -x : x; }
__device__ __forceinline__ constexpr long abs(long x) { return x < 0 ? -x : x; }
__device__ __forceinline__ constexpr long long abs(long long x) { return x < 0 ? -x : x; }

__device__ __forceinline__ float __int_as_float(int x) { return __builtin_bit_cast(float, x); }
__device__ __forceinline__ float __uint_as_float(unsigned x) { return __builtin_bit_cast(float, x); }
__device__ __forceinline__ int __float_as_int(float x) { return __builtin_bit_cast(int, x); }
__device__ __forceinline__ unsigned __float_as_uint(float x) { return __builtin_bit_cast(unsigned, x); }
__device__ __forceinline__ double __longlong_as_double(long long x) { return __builtin_bit_cast(double, x); }
__device__ __forceinline__ long long __double_as_longlong(double x) { return __builtin_bit_cast(long long, x); }

// C functions, so that std:: has them, too.
extern "C" {
__device__ __forceinline__ long labs(long x) noexcept(true) { return x < 0 ? -x : x; }
__device__ __forceinline__ long long llabs(long long x) noexcept(true) { return x < 0 ? -x : x; }
}
