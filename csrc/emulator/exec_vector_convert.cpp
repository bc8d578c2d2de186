// Conversions between vector types (ISA document, "V_CVT_*"). Those of FP8 are in exec_vector_convert_fp8.cpp.
#include <cmath>
#include <limits>
#include <type_traits>
#include <utility>

#include "emulator/bodies.h"
#include "emulator/vector.h"

#define WAVE_SOURCE "emulator/exec_vector_convert.cpp"
#include "emulator/each_simd_level.h"
#include "emulator/vector.inl"

namespace wave::emulator::WAVE_SIMD {

namespace {

/// Towards zero; what does not fit becomes the nearest value that does, and a NaN becomes zero.
template <class T>
T to_integer(f64 value) {
  constexpr f64 kLow = std::numeric_limits<T>::min(), kHigh = std::numeric_limits<T>::max();
  const f64 limited = value < kLow ? kLow : value > kHigh ? kHigh : value;
  return static_cast<T>(static_cast<i64>(limited == limited ? limited : 0.0));
}

u32 v_cvt_u32_f32(f32 a) { return to_integer<u32>(a); }
i32 v_cvt_i32_f32(f32 a) { return to_integer<i32>(a); }
u32 v_cvt_u32_f64(f64 a) { return to_integer<u32>(a); }
i32 v_cvt_i32_f64(f64 a) { return to_integer<i32>(a); }
u16 v_cvt_u16_f16(Half a) { return to_integer<u16>(a); }
i16 v_cvt_i16_f16(Half a) { return to_integer<i16>(a); }
i32 v_cvt_flr_i32_f32(f32 a) { return to_integer<i32>(__builtin_floor(a)); }
i32 v_cvt_rpi_i32_f32(f32 a) { return to_integer<i32>(__builtin_floor(a + 0.5f)); }

// Those of gfx1201, as users measured an RX 9070 XT: a sum that is exact, and the integer farthest off for a NaN.
i32 or_extreme(f64 value, f32 a) {
  const i32 extreme = std::signbit(a) ? std::numeric_limits<i32>::min() : std::numeric_limits<i32>::max();
  return a == a ? to_integer<i32>(value) : extreme;
}
i32 v_cvt_floor_i32_f32_gfx12(f32 a) { return or_extreme(__builtin_floor(a), a); }
i32 v_cvt_nearest_i32_f32_gfx12(f32 a) { return or_extreme(__builtin_floor(f64{a} + 0.5), a); }

// Every 32-bit integer is exact in f64: the result is rounded once.
f32 v_cvt_f32_u32(u32 a) { return static_cast<f32>(static_cast<f64>(a)); }
f32 v_cvt_f32_i32(i32 a) { return static_cast<f32>(static_cast<f64>(a)); }
f64 v_cvt_f64_u32(u32 a) { return a; }
f64 v_cvt_f64_i32(i32 a) { return a; }
Half v_cvt_f16_u16(u16 a) { return {static_cast<f32>(a)}; }
Half v_cvt_f16_i16(i16 a) { return {static_cast<f32>(a)}; }
template <int kByte>
f32 v_cvt_f32_ubyte(u32 a) {
  return static_cast<f32>(a >> 8 * kByte & 0xff);
}
/// A signed 4-bit number of sixteenths.
f32 v_cvt_off_f32_i4(u32 a) { return static_cast<f32>(static_cast<i32>(a << 28) >> 28) * 0.0625f; }

Half v_cvt_f16_f32(f32 a) { return {a}; }
f32 v_cvt_f32_f16(Half a) { return a; }
f32 v_cvt_f32_f64(f64 a) { return static_cast<f32>(a); }
f64 v_cvt_f64_f32(f32 a) { return a; }

Pair16<Half> v_cvt_pkrtz_f16_f32(f32 a, f32 b) { return {{cut_to_f16(a)}, {cut_to_f16(b)}}; }

/// [-1, 1] as a signed, [0, 1] as an unsigned fraction of the largest integer, to nearest even.
template <class T>
T to_fraction(f64 value) {
  constexpr f64 kLow = std::is_signed_v<T> ? -1.0 : 0.0;
  const f64 scaled = (value < kLow ? kLow : value > 1.0 ? 1.0 : value) * std::numeric_limits<T>::max();
  return to_integer<T>(round_to_even(scaled));
}
template <class T>
T fraction_of_half(Half a) {
  return to_fraction<T>(a);
}
template <class T, class Float>
Pair16<T> packed_fractions(Float a, Float b) {
  return {to_fraction<T>(a), to_fraction<T>(b)};
}

/// To the integer that MODE's rounding of f32 says.
f64 rounded_by_mode(f64 value, Mode mode) {
  switch (mode.round32()) {
    case 0:
      return round_to_even(value);
    case 1:
      return __builtin_ceil(value);
    case 2:
      return __builtin_floor(value);
    default:
      return __builtin_trunc(value);
  }
}

/// To a byte, which replaces one of the third operand's. No other conversion to integers rounds as MODE says.
u32 v_cvt_pk_u8_f32(f32 a, u32 position, u32 old, Mode mode) {
  const u32 shift = 8 * (position & 3);
  return (old & ~(0xffu << shift)) | u32{to_integer<u8>(rounded_by_mode(a, mode))} << shift;
}

constexpr Body kBodies[] = {
    {"v_cvt_u32_f32", vector<v_cvt_u32_f32>},
    {"v_cvt_i32_f32", vector<v_cvt_i32_f32>},
    {"v_cvt_u32_f64", vector<v_cvt_u32_f64>},
    {"v_cvt_i32_f64", vector<v_cvt_i32_f64>},
    {"v_cvt_u16_f16", vector<v_cvt_u16_f16>},
    {"v_cvt_i16_f16", vector<v_cvt_i16_f16>},
    {"v_cvt_flr_i32_f32", vector<v_cvt_flr_i32_f32>},
    {"v_cvt_rpi_i32_f32", vector<v_cvt_rpi_i32_f32>},
    {"v_cvt_floor_i32_f32_gfx12", vector<v_cvt_floor_i32_f32_gfx12>},
    {"v_cvt_nearest_i32_f32_gfx12", vector<v_cvt_nearest_i32_f32_gfx12>},
    {"v_cvt_f32_u32", light<v_cvt_f32_u32>},
    {"v_cvt_f32_i32", light<v_cvt_f32_i32>},
    {"v_cvt_f64_u32", vector<v_cvt_f64_u32>},
    {"v_cvt_f64_i32", vector<v_cvt_f64_i32>},
    {"v_cvt_f16_u16", vector<v_cvt_f16_u16>},
    {"v_cvt_f16_i16", vector<v_cvt_f16_i16>},
    {"v_cvt_f32_ubyte0", vector<v_cvt_f32_ubyte<0>>},
    {"v_cvt_f32_ubyte1", vector<v_cvt_f32_ubyte<1>>},
    {"v_cvt_f32_ubyte2", vector<v_cvt_f32_ubyte<2>>},
    {"v_cvt_f32_ubyte3", vector<v_cvt_f32_ubyte<3>>},
    {"v_cvt_off_f32_i4", vector<v_cvt_off_f32_i4>},
    {"v_cvt_f16_f32", modifiable<v_cvt_f16_f32>},
    {"v_cvt_f32_f16", modifiable<v_cvt_f32_f16>},
    {"v_cvt_f32_f64", vector<v_cvt_f32_f64>},
    {"v_cvt_f64_f32", vector<v_cvt_f64_f32>},
    {"v_cvt_pkrtz_f16_f32", vector<v_cvt_pkrtz_f16_f32>},
    {"v_cvt_pk_u8_f32", vector<v_cvt_pk_u8_f32>},
    {"v_cvt_pkaccum_u8_f32", vector<v_cvt_pk_u8_f32>},
    {"v_cvt_norm_i16_f16", vector<fraction_of_half<i16>>},
    {"v_cvt_norm_u16_f16", vector<fraction_of_half<u16>>},
    {"v_cvt_pknorm_i16_f32", vector<packed_fractions<i16, f32>>},
    {"v_cvt_pknorm_u16_f32", vector<packed_fractions<u16, f32>>},
    {"v_cvt_pknorm_i16_f16", vector<packed_fractions<i16, Half>>},
    {"v_cvt_pknorm_u16_f16", vector<packed_fractions<u16, Half>>},
};

}  // namespace

std::span<const Body> vector_convert_bodies() { return kBodies; }

}  // namespace wave::emulator::WAVE_SIMD
