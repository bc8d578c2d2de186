#include "emulator/uninitialized.h"

#include <algorithm>
#include <bit>

#include "emulator/constants.h"
#include "emulator/isa/operand.h"
#include "emulator/step.h"
#include "emulator/workgroup.h"

namespace wave::emulator {

namespace {

using isa::Field;
using isa::Kind;
using isa::Location;
using isa::Operand;
using isa::OperandKind;
using isa::Place;
using Direction = isa::MemoryAccess::Direction;

bool is_data(Field field) {
  return field == Field::DATA || field == Field::DATA0 || field == Field::DATA1 || field == Field::VDATA ||
         field == Field::SDATA;
}

/// Where a scalar operand lies in Wave::s, and 128 or more where that is no register.
u32 scalar_number(const isa::Row& row, const Location& location) {
  const isa::Features& family = isa::features(row.generation);
  if (!family.has_null) return location.value;
  if (location.value == family.codes.m0) return sreg::kM0;
  return location.value == family.codes.null ? u32{isa::kZero} : location.value;
}

}  // namespace

u32 UninitializedChecker::State::bits_of(u32 row, int lane) const {
  if ((lanes[row] >> lane & 1) == 0) return 0;
  return fresh[row] >> lane & 1 ? ~0u : bits[row].lane[lane];
}

void UninitializedChecker::State::set(u32 row, int lane, u32 undefined, Source source) {
  define(row, lane_bit(lane));
  if (undefined == 0) return;
  lanes[row] |= lane_bit(lane);
  bits[row].lane[lane] = undefined;
  sources[row].lane[lane] = source;
}

void UninitializedChecker::State::set_scalar(u32 number, u32 undefined, Source source) {
  scalars[number] = undefined;
  scalar_sources[number] = source;
  scalars_with_some.set(number, undefined != 0);
}

const UninitializedChecker::Decoded& UninitializedChecker::look_up(const Wave& wave, const Op* op) {
  return instructions_.get(wave, op, [&](Decoded& made) {
    const isa::Instruction decoded = decoded_instruction(wave, op);
    if (decoded.row != nullptr) decode(wave, decoded, made);
    if (made.effect == Effect::Jumps && !branches_without_vcc(op->execute))
      made.scalar_reads.set(sreg::kVcc), made.scalar_reads.set(sreg::kVcc + 1);
    if (moves_relative_rows(op->execute) || moves_relative_scalars(op->execute)) made.effect = Effect::Relative;
  });
}

void UninitializedChecker::decide_effect(const isa::Instruction& instruction, Decoded& decoded) {
  const isa::Row& row = *instruction.row;
  const std::span operands(row.operands, row.operand_count);
  const bool reads_vector = !decoded.reads.empty() || !decoded.data.empty();
  switch (row.kind) {
    case Kind::VectorAlu:
    case Kind::DotProduct:
    case Kind::Matrix:
    case Kind::SparseMatrix:
    case Kind::ScalarAlu:
      decoded.effect = Effect::Computes;
      break;
    case Kind::Control: {
      const bool has_target = !operands.empty() && operands.back().kind == OperandKind::BranchTarget;
      const bool reads_pair = std::ranges::any_of(operands, [](const Operand& operand) {
        return operand.read && operand.kind != OperandKind::BranchTarget && operand.dwords == 2;
      });
      if (has_target || reads_pair) {
        decoded.effect = Effect::Jumps;
      } else if (decoded.scalar_writes.any()) {
        decoded.effect = Effect::Loads;  // the answer to a message
      }
      break;
    }
    case Kind::ScalarMemory:
    case Kind::Lds:
    case Kind::VectorMemory:
      if (row.memory.direction == Direction::Store) {
        decoded.effect = Effect::Stores;
      } else if (row.memory.direction == Direction::Atomic) {
        decoded.effect = Effect::Modifies;
      } else if (row.memory.direction == Direction::None && reads_vector && !decoded.writes.empty()) {
        decoded.effect = Effect::Computes;  // an exchange between lanes
      } else {
        decoded.effect = Effect::Loads;
      }
      break;
    default:
      break;
  }
}

void UninitializedChecker::decode(const Wave& wave, const isa::Instruction& instruction, Decoded& decoded) const {
  const isa::Row& row = *instruction.row;
  const bool is_vector_memory = row.kind == Kind::Lds || row.kind == Kind::VectorMemory;
  const bool stores = row.memory.direction == Direction::Store || row.memory.direction == Direction::Atomic;
  const bool returns = (row.modifiers & isa::kReturn) == 0 || isa::returns_value(instruction);
  const bool to_lds = isa::loads_to_lds(instruction);
  // D16, perhaps, which leaves half of the register.
  const bool loads_part = row.memory.direction == Direction::Load && row.memory.bytes < sizeof(u32);
  bool writes_scalar = false;
  for (const Operand& operand : std::span(row.operands, row.operand_count)) {
    const Location location = isa::locate(instruction, operand);
    if (location.place == Place::Scalar) {
      const u32 first = scalar_number(row, location);
      if (first == isa::kScc) decoded.may_read_scc = true;
      if (first == isa::kVccz) decoded.scalar_reads.set(sreg::kVcc), decoded.scalar_reads.set(sreg::kVcc + 1);
      const bool is_stored = stores && is_data(operand.field);
      for (u32 number = first; number < std::min(first + std::max<u32>(location.dwords, 1), 128u); ++number) {
        if (operand.read && is_stored) decoded.scalar_data.push_back(number);
        if (operand.read && !is_stored) decoded.scalar_reads.set(number);
        if (operand.written && returns) decoded.scalar_writes.set(number);
      }
      writes_scalar |= operand.written;
    } else if (location.place == Place::Vgpr || location.place == Place::Agpr) {
      const u32 first = location.value + (location.place == Place::Agpr ? wave.vgpr_count : 0);
      const u32 end = first + std::max<u32>(location.dwords, 1);
      if (end > wave.vgpr_count + wave.agpr_count) return;  // a fault follows
      const bool is_stored = stores && is_data(operand.field);
      const bool is_loaded = operand.written && returns && !to_lds;
      for (u32 number = first; number < end; ++number) {
        if (is_loaded) decoded.writes.push_back(number);
        if (is_stored && operand.read) {
          decoded.data.push_back(number);
        } else if (operand.read && !(is_vector_memory && operand.written)) {
          decoded.reads.push_back(number);
        }
      }
      const bool is_part = isa::is_16_bits(operand.type) || loads_part;
      if (operand.written && (is_part || operand.read)) decoded.writes_whole = false;
      if (operand.written && operand.field == Field::SRC0) decoded.crosses_lanes = true;  // a swap, of lanes perhaps
    }
  }
  constexpr u32 kParts = isa::kOpSelDst | isa::kOpSelByte | isa::kDstSel | isa::kByteSel;
  constexpr u32 kOtherLanes = isa::kDpp | isa::kDpp8 | isa::kDppRowNewbcast | isa::kLaneBounds;
  const bool is_matrix = row.kind == Kind::Matrix || row.kind == Kind::SparseMatrix;
  const bool is_exchange = row.kind == Kind::Lds && row.memory.direction == Direction::None;
  const bool leaves_lanes = writes_scalar && row.kind == Kind::VectorAlu && (row.traits & isa::kWritesMask) == 0;
  if ((row.modifiers & (kParts | kOtherLanes)) != 0 || (row.traits & isa::kToUpperHalf) != 0 || is_exchange)
    decoded.writes_whole = false;
  // What changes a register by scalars alone may do so in any lane, as V_WRITELANE does.
  decoded.crosses_lanes |= !decoded.reads.empty() && decoded.reads == decoded.writes;
  decoded.crosses_lanes |= (row.modifiers & kOtherLanes) != 0 || is_matrix || is_exchange || leaves_lanes;
  decoded.ignores_exec = is_matrix;
  // What the hardware's registers hold, clocks among them, differs from trial to trial.
  const bool may_be_tried = (row.traits & isa::kGetsHardware) == 0;
  decoded.may_read_scc |= (row.kind == Kind::ScalarAlu && may_be_tried) || row.kind == Kind::Control;
  decoded.writes_scc = (row.traits & isa::kWritesScc) != 0;
  decoded.compares = (row.traits & isa::kWritesMask) != 0 && decoded.writes.empty();
  decoded.is_lds = row.kind == Kind::Lds;
  decoded.goes_to_lds = to_lds;
  decoded.replaces = row.memory.replaces;
  decoded.copies_scratch = row.format == isa::Format::SCRATCH && row.memory.direction == Direction::Load && !to_lds &&
                           decoded.writes_whole && row.memory.bytes == sizeof(u32) * decoded.writes.size();
  decoded.data_bytes = std::max<u32>(u32{row.memory.bytes} * row.memory.addresses, 1);
  for (const std::vector<u32>* some : {&decoded.writes, &decoded.reads, &decoded.data}) {
    for (const u32 number : *some) {
      if (std::ranges::find(decoded.rows, number) == decoded.rows.end()) decoded.rows.push_back(number);
    }
  }
  const bool compares_scalars = row.kind == Kind::ScalarAlu && decoded.writes_scc && decoded.scalar_writes.none();
  if (decoded.compares || compares_scalars) decoded.compared = compared_by(wave, instruction);
  decide_effect(instruction, decoded);
  if (decoded.effect == Effect::Computes) {
    decoded.reads.insert(decoded.reads.end(), decoded.data.begin(), decoded.data.end());
  }
}

/// Nothing where there are not two operands that are registers or constants.
std::vector<UninitializedChecker::Compared> UninitializedChecker::compared_by(const Wave& wave,
                                                                              const isa::Instruction& instruction) {
  const isa::Row& row = *instruction.row;
  std::vector<Compared> compared;
  for (const Operand& operand : std::span(row.operands, row.operand_count)) {
    if (!operand.read || operand.written) continue;
    const Location location = isa::locate(instruction, operand);
    const u32 number = scalar_number(row, location);
    Compared one{.dwords = std::max<u32>(location.dwords, 1)};
    if (location.place == Place::Vgpr) {
      one.is_vector = true;
      one.number = location.value;
    } else if (location.place == Place::Scalar && number < 128) {
      one.number = number;
    } else {
      one.is_constant = true;
      if (location.place == Place::Immediate) {
        const i32 value = static_cast<i16>(location.value);  // of S_CMPK; to unsigned ones above 0x7fff it is another
        one.constant = static_cast<u32>(value);
      } else if (number == isa::kLiteral) {
        one.constant = instruction.literal;
      } else if (is_inline_constant(number)) {
        one.constant = inline_constant(number, operand.type);
      }
    }
    compared.push_back(one);
  }
  const auto exists = [&](const Compared& one) {
    return !one.is_vector || one.number + one.dwords <= wave.vgpr_count + wave.agpr_count;
  };
  if (compared.size() != 2 || !std::ranges::all_of(compared, exists)) compared.clear();
  return compared;
}

/// The scalar registers that a launch leaves as they are. What it sets, a preloaded argument say, may be the poison: it
/// is the same whatever stood there.
std::bitset<128> UninitializedChecker::left_unset(const Wave& wave) {
  Wave other = wave;
  std::fill_n(other.s, 128, ~kPoison);
  wave.group->launch().set_initial_state(other, wave.group->id());
  std::bitset<128> unset;
  for (u32 number = 0; number < 128; ++number) unset[number] = wave.s[number] == kPoison && other.s[number] == ~kPoison;
  unset[sreg::kExec] = unset[sreg::kExec + 1] = false;
  return unset;
}

void UninitializedChecker::start(const Wave& wave) {
  const LaunchState& launch = wave.group->launch();
  if (states_.empty()) {
    states_.resize(launch.waves);
    unset_scalars_ = left_unset(wave);
  }
  if (wave.index == 0) {
    lds_.begin(wave.group->lds_bytes().size());
    origins_.resize(1);
    origin_numbers_.clear();
  }
  State& state = states_[wave.index];
  const u32 rows = wave.vgpr_count + wave.agpr_count;
  const u64 all = launch.lanes == 64 ? ~u64{0} : (u64{1} << launch.lanes) - 1;
  state.lanes.assign(rows, all);
  state.fresh.assign(rows, all);
  state.bits.resize(rows);
  state.sources.resize(rows);
  state.scratch.clear();
  state.scc = false;
  constexpr u32 kMostAxes = 3;
  for (u32 row = 0; row < std::min(rows, kMostAxes); ++row) {
    for (int lane = 0; lane < static_cast<int>(launch.lanes); ++lane) {
      if (wave.v[row].lane[lane] != kPoison) state.define(row, lane_bit(lane));
    }
  }
  for (u32 number = 0; number < 128; ++number) state.set_scalar(number, unset_scalars_[number] ? ~0u : 0, 0);
}

void UninitializedChecker::before(const Wave& wave, const Op* op) {
  now_ = nullptr;
  const Decoded& decoded = look_up(wave, op);
  if (decoded.effect == Effect::None || (wave.mode.skip_vector() && (op->flags & kSkippable))) return;
  wave_ = &wave;
  state_ = &states_[wave.index];
  pc_ = wave.address(op);
  if (decoded.effect == Effect::Relative || (wave.mode.gpr_index() && (op->flags & kIndexable))) {
    for (u32 row = 0; row < state_->lanes.size(); ++row) state_->define(row, ~u64{0});
    for (u32 number = 0; number < 128; ++number) state_->set_scalar(number, 0, 0);
    return;
  }
  now_ = &decoded;
  accesses_.clear();
  loaded_.clear();
  to_lds_.clear();
  switch (decoded.effect) {
    case Effect::Computes:
    case Effect::Jumps:
      depends(wave) ? compute(op) : define_results(wave);
      break;
    case Effect::Modifies:
      check_rows(decoded.data, "the operand of an atomic");
      for (const u32 number : decoded.scalar_data) check_scalar(number, "the operand of an atomic");
      [[fallthrough]];
    case Effect::Loads:
    case Effect::Stores:
      check_rows(decoded.reads, "an address");
      check_scalars();
      if (decoded.effect == Effect::Loads) save_rows(wave);
      stores_some_ =
          std::ranges::any_of(decoded.data, [&](u32 row) { return (state_->lanes[row] & wave.exec()) != 0; }) ||
          std::ranges::any_of(decoded.scalar_data, [&](u32 number) { return state_->scalars_with_some[number]; });
      break;
    default:
      break;
  }
}

void UninitializedChecker::after(const Wave&, const Op* op) {
  if (now_ == nullptr) return;
  if (now_->effect == Effect::Loads) load(op);
  if (now_->effect == Effect::Stores) store();
  if (now_->effect == Effect::Modifies) modify();
}

/// Its lanes that are enabled now access what they did, and the rest.
void UninitializedChecker::repeat(const Wave& wave) {
  const auto is_repeated = [&](const auto& access) {
    return access.lane >= 0 && (wave.exec() >> access.lane & 1) != 0;
  };
  std::erase_if(accesses_, is_repeated);
  std::erase_if(loaded_, is_repeated);
  std::erase_if(to_lds_, is_repeated);
}

bool UninitializedChecker::depends(const Wave& wave) const {
  const State& state = *state_;
  if ((state.scalars_with_some & now_->scalar_reads).any() || (now_->may_read_scc && state.scc)) return true;
  const u64 lanes = now_->crosses_lanes ? ~u64{0} : wave.exec();
  const auto has_some = [&](u32 row) { return (state.lanes[row] & lanes) != 0; };
  return std::ranges::any_of(now_->reads, has_some) ||
         (!now_->writes_whole && std::ranges::any_of(now_->writes, has_some));
}

void UninitializedChecker::define_results(const Wave& wave) {
  for (const u32 row : now_->writes) state_->define(row, now_->ignores_exec ? ~u64{0} : wave.exec());
  state_->scalars_with_some &= ~now_->scalar_writes;
  if (now_->writes_scc) state_->scc = false;
}

/// Where a result's undefined bits come from: a lane's own operands, if they have some, or other lanes'.
UninitializedChecker::Source UninitializedChecker::source_for(int lane, Source own) {
  const State& state = *state_;
  const auto in = [&](u32 row, int from) { return noted(state.source_of(row, from), row_name(row), from); };
  for (const u32 row : now_->reads) {
    if (lane >= 0 && (state.lanes[row] >> lane & 1)) return in(row, lane);
  }
  const std::bitset<128> scalars = state.scalars_with_some & now_->scalar_reads;
  for (u32 number = 0; scalars.any() && number < 128; ++number) {
    if (!scalars[number]) continue;
    const std::string name = number == sreg::kVcc || number == sreg::kVcc + 1 ? "VCC" : text("s", number);
    return noted(state.scalar_sources[number], number == sreg::kM0 ? "M0" : name, -1);
  }
  for (const u32 row : now_->reads) {
    const u64 lanes = state.lanes[row] & (now_->crosses_lanes ? ~u64{0} : wave_->exec());
    if (lanes != 0 && (lane < 0 || now_->crosses_lanes)) return in(row, std::countr_zero(lanes));
  }
  return now_->may_read_scc && state.scc ? state.scc_source : own;
}

UninitializedChecker::Source UninitializedChecker::noted(Source source, const std::string& name, int lane) {
  return (source & ~kComputed) != 0 ? source : origin("register", text("register ", name), lane) | source;
}

UninitializedChecker::Source UninitializedChecker::origin(const char* kind, const std::string& what, int lane,
                                                          std::optional<u64> address) {
  constexpr size_t kMany = 10000;  // from then on one stands for all that an instruction reads of memory
  const u64 key = origins_.size() < kMany ? address.value_or(0) : 0;
  const auto [place, is_new] = origin_numbers_.try_emplace({pc_, what, key}, static_cast<Source>(origins_.size()));
  if (is_new) origins_.push_back({kind, what, pc_, {wave_->group->id(), wave_->index, lane}, address});
  return place->second;
}

std::string UninitializedChecker::row_name(u32 row) const {
  return row < wave_->vgpr_count ? text("v", row) : text("a", row - wave_->vgpr_count);
}

/// Reports the first undefined bits, and takes all as defined from here on: one mistake is one finding.
void UninitializedChecker::check_rows(const std::vector<u32>& rows, const char* use) {
  for (const u32 row : rows) {
    const u64 lanes = state_->lanes[row] & wave_->exec();
    if (lanes == 0) continue;
    const int lane = std::countr_zero(lanes);
    report(noted(state_->source_of(row, lane), row_name(row), lane), lane, use);
    state_->define(row, lanes);
  }
}

void UninitializedChecker::check_scalar(u32 number, const char* use) {
  if (!state_->scalars_with_some[number]) return;
  report(noted(state_->scalar_sources[number], text("s", number), -1), -1, use);
  state_->set_scalar(number, 0, 0);
}

void UninitializedChecker::check_scalars() {
  const std::bitset<128> scalars = state_->scalars_with_some & now_->scalar_reads;
  for (u32 number = 0; scalars.any() && number < 128; ++number) {
    if (scalars[number]) check_scalar(number, "an address");
  }
}

void UninitializedChecker::report(Source source, int lane, const char* use) {
  const Origin& origin = origins_[source & ~kComputed];
  const Sighting sighting{.tool = kUninitializedTool,
                          .kind = origin.kind,
                          .pc = pc_,
                          .lane = lane,
                          .address = origin.address,
                          .earlier_pc = origin.pc == pc_ ? 0 : origin.pc,
                          .earlier = origin.reader};
  findings_.add(*wave_, sighting, [&] { return text(use, " depends on ", origin.what, " that nobody has written"); });
}

}  // namespace wave::emulator
