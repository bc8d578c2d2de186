// f16 as f64 and back, without branches so that loops over lanes are vectorised. Included by vector.inl for each SIMD
// level.

namespace wave::emulator::WAVE_SIMD {

/// Exact for every value.
inline f64 half_to_double(u16 half) {
  const u32 magnitude = half & 0x7fffu;
  const bool finite = magnitude < 0x7c00u;
  // The exponent's bias differs by 112: one multiplication sets it right, for denormals too.
  const f32 scaled = __builtin_bit_cast(f32, magnitude << 13) * 0x1p112f;
  const u32 bits = finite ? __builtin_bit_cast(u32, scaled) : magnitude << 13 | 0x7f800000u;
  return __builtin_bit_cast(f32, bits | u32{half & 0x8000u} << 16);
}

/// Rounded as the host's rounding mode says, which is the wave's.
inline u16 double_to_half(f64 value) {
  const u64 bits = __builtin_bit_cast(u64, value);
  const u64 sign = bits & 0x8000000000000000u, magnitude = bits ^ sign;
  // The last place of the result is 2^(e - 10), for exponents e from -14 on: adding and subtracting 1.5 * 2^(e + 42),
  // of the value's sign so that "towards zero" stays so, rounds there.
  const u64 exponent = magnitude >> 52;
  const u64 at_least = exponent > 1023 - 14 ? exponent : 1023 - 14;
  const f64 rounder = __builtin_bit_cast(f64, (at_least + 42) << 52 | 0x8000000000000u | sign);
  const f64 rounded = __builtin_bit_cast(f64, __builtin_bit_cast(u64, value + rounder - rounder) & ~(u64{1} << 63));
  // What is too large becomes infinity or the largest finite value, as the same rounding does in f64.
  const f64 overflow = value * 0x1p1010;
  const bool is_infinite = (__builtin_bit_cast(u64, overflow) & ~(u64{1} << 63)) == 0x7ff0000000000000u;

  const u32 normal = static_cast<u32>(__builtin_bit_cast(u64, rounded) >> 42) - (1008u << 10);
  const u32 denormal = static_cast<u32>(static_cast<i32>(rounded < 0x1p-14 ? rounded * 0x1p24 : 0.0));
  u32 result = rounded < 0x1p-14 ? denormal : normal;
  if (rounded >= 65536.0) result = is_infinite ? 0x7c00u : 0x7bffu;
  if (magnitude > 0x7ff0000000000000u) result = 0x7e00u | static_cast<u32>(magnitude >> 42 & 0x3ffu);
  return static_cast<u16>(result | static_cast<u32>(sign >> 48));
}

}  // namespace wave::emulator::WAVE_SIMD
