// What generated kernels are written in (generate.py), for gfx942 and for the host alike. The functions leave no room
// for two right answers: no shift past the width, no conversion out of range, no tie of fmin, and no bits of a NaN that
// become an integer.
#pragma once

using i8 = signed char;
using u8 = unsigned char;
using i16 = short;
using u16 = unsigned short;
using i32 = int;
using u32 = unsigned;
using i64 = long;
using u64 = unsigned long;
using f16 = _Float16;
using f32 = float;
using f64 = double;
using bf16 = __bf16;

#define VECTOR(type, count) __attribute__((ext_vector_type(count))) type
using u8x4 = VECTOR(u8, 4);
using i16x2 = VECTOR(i16, 2);
using u16x4 = VECTOR(u16, 4);
using i32x2 = VECTOR(i32, 2);
using u32x3 = VECTOR(u32, 3);
using u32x4 = VECTOR(u32, 4);
using u64x2 = VECTOR(u64, 2);
using f16x2 = VECTOR(f16, 2);
using f16x4 = VECTOR(f16, 4);
using f32x2 = VECTOR(f32, 2);
using f32x4 = VECTOR(f32, 4);
using f64x2 = VECTOR(f64, 2);

#ifdef __AMDGCN__
#define DEVICE __attribute__((device))
#define KERNEL extern "C" __attribute__((global))
#define SHARED __attribute__((shared))
#define HIDDEN(a) "+v"(a)
#else
#define DEVICE
#define KERNEL extern "C"
#define SHARED
#define HIDDEN(a) "+r"(a)
#endif
#define NOINLINE __attribute__((noinline))

#ifndef __AMDGCN__
// What the host calls to round to bf16: in compiler-rt, which need not be installed, and in libgcc of GCC 13 and later.
// Weak, so that theirs do not count twice.
extern "C" __attribute__((weak)) bf16 __truncsfbf2(f32 a) {
  const u32 bits = __builtin_bit_cast(u32, a);
  const u32 rounded = a != a ? bits | 0x400000 : bits + 0x7fff + (bits >> 16 & 1);
  return __builtin_bit_cast(bf16, u16(rounded >> 16));
}
// By a float that is rounded to odd, so that rounding twice is rounding once.
extern "C" __attribute__((weak)) bf16 __truncdfbf2(f64 a) {
  const f32 nearest = f32(a);
  u32 bits = __builtin_bit_cast(u32, nearest);
  if (a == a && f64(nearest) != a) bits = (bits - (__builtin_fabs(f64(nearest)) > __builtin_fabs(a))) | 1;
  return __truncsfbf2(__builtin_bit_cast(f32, bits));
}
#endif

#ifndef WAVE
#define WAVE 64
#endif
#ifndef SPAN
#define SPAN WAVE
#endif
constexpr u32 kWave = WAVE;  // lanes
constexpr u32 kSpan = SPAN;  // lanes that ds_bpermute reaches: those of GFX10 and GFX11 in waves of 64 do half of them
constexpr u32 kBlock = 128;  // work-items of a workgroup: two waves of 64
constexpr u32 kInputBytes = 4096;  // what load() chooses from
constexpr u32 kCounters = 16;

// What a work-item has besides its variables.
struct Place {
  u32 local, global;  // its number in the workgroup, and in the grid
  u32 share, got;     // what it gives other lanes, and what it gets
};

struct Shared {
  u64 values[kBlock];
  u32 counters[kCounters];
  u64 wide[kCounters];
};

struct Counters {
  u32 narrow[kCounters];
  u64 wide[kCounters];
  u64 tickets, sum;
};

struct Context {
  const u8* in;
  Counters* counters;
  Shared* shared;
};

struct Fields {
  u32 a : 3;
  i32 b : 13;
  u32 c : 16;
  i64 d : 37;
  u64 e : 27;
};

