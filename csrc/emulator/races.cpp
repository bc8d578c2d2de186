#include "emulator/races.h"

#include <algorithm>
#include <cstring>
#include <utility>

#include "emulator/global_races.h"
#include "emulator/isa/memory_order.h"
#include "emulator/isa/operand.h"
#include "emulator/polls.h"
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
    const Direction direction = decoded.row->memory.direction;
    const bool is_vector_memory = decoded.row->kind == isa::Kind::VectorMemory;
    instruction = {
        .row = decoded.row,
        .counters = counters_of(decoded),
        .returns = isa::has_result(decoded),
        // None: a counter that the lanes share.
        .is_atomic = direction == Direction::Atomic || direction == Direction::None,
        .is_poll = direction == Direction::Load && is_poll(wave, wave.address(op)),
        .orders_by_memory = is_vector_memory && scope_of(wave, decoded, wave.address(op)) != isa::Scope::None};
  });
}

void RaceChecker::start(const Wave& wave) {
  if (wave.index == 0) {
    bytes_ = wave.group->lds_bytes().size();
    ended_ = 0;
    log_.forget(bytes_);
    is_close_ = false;
    is_logged_ = true;
    may_poll_ = bytes_ != 0 && may_poll(wave);
    meets_in_memory_ = bytes_ != 0 && watches_memory_ && GlobalRaceChecker::may_acquire(wave);
    waves_.clear();
    reached_.clear();
    own_loads_.clear();
  }
  waves_.emplace_back();
  reached_.emplace_back();
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

void RaceChecker::stop(const Wave& wave) {
  if (wave.status == Status::Ended && ++ended_ == waves_.size()) history_.settle();
}

/// Takes down what a wave has done so far.
void RaceChecker::reach_barrier(const Wave& wave) {
  LdsWave& state = waves_[wave.index];
  if (wave.status == Status::Ended) state.now.finish();
  for (u32 queue = 0; queue < kLdsQueues; ++queue) {
    const Counters counters = queue * isa::kLoadCount;
    reached_[wave.index].done[queue] = static_cast<u32>(state.now.done_in_lds(counters));
    reached_[wave.index].issued[queue] = static_cast<u32>(state.now.issued(counters));
  }
}

/// What a wave does from now on the barrier does not order.
void RaceChecker::signal_barrier(const Wave& wave) {
  reach_barrier(wave);
  reached_[wave.index].is_split = true;
}

/// Behind the last wave's it is known of all what they have waited for: what they have not may race on.
void RaceChecker::pass_barrier(const Wave& wave) {
  LdsWave& state = waves_[wave.index];
  Reached& reached = reached_[wave.index];
  if (!reached.is_split) reach_barrier(wave);
  state.done = reached.done, state.issued = reached.issued;
  if (std::exchange(reached.is_split, false)) reach_barrier(wave);  // what there is by now
  if (wave.index + 1 != waves_.size()) return;
  history_.settle();
  bool is_clean = true;
  for (size_t i = 0; i < waves_.size(); ++i) is_clean &= waves_[i].done == reached_[i].issued;
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
  const u8 manner = instruction_->is_atomic ? LdsAccess::kAtomic : instruction_->is_poll ? LdsAccess::kPoll : u8{0};
  current_ = {.pc = static_cast<u32>(wave_->address(wave_->op) - base),
              .number = static_cast<u32>(waves_[wave_->index].now.issued(instruction_->counters)),
              .kind = static_cast<u8>(instruction_->counters / isa::kLoadCount | manner),
              .wave = static_cast<u8>(wave_->index)};
}

/// What the access that is under way makes known, and finds out.
LdsRelease RaceChecker::release(bool is_store) const {
  const bool is_load = instruction_->row->memory.direction == Direction::Load;
  LdsRelease release{.finds = is_load || (instruction_->is_atomic && instruction_->returns),
                     .tells = is_store,
                     .is_plain = !instruction_->is_atomic};
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
  LdsAccess access = current_;
  // A compare-and-swap that fails loads what each store may have been for.
  if (!is_store && access.is_atomic()) access.kind = static_cast<u8>(access.queue() | LdsAccess::kPoll);
  const bool is_alone =
      is_store ? log_.store(*wave_, row, access, all, wave_->group->lds()) : log_.load(*wave_, row, access, all);
  if (current_.is_atomic() || current_.is_poll() || (is_store && may_poll_)) log_.note_release(release(is_store));
  if (is_close_) {
    log_.tell(history_, logged);
  } else if (!is_alone || meets_own_load(all)) {
    look_closely();
  }
  if (is_store && current_.is_of_load()) {
    OwnLoads& loads = own_loads_[wave_->index];
    loads = {std::min(loads.begin, all.hull().begin()), std::max(loads.end, all.hull().end()), current_.number};
  }
  limit_log();
}

void RaceChecker::limit_log() {
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

/// An atomic on the launch's memory, such as a lock's, orders what waves do in LDS, too.
void RaceChecker::meet_in_memory(u64 address, bool is_store) {
  if (!instruction_->orders_by_memory || !meets_in_memory_) return;
  begin_access();
  const size_t logged = log_.size();
  log_.note_release_in_memory(*wave_, *instruction_->row, current_, address, release(is_store));
  if (is_close_) log_.tell(history_, logged);
  limit_log();
}

void RaceChecker::load_memory(AddressSpan span, int) { meet_in_memory(span.begin(), false); }

void RaceChecker::store_memory(AddressSpan span, const void*, int) { meet_in_memory(span.begin(), true); }

void RaceChecker::load_memory_lanes(const LaneAccesses& all) {
  if (instruction_->orders_by_memory && meets_in_memory_) Observer::load_memory_lanes(all);
}

void RaceChecker::store_memory_lanes(const LaneAccesses& all) {
  if (instruction_->orders_by_memory && meets_in_memory_) Observer::store_memory_lanes(all);
}

void RaceChecker::modify_memory_lanes(const LaneAccesses& all) {
  if (meets_in_memory_) Observer::modify_memory_lanes(all);
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

void RaceChecker::compare_lds(AddressSpan span, const void* expected, int lane) {
  const bool stores = std::memcmp(wave_->group->lds() + span.begin(), expected, span.size()) == 0;
  stores ? store_lds(span, nullptr, lane) : load_lds(span, lane);
}

void RaceChecker::load_lds_lanes(const LaneAccesses& all) { note(all, false); }

void RaceChecker::store_lds_lanes(const LaneAccesses& all) { note(all, true); }

}  // namespace wave::emulator
