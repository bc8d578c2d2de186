#include "emulator/matrix_exact.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <optional>

#include "base/environment.h"
#include "base/fork_safe.h"
#include "emulator/small_float.h"

namespace wave::emulator {

namespace {

/// A factor, also as significand * 2^(exponent - 23) with 1 <= |significand| < 2 in units of 2^-23, less for denormals.
struct Factor {
  f64 value;
  i32 significand;
  i32 exponent;
};

Factor factor_of(f32 value, int min_exponent) {
  if (value == 0 || !std::isfinite(value)) return {value, 0, kNoExponent};
  const int exponent = std::max(std::ilogb(value), min_exponent);
  return {value, static_cast<i32>(std::ldexp(value, 23 - exponent)), exponent};
}

/// sum * 2^exponent, the sum counted in units of 2^-24.
struct Sum {
  i64 units;
  int exponent;
};

/// Rounds towards minus infinity, as the hardware does when it aligns a sum.
i64 shift_right(i64 value, int bits) { return value >> std::min(bits, 63); }

/// The sum of the products at every `step`-th k, each truncated to 24 fractional bits under the largest exponent.
Sum add_products(const Factor* a, const Factor* b, int count, int step) {
  int largest = kLeastExponent;
  for (int k = 0; k < count; k += step) largest = std::max(largest, a[k].exponent + b[k].exponent);
  i64 units = 0;
  for (int k = 0; k < count; k += step) {
    const i64 product = i64{a[k].significand} * b[k].significand;  // in units of 2^-46
    const i64 magnitude = shift_right(std::abs(product), 46 - 24 + largest - a[k].exponent - b[k].exponent);
    units += product < 0 ? -magnitude : magnitude;
  }
  return {units, largest};
}

/// FP8: even and odd k are summed on their own.
Sum add_float8_products(const Factor* a, const Factor* b, int count) {
  const Sum even = add_products(a, b, count, 2), odd = add_products(a + 1, b + 1, count - 1, 2);
  const int exponent = std::max(even.exponent, odd.exponent);
  const i64 units = shift_right(even.units, exponent - even.exponent) + shift_right(odd.units, exponent - odd.exponent);
  return {units, exponent};
}

/// What infinities, NaNs and products beyond f32 make of a sum.
std::optional<f32> overflow(const Factor* a, const Factor* b, int count, f32 c) {
  f64 sum = c;
  bool positive = false, negative = false;
  for (int k = 0; k < count; ++k) {
    const f64 product = a[k].value * b[k].value;
    sum += product;
    positive |= product >= 0x1p128;
    negative |= product <= -0x1p128;
  }
  if (!std::isfinite(sum)) return static_cast<f32>(sum);
  if (positive && negative) return std::numeric_limits<f32>::quiet_NaN();
  if (positive || negative) return positive ? INFINITY : -INFINITY;
  return std::nullopt;
}

const Variable& kSums = at_load("WAVE_RUNTIME_MFMA");
Lazy<bool>& is_exact = *new Lazy<bool>();

}  // namespace

bool sums_matrices_exactly() {
  return is_exact.get([] { return kSums.choice({"fast", "exact"}, 0) == 1; });
}

void sum_matrices_exactly() {
  is_exact.get([] { return true; });
}

f32 add_exactly(const ExactSums& sums, const f32* a, const f32* b, int count, f32 c) {
  Factor factors_a[kMaxExactGroup], factors_b[kMaxExactGroup];
  for (int k = 0; k < count; ++k) {
    factors_a[k] = factor_of(a[k], sums.min_exponent_a);
    factors_b[k] = factor_of(b[k], sums.min_exponent_b);
  }
  if (const std::optional<f32> special = overflow(factors_a, factors_b, count, c)) return *special;
  const Sum sum =
      sums.is_float8 ? add_float8_products(factors_a, factors_b, count) : add_products(factors_a, factors_b, count, 1);
  const int exponent = c == 0 ? kF32MinExponent : std::max(std::ilogb(c), kF32MinExponent);
  const i64 significand = static_cast<i64>(std::ldexp(f64{c}, 23 - exponent));
  if (exponent <= sum.exponent) {
    const bool is_lost = sums.is_float8 && sum.exponent - exponent > 25;
    const i64 addend = is_lost ? 0 : shift_right(significand * 2, sum.exponent - exponent);
    return static_cast<f32>(std::ldexp(static_cast<f64>(sum.units + addend), sum.exponent - 24));
  }
  const i64 total = shift_right(sum.units * 256, exponent - sum.exponent) + significand * 512;
  if (total == 0) return 0;
  const int own_exponent = std::max(std::ilogb(static_cast<f64>(total)) + exponent - 32, kF32MinExponent);
  const int dropped = std::max(own_exponent - exponent + 1, 0);
  return static_cast<f32>(std::ldexp(static_cast<f64>(shift_right(total, dropped)), exponent - 32 + dropped));
}

}  // namespace wave::emulator
