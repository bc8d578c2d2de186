// What atomic instructions do to memory: functions of the old value and one or two operands (ISA document, "Global,
// Scratch and Flat Address Instructions" and "LDS Instructions", which have the same under other names).
#pragma once

#include <cmath>
#include <type_traits>

#include "emulator/atomic_target.h"
#include "emulator/small_float.h"
#include "emulator/workgroup.h"

namespace wave::emulator::atomics {

template <class T>
T swap(T, T value) {
  return value;
}
/// Floats compare as numbers.
template <class T>
T cmpswap(T old, T value, T expected) {
  return old == expected ? value : old;
}
/// DS has the compared value first.
template <class T>
T cmpst(T old, T expected, T value) {
  return cmpswap(old, value, expected);
}
template <class T>
T add(T old, T value) {
  return old + value;
}
/// f32 without denormals among what is added, among sums, or among both.
template <bool kTakesDenormals, bool kMakesDenormals>
f32 add_flushed(f32 old, f32 value) {
  const f32 sum = kTakesDenormals ? old + value : without_denormal(old) + without_denormal(value);
  return kMakesDenormals ? sum : without_denormal(sum);
}
/// gfx90a's memory adds f32 so, whatever MODE says: LLVM makes a loop of CMPSWAP where denormals count.
inline f32 add_without_denormals(f32 old, f32 value) { return add_flushed<false, false>(old, value); }
template <class T>
T sub(T old, T value) {
  return old - value;
}
template <class T>
T rsub(T old, T value) {
  return value - old;
}
template <class T>
T min(T old, T value) {
  return value < old ? value : old;
}
template <class T>
T max(T old, T value) {
  return value > old ? value : old;
}
/// GFX12, of floats: a number rather than a NaN, and -0 is less than +0 (RDNA4 ISA document, "DS_MIN_NUM_F32").
template <class T>
bool is_less_number(T a, T b) {
  return a < b || (a == 0 && b == 0 && std::signbit(a) && !std::signbit(b));
}
template <class T>
T min_num(T old, T value) {
  if (value != value) return old != old ? value + value : old;  // a quiet NaN
  return old != old || is_less_number(value, old) ? value : old;
}
template <class T>
T max_num(T old, T value) {
  if (value != value) return old != old ? value + value : old;
  return old != old || is_less_number(old, value) ? value : old;
}
template <class T>
T and_(T old, T value) {
  return old & value;
}
template <class T>
T or_(T old, T value) {
  return old | value;
}
template <class T>
T xor_(T old, T value) {
  return old ^ value;
}
/// Counts up to a value and begins at zero again.
template <class T>
T inc(T old, T last) {
  return old >= last ? 0 : old + 1;
}
template <class T>
T dec(T old, T last) {
  return old == 0 || old > last ? last : old - 1;
}
/// Subtractions that stay at zero, and that are not made where they would go below.
inline u32 sub_clamp(u32 old, u32 value) { return old < value ? 0 : old - value; }
inline u32 cond_sub(u32 old, u32 value) { return old < value ? old : old - value; }
/// DS only: replaces the bits of a mask.
template <class T>
T mskor(T old, T mask, T bits) {
  return (old & ~mask) | bits;
}
/// DS only: a ring buffer's index.
inline u32 wrap(u32 old, u32 size, u32 step) { return old >= size ? old - size : old + step; }

inline u32 pk_add_f16(u32 old, u32 value) {
  const u32 low = f32_to_f16(f16_to_f32(old & 0xffffu) + f16_to_f32(value & 0xffffu));
  return low | u32{f32_to_f16(f16_to_f32(old >> 16) + f16_to_f32(value >> 16))} << 16;
}
inline u32 pk_add_bf16(u32 old, u32 value) {
  const u32 low = f32_to_bf16(bf16_to_f32(old & 0xffffu) + bf16_to_f32(value & 0xffffu));
  return low | f32_to_bf16(bf16_to_f32(old >> 16) + bf16_to_f32(value >> 16)) << 16;
}

/// Whether two functions are the same one. Types are compared, since with UndefinedBehaviorSanitizer GCC takes no
/// function's address for a constant.
template <auto kA, auto kB>
constexpr bool is_same_function =
    std::is_same_v<std::integral_constant<decltype(kA), kA>, std::integral_constant<decltype(kB), kB>>;

template <auto kModify>
constexpr bool serves_parts = is_same_function<kModify, cmpswap<u32>> || is_same_function<kModify, and_<u32>> ||
                              is_same_function<kModify, or_<u32>> || is_same_function<kModify, xor_<u32>> ||
                              is_same_function<kModify, pk_add_f16> || is_same_function<kModify, pk_add_bf16>;

/// Compare-and-swaps of integers, which load where the bits are others than those that are compared.
template <auto kModify>
constexpr bool compares_last = is_same_function<kModify, cmpswap<u32>> || is_same_function<kModify, cmpswap<u64>>;
template <auto kModify>
constexpr bool compares_first = is_same_function<kModify, cmpst<u32>> || is_same_function<kModify, cmpst<u64>>;

/// Additions of integers, which may be summed up before they are made, and subtractions.
template <auto kModify>
constexpr bool is_addition = is_same_function<kModify, add<u32>> || is_same_function<kModify, add<u64>>;
template <auto kModify>
constexpr bool is_subtraction = is_same_function<kModify, sub<u32>> || is_same_function<kModify, sub<u64>>;

}  // namespace wave::emulator::atomics

