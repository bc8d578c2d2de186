#include "emulator/races.h"

#include "emulator/profile.h"
#include "emulator/workgroup.h"

namespace wave::emulator {

const RaceChecker::Instruction& RaceChecker::look_up(const Wave& wave, const Op* op) {
  const auto [found, is_new] = instructions_.try_emplace(op);
  Instruction& instruction = found->second;
  const isa::Row* row = is_new ? wave.group->launch().module.decode(wave.address(op)).row : nullptr;
  if (row == nullptr) return instruction;
  const auto direction = memory_access(isa::base_name(*row)).direction;
  instruction.counter = counter_of(*row);
  instruction.is_wait = std::string_view(row->mnemonic) == "s_waitcnt";
  instruction.is_atomic = direction != MemoryAccess::Direction::Load && direction != MemoryAccess::Direction::Store;
  return instruction;
}

void RaceChecker::start(const Wave& wave) {
  Group& group = groups_[wave.group];
  if (wave.index == 0) group = {std::vector<Byte>(wave.group->lds_bytes().size()), {}};
  group.waves.emplace_back();
}

void RaceChecker::before(const Wave& wave, const Op* op) {
  wave_ = &wave;
  group_ = &groups_[wave.group];
  instruction_ = look_up(wave, op);
  if (wave.mode.skip_vector() && (op->flags & kSkippable)) return;
  WaitCounters& counters = group_->waves[wave.index].now;
  if (instruction_.is_wait) counters.wait(op->imm);
  counters.issue(instruction_.counter);
}

void RaceChecker::pass_barrier(const Wave& wave) {
  WaveState& state = groups_[wave.group].waves[wave.index];
  if (wave.status == Status::Ended) state.now.wait(0);
  state.at_barrier = state.now;
}

void RaceChecker::Accesses::add(const Access& access) {
  if (last.wave != access.wave) other = last;
  last = access;
}

RaceChecker::Access RaceChecker::current_access() const {
  const u64 number = group_->waves[wave_->index].now.issued(instruction_.counter);
  return {wave_->address(wave_->op), static_cast<u32>(number), instruction_.counter, static_cast<u8>(wave_->index),
          instruction_.is_atomic};
}

void RaceChecker::check(const Accesses& earlier, const Access& access, u64 address, const char* done,
                        const char* done_before) {
  for (const Access& past : {earlier.last, earlier.other}) {
    if (past.pc == 0 || past.wave == access.wave || (past.is_atomic && access.is_atomic)) continue;
    const WaitCounters& at_barrier = group_->waves[past.wave].at_barrier;
    if (past.number <= at_barrier.done(past.counter)) continue;
    const bool has_barrier = past.number <= at_barrier.issued(past.counter);
    const std::string missing =
        has_barrier ? text("s_waitcnt ", counter_name(past.counter), "(0) is missing before the s_barrier between them")
                    : "s_barrier is missing between them";
    findings_.add(*wave_, access.pc, past.pc,
                  text("byte ", address, " is ", done, " by wave ", access.wave, " after wave ", past.wave, " ",
                       done_before, " it: ", missing));
  }
}

/// What a wave loads straight into LDS is there when the load has been waited for.
void RaceChecker::check_own(const Byte& byte, const Access& access, u64 address) {
  const Access& write = byte.writes.last;
  if (write.pc == 0 || write.wave != access.wave || write.counter != Counter::Vector) return;
  if (access.counter == Counter::Vector || write.number <= group_->waves[access.wave].now.done(write.counter)) return;
  findings_.add(*wave_, access.pc, write.pc,
                text("byte ", address, " is accessed by wave ", access.wave, ", whose own load into LDS has not been",
                     " waited for: s_waitcnt vmcnt(0) is missing"));
}

void RaceChecker::load_lds(AddressSpan span) {
  const Access access = current_access();
  for (u64 at = span.begin(); at < span.end(); ++at) {
    Byte& byte = group_->bytes[at];
    check_own(byte, access, at);
    if ((byte.writers >> access.wave & 1) == 0) check(byte.changes, access, at, "read", "wrote");
    byte.reads.add(access);
  }
}

void RaceChecker::store_lds(AddressSpan span, const void* data) {
  const Access access = current_access();
  const u8* lds = wave_->group->lds();
  for (u64 at = span.begin(); at < span.end(); ++at) {
    Byte& byte = group_->bytes[at];
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
