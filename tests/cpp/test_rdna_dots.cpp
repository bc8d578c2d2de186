// emulator/exec_vector_gfx11: the dot products that vectors of the host compute give every bit of add_like_rdna(),
// which computes one sum after the other. At the host's SIMD level, or the one that WAVE_RUNTIME_SIMD names.

#include <cstdio>
#include <memory>
#include <random>
#include <vector>

#include "emulator/bodies.h"
#include "emulator/rdna_sums.h"
#include "emulator/small_float.h"

namespace {

using namespace wave::emulator;

std::mt19937 random_numbers(1);

/// Anything, or all bits of an exponent alike: zeros, denormals, infinities and NaNs, and of two in a row numbers whose
/// products lie far from each other.
u32 random_float(int exponent_bits, int fraction_bits) {
  const u32 bits = static_cast<u32>(random_numbers()), top = (1u << exponent_bits) - 1;
  const u32 all = (1u << (1 + exponent_bits + fraction_bits)) - 1;
  const u32 exponent = top << fraction_bits;
  switch (random_numbers() % 8) {
    case 0:
      return bits & all & ~exponent;
    case 1:
      return (bits & all) | exponent;
    case 2:
      return (bits & all & ~((1u << fraction_bits) - 1)) | (random_numbers() % 2);
    case 3:  // about 1
      return (bits & all & ~exponent) | (top / 2 + random_numbers() % 5 - 2) << fraction_bits;
    default:
      return bits & all;
  }
}

struct Type {
  int bits, exponent_bits, least_exponent;
  f32 (*value)(u32 code);
};
constexpr Type kHalf = {16, 5, -14, [](u32 code) { return f16_to_f32(code); }};
constexpr Type kBfloat = {16, 8, -126, [](u32 code) { return bf16_to_f32(code); }};
constexpr Type kFp8 = {8, 4, -6, OcpFp8::to_f32};
constexpr Type kBf8 = {8, 5, -14, OcpBf8::to_f32};

u32 random_factors(const Type& type) {
  u32 factors = 0;
  for (int at = 0; at < 32; at += type.bits)
    factors |= random_float(type.exponent_bits, type.bits - 1 - type.exponent_bits) << at;
  return factors;
}

struct Dot {
  const char* name;
  Type a, b;
  bool is_rdna4;
};
constexpr Dot kDots[] = {
    {"v_dot2_f32_f16_gfx11", kHalf, kHalf, false},      {"v_dot2_f32_f16_gfx12", kHalf, kHalf, true},
    {"v_dot2_f32_bf16_gfx11", kBfloat, kBfloat, false}, {"v_dot2_f32_bf16_gfx12", kBfloat, kBfloat, true},
    {"v_dot4_f32_fp8_fp8", kFp8, kFp8, true},           {"v_dot4_f32_fp8_bf8", kFp8, kBf8, true},
    {"v_dot4_f32_bf8_fp8", kBf8, kFp8, true},           {"v_dot4_f32_bf8_bf8", kBf8, kBf8, true},
};

u32 expected(const Dot& dot, u32 a, u32 b, u32 c) {
  f32 left[kMaxRdnaProducts], right[kMaxRdnaProducts];
  const int count = 32 / dot.a.bits;
  const u32 mask = (1u << (dot.a.bits - 1)) * 2 - 1;
  for (int i = 0; i < count; ++i) {
    left[i] = dot.a.value(a >> dot.a.bits * i & mask);
    right[i] = dot.b.value(b >> dot.a.bits * i & mask);
  }
  const RdnaSum sum = {dot.is_rdna4, dot.a.least_exponent, dot.b.least_exponent, SumType::F32, dot.a.bits == 8};
  return __builtin_bit_cast(u32, add_like_rdna(sum, left, right, count, __builtin_bit_cast(f32, c), false));
}

int test(const Dot& dot) {
  constexpr int kRounds = 3000;
  std::vector<LaneRow> rows(4);
  const auto wave = std::make_unique<Wave>();
  wave->v = rows.data();
  wave->lanes = kLanes;
  wave->spread_exec = 0;
  wave->set_mode(0xf0);
  wave->set_exec(~u64{0});
  Op op;
  op.vector.dst = 3;
  for (u32 i = 0; i < 3; ++i) op.vector.rows[i] = i * sizeof(LaneRow);
  int failures = 0;
  for (int round = 0; round < kRounds; ++round) {
    for (int lane = 0; lane < kLanes; ++lane) {
      rows[0].lane[lane] = random_factors(dot.a);
      rows[1].lane[lane] = random_factors(dot.b);
      rows[2].lane[lane] = random_float(8, 23);
    }
    bodies_named(dot.name).front().forms.general(*wave, &op);
    for (int lane = 0; lane < kLanes; ++lane) {
      const u32 a = rows[0].lane[lane], b = rows[1].lane[lane], c = rows[2].lane[lane];
      const u32 found = rows[3].lane[lane], wanted = expected(dot, a, b, c);
      if (found == wanted || ++failures > 3) continue;
      std::printf("%s of %08x, %08x and %08x is %08x, not %08x\n", dot.name, a, b, c, found, wanted);
    }
  }
  return failures;
}

}  // namespace

int main() {
  int failures = 0;
  for (const Dot& dot : kDots) failures += test(dot);
  return failures != 0;
}