// Types without a library.
template <class T>
struct Bits;
template <>
struct Bits<f16> {
  using type = u16;
};
template <>
struct Bits<bf16> {
  using type = u16;
};
template <>
struct Bits<f32> {
  using type = u32;
};
template <>
struct Bits<f64> {
  using type = u64;
};
template <class T>
struct Unsigned;
template <>
struct Unsigned<i8> {
  using type = u8;
};
template <>
struct Unsigned<u8> {
  using type = u8;
};
template <>
struct Unsigned<i16> {
  using type = u16;
};
template <>
struct Unsigned<u16> {
  using type = u16;
};
template <>
struct Unsigned<i32> {
  using type = u32;
};
template <>
struct Unsigned<u32> {
  using type = u32;
};
template <>
struct Unsigned<i64> {
  using type = u64;
};
template <>
struct Unsigned<u64> {
  using type = u64;
};

template <class T>
constexpr bool kSigned = T(-1) < T(0);
template <class T>
constexpr u32 kWidth = 8 * sizeof(T);
template <class T>
constexpr T kMin = kSigned<T> ? T(u64{1} << (kWidth<T> - 1)) : T(0);

// Keeps from the compiler what it knows of a number: clang 19 divides unsigned numbers by a sequence for 24 bits where
// both are sign-extended from fewer.
template <class T>
DEVICE inline T hidden(T a) {
  if constexpr (sizeof(T) >= 4) asm("" : HIDDEN(a));
  return a;
}
// Keeps from it that a value is the same in all lanes: where lanes leave a loop at different times, clang 19 takes such
// a value of the loop's last round for all of them.
template <class T>
DEVICE inline T differing(T a) {
  u32 words[(sizeof(T) + 3) / 4] = {};
  __builtin_memcpy(words, &a, sizeof(T));
  for (u32& word : words) word = hidden(word);
  __builtin_memcpy(&a, words, sizeof(T));
  return a;
}

// Integers.
// For the host, clang 19 does not truncate a power of two that it shifts and converts to a float.
template <class T>
DEVICE inline T shift_left(T a, u32 n) {
  return T(differing(a) << (n & (kWidth<T> - 1)));
}
template <class T>
DEVICE inline T shift_right(T a, u32 n) {
  return T(a >> (n & (kWidth<T> - 1)));
}
template <class T>
DEVICE inline bool divides(T a, T b) {
  return b != 0 && !(kSigned<T> && b == T(-1) && a == kMin<T>);
}
template <class T>
DEVICE inline T quotient(T a, T b) {
  return divides(a, b) ? T(hidden(a) / b) : T(3);
}
template <class T>
DEVICE inline T remainder(T a, T b) {
  return divides(a, b) ? T(hidden(a) % b) : T(5);
}
template <class T>
DEVICE inline T rotate(T a, u32 n) {
  using U = typename Unsigned<T>::type;
  const u32 by = n & (kWidth<T> - 1);
  return T(U(U(a) << by) | U(U(a) >> ((kWidth<T> - by) & (kWidth<T> - 1))));
}
template <class T>
DEVICE inline T ones(T a) {
  return T(__builtin_popcountl(u64(typename Unsigned<T>::type(a))));
}
template <class T>
DEVICE inline T leading(T a) {
  const u64 bits = typename Unsigned<T>::type(a);
  return bits == 0 ? T(kWidth<T>) : T(__builtin_clzl(bits) - (64 - int(kWidth<T>)));
}
template <class T>
DEVICE inline T trailing(T a) {
  const u64 bits = typename Unsigned<T>::type(a);
  return bits == 0 ? T(kWidth<T>) : T(__builtin_ctzl(bits));
}
template <class T>
DEVICE inline T reversed(T a) {
  return T(__builtin_bitreverse64(u64(typename Unsigned<T>::type(a))) >> (64 - kWidth<T>));
}
template <class T>
DEVICE inline T swapped(T a) {
  const u64 bits = u64(typename Unsigned<T>::type(a));
#if defined(__GFX11__) && !defined(__OPTIMIZE__)
  // Clang 22 copies both words through registers of 16 bits (v_mov_b16) before it permutes their four bytes.
  return T((u64(__builtin_bswap32(u32(bits))) << 32 | __builtin_bswap32(u32(bits >> 32))) >> (64 - kWidth<T>));
#else
  return T(__builtin_bswap64(bits) >> (64 - kWidth<T>));
#endif
}
template <class T>
DEVICE inline T high_product(T a, T b) {
  if constexpr (kSigned<T>) return T(__int128(a) * b >> kWidth<T>);
  return T((unsigned __int128)(a)*b >> kWidth<T>);
}
// Where a word and a carry are added to x + y or taken from x - y, clang 22 has one instruction do both, of which it
// takes the carry: that of 64 bits is wrong then (mended by https://github.com/llvm/llvm-project/pull/204362).
template <class T>
DEVICE inline T summand(T a) {
  return kWidth<T> == 64 ? hidden(a) : a;
}
template <class T>
DEVICE inline T add_carry(T a, T b) {
  T sum;
  return __builtin_add_overflow(summand(a), summand(b), &sum) ? T(sum ^ 1) : sum;
}
template <class T>
DEVICE inline T sub_borrow(T a, T b) {
  T difference;
  return __builtin_sub_overflow(summand(a), summand(b), &difference) ? T(difference + 7) : difference;
}
template <class T>
DEVICE inline T add_saturated(T a, T b) {
  return __builtin_elementwise_add_sat(summand(a), summand(b));
}
template <class T>
DEVICE inline T sub_saturated(T a, T b) {
  return __builtin_elementwise_sub_sat(summand(a), summand(b));
}
template <class T>
DEVICE inline T smaller(T a, T b) {
  return a < b ? a : b;
}
template <class T>
DEVICE inline T larger(T a, T b) {
  return a > b ? a : b;
}
template <class T>
DEVICE inline T distance(T a, T b) {
  return T(larger(a, b) - smaller(a, b));
}
// Of a known b this can be a | ~mask, for which see combined() in generate.py.
template <class T>
DEVICE inline T insert(T a, T b, T mask) {
  return T(((a ^ b) & hidden(mask)) ^ b);
}
template <class T>
DEVICE inline T field(T a, u32 low, u32 width) {
  return T(shift_right(a, low) & T((u64{1} << (width & 31)) - 1));
}
// Of the four low bytes, as the compiler has an instruction for. With it clang 19 takes dot - c for dot + c, and zero
// for one byte of a number of 64 bits.
template <class T>
DEVICE inline T dot(T a, T b) {
  const u32 bytes = hidden(u32(a)), others = hidden(u32(b));
  i32 sum = 0;
  for (int i = 0; i < 4; ++i) sum += i32(i8(bytes >> (8 * i))) * i32(i8(others >> (8 * i)));
  return T(hidden(sum));
}

