#include "emulator/rdna_sums.h"

#include <algorithm>
#include <bit>
#include <cmath>
#include <optional>

#include "emulator/small_float.h"

namespace wave::emulator {

namespace {

constexpr u32 kInfinity = 0x7f800000, kQuiet = 0x00400000;
constexpr int kZeroExponent = -1024;  // of a zero
constexpr int kF32Fraction = 23;

u32 bits_of(f32 value) { return __builtin_bit_cast(u32, value); }

/// magnitude * 2^exponent.
struct Term {
  u64 magnitude;
  int exponent;
  bool is_negative;

  int top() const { return magnitude == 0 ? kZeroExponent : exponent + std::bit_width(magnitude) - 1; }
  /// In units of 2^grid, cut off.
  u64 units(int grid) const {
    const int shift = exponent - grid;
    if (magnitude == 0 || shift <= -64) return 0;
    return shift < 0 ? magnitude >> -shift : magnitude << shift;
  }
  bool is_cut(int grid) const {
    const int shift = exponent - grid;
    return magnitude != 0 && shift < 0 && (shift <= -64 || (magnitude & ((u64{1} << -shift) - 1)) != 0);
  }
};

/// A number of type f32; its denormals where they count.
Term term_of(f32 value, bool keeps_denormals) {
  const u32 bits = bits_of(value), fraction = bits & 0x7fffff;
  const int exponent = static_cast<int>(bits >> kF32Fraction & 0xff);
  const u32 magnitude = exponent != 0 ? fraction | 0x800000 : keeps_denormals ? fraction : 0;
  return {magnitude, std::max(exponent, 1) - 127 - kF32Fraction, std::signbit(value)};
}

/// A product, and the last place that it asks for.
struct Product : Term {
  int grid;
};

Product multiply(const RdnaSum& sum, f32 a, f32 b) {
  const bool keeps_denormals = sum.is_rdna4 || sum.min_exponent_a != kF32MinExponent;
  const Term x = term_of(a, keeps_denormals), y = term_of(b, keeps_denormals);
  const int exponent_a = std::max(x.exponent + kF32Fraction, sum.min_exponent_a);
  const int exponent_b = std::max(y.exponent + kF32Fraction, sum.min_exponent_b);
  const u64 magnitude = x.magnitude * y.magnitude;
  const int grid = magnitude == 0 ? kZeroExponent : exponent_a + exponent_b - 24;
  return {{magnitude, x.exponent + y.exponent, x.is_negative != y.is_negative}, grid};
}

/// What NaNs and infinities make of a sum. Factors' NaNs count before products that have no value, and these before C.
std::optional<u32> special(const RdnaSum& sum, const f32* a, const f32* b, const Product* products, int count, f32 c) {
  bool has_positive = false, has_negative = false, is_invalid = false;
  for (int i = 0; i < count; ++i) {
    if (std::isnan(a[i]) || std::isnan(b[i])) return nan_of_factors(sum.type);
    if (!std::isinf(a[i]) && !std::isinf(b[i])) continue;
    is_invalid |= products[i].magnitude == 0;  // infinity times what counts as zero
    (products[i].is_negative ? has_negative : has_positive) = true;
  }
  const u32 nan = sum.is_float8 ? nan_of_factors(sum.type) : kNanOfInvalid;
  if (is_invalid || (has_positive && has_negative)) return nan;
  if (std::isnan(c)) return bits_of(c) | kQuiet;
  has_positive |= c == INFINITY;
  has_negative |= c == -INFINITY;
  if (has_positive && has_negative) return nan;
  if (has_positive || has_negative) return has_positive ? kInfinity : kInfinity | 0x80000000u;
  return std::nullopt;
}

u64 shift_to_even(u64 value, int shift) {
  if (shift <= 0) return value << -shift;
  if (shift >= 64) return 0;
  const u64 rest = value & ((u64{1} << shift) - 1), half = u64{1} << (shift - 1), whole = value >> shift;
  return whole + (rest > half || (rest == half && (whole & 1) != 0));
}

/// The code of magnitude * 2^grid without a sign, of a float of `fraction` bits and exponents from `least` to `most`.
u32 rounded(u64 magnitude, int grid, int fraction, int least, int most, bool has_denormals) {
  int exponent = grid + std::bit_width(magnitude) - 1;
  if (has_denormals && exponent < least) return static_cast<u32>(shift_to_even(magnitude, least - fraction - grid));
  u64 significand = shift_to_even(magnitude, exponent - fraction - grid);
  if (significand >> (fraction + 1) != 0) {
    significand >>= 1;
    ++exponent;
  }
  if (exponent < least) return 0;
  if (exponent > most) return static_cast<u32>(most - least + 2) << fraction;
  return static_cast<u32>(exponent - least + 1) << fraction | (static_cast<u32>(significand) & ((1u << fraction) - 1));
}

/// units * 2^grid in the type of D. Zeros have no sign.
f32 result(const RdnaSum& sum, i64 units, int grid, bool saturates) {
  const u64 magnitude = static_cast<u64>(units < 0 ? -units : units);
  if (magnitude == 0) return 0;
  const auto with_sign = [&](u32 code, int sign_bit) { return code == 0 ? 0 : code | u32{units < 0} << sign_bit; };
  if (sum.type == SumType::F16) {
    const u32 code = rounded(magnitude, grid, 10, -14, 15, true);
    return f16_to_f32(with_sign(saturates ? std::min(code, 0x7bffu) : code, 15));
  }
  const u32 code = with_sign(rounded(magnitude, grid, kF32Fraction, kF32MinExponent, 127, sum.is_rdna4), 31);
  return __builtin_bit_cast(f32, sum.type == SumType::Bf16 ? code & 0xffff0000u : code);
}

i64 round_down(const Term& term, int grid) {
  const i64 units = static_cast<i64>(term.units(grid));
  return term.is_negative ? -units - i64{term.is_cut(grid)} : units;
}

/// In units of 2^grid.
i64 add_rdna4(const Product* products, int count, int group, const Term& c, int grid, int least) {
  i64 total = c.units(grid) == 0 && grid > least ? 0 : round_down(c, grid);
  for (const Product* first = products; first != products + count; first += group) {
    int own = kZeroExponent;
    for (int i = 0; i < group; ++i) own = std::max(own, first[i].grid);
    i64 sum = 0;
    for (int i = 0; i < group; ++i) sum += round_down(first[i], own);
    total += round_down({static_cast<u64>(std::abs(sum)), own, sum < 0}, grid);
  }
  return total;
}

i64 add_rdna3(const Product* products, int count, const Term& c, int grid) {
  i64 total = static_cast<i64>(c.units(grid));
  for (int i = 0; i < count; ++i) {
    const i64 units = static_cast<i64>(products[i].units(grid));
    total += products[i].is_negative == c.is_negative ? units : -units - 1;
  }
  return c.is_negative ? -total : total;
}

}  // namespace

f32 add_like_rdna(const RdnaSum& sum, const f32* a, const f32* b, int count, f32 c, bool saturates) {
  Product products[kMaxRdnaProducts];
  int of_products = kZeroExponent, top = kZeroExponent;
  for (int i = 0; i < count; ++i) {
    products[i] = multiply(sum, a[i], b[i]);
    of_products = std::max(of_products, products[i].grid);
    top = std::max(top, products[i].top());
  }
  if (const auto bits = special(sum, a, b, products, count, c)) return __builtin_bit_cast(f32, *bits);
  const Term addend = term_of(c, sum.is_rdna4);
  const int least = sum.type == SumType::F16 ? -14 : kF32MinExponent;
  if (sum.is_rdna4) {
    const int grid = std::max(of_products, std::max(addend.top(), least) - 26);
    return result(sum, add_rdna4(products, count, sum.is_float8 ? count : 2, addend, grid, least), grid, saturates);
  }
  if (top == kZeroExponent && addend.magnitude == 0) return 0;
  const int top_of_c = sum.type == SumType::F16 ? std::max(addend.top(), least) : addend.top();
  const int grid = std::max(of_products, std::max(top, top_of_c) - 26);
  return result(sum, add_rdna3(products, count, addend, grid), grid, saturates);
}

}  // namespace wave::emulator
