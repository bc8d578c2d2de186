#include "emulator/numbers.h"

#include <algorithm>
#include <bit>
#include <cmath>

#include "emulator/isa/operand.h"
#include "emulator/small_float.h"
#include "emulator/workgroup.h"

namespace wave::emulator {

namespace {

using isa::Element;
using isa::Kind;
using isa::Operand;
using isa::OperandType;
using isa::Place;

/// The lanes whose dword has all bits of a mask. Written for compilers to vectorize.
u64 lanes_with(const LaneRow& row, u32 mask) {
  u64 lanes = 0;
  for (int first = 0; first < kLanes; first += 32) {
    u32 found = 0;
    for (int i = 0; i < 32; ++i) found |= static_cast<u32>((row.lane[first + i] & mask) == mask) << i;
    lanes |= u64{found} << first;
  }
  return lanes;
}

constexpr u32 kExponent32 = 0x7f800000, kExponent16 = 0x7c00, kExponentBf16 = 0x7f80, kExponent64 = 0x7ff00000;

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

/// Of a matrix's elements, as far as they are one of these types; else Other.
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

/// The lanes in which registers have an infinity or a NaN.
u64 not_finite_in(const LaneRow* rows, OperandType type, u32 dwords, bool is_upper_half) {
  const u32 half = is_upper_half ? 16 : 0;
  u64 lanes = 0;
  switch (type) {
    case OperandType::F16:
      return lanes_with(rows[0], kExponent16 << half);
    case OperandType::Bf16:
      return lanes_with(rows[0], kExponentBf16 << half);
    case OperandType::F32:
      return lanes_with(rows[0], kExponent32);
    case OperandType::F64:
      for (u32 i = 1; i < dwords; i += 2) lanes |= lanes_with(rows[i], kExponent64);
      return lanes;
    case OperandType::PackedF32:
      for (u32 i = 0; i < dwords; ++i) lanes |= lanes_with(rows[i], kExponent32);
      return lanes;
    case OperandType::PackedF16:
      for (u32 i = 0; i < dwords; ++i)
        lanes |= lanes_with(rows[i], kExponent16) | lanes_with(rows[i], kExponent16 << 16);
      return lanes;
    case OperandType::PackedBf16:
      for (u32 i = 0; i < dwords; ++i)
        lanes |= lanes_with(rows[i], kExponentBf16) | lanes_with(rows[i], kExponentBf16 << 16);
      return lanes;
    default:
      return ~u64{0};
  }
}

double value_in(u32 low, u32 high, OperandType type) {
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

}  // namespace

NumberChecker::Floats NumberChecker::floats_of(const Wave& wave, const isa::Instruction& instruction,
                                               const Operand& operand, OperandType type) {
  const isa::Location location = isa::locate(instruction, operand);
  const bool is_agpr = location.place == Place::Agpr;
  return {.type = type,
          .is_vector = location.place == Place::Vgpr || is_agpr,
          .is_upper_half = isa::is_half(instruction, operand) && isa::is_upper_half(instruction, operand),
          .row = location.value + (is_agpr ? wave.vgpr_count : 0),
          .dwords = location.dwords,
          .constant = location.value};
}

void NumberChecker::decode(const Wave& wave, const Op* op, Decoded& decoded) {
  decoded.instruction = wave.group->launch().module.decode(wave.address(op), wave.group->launch().lanes);
  if (decoded.instruction.row == nullptr) return;
  const isa::Row& row = *decoded.instruction.row;
  decoded.is_matrix = row.kind == Kind::Matrix || row.kind == Kind::SparseMatrix;
  const bool is_vector = row.kind == Kind::VectorAlu || row.kind == Kind::DotProduct;
  constexpr u32 kOtherLanes =
      isa::kDpp | isa::kDpp8 | isa::kDppRowNewbcast | isa::kDstSel | isa::kMix | isa::kOpSelByte;
  if ((!is_vector && !decoded.is_matrix) || (row.modifiers & kOtherLanes) != 0) return;
  if (row.operand_count == 0 || row.format == isa::Format::VOPD) return;
  int factors = 0;
  for (const Operand& operand : std::span(row.operands, row.operand_count)) {
    OperandType type = operand.type;
    if (decoded.is_matrix) {
      const bool is_result = operand.written || factors > 1;
      type = type_of(is_result ? row.matrix.d : factors == 0 ? row.matrix.a : row.matrix.b);
      factors += !operand.written;
    }
    if (operand.written) {
      if (&operand != row.operands) continue;  // a mask
      if (!is_float(type)) return;
      decoded.result = floats_of(wave, decoded.instruction, operand, type);
    }
    if (!operand.read) continue;
    if (!is_float(type) && (decoded.is_matrix || type == OperandType::Other)) return;
    if (is_float(type)) decoded.sources.push_back(floats_of(wave, decoded.instruction, operand, type));
  }
  const Floats& result = decoded.result;
  const u32 rows = wave.vgpr_count + wave.agpr_count;
  const auto exists = [&](const Floats& one) { return !one.is_vector || one.row + one.dwords <= rows; };
  decoded.is_looked_at = result.is_vector && exists(result) && std::ranges::all_of(decoded.sources, exists);
  decoded.overlaps = std::ranges::any_of(decoded.sources, [&](const Floats& source) {
    return source.is_vector && source.row < result.row + result.dwords && result.row < source.row + source.dwords;
  });
}

void NumberChecker::before(const Wave& wave, const Op* op) {
  const Decoded& decoded = instructions_.get(wave, op, [&](Decoded& made) { decode(wave, op, made); });
  now_ = nullptr;
  if (!decoded.is_looked_at || (wave.mode.gpr_index() && (op->flags & kIndexable)) || wave.mode.skip_vector()) return;
  now_ = &decoded;
  pc_ = wave.address(op);
  if (!decoded.overlaps) return;
  const LaneRow* rows = &wave.v[decoded.result.row];
  saved_.assign(rows, rows + decoded.result.dwords);
}

void NumberChecker::after(const Wave& wave, const Op*) {
  if (now_ == nullptr) return;
  const Floats& result = now_->result;
  u64 lanes = not_finite_in(&wave.v[result.row], result.type, result.dwords, result.is_upper_half);
  if (!now_->is_matrix) lanes &= wave.exec();
  if (lanes == 0) return;
  for (const Floats& source : now_->sources) {
    const u64 bad = not_finite(wave, *now_, source);
    // An element of a product is made of those of other lanes, too.
    lanes = now_->is_matrix ? (bad == 0 ? lanes : 0) : lanes & ~bad;
  }
  if (lanes != 0) report(wave, pc_, *now_, std::countr_zero(lanes));
}

u64 NumberChecker::not_finite(const Wave& wave, const Decoded& decoded, const Floats& source) const {
  if (!source.is_vector) return std::isfinite(value(wave, decoded, source, 0)) ? 0 : ~u64{0};
  const Floats& result = decoded.result;
  if (!decoded.overlaps || source.row < result.row || source.row + source.dwords > result.row + result.dwords) {
    return not_finite_in(&wave.v[source.row], source.type, source.dwords, source.is_upper_half);
  }
  return not_finite_in(&saved_[source.row - result.row], source.type, source.dwords, source.is_upper_half);
}

double NumberChecker::value(const Wave& wave, const Decoded& decoded, const Floats& source, int lane) const {
  const u32 shift = source.is_upper_half ? 16 : 0;
  if (!source.is_vector) {
    if (source.constant == sreg::kLiteral)
      return value_in(decoded.instruction.literal, decoded.instruction.literal, source.type);
    if (source.constant >= 128) return 0;  // inline constants are finite
    return value_in(wave.s[source.constant], wave.s[source.constant + 1], source.type);
  }
  const Floats& result = decoded.result;
  const bool is_saved =
      decoded.overlaps && source.row >= result.row && source.row + source.dwords <= result.row + result.dwords;
  const LaneRow* rows = is_saved ? &saved_[source.row - result.row] : &wave.v[source.row];
  return value_in(rows[0].lane[lane] >> shift, source.dwords > 1 ? rows[1].lane[lane] : 0, source.type);
}

void NumberChecker::report(const Wave& wave, u64 pc, const Decoded& decoded, int lane) {
  const Floats& result = decoded.result;
  const u32 shift = result.is_upper_half ? 16 : 0;
  const LaneRow* rows = &wave.v[result.row];
  const double made = value_in(rows[0].lane[lane] >> shift, result.dwords > 1 ? rows[1].lane[lane] : 0, result.type);
  const bool is_small = result.type == OperandType::F16 || result.type == OperandType::PackedF16;
  const char* kind = std::isnan(made) ? "nan" : is_small ? "f16-overflow" : "infinity";
  const Sighting sighting{.tool = kNumbersTool, .kind = kind, .pc = pc, .lane = lane};
  findings_.add(wave, sighting, [&] {
    std::string operands;
    for (const Floats& source : decoded.sources) {
      if (!source.is_vector && source.constant >= 128 && source.constant != sreg::kLiteral) continue;
      operands += text(operands.empty() ? "" : ", ", value(wave, decoded, source, lane));
    }
    const char* what = std::isnan(made) ? "a NaN" : "an infinity";
    if (decoded.is_matrix) return text("a product of matrices makes ", what, " of finite numbers");
    return text("an instruction makes ", what, " of finite operands", operands.empty() ? "" : ": ", operands);
  });
}

}  // namespace wave::emulator