namespace wave::emulator {

/// Carries out one of the functions above on memory.
template <auto kModify, class Signature = decltype(kModify)>
struct Atomic;

template <auto kModify, class T, class... Values>
struct Atomic<kModify, T (*)(T, Values...)> {
  using Value = T;
  static constexpr bool kHasTwo = sizeof...(Values) == 2;
  /// Whether compilers make it for an element of one or two bytes, on the dword that the element lies in. They make
  /// loops of CMPSWAP but for these.
  static constexpr bool kServesParts = atomics::serves_parts<kModify>;
  static constexpr bool kCompares = atomics::compares_first<kModify> || atomics::compares_last<kModify>;

  /// With these operands, which must outlive it.
  static AtomicAccess access(AddressSpan span, const T& a, [[maybe_unused]] const T& b, int lane) {
    if constexpr (atomics::compares_first<kModify>) return {span, lane, kServesParts, &a};
    if constexpr (atomics::compares_last<kModify>) return {span, lane, kServesParts, &b};
    return {span, lane, kServesParts};
  }

  /// Returns the old value. `b` counts where the function has two operands. kShared: other threads use the memory at
  /// the same time. Throws Fault for `lane` where it would change bytes that the launch must not write.
  template <bool kShared = true>
  static T apply(const Wave& wave, const AtomicTarget& target, T a, T b, int lane) {
    Bits* at = reinterpret_cast<Bits*>(target.memory);
    if constexpr (kServesParts) {
      if (!target.is_whole()) [[unlikely]]
        return apply_to_part(wave, target, a, b, lane);
    }
    if constexpr (!kShared) {
      const Bits old = *at;
      *at = modified(old, a, b);
      return __builtin_bit_cast(T, old);
    }
    // The host adds in one instruction; a loop runs again and again where many threads add.
    if constexpr (atomics::is_addition<kModify>) return __atomic_fetch_add(at, a, __ATOMIC_SEQ_CST);
    if constexpr (atomics::is_subtraction<kModify>) return __atomic_fetch_sub(at, a, __ATOMIC_SEQ_CST);
    Bits old = __atomic_load_n(at, __ATOMIC_RELAXED);
    while (!__atomic_compare_exchange_n(at, &old, modified(old, a, b), true, __ATOMIC_SEQ_CST, __ATOMIC_RELAXED)) {
    }
    return __builtin_bit_cast(T, old);
  }

 private:
  using Bits = std::conditional_t<sizeof(T) == 8, u64, u32>;

  static T apply_to_part(const Wave& wave, const AtomicTarget& target, T a, T b, int lane) {
    for (;;) {
      const u32 old = target.load_part();
      switch (target.replace_part(old, modified(old, a, b))) {
        case AtomicTarget::Outcome::Done:
          return __builtin_bit_cast(T, old);
        case AtomicTarget::Outcome::Changed:
          break;
        case AtomicTarget::Outcome::Outside:
          memory_of(wave).refuse({reinterpret_cast<u64>(target.memory), sizeof(T)}, true, lane);
      }
    }
  }

