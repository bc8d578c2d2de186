#include "emulator/races.h"

#include "base/error.h"
#include "emulator/isa/features.h"
#include "emulator/workgroup.h"

namespace wave::emulator {

namespace {

using Direction = isa::MemoryAccess::Direction;

/// A barrier of the workgroup, as an assembler has it.
const char* barrier_text(isa::Generation generation) {
  return isa::features(generation).has_split_barriers ? "s_barrier_signal with s_barrier_wait" : "s_barrier";
}

}  // namespace

const RaceChecker::Decoded& RaceChecker::look_up(const Wave& wave, const Op* op) {
  return instructions_.get(wave, op, [&](Decoded& instruction) {
    const isa::Instruction decoded = wave.group->launch().module.decode(wave.address(op), wave.group->launch().lanes);
    if (decoded.row != nullptr) instruction = {decoded.row, counters_of(decoded)};
  });
}

void RaceChecker::start(const Wave& wave) {
  if (wave.index == 0) {
    bytes_.assign(wave.group->lds_bytes().size(), {});
    waves_.clear();
  }
  waves_.emplace_back();
}

void RaceChecker::before(const Wave& wave, const Op* op) {
  wave_ = &wave;
  instruction_ = look_up(wave, op);
  if (instruction_.row == nullptr || (wave.mode.skip_vector() && (op->flags & kSkippable))) return;
  WaitCounters& counters = waves_[wave.index].now;
  if (isa::is_wait(instruction_.row->kind)) counters.wait(*instruction_.row, op->scalar.simm16);
  counters.issue(instruction_.counters);
}

void RaceChecker::pass_barrier(const Wave& wave) {
  WaveState& state = waves_[wave.index];
  if (wave.status == Status::Ended) state.now.finish();
  state.at_barrier = state.now;
}

void RaceChecker::Accesses::add(const Access& access) {
  if (last.wave != access.wave) other = last;
  last = access;
}

RaceChecker::Access RaceChecker::current_access(int lane) const {
  const u64 number = waves_[wave_->index].now.issued(instruction_.counters);
  const Direction direction = instruction_.row->memory.direction;  // None: a counter that the lanes share
  return {wave_->address(wave_->op), static_cast<u32>(number),
          instruction_.counters,     static_cast<u8>(wave_->index),
          static_cast<i8>(lane),     direction == Direction::Atomic || direction == Direction::None};
}

Sighting RaceChecker::sighting(const Access& access, const Access& past, const char* kind) const {
  return {.tool = kRacesTool,
          .kind = kind,
          .pc = access.pc,
          .lane = access.lane,
          .earlier_pc = past.pc,
          .earlier = {wave_->group->id(), past.wave, past.lane}};
}

void RaceChecker::check(const Accesses& earlier, const Access& access, u64 address, const char* done,
                        const char* done_before) {
  for (const Access& past : {earlier.last, earlier.other}) {
    if (past.pc == 0 || past.wave == access.wave || (past.is_atomic && access.is_atomic)) continue;
    const WaitCounters& at_barrier = waves_[past.wave].at_barrier;
    if (past.number <= at_barrier.done(past.counters)) continue;
    const bool has_barrier = past.number <= at_barrier.issued(past.counters);
    findings_.add(*wave_, sighting(access, past, "lds-race"), [&] {
      const isa::Generation generation = instruction_.row->generation;
      const std::string wait = has_barrier ? wait_text(generation, past.counters, 0) + " is missing before the " : "";
      const std::string missing =
          text(wait, barrier_text(generation), has_barrier ? "" : " is missing", " between them");
      return text("byte ", address, " is ", done, " by wave ", access.wave, " after wave ", past.wave, " ", done_before,
                  " it: ", missing);
    });
  }
}

/// What a wave loads straight into LDS is there when the load has been waited for.
void RaceChecker::check_own(const Byte& byte, const Access& access, u64 address) {
  const Access& write = byte.writes.last;
  if (write.pc == 0 || write.wave != access.wave || write.counters != isa::kLoadCount) return;
  if (access.counters == write.counters || write.number <= waves_[access.wave].now.done(write.counters)) return;
  findings_.add(*wave_, sighting(access, write, "lds-load"), [&] {
    return text("byte ", address, " is accessed by wave ", access.wave, ", whose own load into LDS has not been",
                " waited for: ", wait_text(instruction_.row->generation, write.counters, 0), " is missing");
  });
}

void RaceChecker::load_lds(AddressSpan span, int lane) {
  const Access access = current_access(lane);
  for (u64 at = span.begin(); at < span.end(); ++at) {
    Byte& byte = bytes_[at];
    check_own(byte, access, at);
    if ((byte.writers >> access.wave & 1) == 0) check(byte.changes, access, at, "read", "wrote");
    byte.reads.add(access);
  }
}

void RaceChecker::store_lds(AddressSpan span, const void* data, int lane) {
  const Access access = current_access(lane);
  const u8* lds = wave_->group->lds();
  for (u64 at = span.begin(); at < span.end(); ++at) {
    Byte& byte = bytes_[at];
    const bool changes = data == nullptr || static_cast<const u8*>(data)[at - span.begin()] != lds[at];
    check_own(byte, access, at);
    if (changes) {
      check(byte.reads, access, at, "written", "read");
      check(byte.writes, access, at, "written", "wrote");
      byte.changes.add(access);
      byte.writers = 0;
    }
    byte.writers |= 1u << access.wave;
    byte.writes.add(access);
  }
}

}  // namespace wave::emulator
