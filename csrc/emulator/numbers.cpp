#include "emulator/numbers.h"

#include <algorithm>
#include <bit>
#include <cmath>
#include <ranges>

#include "emulator/constants.h"
#include "emulator/isa/operand.h"
#include "emulator/small_float.h"
#include "emulator/step.h"
#include "emulator/workgroup.h"

namespace wave::emulator {

namespace {

using isa::Kind;
using isa::Operand;
using isa::OperandType;

constexpr u32 kDenormalModes = 0xf0;  ///< of MODE: denormals are kept, in operands and results

/// Of f32.
bool is_denormal(u32 bits) { return (bits & 0x7f800000u) == 0 && (bits & 0x7fffffffu) != 0; }

/// Of V_FMA_MIX OP_SEL_HI says which sources are f16; the result's other half, which stays, is none.
Operand as_mixed(const isa::Instruction& instruction, Operand operand) {
  if ((instruction.row->modifiers & isa::kMix) == 0) return operand;
  operand.read = !operand.written;
  if (operand.written) return operand;
  const u32 source = operand.field == isa::Field::SRC0 ? 0 : operand.field == isa::Field::SRC1 ? 1 : 2;
  operand.type = (isa::op_sel_hi(instruction) >> source & 1) != 0 ? OperandType::F16 : OperandType::F32;
  return operand;
}

}  // namespace

void NumberChecker::decode(const Wave& wave, const Op* op, Decoded& decoded) {
  decoded.instruction = decoded_instruction(wave, op);
  if (decoded.instruction.row == nullptr) return;
  const isa::Row& row = *decoded.instruction.row;
  decoded.is_matrix = row.kind == Kind::Matrix || row.kind == Kind::SparseMatrix;
  const bool narrows = (row.traits & (isa::kMakesFp8 | isa::kMakesBf8)) != 0;
  constexpr u32 kOtherLanes = isa::kDpp | isa::kDpp8 | isa::kDppRowNewbcast;
  constexpr u32 kParts = isa::kDstSel | isa::kOpSelByte;
  if ((row.modifiers & kOtherLanes) != 0 || (!narrows && (row.modifiers & kParts) != 0)) return;
  if (row.operand_count == 0 || row.format == isa::Format::VOPD || !decode_operands(wave, decoded)) return;
  if (narrows) decoded.narrowing = narrowing_of(wave, decoded);
  const FloatOperand& result = decoded.result;
  decoded.loses_denormals = (row.traits & isa::kTranscendental) != 0 && result.type == OperandType::F32;
  decoded.begins_division = (row.traits & isa::kWritesMask) != 0;  // comparisons make no floats
  decoded.is_estimate = (row.traits & isa::kTranscendental) != 0 && result.type == OperandType::F64;
  const u32 rows = wave.vgpr_count + wave.agpr_count;
  const auto exists = [&](const FloatOperand& one) { return !one.is_vector || one.row + one.dwords <= rows; };
  decoded.is_looked_at = result.is_vector && exists(result) && std::ranges::all_of(decoded.sources, exists);
  const auto is_overwritten = [&](const FloatOperand& source) {
    return source.is_vector && source.row < result.row + result.dwords && result.row < source.row + source.dwords;
  };
  if (narrows || std::ranges::none_of(decoded.sources, is_overwritten)) return;
  u32 first = result.row, end = result.row + result.dwords;
  for (const FloatOperand& source : decoded.sources | std::views::filter(is_overwritten))
    first = std::min(first, source.row), end = std::max(end, source.row + source.dwords);
  decoded.saved_row = first;
  decoded.saved_rows = end - first;
}

/// As floats_of. Of GFX11's products of matrices a result of 16 bits is one half of each register, and so is C.
FloatOperand NumberChecker::operand_of(const Wave& wave, const Decoded& decoded, const Operand& operand,
                                       OperandType type) {
  constexpr u32 kHalfOfResult = 4;  // of OP_SEL
  const isa::Instruction& instruction = decoded.instruction;
  FloatOperand floats = floats_of(wave, instruction, operand, type);
  const bool is_factor = operand.field == isa::Field::SRC0 || operand.field == isa::Field::SRC1;
  if (!decoded.is_matrix || is_factor || instruction.row->generation != isa::Generation::GFX11) return floats;
  if (type == OperandType::PackedF16) floats.type = OperandType::F16;
  if (type == OperandType::PackedBf16) floats.type = OperandType::Bf16;
  floats.is_upper_half = floats.type != type && (instruction[isa::Field::OP_SEL] & kHalfOfResult) != 0;
  return floats;
}

/// False where some are not known.
bool NumberChecker::decode_operands(const Wave& wave, Decoded& decoded) {
  const isa::Row& row = *decoded.instruction.row;
  const bool narrows = (row.traits & (isa::kMakesFp8 | isa::kMakesBf8)) != 0;
  int factors = 0;
  for (const Operand& listed : std::span(row.operands, row.operand_count)) {
    const Operand operand = as_mixed(decoded.instruction, listed);
    OperandType type = operand.type;
    if (decoded.is_matrix) {
      const bool is_result = operand.written || factors > 1;
      type = type_of(is_result ? row.matrix.d : factors == 0 ? row.matrix.a : row.matrix.b);
      factors += !operand.written;
    }
    if (operand.written) {
      if (&listed != row.operands) continue;  // a mask
      if (!is_float(type) && !narrows) return false;
      decoded.result = operand_of(wave, decoded, operand, type);
      decoded.result.is_upper_half |= (row.traits & isa::kToUpperHalf) != 0;
      if (narrows) continue;
    }
    if (!operand.read) continue;
    if (!is_float(type) && (decoded.is_matrix || type == OperandType::Other)) return false;
    if (is_float(type)) decoded.sources.push_back(operand_of(wave, decoded, operand, type));
  }
  return true;
}

/// What rounds to the largest value is in the range: halfway to the next one that is even, or, of stochastic rounding,
/// all that is not above the next one. A scale comes behind one or two values of f32, or behind another format's.
NumberChecker::Narrowing NumberChecker::narrowing_of(const Wave& wave, const Decoded& decoded) {
  const isa::Row& row = *decoded.instruction.row;
  const bool has_fnuz = wave.group->launch().module.processor().has_fnuz;
  const bool is_stochastic = (row.modifiers & (isa::kOpSelByte | isa::kByteSel)) != 0;
  const size_t values = decoded.sources[0].type == OperandType::F32 && !is_stochastic ? 2 : 1;
  const bool has_scale = decoded.sources.size() > values;
  if (row.traits & isa::kMakesBf8) return {"BF8", is_stochastic ? 65536.0 : 61440.0, true, has_scale};
  if (has_fnuz) return {"FP8", is_stochastic ? 256.0 : 248.0, true, has_scale};
  return {"FP8", is_stochastic ? 480.0 : 464.0, is_stochastic, has_scale};
}

void NumberChecker::before(const Wave& wave, const Op* op) {
  const Decoded& decoded = instructions_.get(wave, op, [&](Decoded& made) { decode(wave, op, made); });
  now_ = nullptr;
  if (!decoded.is_looked_at || (wave.mode.gpr_index() && (op->flags & kIndexable)) || wave.mode.skip_vector()) return;
  now_ = &decoded;
  pc_ = wave.address(op);
  kept_.clear();
  if (decoded.narrowing) return narrow(wave, decoded);
  if (finds_denormals_ && !decoded.is_matrix) keep_denormals(wave, op);
  if (decoded.begins_division) std::copy_n(wave.s, saved_scalars_.size(), saved_scalars_.begin());
  const LaneRow* rows = &wave.v[decoded.saved_row];
  saved_.assign(rows, rows + decoded.saved_rows);
}

void NumberChecker::after(const Wave& wave, const Op*) {
  if (now_ == nullptr || now_->narrowing) return;
  if (!kept_.empty()) find_denormals(wave);
  static const std::array<LaneRow, 2> kAll = [] {
    std::array<LaneRow, 2> all{};
    std::fill_n(all[0].lane, kHalfLanes, ~0u);
    std::fill_n(all[1].lane, kLanes, ~0u);
    return all;
  }();
  const FloatOperand& result = now_->result;
  const LaneRow* made = &wave.v[result.row];
  if (!has_not_finite(made, result, now_->is_matrix ? kAll[wave.lanes == kLanes] : wave.exec_lanes)) [[likely]]
    return;
  const u64 looked_at = now_->is_matrix ? wave.all_lanes() : wave.exec();
  u64 lanes = not_finite_in(made, result) & looked_at;
  for (const FloatOperand& source : now_->sources) {
    const u64 bad = not_finite(wave, *now_, source) & looked_at;
    // An element of a product is made of those of other lanes, too.
    lanes = now_->is_matrix ? (bad == 0 ? lanes : 0) : lanes & ~bad;
  }
  // V_DIV_SCALE makes a NaN of zeros, for the instruction that ends the division to see. Zero divided by something is
  // no mistake, nor is a root of zero, which begins with V_RSQ_F64; of a quotient's estimate V_DIV_SCALE is the
  // witness.
  if (now_->begins_division) lanes = zeros(wave, now_->sources[1], lanes);
  if (now_->is_estimate) lanes &= ~zeros(wave, now_->sources[0], lanes);
  if (lanes != 0) report(wave, *now_, std::countr_zero(lanes));
}

const LaneRow* NumberChecker::rows(const Wave& wave, const Decoded& decoded, const FloatOperand& source) const {
  const bool is_saved =
      source.row >= decoded.saved_row && source.row + source.dwords <= decoded.saved_row + decoded.saved_rows;
  return is_saved ? &saved_[source.row - decoded.saved_row] : &wave.v[source.row];
}

u64 NumberChecker::not_finite(const Wave& wave, const Decoded& decoded, const FloatOperand& source) const {
  if (!source.is_vector) return are_finite(scalar_bits(wave, decoded, source), source) ? 0 : ~u64{0};
  return not_finite_in(rows(wave, decoded, source), source);
}

/// Which of the lanes have a zero.
u64 NumberChecker::zeros(const Wave& wave, const FloatOperand& source, u64 lanes) const {
  u64 found = 0;
  for (u64 left = lanes; left != 0; left &= left - 1) {
    if (value(wave, *now_, source, std::countr_zero(left)) == 0) found |= left & -left;
  }
  return found;
}

double NumberChecker::value(const Wave& wave, const Decoded& decoded, const FloatOperand& source, int lane) const {
  if (source.is_vector) return value_in(rows(wave, decoded, source), source, lane);
  const u64 bits = scalar_bits(wave, decoded, source) >> (source.is_upper_half ? 16 : 0);
  return value_of(static_cast<u32>(bits), static_cast<u32>(bits >> 32), source.type);
}

/// Of a scalar operand, before the instruction: two dwords.
u64 NumberChecker::scalar_bits(const Wave& wave, const Decoded& decoded, const FloatOperand& source) const {
  const auto both = [](u32 low, u32 high) { return u64{high} << 32 | low; };
  const u32 literal = decoded.instruction.literal, code = source.constant;
  if (code == sreg::kLiteral) return both(literal, literal);
  if (is_inline_constant(code)) return inline_constant(code, source.type);
  // V_DIV_SCALE may have overwritten it with its mask.
  const bool is_saved = decoded.begins_division && code + 1 < saved_scalars_.size();
  const u32* const registers = is_saved ? saved_scalars_.data() : wave.s;
  return both(registers[code], registers[code + 1]);
}

/// Without inline constants.
std::string NumberChecker::operands_text(const Wave& wave, const Decoded& decoded, int lane) const {
  std::string operands;
  for (const FloatOperand& source : decoded.sources) {
    if (source.is_vector || !is_inline_constant(source.constant))
      operands += text(operands.empty() ? ": " : ", ", value(wave, decoded, source, lane));
  }
  return operands;
}

void NumberChecker::report(const Wave& wave, const Decoded& decoded, int lane) {
  const FloatOperand& result = decoded.result;
  const double made = decoded.begins_division ? value(wave, decoded, decoded.sources[2], lane) / 0.0
                                              : value_in(&wave.v[result.row], result, lane);
  const bool is_small = result.type == OperandType::F16 || result.type == OperandType::PackedF16;
  const char* kind = std::isnan(made) ? "nan" : is_small ? "f16-overflow" : "infinity";
  const Sighting sighting{.tool = kNumbersTool, .kind = kind, .pc = pc_, .lane = lane};
  findings_.add(wave, sighting, [&] {
    const char* what = std::isnan(made) ? "a NaN" : "an infinity";
    if (decoded.is_matrix) return text("a product of matrices makes ", what, " of finite numbers");
    if (decoded.begins_division) return text("a division by zero makes ", what);
    return text("an instruction makes ", what, " of finite operands", operands_text(wave, decoded, lane));
  });
}

/// Looks at the operands of a conversion: where the result is its range's end, it may have been one before.
void NumberChecker::narrow(const Wave& wave, const Decoded& decoded) {
  const Narrowing& narrowing = *decoded.narrowing;
  const size_t values = decoded.sources.size() - narrowing.has_scale;
  for (u64 left = wave.exec(); left != 0; left &= left - 1) {
    const int lane = std::countr_zero(left);
    const double scale = narrowing.has_scale ? value(wave, decoded, decoded.sources.back(), lane) : 1.0;
    const double divisor = narrowing.has_scale ? scale_of(std::bit_cast<u32>(static_cast<f32>(scale)) >> 23 & 0xff) : 1;
    for (size_t i = 0; i < 2 * values; ++i) {  // both halves of packed ones
      FloatOperand source = decoded.sources[i / 2];
      const bool is_packed = source.type == OperandType::PackedF16 || source.type == OperandType::PackedBf16;
      if (i % 2 != 0 && !is_packed) continue;
      source.is_upper_half |= i % 2 != 0;
      const double given = std::abs(value(wave, decoded, source, lane) / divisor);
      if (!(narrowing.includes_limit ? given >= narrowing.limit : given > narrowing.limit) || std::isinf(given))
        continue;
      const Sighting sighting{.tool = kNumbersTool, .kind = "f8-overflow", .pc = pc_, .lane = lane};
      return findings_.add(wave, sighting, [&] {
        const char* made = wave.mode.fp16_ovfl() ? "the largest value" : "no number";
        return text("a conversion to ", narrowing.name, " makes ", made, " of ", given, ", which is too large for it");
      });
    }
  }
}

/// Tries the instruction with denormals, where MODE has it do without.
void NumberChecker::keep_denormals(const Wave& wave, const Op* op) {
  const FloatOperand& result = now_->result;
  if (now_->loses_denormals) {
    const FloatOperand& source = now_->sources[0];
    for (u64 left = source.is_vector ? wave.exec() : 0; left != 0; left &= left - 1) {
      const int lane = std::countr_zero(left);
      const u32 bits = wave.v[source.row].lane[lane];
      if (is_denormal(bits)) return report_denormal(wave, lane, std::bit_cast<f32>(bits));
    }
  }
  if ((wave.mode.bits & kDenormalModes) == kDenormalModes) return;
  Wave trial = wave;
  trial.set_mode(wave.mode.bits | kDenormalModes);
  struct Restored {
    explicit Restored(LaneRow* first, u32 count) : rows(first), before(first, first + count) {}
    ~Restored() { std::ranges::copy(before, rows); }
    LaneRow* const rows;
    const std::vector<LaneRow> before;
  } const result_rows(&wave.v[result.row], result.dwords);
  step(trial, op);
  kept_.assign(result_rows.rows, result_rows.rows + result.dwords);
}

void NumberChecker::find_denormals(const Wave& wave) {
  const FloatOperand& result = now_->result;
  for (u64 left = wave.exec(); left != 0; left &= left - 1) {
    const int lane = std::countr_zero(left);
    const auto differs = [&](u32 i) { return kept_[i].lane[lane] != wave.v[result.row + i].lane[lane]; };
    for (u32 i = 0; i < result.dwords; ++i) {
      if (differs(i)) return report_denormal(wave, lane, value_in(kept_.data(), result, lane));
    }
  }
}

/// `kept`: the result as it would be, or an operand that is lost.
void NumberChecker::report_denormal(const Wave& wave, int lane, double kept) {
  const Decoded& decoded = *now_;
  const Sighting sighting{.tool = kNumbersTool, .kind = "denormal", .pc = pc_, .lane = lane};
  findings_.add(wave, sighting, [&] {
    if (decoded.loses_denormals && kept_.empty()) return text("an instruction takes ", kept, ", a denormal, for zero");
    const double made = value_in(&wave.v[decoded.result.row], decoded.result, lane);
    return text("an instruction makes ", made, " rather than ", kept, ", since MODE has denormals count as zeros",
                operands_text(wave, decoded, lane));
  });
}

}  // namespace wave::emulator
