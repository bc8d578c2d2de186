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
  static constexpr int kAbove = 0;  ///< bits above it
  static constexpr u32 kQuiet = 0x400000, kInfinity = 0x7f800000;
  static u32 bits(f32 value) { return __builtin_bit_cast(u32, value); }
  static f32 from_bits(u32 bits) { return __builtin_bit_cast(f32, bits); }
};
template <>
struct FloatBits<f64> {
  static constexpr int kAbove = 0;
  static constexpr u64 kQuiet = u64{1} << 51, kInfinity = u64{0x7ff} << 52;
  static u64 bits(f64 value) { return __builtin_bit_cast(u64, value); }
  static f64 from_bits(u64 bits) { return __builtin_bit_cast(f64, bits); }
};
template <>
struct FloatBits<HalfBits> {
  static constexpr int kAbove = 16;
  static constexpr u32 kQuiet = 0x200, kInfinity = 0x7c00;
  static u32 bits(HalfBits value) { return value.bits; }
  static HalfBits from_bits(u32 bits) { return {static_cast<u16>(bits)}; }
};

template <class T>
bool is_nan(T value) {
  if constexpr (std::is_same_v<T, HalfBits>) {
    return (value.bits & 0x7fff) > FloatBits<T>::kInfinity;
  } else {
    return value != value;
  }
}

/// A negative number with all bits but that of the sign the other way round.
template <class Signed>
Signed turned(Signed bits) {
  using Bits = std::make_unsigned_t<Signed>;
  return bits ^ static_cast<Signed>(static_cast<Bits>(bits >> (sizeof(Bits) * 8 - 1)) >> 1);
}

/// A float's bits, from the top, as a number that is larger where the float is; and back.
template <class T>
auto ordered(T value) {
  const auto bits = FloatBits<T>::bits(value);
  return turned(static_cast<std::make_signed_t<std::remove_const_t<decltype(bits)>>>(bits << FloatBits<T>::kAbove));
}
template <class T, class Ordered>
T from_ordered(Ordered number) {
  return FloatBits<T>::from_bits(static_cast<std::make_unsigned_t<Ordered>>(turned(number)) >> FloatBits<T>::kAbove);
}

/// That of numbers; a NaN gives the other operand, and of two the second one. Compilers make minima of comparisons and
/// choices, and know no order of zeros.
template <class T, bool kIsMax>
auto extremum_of_numbers(T a, T b) {
  const auto x = FloatBits<T>::bits(a), y = FloatBits<T>::bits(b);
  if constexpr (std::is_same_v<T, HalfBits>) {
    const bool prefers_a = kIsMax ? ordered(a) > ordered(b) : ordered(a) < ordered(b);
    return (!is_nan(a)) & (prefers_a | is_nan(b)) ? x : y;
  } else {
    const bool takes_a = !(kIsMax ? a <= b : a >= b) & (a == a);
    return blend(a == b, kIsMax ? x & y : x | y, blend(takes_a, x, y));
  }
}

// Without branches, so that compilers use vectors: hence & and | on bools.
template <class T, bool kIsMax>
T extremum(T a, T b, Mode mode) {
  const auto x = FloatBits<T>::bits(a), y = FloatBits<T>::bits(b);
  const auto looked_at =
      mode.ieee() ? FloatBits<T>::kQuiet : 0;  // a number, since of a bool GCC makes a mask bit by bit
  const bool signals_a = is_nan(a) & ((~x & looked_at) != 0), signals_b = is_nan(b) & ((~y & looked_at) != 0);
  const auto quiet = blend(signals_a, x, y) | FloatBits<T>::kQuiet;
  return FloatBits<T>::from_bits(blend(signals_a | signals_b, quiet, extremum_of_numbers<T, kIsMax>(a, b)));
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
  const auto x = ordered(a), y = ordered(b), z = ordered(c);
  const auto low = x < y ? x : y, high = x < y ? y : x, below = high < z ? high : z;
  const T median = from_ordered<T>(low < below ? below : low);
  return blend<T>(is_nan(a) | is_nan(b) | is_nan(c), min3(a, b, c, mode), median);
}

// Those of GFX12 that give a NaN where one operand is a NaN ("minimum" and "maximum" of IEEE 754-2019).
template <class T, bool kIsMax>
T strict_extremum(T a, T b) {
  const bool takes_a = is_nan(a) | (!is_nan(b) & (kIsMax ? ordered(a) > ordered(b) : ordered(a) < ordered(b)));
  const auto bits = FloatBits<T>::bits(takes_a ? a : b);
  return FloatBits<T>::from_bits(bits | (is_nan(a) | is_nan(b) ? FloatBits<T>::kQuiet : 0));
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
