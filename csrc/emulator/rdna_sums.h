// Sums of products of f16, bf16 and FP8 as RDNA3 and RDNA4 make them.
#pragma once

#include "emulator/wave.h"

namespace wave::emulator {

/// The type of C and D.
enum class SumType { F32, F16, Bf16 };

/// What the sums of an instruction depend on.
struct RdnaSum {
  bool is_rdna4;
  int min_exponent_a, min_exponent_b;  ///< of the smallest normal numbers of the factors' types
  SumType type;
  bool is_float8 = false;
};

inline constexpr int kMaxRdnaProducts = 4;
inline constexpr u32 kNanOfInvalid = 0xffc00000;  ///< of what has no value, but in sums of FP8

/// The NaN that NaNs among the factors make: as f32 what f32, f16 and bf16 have.
constexpr u32 nan_of_factors(SumType type) {
  return type == SumType::F32 ? 0xffc00a3d : type == SumType::F16 ? 0xff800000 | 0x23du << 13 : 0xfffd0000;
}

/// c plus the products of `count` values of A and B: two, or on RDNA4 also four. All are values of their types, which
/// f32 holds; `saturates` is MODE.FP16_OVFL.
///
/// AMD's emulator rocjitsu (ROCm/rocm-systems, emulation/rocjitsu, gfx11_dot2.h and gfx12_dot.h) says that these rules
/// give every bit that a gfx1100 and a gfx1201 gave; https://github.com/ROCm/rocm-systems/issues/12056 found RDNA3's on
/// a gfx1151. Terms are cut off at a common last place: that of the largest sum of two factors' exponents less 24, or
/// that of the largest term less 26 where this is more.
///
/// RDNA3 adds magnitudes, of which one whose sign is not C's is turned into its complement, so that it counts a last
/// place more. It takes denormals of bf16 and f32 for zeros, and makes none of f32.
///
/// RDNA4 rounds terms down. It adds two products first, of FP8 all four, cut off at the last place that is theirs; a
/// negative C of which nothing is left counts only where the common last place is not above the least exponent of D's
/// type.
///
/// The sum is rounded to nearest even; for a D of bf16 to f32, which is cut off.
f32 add_like_rdna(const RdnaSum& sum, const f32* a, const f32* b, int count, f32 c, bool saturates);

}  // namespace wave::emulator
