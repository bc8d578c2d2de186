#include "emulator/races.h"

#include <algorithm>
#include <cstring>

#include "emulator/isa/operand.h"
#include "emulator/workgroup.h"

namespace wave::emulator {

namespace {

using Direction = isa::MemoryAccess::Direction;

LaneAccesses one_lane(AddressSpan span, int lane) {
  LaneAccesses all{.begins = {}, .lanes = u64{1} << lane, .size = static_cast<u32>(span.size())};
  all.begins[static_cast<size_t>(lane)] = span.begin();
  return all;
}

}  // namespace

const RaceChecker::Decoded& RaceChecker::look_up(const Wave& wave, const Op* op) {
  return instructions_.get(wave, op, [&](Decoded& instruction) {
    const isa::Instruction decoded = decoded_instruction(wave, op);
    if (decoded.row == nullptr) return;
    const std::span operands(decoded.row->operands, decoded.row->operand_count);
    const bool has_result = std::ranges::any_of(operands, [](const isa::Operand& operand) { return operand.written; });
    const bool may_choose = (decoded.row->modifiers & isa::kReturn) != 0;
    instruction = {decoded.row, counters_of(decoded), may_choose ? isa::returns_value(decoded) : has_result};
  });
}

void RaceChecker::start(const Wave& wave) {
  if (wave.index == 0) {
    bytes_ = wave.group->lds_bytes().size();
    log_.forget(bytes_);
    is_close_ = false;
    is_logged_ = true;
    waves_.clear();
    own_loads_.clear();
  }
  waves_.emplace_back();
  own_loads_.emplace_back();
}

void RaceChecker::before(const Wave& wave, const Op* op) {
  wave_ = &wave;
  instruction_ = &look_up(wave, op);
  begun_ = nullptr;
  if (instruction_->row == nullptr || (wave.mode.skip_vector() && (op->flags & kSkippable))) return;
  WaitCounters& counters = waves_[wave.index].now;
  if (isa::is_wait(instruction_->row->kind)) counters.wait(*instruction_->row, op->scalar.simm16);
  counters.issue(instruction_->counters);
}

/// Behind the last wave's it is known of all what they have waited for: what they have not may race on.
void RaceChecker::pass_barrier(const Wave& wave) {
  LdsWave& state = waves_[wave.index];
  if (wave.status == Status::Ended) state.now.finish();
  for (u32 queue = 0; queue < kLdsQueues; ++queue) {
    const Counters counters = queue * isa::kLoadCount;
    state.done[queue] = static_cast<u32>(state.now.done_in_lds(counters));
    state.issued[queue] = static_cast<u32>(state.now.issued(counters));
  }
  if (wave.index + 1 != waves_.size()) return;
  const bool is_clean = std::ranges::all_of(waves_, [](const LdsWave& one) { return one.done == one.issued; });
  if (is_logged_) {
    log_.keep_pending(waves_);
    is_close_ = false;
  } else if (is_clean) {
    log_.forget(bytes_);
    is_logged_ = true;
    is_close_ = false;
  }
}

/// What the accesses of an instruction have in common.
void RaceChecker::begin_access() {
  if (begun_ == wave_->op) return;
  begun_ = wave_->op;
  const u64 base = wave_->group->launch().module.load_address(0);
  const Direction direction = instruction_->row->memory.direction;  // None: a counter that the lanes share
  const bool is_atomic = direction == Direction::Atomic || direction == Direction::None;
  current_ = {.pc = static_cast<u32>(wave_->address(wave_->op) - base),
              .number = static_cast<u32>(waves_[wave_->index].now.issued(instruction_->counters)),
              .kind = static_cast<u8>(instruction_->counters / isa::kLoadCount | (is_atomic ? LdsAccess::kAtomic : 0)),
              .wave = static_cast<u8>(wave_->index)};
}

/// What the atomic that is under way makes known.
LdsRelease RaceChecker::release() const {
  LdsRelease release{.returns = instruction_->returns};
  const WaitCounters& now = waves_[wave_->index].now;
  for (u32 queue = 0; queue < kLdsQueues; ++queue)
    release.done[queue] = static_cast<u32>(now.done_in_lds(queue * isa::kLoadCount));
  return release;
}

/// Whether a wave may access what it has loaded straight into LDS, and has not waited for.
bool RaceChecker::meets_own_load(const LaneAccesses& all) {
  OwnLoads& loads = own_loads_[wave_->index];
  if (loads.number == 0 || current_.is_of_load()) return false;
  if (loads.number <= waves_[wave_->index].now.done(isa::kLoadCount)) loads = {};
  return AddressSpan::up_to(loads.begin, loads.end).overlaps(all.hull());
}

void RaceChecker::note(const LaneAccesses& all, bool is_store) {
  begin_access();
  const size_t logged = log_.size();
  const isa::Row& row = *instruction_->row;
  const bool is_alone =
      is_store ? log_.store(*wave_, row, current_, all, wave_->group->lds()) : log_.load(*wave_, row, current_, all);
  if (is_store && current_.is_atomic()) log_.note_release(release());
  if (is_close_) {
    log_.tell(history_, logged);
  } else if (!is_alone || meets_own_load(all)) {
    look_closely();
  }
  if (is_store && current_.is_of_load()) {
    OwnLoads& loads = own_loads_[wave_->index];
    loads = {std::min(loads.begin, all.hull().begin()), std::max(loads.end, all.hull().end()), current_.number};
  }
  if (log_.is_full()) {
    if (!is_close_) look_closely();
    is_logged_ = false;
  }
  if (!is_logged_) log_.forget(bytes_);
}

/// Goes through the log, as far as the history does not have it.
void RaceChecker::look_closely() {
  history_.forget(bytes_);
  log_.tell(history_, 0);
  is_close_ = true;
}

void RaceChecker::load_lds(AddressSpan span, int lane) {
  if (!span.is_empty()) note(one_lane(span, lane), false);
}

void RaceChecker::store_lds(AddressSpan span, const void* data, int lane) {
  LaneAccesses all = one_lane(span, lane);
  if (data != nullptr) {
    const size_t place = static_cast<size_t>(lane) * all.size;
    data_.resize(place + all.size);
    std::memcpy(&data_[place], data, all.size);
    all.data = data_.data();
  }
  note(all, true);
}

void RaceChecker::load_lds_lanes(const LaneAccesses& all) { note(all, false); }

void RaceChecker::store_lds_lanes(const LaneAccesses& all) { note(all, true); }

}  // namespace wave::emulator
