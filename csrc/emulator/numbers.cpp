#include "emulator/numbers.h"

#include <algorithm>
#include <bit>
#include <cmath>
#include <deque>

#include "emulator/constants.h"
#include "emulator/isa/fields.h"
#include "emulator/isa/operand.h"
#include "emulator/small_float.h"
#include "emulator/step.h"
#include "emulator/workgroup.h"

namespace wave::emulator {

namespace {

using isa::Kind;
using isa::Operand;
using isa::OperandType;

constexpr u32 kOtherLanes = isa::kDpp | isa::kDpp8 | isa::kDppRowNewbcast;
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

/// Whether the destination is a source. DPP leaves it as it is in some lanes, so that its rows read theirs always.
bool adds_to_destination(const Wave& wave, const isa::Row& row) {
  const isa::InstructionSet& set = wave.group->launch().module.instruction_set();
  const isa::Format plain = isa::without_further_dword(row.format);
  return std::ranges::any_of(set.rows(), [&](const isa::Row& other) {
    return other.format == plain && other.opcode == row.opcode && other.operand_count != 0 && other.operands[0].read;
  });
}

bool overlap(const FloatOperand& one, const FloatOperand& other) {
  return one.row < other.row + other.dwords && other.row < one.row + one.dwords;
}

/// Whether a lane has a source under DPP: else zero counts, or nothing is written.
bool has_source(const Wave& wave, const LaneMoves& moves, int lane) {
  return moves.exists.lane[lane] != 0 && (moves.reads_disabled || (wave.exec() >> moves.source.lane[lane] & 1) != 0);
}

/// The lanes that get a result.
u64 written_lanes(const Wave& wave, const LaneMoves& moves) {
  u64 written = wave.exec();
  for (u64 left = written; left != 0; left &= left - 1) {
    const int lane = std::countr_zero(left);
    const bool is_written = moves.written.lane[lane] != 0 && (moves.bound_ctrl || has_source(wave, moves, lane));
    if (!is_written) written &= ~(left & -left);
  }
  return written;
}

LaneRow moved_lanes(const Wave& wave, const LaneMoves& moves, const LaneRow& row) {
  LaneRow moved{};
  for (u64 left = wave.exec(); left != 0; left &= left - 1) {
    const int lane = std::countr_zero(left);
    if (has_source(wave, moves, lane)) moved.lane[lane] = row.lane[moves.source.lane[lane]];
  }
  return moved;
}

}  // namespace

void NumberChecker::decode(const Wave& wave, const Op* op, Decoded& decoded) {
  decoded.instruction = decoded_instruction(wave, op);
  if (decoded.instruction.row == nullptr) return;
  const isa::Row& row = *decoded.instruction.row;
  decoded.is_matrix = row.kind == Kind::Matrix || row.kind == Kind::SparseMatrix;
  const bool narrows = (row.traits & (isa::kMakesFp8 | isa::kMakesBf8)) != 0;
  constexpr u32 kParts = isa::kDstSel | isa::kOpSelByte;
  if (!narrows && (row.modifiers & kParts) != 0) return;
  if (row.operand_count == 0 || !decode_operands(wave, decoded)) return;
  if (decoded.made.empty()) return;
  if (narrows) decoded.narrowing = narrowing_of(wave, decoded);
  const FloatOperand& result = decoded.made[0].result;
  decoded.loses_denormals = (row.traits & isa::kTranscendental) != 0 && result.type == OperandType::F32;
  decoded.begins_division = (row.traits & isa::kWritesMask) != 0;  // comparisons make no floats
  decoded.is_estimate = (row.traits & isa::kTranscendental) != 0 && result.type == OperandType::F64;
  const u32 rows = wave.vgpr_count + wave.agpr_count;
  const auto exists = [&](const FloatOperand& one) { return !one.is_vector || one.row + one.dwords <= rows; };
  decoded.is_looked_at = std::ranges::all_of(decoded.made, [&](const Made& made) {
    return made.result.is_vector && exists(made.result) && std::ranges::all_of(made.sources, exists);
  });
  choose_saved(decoded);
}

/// Sources that a result overwrites, or that come from other lanes.
void NumberChecker::choose_saved(Decoded& decoded) {
  for (Made& made : decoded.made) {
    for (Source& source : made.sources) {
      const bool is_overwritten = std::ranges::any_of(
          decoded.made, [&](const Made& other) { return source.is_vector && overlap(source, other.result); });
      if (!is_overwritten && !source.is_moved) continue;
      source.saved = static_cast<u32>(decoded.saved_rows.size());
      for (u32 i = 0; i < source.dwords; ++i) decoded.saved_rows.push_back(source.row + i);
    }
  }
}

/// As floats_of. Of GFX11's products of matrices a result of 16 bits is one half of each register, and so is C.
FloatOperand NumberChecker::operand_of(const Wave& wave, const Decoded& decoded, const Operand& operand,
                                       OperandType type) {
  constexpr u32 kHalfOfResult = 4;  // of OP_SEL
  const isa::Instruction& instruction = decoded.instruction;
  FloatOperand floats = floats_of(wave, instruction, operand, type);
  const bool is_factor = operand.field == isa::Field::SRC0 || operand.field == isa::Field::SRC1;
  if (!decoded.is_matrix || is_factor || !isa::features(instruction.row->generation).matrices_fill_halves)
    return floats;
  if (type == OperandType::PackedF16) floats.type = OperandType::F16;
  if (type == OperandType::PackedBf16) floats.type = OperandType::Bf16;
  floats.is_upper_half = floats.type != type && (instruction[isa::Field::OP_SEL] & kHalfOfResult) != 0;
  return floats;
}

/// False where some are not known.
bool NumberChecker::decode_operands(const Wave& wave, Decoded& decoded) {
  const isa::Row& row = *decoded.instruction.row;
  const bool narrows = (row.traits & (isa::kMakesFp8 | isa::kMakesBf8)) != 0;
  const bool has_halves = row.format == isa::Format::VOPD, moves = (row.modifiers & kOtherLanes) != 0;
  bool makes_floats = false;  // the half whose operands these are
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
      if (&listed != row.operands && !has_halves) continue;  // a mask
      makes_floats = is_float(type) || narrows;
      if (!makes_floats && !has_halves) return false;
      if (!makes_floats) continue;
      Made& made = decoded.made.emplace_back();
      made.result = operand_of(wave, decoded, operand, type);
      made.result.is_upper_half |= (row.traits & isa::kToUpperHalf) != 0;
      if (narrows) continue;
    }
    if (!operand.read || !makes_floats) continue;
    if (!is_float(type) && (decoded.is_matrix || type == OperandType::Other)) return false;
    if (!is_float(type) || (operand.written && moves && !adds_to_destination(wave, row))) continue;
    const bool is_moved = moves && operand.field == isa::Field::SRC0;
    decoded.made.back().sources.push_back({operand_of(wave, decoded, operand, type), is_moved, {}});
  }
  return true;
}