  static Bits modified(Bits old, T a, [[maybe_unused]] T b) {
    if constexpr (kHasTwo) {
      return __builtin_bit_cast(Bits, kModify(__builtin_bit_cast(T, old), a, b));
    } else {
      return __builtin_bit_cast(Bits, kModify(__builtin_bit_cast(T, old), a));
    }
  }
};

/// What GLOBAL, FLAT, MUBUF and SMEM have of integers; Body is a template over an address space and one of the
/// functions.
// clang-format off
#define WAVE_INTEGER_ATOMICS(prefix, Body, Space)                    \
  {prefix "_atomic_swap", Body<Space, atomics::swap<u32>>},          \
  {prefix "_atomic_cmpswap", Body<Space, atomics::cmpswap<u32>>},    \
  {prefix "_atomic_add", Body<Space, atomics::add<u32>>},            \
  {prefix "_atomic_sub", Body<Space, atomics::sub<u32>>},            \
  {prefix "_atomic_smin", Body<Space, atomics::min<i32>>},           \
  {prefix "_atomic_umin", Body<Space, atomics::min<u32>>},           \
  {prefix "_atomic_smax", Body<Space, atomics::max<i32>>},           \
  {prefix "_atomic_umax", Body<Space, atomics::max<u32>>},           \
  {prefix "_atomic_and", Body<Space, atomics::and_<u32>>},           \
  {prefix "_atomic_or", Body<Space, atomics::or_<u32>>},             \
  {prefix "_atomic_xor", Body<Space, atomics::xor_<u32>>},           \
  {prefix "_atomic_inc", Body<Space, atomics::inc<u32>>},            \
  {prefix "_atomic_dec", Body<Space, atomics::dec<u32>>},            \
  {prefix "_atomic_swap_x2", Body<Space, atomics::swap<u64>>},       \
  {prefix "_atomic_cmpswap_x2", Body<Space, atomics::cmpswap<u64>>}, \
  {prefix "_atomic_add_x2", Body<Space, atomics::add<u64>>},         \
  {prefix "_atomic_sub_x2", Body<Space, atomics::sub<u64>>},         \
  {prefix "_atomic_smin_x2", Body<Space, atomics::min<i64>>},        \
  {prefix "_atomic_umin_x2", Body<Space, atomics::min<u64>>},        \
  {prefix "_atomic_smax_x2", Body<Space, atomics::max<i64>>},        \
  {prefix "_atomic_umax_x2", Body<Space, atomics::max<u64>>},        \
  {prefix "_atomic_and_x2", Body<Space, atomics::and_<u64>>},        \
  {prefix "_atomic_or_x2", Body<Space, atomics::or_<u64>>},          \
  {prefix "_atomic_xor_x2", Body<Space, atomics::xor_<u64>>},        \
  {prefix "_atomic_inc_x2", Body<Space, atomics::inc<u64>>},         \
  {prefix "_atomic_dec_x2", Body<Space, atomics::dec<u64>>}

/// Of floats, without SMEM, and without additions of f32.
#define WAVE_FLOAT_ATOMICS(prefix, Body, Space)               \
  {prefix "_atomic_add_f64", Body<Space, atomics::add<f64>>}, \
  {prefix "_atomic_min_f64", Body<Space, atomics::min<f64>>}, \
  {prefix "_atomic_max_f64", Body<Space, atomics::max<f64>>}, \
  {prefix "_atomic_pk_add_f16", Body<Space, atomics::pk_add_f16>}

/// ... and those that GLOBAL and FLAT alone have.
#define WAVE_MORE_FLOAT_ATOMICS(prefix, Body, Space)                  \
  {prefix "_atomic_min_f32", Body<Space, atomics::min<f32>>},         \
  {prefix "_atomic_max_f32", Body<Space, atomics::max<f32>>},         \
  {prefix "_atomic_cmpswap_f32", Body<Space, atomics::cmpswap<f32>>}, \
  {prefix "_atomic_cmpswap_f64", Body<Space, atomics::cmpswap<f64>>}, \
  {prefix "_atomic_sub_clamp_u32", Body<Space, atomics::sub_clamp>},  \
  {prefix "_atomic_cond_sub_u32", Body<Space, atomics::cond_sub>},    \
  {prefix "_atomic_pk_add_bf16", Body<Space, atomics::pk_add_bf16>}
// clang-format on

}  // namespace wave::emulator