// Floats.
template <class T>
DEVICE inline bool is_nan(T a) {
  return a != a;
}
// Of what it converts to bf16 for the host, clang 19 takes the sign bit for zero.
template <class T>
DEVICE inline typename Bits<T>::type bits(T a) {
  typename Bits<T>::type out = __builtin_bit_cast(typename Bits<T>::type, differing(a));
  return is_nan(f64(a)) ? typename Bits<T>::type(0x7e00) : out;
}
template <class T>
DEVICE inline T from_bits(typename Bits<T>::type a) {
  const T out = __builtin_bit_cast(T, a);
  return is_nan(f64(out)) ? T(1.5f) : out;
}
// For gfx11 and gfx12, clang 19 reads a bf16 from scratch and converts one lane's for all.
template <class T, class F>
DEVICE inline T to_integer(F given) {
  const F a = differing(given);
  const f64 wide = f64(a), limit = kSigned<T> ? -f64(kMin<T>) : 2.0 * f64(u64{1} << (kWidth<T> - 1));
  return wide > (kSigned<T> ? -limit : -1.0) && wide < limit ? T(a) : T(9);
}
template <class T>
DEVICE inline T smaller_number(T a, T b);
template <>
inline DEVICE f32 smaller_number(f32 a, f32 b) {
  return a == b ? a : __builtin_fminf(a, b);
}
template <>
inline DEVICE f64 smaller_number(f64 a, f64 b) {
  return a == b ? a : __builtin_fmin(a, b);
}
template <class T>
DEVICE inline T larger_number(T a, T b);
template <>
inline DEVICE f32 larger_number(f32 a, f32 b) {
  return a == b ? a : __builtin_fmaxf(a, b);
}
template <>
inline DEVICE f64 larger_number(f64 a, f64 b) {
  return a == b ? a : __builtin_fmax(a, b);
}
// Of a known c, clang 19 takes -b + 0.0 for -b.
inline DEVICE f32 fused(f32 a, f32 b, f32 c) { return __builtin_fmaf(a, b, differing(c)); }
inline DEVICE f64 fused(f64 a, f64 b, f64 c) { return __builtin_fma(a, b, differing(c)); }
inline DEVICE f32 divided(f32 a, f32 b) { return a / b; }
inline DEVICE f64 divided(f64 a, f64 b) { return a / b; }
inline DEVICE f32 root(f32 a) { return __builtin_sqrtf(a); }
inline DEVICE f64 root(f64 a) { return __builtin_sqrt(a); }
inline DEVICE f32 scaled(f32 a, i32 n) { return __builtin_ldexpf(a, (n & 127) - 64); }
inline DEVICE f64 scaled(f64 a, i32 n) { return __builtin_ldexp(a, (n & 1023) - 512); }
inline DEVICE f32 with_sign(f32 a, f32 b) { return is_nan(b) ? a : __builtin_copysignf(a, b); }
inline DEVICE f64 with_sign(f64 a, f64 b) { return is_nan(b) ? a : __builtin_copysign(a, b); }
inline DEVICE f32 magnitude(f32 a) { return __builtin_fabsf(a); }
inline DEVICE f64 magnitude(f64 a) { return __builtin_fabs(a); }
inline DEVICE f16 magnitude(f16 a) { return __builtin_fabsf16(a); }
#define ROUNDING(name)                                                  \
  inline DEVICE f32 name##_of(f32 a) { return __builtin_##name##f(a); } \
  inline DEVICE f64 name##_of(f64 a) { return __builtin_##name(a); }