/// What rounds to the largest value is in the range: halfway to the next one that is even, or, of stochastic rounding,
/// all that is not above the next one. A scale comes behind one or two values of f32, or behind another format's.
NumberChecker::Narrowing NumberChecker::narrowing_of(const Wave& wave, const Decoded& decoded) {
  const isa::Row& row = *decoded.instruction.row;
  const bool has_fnuz = wave.group->launch().module.processor().has_fnuz;
  const bool is_stochastic = (row.modifiers & (isa::kOpSelByte | isa::kByteSel)) != 0;
  const std::vector<Source>& sources = decoded.made[0].sources;
  const size_t values = sources[0].type == OperandType::F32 && !is_stochastic ? 2 : 1;
  const bool has_scale = sources.size() > values;
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
  save(wave, op);
  if (decoded.narrowing) return narrow(wave);
  if (finds_denormals_ && !decoded.is_matrix) keep_denormals(wave, op);
}

void NumberChecker::save(const Wave& wave, const Op* op) {
  const Decoded& decoded = *now_;
  if (decoded.begins_division) std::copy_n(wave.s, saved_scalars_.size(), saved_scalars_.begin());
  saved_.clear();
  for (const u32 row : decoded.saved_rows) saved_.push_back(wave.v[row]);
  const bool moves = (decoded.instruction.row->modifiers & kOtherLanes) != 0;
  lanes_ = decoded.is_matrix ? wave.all_lanes() : wave.exec();
  if (!moves || op->vector.modifiers == nullptr) return;  // what is refused has none, and a fault follows
  const LaneMoves& lanes = *op->vector.modifiers->moves;
  lanes_ = written_lanes(wave, lanes);
  for (const Source& source : decoded.made[0].sources) {
    for (u32 i = 0; source.is_moved && i < source.dwords; ++i) {
      LaneRow& row = saved_[*source.saved + i];
      row = moved_lanes(wave, lanes, row);
    }
  }
}

