// Sums of absolute differences (ISA document, "V_SAD_U8" and its siblings). CLAMP saturates the sum.
#include <algorithm>
#include <limits>
#include <type_traits>
#include <utility>

#include "emulator/bodies.h"
#include "emulator/vector.h"

#define WAVE_SOURCE "emulator/exec_vector_sad.cpp"
#include "emulator/each_simd_level.h"
#include "emulator/vector.inl"

namespace wave::emulator::WAVE_SIMD {

namespace {

u32 difference(u32 a, u32 b) { return a > b ? a - b : b - a; }
u32 byte_of(u32 a, int i) { return a >> 8 * i & 0xff; }

u32 bytes(u32 a, u32 b) {
  u32 sum = 0;
  for (int i = 0; i < 4; ++i) sum += difference(byte_of(a, i), byte_of(b, i));
  return sum;
}
/// Bytes of b that are zero do not count.
u32 masked_bytes(u32 a, u32 b) {
  u32 sum = 0;
  for (int i = 0; i < 4; ++i) sum += byte_of(b, i) == 0 ? 0 : difference(byte_of(a, i), byte_of(b, i));
  return sum;
}
u32 high_bytes(u32 a, u32 b) { return bytes(a, b) << 16; }
u32 halves(u32 a, u32 b) { return difference(a & 0xffff, b & 0xffff) + difference(a >> 16, b >> 16); }

using Differences = u32 (*)(u32, u32);

template <Differences kDifferences>
u32 sad(u32 a, u32 b, u32 c) {
  return c + kDifferences(a, b);
}
template <Differences kDifferences>
u32 sad_clamp(u32 a, u32 b, u32 c) {
  const u32 sum = c + kDifferences(a, b);
  return sum < c ? ~0u : sum;
}

/// Four sums of 16 bits, for the four bytes from each of the lowest four on.
template <Differences kDifferences, bool kClamp>
u64 four_sads(u64 a, u32 b, u64 c) {
  u64 result = 0;
  for (int i = 0; i < 4; ++i) {
    const u32 sum = static_cast<u32>(c >> 16 * i & 0xffff) + kDifferences(static_cast<u32>(a >> 8 * i), b);
    result |= u64{kClamp && sum > 0xffff ? 0xffff : sum & 0xffff} << 16 * i;
  }
  return result;
}

/// The same with sums of 32 bits: the third operand and the result have four rows. The result may overwrite sources.
template <bool kClamp>
const Op* v_mqsad_u32_u8(Wave& wave, const Op* op) {
  const LaneRow* a = direct_source(wave, op, 0, LaneType::B64);
  const LaneRow* b = direct_source(wave, op, 1, LaneType::B32);
  const LaneRow* c = direct_source(wave, op, 2, LaneType::B32);
  LaneRow sums[4];
  for (int i = 0; i < 4; ++i) {
    for (int lane = 0; lane < kLanes; ++lane) {
      const u32 window = static_cast<u32>((u64{a[1].lane[lane]} << 32 | a[0].lane[lane]) >> 8 * i);
      const auto sum = kClamp ? sad_clamp<masked_bytes> : sad<masked_bytes>;
      sums[i].lane[lane] = sum(window, b->lane[lane], c[i].lane[lane]);
    }
  }
  for (int i = 0; i < 4; ++i) {
    for (int lane = 0; lane < kLanes; ++lane) {
      blend_lane(wave.v[op->vector.dst + i], lane, sums[i].lane[lane], wave.exec_lanes.lane[lane]);
    }
  }
  return go_on(wave, op);
}

constexpr Body kBodies[] = {
    {"v_sad_u8", vector<sad<bytes>>},
    {"v_sad_u8", vector<sad_clamp<bytes>>, Variant::Clamp},
    {"v_sad_hi_u8", vector<sad<high_bytes>>},
    {"v_sad_hi_u8", vector<sad_clamp<high_bytes>>, Variant::Clamp},
    {"v_msad_u8", vector<sad<masked_bytes>>},
    {"v_msad_u8", vector<sad_clamp<masked_bytes>>, Variant::Clamp},
    {"v_sad_u16", vector<sad<halves>>},
    {"v_sad_u16", vector<sad_clamp<halves>>, Variant::Clamp},
    {"v_sad_u32", vector<sad<difference>>},
    {"v_sad_u32", vector<sad_clamp<difference>>, Variant::Clamp},
    {"v_qsad_pk_u16_u8", vector<four_sads<bytes, false>>},
    {"v_qsad_pk_u16_u8", vector<four_sads<bytes, true>>, Variant::Clamp},
    {"v_mqsad_pk_u16_u8", vector<four_sads<masked_bytes, false>>},
    {"v_mqsad_pk_u16_u8", vector<four_sads<masked_bytes, true>>, Variant::Clamp},
    {"v_mqsad_u32_u8", v_mqsad_u32_u8<false>},
    {"v_mqsad_u32_u8", v_mqsad_u32_u8<true>, Variant::Clamp},
};

}  // namespace

std::span<const Body> vector_sad_bodies() { return kBodies; }

}  // namespace wave::emulator::WAVE_SIMD