ROUNDING(floor) ROUNDING(ceil) ROUNDING(trunc) ROUNDING(rint) inline DEVICE f32 mixed(f16 a, f16 b, f32 c) {
  return __builtin_fmaf(f32(a), f32(b), differing(c));
}
inline DEVICE f32 clamped(f32 a) { return is_nan(a) ? 0.0f : a < 0.0f ? 0.0f : a > 1.0f ? 1.0f : a; }

// Memory.
template <class T>
DEVICE inline T load(const Context& c, u32 at) {  // at any alignment
  T out;
  __builtin_memcpy(&out, c.in + at % (kInputBytes - sizeof(T)), sizeof(T));
  return out;
}
template <class T>
DEVICE inline T load_aligned(const Context& c, u32 at) {
  return reinterpret_cast<const T*>(c.in)[at % (kInputBytes / sizeof(T))];
}
#ifdef __GFX11__
constexpr bool kHalves = true;  // registers of 16 bits
#else
constexpr bool kHalves = false;
#endif
// Where an i16 becomes 64 bits, clang 22 copies a register of 16 bits into one of 32 (`vgpr_32 = COPY vgpr_16`) for the
// sign. For both halves of a register its peephole pass then takes the whole of it: they get the same sign.
template <class T>
DEVICE inline u64 stored(T a) {
  if constexpr (requires { typename Bits<T>::type; })
    return bits(a);
  else if constexpr (kHalves && kSigned<T> && sizeof(T) == 2)
    return u64(hidden(i32(a)));
  else
    return u64(a);
}

// Atomics whose results do not depend on their order.
#ifdef __AMDGCN__
#define ATOMIC(name) __hip_atomic_fetch_##name(at, value, __ATOMIC_RELAXED, __HIP_MEMORY_SCOPE_AGENT)
#else
#define ATOMIC(name) __atomic_fetch_##name(at, value, __ATOMIC_RELAXED)
#endif
template <class T>
DEVICE inline T atomic_add(T* at, T value) {
  return ATOMIC(add);
}
template <class T>
DEVICE inline void atomic_or(T* at, T value) {
  ATOMIC(or);
}
template <class T>
DEVICE inline void atomic_and(T* at, T value) {
  ATOMIC(and);
}
template <class T>
DEVICE inline void atomic_xor(T* at, T value) {
  ATOMIC(xor);
}
template <class T>
DEVICE inline void atomic_min(T* at, T value) {
  ATOMIC(min);
}
template <class T>
DEVICE inline void atomic_max(T* at, T value) {
  ATOMIC(max);
}
template <class T>
DEVICE inline void atomic_multiply(T* at, T value) {  // by comparing and swapping
  T seen = __atomic_load_n(at, __ATOMIC_RELAXED);
  while (!__atomic_compare_exchange_n(at, &seen, T(seen * (value | 1)), false, __ATOMIC_RELAXED, __ATOMIC_RELAXED)) {
  }
}
inline DEVICE void draw_ticket(Counters* counters) {  // who gets which depends on the order, their sum does not
  const u64 ticket = atomic_add<u64>(&counters->tickets, 1);
  atomic_add<u64>(&counters->sum, (ticket ^ ticket << 13) * 0x9e3779b97f4a7c15ul);
}
inline DEVICE void clear(Shared* shared, u32 local) {
  for (u32 i = local; i < sizeof(Shared) / 4; i += kBlock) reinterpret_cast<u32*>(shared)[i] = i * 2654435761u;
}

