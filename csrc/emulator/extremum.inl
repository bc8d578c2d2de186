// Minimum, maximum and median of floats, for the bodies that have them. Included behind vector.h, for each SIMD
// level, inside no namespace.

namespace wave::emulator::WAVE_SIMD {

namespace {

// They look at bits: a signaling NaN in IEEE mode gives a NaN, any other NaN gives the other operand, and -0 is less
// than +0.
template <class T>
struct FloatBits;
template <>
struct FloatBits<f32> {
  static constexpr u32 kQuiet = 0x400000, kInfinity = 0x7f800000;
  static u32 bits(f32 value) { return __builtin_bit_cast(u32, value); }
  static f32 value(f32 value) { return value; }
  static f32 from_bits(u32 bits) { return __builtin_bit_cast(f32, bits); }
};
template <>
struct FloatBits<f64> {
  static constexpr u64 kQuiet = u64{1} << 51, kInfinity = u64{0x7ff} << 52;
  static u64 bits(f64 value) { return __builtin_bit_cast(u64, value); }
  static f64 value(f64 value) { return value; }
  static f64 from_bits(u64 bits) { return __builtin_bit_cast(f64, bits); }
};
template <>
struct FloatBits<HalfBits> {
  static constexpr u32 kQuiet = 0x200, kInfinity = 0x7c00;
  static u32 bits(HalfBits value) { return value.bits; }
  static f64 value(HalfBits value) { return f16_to_f32(value.bits); }
  static HalfBits from_bits(u32 bits) { return {static_cast<u16>(bits)}; }
};

template <class T>
bool is_signaling_nan(T value) {
  const auto bits = FloatBits<T>::bits(value);
  return ((bits & FloatBits<T>::kInfinity) == FloatBits<T>::kInfinity) & ((bits & FloatBits<T>::kQuiet) == 0) &
         ((bits & (FloatBits<T>::kQuiet - 1)) != 0);
}

/// A float's bits as a number that is larger where the float is.
template <class T>
auto ordered(T value) {
  using Signed = std::make_signed_t<decltype(FloatBits<T>::bits(value))>;
  const auto bits = FloatBits<T>::bits(value);
  constexpr auto kSign = (FloatBits<T>::kInfinity << 1) & ~FloatBits<T>::kInfinity;
  const Signed magnitude = static_cast<Signed>(bits & (kSign - 1));
  return bits & kSign ? -1 - magnitude : magnitude;
}

// Without branches, so that compilers use vectors: hence & and | on bools.
template <class T, bool kIsMax>
T extremum(T a, T b, Mode mode) {
  const auto x = FloatBits<T>::value(a), y = FloatBits<T>::value(b);
  const bool prefers_a = kIsMax ? ordered(a) > ordered(b) : ordered(a) < ordered(b);
  const bool takes_a = (x == x) & (prefers_a | (y != y));
  const bool signals_a = mode.ieee() & is_signaling_nan(a), signals_b = mode.ieee() & is_signaling_nan(b);
  const auto bits = FloatBits<T>::bits(signals_a | (takes_a & !signals_b) ? a : b);
  return FloatBits<T>::from_bits(bits | (signals_a | signals_b ? FloatBits<T>::kQuiet : 0));
}
template <class T>
T min(T a, T b, Mode mode) {
  return extremum<T, false>(a, b, mode);
}
template <class T>
T max(T a, T b, Mode mode) {
  return extremum<T, true>(a, b, mode);
}
template <class T>
T min3(T a, T b, T c, Mode mode) {
  return min(min(a, b, mode), c, mode);
}
template <class T>
T max3(T a, T b, T c, Mode mode) {
  return max(max(a, b, mode), c, mode);
}
/// The documents take out the first operand that equals the largest, for which zeros are equal. AMD measured on a
/// gfx1201 that they are not: the median of -0, +0, -0 is -0 (ROCm/rocm-systems, emulation/rocjitsu, minmax.h).
template <class T>
T med3(T a, T b, T c, Mode mode) {
  const auto x = FloatBits<T>::value(a), y = FloatBits<T>::value(b), z = FloatBits<T>::value(c);
  const T median = max(min(a, b, mode), min(max(a, b, mode), c, mode), mode);
  return blend<T>((x != x) | (y != y) | (z != z), min3(a, b, c, mode), median);
}

// Those of GFX12 that give a NaN where one operand is a NaN ("minimum" and "maximum" of IEEE 754-2019).
template <class T, bool kIsMax>
T strict_extremum(T a, T b) {
  const auto x = FloatBits<T>::value(a), y = FloatBits<T>::value(b);
  const bool takes_a = (x != x) | ((y == y) & (kIsMax ? ordered(a) > ordered(b) : ordered(a) < ordered(b)));
  const auto bits = FloatBits<T>::bits(takes_a ? a : b);
  return FloatBits<T>::from_bits(bits | ((x != x) | (y != y) ? FloatBits<T>::kQuiet : 0));
}
template <class T>
T minimum(T a, T b) {
  return strict_extremum<T, false>(a, b);
}
template <class T>
T maximum(T a, T b) {
  return strict_extremum<T, true>(a, b);
}

}  // namespace

}  // namespace wave::emulator::WAVE_SIMD