void NumberChecker::after(const Wave& wave, const Op*) {
  if (now_ == nullptr || now_->narrowing) return;
  if (!kept_.empty()) find_denormals(wave);
  for (const Made& made : now_->made) find_in(wave, made);
}

void NumberChecker::find_in(const Wave& wave, const Made& made) {
  static const std::array<LaneRow, 2> kAll = [] {
    std::array<LaneRow, 2> all{};
    std::fill_n(all[0].lane, kHalfLanes, ~0u);
    std::fill_n(all[1].lane, kLanes, ~0u);
    return all;
  }();
  const FloatOperand& result = made.result;
  const LaneRow* registers = &wave.v[result.row];
  if (!has_not_finite(registers, result, now_->is_matrix ? kAll[wave.lanes == kLanes] : wave.exec_lanes)) [[likely]]
    return;
  u64 lanes = not_finite_in(registers, result) & lanes_;
  for (const Source& source : made.sources) {
    const u64 bad = not_finite(wave, source) & lanes_;
    // An element of a product is made of those of other lanes, too.
    lanes = now_->is_matrix ? (bad == 0 ? lanes : 0) : lanes & ~bad;
  }
  // V_DIV_SCALE makes a NaN of zeros, for the instruction that ends the division to see. Zero divided by something is
  // no mistake, nor is a root of zero, which begins with V_RSQ_F64; of a quotient's estimate V_DIV_SCALE is the
  // witness.
  if (now_->begins_division) lanes = scales_denominator(made.sources) ? 0 : zeros(wave, made.sources[1], lanes);
  if (now_->is_estimate) lanes &= ~zeros(wave, made.sources[0], lanes);
  if (lanes != 0) report(wave, made, std::countr_zero(lanes));
}

/// A division has two V_DIV_SCALE, of its denominator and of its numerator: the latter tells of a mistake.
bool NumberChecker::scales_denominator(const std::vector<Source>& sources) {
  const auto are_same = [](const FloatOperand& one, const FloatOperand& other) {
    return one.is_vector == other.is_vector && (one.is_vector ? one.row == other.row : one.constant == other.constant);
  };
  return are_same(sources[0], sources[1]) && !are_same(sources[0], sources[2]);
}

const LaneRow* NumberChecker::rows(const Wave& wave, const Source& source) const {
  return source.saved ? &saved_[*source.saved] : &wave.v[source.row];
}

u64 NumberChecker::not_finite(const Wave& wave, const Source& source) const {
  if (!source.is_vector) return are_finite(scalar_bits(wave, source), source) ? 0 : ~u64{0};
  return not_finite_in(rows(wave, source), source);
}

/// Which of the lanes have a zero.
u64 NumberChecker::zeros(const Wave& wave, const Source& source, u64 lanes) const {
  u64 found = 0;
  for (u64 left = lanes; left != 0; left &= left - 1) {
    if (value(wave, source, std::countr_zero(left)) == 0) found |= left & -left;
  }
  return found;
}

double NumberChecker::value(const Wave& wave, const Source& source, int lane) const {
  if (source.is_vector) return value_in(rows(wave, source), source, lane);
  const u64 bits = scalar_bits(wave, source) >> (source.is_upper_half ? 16 : 0);
  return value_of(static_cast<u32>(bits), static_cast<u32>(bits >> 32), source.type);
}

/// Of a scalar operand, before the instruction: two dwords.
u64 NumberChecker::scalar_bits(const Wave& wave, const FloatOperand& source) const {
  const auto both = [](u32 low, u32 high) { return u64{high} << 32 | low; };
  const u32 literal = now_->instruction.literal, code = source.constant;
  if (code == sreg::kLiteral) return both(literal, literal);
  if (is_inline_constant(code)) return inline_constant(code, source.type);
  // V_DIV_SCALE may have overwritten it with its mask.
  const bool is_saved = now_->begins_division && code + 1 < saved_scalars_.size();
  const u32* const registers = is_saved ? saved_scalars_.data() : wave.s;
  return both(registers[code], registers[code + 1]);
}

/// Without inline constants.
std::string NumberChecker::operands_text(const Wave& wave, const Made& made, int lane) const {
  std::string operands;
  for (const Source& source : made.sources) {
    if (source.is_vector || !is_inline_constant(source.constant))
      operands += text(operands.empty() ? ": " : ", ", value(wave, source, lane));
  }
  return operands;
}