// Exchange between the lanes of a wave. Each is a function from a lane to the lane that it gets its value from.
enum Exchange { kXor, kRotate, kRowShift, kRowMirror, kSwizzle, kFirst, kLane, kBallot, kQuad };
template <Exchange kind, u32 k>
DEVICE inline u32 source(u32 lane) {
  switch (kind) {
    case kXor:
      return lane ^ (k % kSpan);
    case kRotate:
      return (lane & ~(kSpan - 1)) | ((lane + k) % kSpan);
    case kRowShift:
      return (lane & 15) >= k ? lane - k : lane;  // the others keep what they have
    case kRowMirror:
      return lane ^ 15;
    case kSwizzle:
      return lane ^ (k & 31);
    case kFirst:
      return 0;
    case kLane:
      return k % kWave;
    case kQuad:
      return (lane & ~3u) | (k >> (2 * (lane & 3)) & 3);
    default:
      return lane;
  }
}

#ifdef __AMDGCN__
#define THREAD __builtin_amdgcn_workitem_id_x()
#define GROUP __builtin_amdgcn_workgroup_id_x()
#define BARRIER                                          \
  __builtin_amdgcn_fence(__ATOMIC_SEQ_CST, "workgroup"); \
  __builtin_amdgcn_s_barrier();                          \
  __builtin_amdgcn_fence(__ATOMIC_SEQ_CST, "workgroup");
template <Exchange kind, u32 k>
DEVICE inline void exchange(Place& t) {
  const u32 lane = t.local % kWave, value = t.share;
  if constexpr (kind == kRowShift)
    t.got = __builtin_amdgcn_update_dpp(value, value, 0x110 + k, 15, 15, false);
  else if constexpr (kind == kRowMirror)
    t.got = __builtin_amdgcn_update_dpp(0, value, 0x140, 15, 15, true);
  else if constexpr (kind == kQuad)
    t.got = __builtin_amdgcn_update_dpp(0, value, k, 15, 15, true);
  else if constexpr (kind == kSwizzle)
    t.got = __builtin_amdgcn_ds_swizzle(value, (k & 31) << 10 | 31);
  else if constexpr (kind == kFirst)
    t.got = __builtin_amdgcn_readfirstlane(value);
  else if constexpr (kind == kLane)
    t.got = __builtin_amdgcn_readlane(value, k % kWave);
  else if constexpr (kind == kBallot) {
#if WAVE == 64
    const u64 mask = __builtin_amdgcn_ballot_w64(value & 1);
#else
    const u64 mask = __builtin_amdgcn_ballot_w32(value & 1);
#endif
    t.got = u32(mask >> (lane & 31));
  } else
    t.got = __builtin_amdgcn_ds_bpermute(source<kind, k>(lane) * 4, value);
}
#else
template <Exchange kind, u32 k, class Item>
void exchange(Item* items) {
  for (u32 first = 0; first < kBlock; first += kWave) {
    u64 mask = 0;
    for (u32 lane = 0; lane < kWave; ++lane) mask |= u64(items[first + lane].share & 1) << lane;
    for (u32 lane = 0; lane < kWave; ++lane) {
      Item& item = items[first + lane];
      item.got = kind == kBallot ? u32(mask >> (lane & 31)) : items[first + source<kind, k>(lane)].share;
    }
  }
}
#endif
