#include "emulator/float_rows.h"

#include <algorithm>
#include <bit>
#include <iterator>

#include "base/fork_safe.h"
#include "emulator/isa/operand.h"
#include "emulator/op.h"
#include "emulator/small_float.h"

#define WAVE_SOURCE "emulator/float_rows.cpp"
#include "emulator/each_simd_level.h"

namespace wave::emulator::WAVE_SIMD {

/// Whether a dword of lanes that are enabled has all bits of a mask.
bool any_with(const LaneRow* rows, u32 count, u32 mask, const LaneRow& lanes) {
  u32 found = 0;
  for (u32 row = 0; row < count; ++row) {
    WAVE_LANES
    for (int i = 0; i < kLanes; ++i) found |= (rows[row].lane[i] & lanes.lane[i] & mask) == mask ? 1u : 0u;
  }
  return found != 0;
}

}  // namespace wave::emulator::WAVE_SIMD

// The rest is compiled once, for all levels.
#if !defined(WAVE_SIMD_AVX512) && !defined(WAVE_SIMD_AVX2)

namespace wave::emulator {

namespace {

using isa::Element;
using isa::OperandType;
using isa::Place;

using AnyWith = bool (*)(const LaneRow*, u32, u32, const LaneRow&);

AnyWith any_with_of_host() {
  switch (simd_level()) {
#if defined(__x86_64__)
    case SimdLevel::Avx512:
      return avx512::any_with;
    case SimdLevel::Avx2:
      return avx2::any_with;
#endif
    default:
      return portable::any_with;
  }
}

Lazy<AnyWith>& chosen = *new Lazy<AnyWith>();

/// The lanes whose dword has all bits of a mask.
u64 lanes_with(const LaneRow& row, u32 mask) {
  u64 lanes = 0;
  for (int i = 0; i < kLanes; ++i) lanes |= u64{(row.lane[i] & mask) == mask} << i;
  return lanes;
}

/// The bits of a dword that are all ones where it is not finite, of one half or of both; and which dwords have them.
struct Exponents {
  u32 masks[2] = {0, 0};  ///< 0: there is none
  u32 first = 0, step = 1;
};

Exponents exponents_of(const FloatOperand& floats) {
  constexpr u32 k32 = 0x7f800000, k16 = 0x7c00, kBf16 = 0x7f80, k64 = 0x7ff00000;
  const u32 half = floats.is_upper_half ? 16 : 0;
  switch (floats.type) {
    case OperandType::F16:
      return {.masks = {k16 << half}};
    case OperandType::Bf16:
      return {.masks = {kBf16 << half}};
    case OperandType::F32:
    case OperandType::PackedF32:
      return {.masks = {k32}};
    case OperandType::F64:
      return {.masks = {k64}, .first = 1, .step = 2};
    case OperandType::PackedF16:
      return {.masks = {k16, k16 << 16}};
    case OperandType::PackedBf16:
      return {.masks = {kBf16, kBf16 << 16}};
    default:
      return {};
  }
}

}  // namespace

bool is_float(OperandType type) {
  switch (type) {
    case OperandType::F16:
    case OperandType::F32:
    case OperandType::F64:
    case OperandType::Bf16:
    case OperandType::PackedF16:
    case OperandType::PackedBf16:
    case OperandType::PackedF32:
      return true;
    default:
      return false;
  }
}

OperandType type_of(Element element) {
  switch (element) {
    case Element::F64:
      return OperandType::F64;
    case Element::F32:
    case Element::Xf32:
      return OperandType::PackedF32;
    case Element::F16:
      return OperandType::PackedF16;
    case Element::Bf16:
      return OperandType::PackedBf16;
    default:
      return OperandType::Other;
  }
}

FloatOperand floats_of(const Wave& wave, const isa::Instruction& instruction, const isa::Operand& operand,
                       OperandType type) {
  const isa::Location location = isa::locate(instruction, operand);
  const bool is_agpr = location.place == Place::Agpr;
  return {.type = type,
          .is_vector = location.place == Place::Vgpr || is_agpr,
          .is_upper_half = isa::is_upper_half(instruction, operand),
          .row = location.value + (is_agpr ? wave.vgpr_count : 0),
          .dwords = location.dwords,
          .constant = location.place == Place::Immediate ? u32{sreg::kLiteral} : location.value};
}

bool has_not_finite(const LaneRow* rows, const FloatOperand& floats, const LaneRow& lanes) {
  const AnyWith any_with = chosen.get(any_with_of_host);
  const Exponents exponents = exponents_of(floats);
  for (const u32 mask : exponents.masks) {
    if (mask == 0) continue;
    if (exponents.step == 1 && any_with(rows, floats.dwords, mask, lanes)) return true;
    for (u32 i = exponents.first; exponents.step != 1 && i < floats.dwords; i += exponents.step) {
      if (any_with(rows + i, 1, mask, lanes)) return true;
    }
  }
  return false;
}

u64 not_finite_in(const LaneRow* rows, const FloatOperand& floats) {
  const Exponents exponents = exponents_of(floats);
  u64 lanes = exponents.masks[0] == 0 ? ~u64{0} : 0;
  for (u32 i = exponents.first; i < floats.dwords; i += exponents.step) {
    for (const u32 mask : exponents.masks) lanes |= mask == 0 ? 0 : lanes_with(rows[i], mask);
  }
  return lanes;
}

bool are_finite(u64 bits, const FloatOperand& floats) {
  const u32 dwords[] = {static_cast<u32>(bits), static_cast<u32>(bits >> 32)};
  const Exponents exponents = exponents_of(floats);
  for (u32 i = exponents.first; i < std::min<u32>(floats.dwords, std::size(dwords)); i += exponents.step) {
    for (const u32 mask : exponents.masks) {
      if (mask != 0 && (dwords[i] & mask) == mask) return false;
    }
  }
  return true;
}

double value_of(u32 low, u32 high, OperandType type) {
  switch (type) {
    case OperandType::F16:
    case OperandType::PackedF16:
      return f16_to_f32(static_cast<u16>(low));
    case OperandType::Bf16:
    case OperandType::PackedBf16:
      return bf16_to_f32(static_cast<u16>(low));
    case OperandType::F64:
      return std::bit_cast<double>(u64{high} << 32 | low);
    default:
      return std::bit_cast<float>(low);
  }
}

double value_in(const LaneRow* rows, const FloatOperand& floats, int lane) {
  return value_of(rows[0].lane[lane] >> (floats.is_upper_half ? 16 : 0), floats.dwords > 1 ? rows[1].lane[lane] : 0,
                  floats.type);
}

}  // namespace wave::emulator

#endif