void NumberChecker::report(const Wave& wave, const Made& made, int lane) {
  const Decoded& decoded = *now_;
  const FloatOperand& result = made.result;
  const double number =
      decoded.begins_division ? value(wave, made.sources[2], lane) / 0.0 : value_in(&wave.v[result.row], result, lane);
  const bool is_small = result.type == OperandType::F16 || result.type == OperandType::PackedF16;
  const char* kind = std::isnan(number) ? "nan" : is_small ? "f16-overflow" : "infinity";
  const Sighting sighting{.tool = kNumbersTool, .kind = kind, .pc = pc_, .lane = lane};
  findings_.add(wave, sighting, [&] {
    const char* what = std::isnan(number) ? "a NaN" : "an infinity";
    if (decoded.is_matrix) return text("a product of matrices makes ", what, " of finite numbers");
    if (decoded.begins_division) return text("a division by zero makes ", what);
    return text("an instruction makes ", what, " of finite operands", operands_text(wave, made, lane));
  });
}

/// Looks at the operands of a conversion: where the result is its range's end, it may have been one before.
void NumberChecker::narrow(const Wave& wave) {
  const Narrowing& narrowing = *now_->narrowing;
  const std::vector<Source>& sources = now_->made[0].sources;
  const size_t values = sources.size() - narrowing.has_scale;
  for (u64 left = lanes_; left != 0; left &= left - 1) {
    const int lane = std::countr_zero(left);
    const double scale = narrowing.has_scale ? value(wave, sources.back(), lane) : 1.0;
    const double divisor = narrowing.has_scale ? scale_of(std::bit_cast<u32>(static_cast<f32>(scale)) >> 23 & 0xff) : 1;
    for (size_t i = 0; i < 2 * values; ++i) {  // both halves of packed ones
      Source source = sources[i / 2];
      const bool is_packed = source.type == OperandType::PackedF16 || source.type == OperandType::PackedBf16;
      if (i % 2 != 0 && !is_packed) continue;
      source.is_upper_half |= i % 2 != 0;
      const double given = std::abs(value(wave, source, lane) / divisor);
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
  const std::vector<Made>& all = now_->made;
  if (now_->loses_denormals) {
    const Source& source = all[0].sources[0];
    for (u64 left = source.is_vector ? lanes_ : 0; left != 0; left &= left - 1) {
      const int lane = std::countr_zero(left);
      const u32 bits = rows(wave, source)->lane[lane];
      if (is_denormal(bits)) return report_denormal(wave, all[0], lane, std::bit_cast<f32>(bits));
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
  };
  std::deque<Restored> results;
  for (const Made& made : all) results.emplace_back(&wave.v[made.result.row], made.result.dwords);
  const Singly singly(trial);  // what follows is carried out once, by the wave itself
  step(trial, op);
  for (const Made& made : all)
    kept_.insert(kept_.end(), &wave.v[made.result.row], &wave.v[made.result.row] + made.result.dwords);
}

void NumberChecker::find_denormals(const Wave& wave) {
  const LaneRow* kept = kept_.data();
  for (const Made& made : now_->made) {
    const FloatOperand& result = made.result;
    const auto differs = [&](int lane) {
      for (u32 i = 0; i < result.dwords; ++i) {
        if (kept[i].lane[lane] != wave.v[result.row + i].lane[lane]) return true;
      }
      return false;
    };
    u64 left = wave.exec();
    while (left != 0 && !differs(std::countr_zero(left))) left &= left - 1;
    if (left != 0) {
      const int lane = std::countr_zero(left);
      report_denormal(wave, made, lane, value_in(kept, result, lane));
    }
    kept += result.dwords;
  }
}

/// `kept`: the result as it would be, or an operand that is lost.
void NumberChecker::report_denormal(const Wave& wave, const Made& made, int lane, double kept) {
  const Sighting sighting{.tool = kNumbersTool, .kind = "denormal", .pc = pc_, .lane = lane};
  findings_.add(wave, sighting, [&] {
    if (now_->loses_denormals && kept_.empty()) return text("an instruction takes ", kept, ", a denormal, for zero");
    const double number = value_in(&wave.v[made.result.row], made.result, lane);
    return text("an instruction makes ", number, " rather than ", kept, ", since MODE has denormals count as zeros",
                operands_text(wave, made, lane));
  });
}

}  // namespace wave::emulator
