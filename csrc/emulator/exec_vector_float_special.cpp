// Float arithmetic for special purposes: multiply-adds that round twice, dot products of f16, cube maps, and the
// argument reduction of trigonometric functions (ISA document, "V_MAD_F16", "V_DOT2_F32_F16", "V_CUBEID_F32",
// "V_TRIG_PREOP_F64").
#include <cmath>
#include <limits>
#include <type_traits>
#include <utility>

#include "emulator/bodies.h"
#include "emulator/vector.h"

#define WAVE_SOURCE "emulator/exec_vector_float_special.cpp"
#include "emulator/each_simd_level.h"
#include "emulator/vector.inl"

namespace wave::emulator::WAVE_SIMD {

namespace {

u32 without_denormal_half(u32 half) { return (half & 0x7c00u) == 0 ? half & 0x8000u : half; }

/// The product is rounded before the sum is.
Half mad_f16(Half a, Half b, Half c, Mode mode) {
  const u32 product = f32_to_f16(a * b, mode.fp16_ovfl());
  return {f16_to_f32(mode.denorm16_64() & 2 ? product : without_denormal_half(product)) + c};
}

/// The same in f32, which knows no denormals, whatever MODE says.
f32 mad_f32(f32 a, f32 b, f32 c) {
  const f32 product = without_denormal(without_denormal(a) * without_denormal(b));
  return without_denormal(product + without_denormal(c));
}
/// Zero times anything is zero.
f32 mad_legacy_f32(f32 a, f32 b, f32 c) {
  const bool is_zero = without_denormal(a) == 0 || without_denormal(b) == 0;
  return is_zero ? without_denormal(c) + 0.0f : mad_f32(a, b, c);
}

using HalfPair = Pair16<HalfBits>;

/// Products are exact; the sums round to nearest even and know no denormals, whatever MODE says. Of all processors that
/// LLVM's authors measured, gfx90a alone takes denormals of f16 for zeros (llvm/llvm-project, pull request 205101).
template <bool kFlushesHalves>
f32 product(HalfBits a, HalfBits b) {
  if constexpr (kFlushesHalves) a.bits = without_denormal_half(a.bits), b.bits = without_denormal_half(b.bits);
  return f16_to_f32(a.bits) * f16_to_f32(b.bits);
}
template <bool kFlushesHalves>
Float32Bits v_dot2_f32_f16(HalfPair a, HalfPair b, Float32Bits c) {
  const f32 first = without_denormal(__builtin_bit_cast(f32, c.bits)) + product<kFlushesHalves>(a.low, b.low);
  return {__builtin_bit_cast(u32, without_denormal(first + product<kFlushesHalves>(a.high, b.high)))};
}

/// The first 1201 bits of 2 / pi behind the binary point, the highest first.
constexpr u64 kTwoOverPi[] = {
    0xa2f9836e4e441529, 0xfc2757d1f534ddc0, 0xdb6295993c439041, 0xfe5163abdebbc561, 0xb7246e3a424dd2e0,
    0x06492eea09d1921c, 0xfe1deb1cb129a73e, 0xe88235f52ebb4484, 0xe99c7026b45f7e41, 0x3991d639835339f4,
    0x9c845f8bbdf9283b, 0x1ff897ffde05980f, 0xef2f118b5a0a6d1f, 0x6d367ecf27cb09b7, 0x4f463f669e5fea2d,
    0x7527bac7ebe5f17b, 0x3d0739f78a5292ea, 0x6bfb5fb11f8d5d08, 0x56033046fc7b0000,
};

/// 64 of these bits from `first` on; zeros behind the last.
u64 two_over_pi(u32 first) {
  constexpr u32 kWords = std::size(kTwoOverPi);
  const u32 word = first / 64, shift = first % 64;
  const u64 high = word < kWords ? kTwoOverPi[word] : 0, low = word + 1 < kWords ? kTwoOverPi[word + 1] : 0;
  return shift == 0 ? high : high << shift | low >> (64 - shift);
}

/// 53 bits of 2 / pi, farther right for a larger segment, and for a number whose exponent says that the bits before
/// have no effect. Those for the largest numbers are scaled so that their product with it stays finite.
f64 v_trig_preop_f64(Float64Bits a, u32 segment) {
  constexpr int kLargestWithAllBits = 1077, kLarge = 1968, kScale = 128;
  const int exponent = static_cast<int>(a.bits >> 52 & 0x7ff);
  const int skipped = exponent > kLargestWithAllBits ? exponent - kLargestWithAllBits : 0;
  const int shift = 53 * static_cast<int>(segment & 31) + skipped;
  const u64 bits = two_over_pi(static_cast<u32>(shift)) >> 11;
  return std::ldexp(static_cast<f64>(bits), -53 - shift + (exponent >= kLarge ? kScale : 0));
}

// Cube maps.
bool is_major(f32 a, f32 b, f32 c) { return std::abs(a) >= std::abs(b) && std::abs(a) >= std::abs(c); }
f32 v_cubeid_f32(f32 x, f32 y, f32 z) {
  if (is_major(z, x, y)) return z < 0 ? 5 : 4;
  if (std::abs(y) >= std::abs(x)) return y < 0 ? 3 : 2;
  return x < 0 ? 1 : 0;
}
f32 v_cubesc_f32(f32 x, f32 y, f32 z) {
  if (is_major(z, x, y)) return z < 0 ? -x : x;
  if (std::abs(y) >= std::abs(x)) return x;
  return x < 0 ? z : -z;
}
f32 v_cubetc_f32(f32 x, f32 y, f32 z) {
  if (is_major(z, x, y)) return -y;
  if (std::abs(y) >= std::abs(x)) return y < 0 ? -z : z;
  return -y;
}
f32 v_cubema_f32(f32 x, f32 y, f32 z) {
  if (is_major(z, x, y)) return z * 2;
  return std::abs(y) >= std::abs(x) ? y * 2 : x * 2;
}

constexpr Body kBodies[] = {
    {"v_mad_f16", vector<mad_f16>},
    {"v_mad_legacy_f16", vector<mad_f16>},
    {"v_mac_f16", vector<mad_f16>},
    {"v_madmk_f16", vector<mad_f16>},
    {"v_madak_f16", vector<mad_f16>},
    {"v_mad_f32", vector<mad_f32>},
    {"v_mac_f32", vector<mad_f32>},
    {"v_madmk_f32", vector<mad_f32>},
    {"v_madak_f32", vector<mad_f32>},
    {"v_mad_legacy_f32", vector<mad_legacy_f32>},
    {"v_dot2_f32_f16", vector<v_dot2_f32_f16<false>>},
    {"v_dot2_f32_f16_gfx90a", vector<v_dot2_f32_f16<true>>},
    {"v_trig_preop_f64", vector<v_trig_preop_f64>},
    {"v_cubeid_f32", vector<v_cubeid_f32>},
    {"v_cubesc_f32", vector<v_cubesc_f32>},
    {"v_cubetc_f32", vector<v_cubetc_f32>},
    {"v_cubema_f32", vector<v_cubema_f32>},
};

}  // namespace

std::span<const Body> vector_float_special_bodies() { return kBodies; }

}  // namespace wave::emulator::WAVE_SIMD
