#include "emulator/barriers.h"

#include "emulator/isa/features.h"
#include "emulator/scalar.h"
#include "emulator/workgroup.h"

namespace wave::emulator {

void BarrierChecker::start(const Wave& wave) {
  if (wave.index == 0) states_.clear();
  states_.emplace_back();
}

/// A signal. Those of named barriers, whose number is not -1, are another matter.
void BarrierChecker::before(const Wave& wave, const Op* op) {
  if (read_scalar32(wave, op->scalar, 0) != ~0u) return;
  State& state = states_[wave.index];
  const u64 pc = wave.address(op);
  if (state.signal_pc != 0) {
    report(wave, "signal-twice", pc, state.signal_pc,
           "signals a barrier again, before it has waited for its first signal");
  }
  state.signal_pc = pc;
  state.is_stopped = false;  // it has gone on from where it waited last
}

void BarrierChecker::stop(const Wave& wave) {
  State& state = states_[wave.index];
  const u64 pc = wave.address(wave.op) - sizeof(u32);
  const bool has_ended = wave.status == Status::Ended;
  const bool is_split = isa::features(wave.group->launch().module.generation()).has_split_barriers;
  if (is_split && has_ended && state.signal_pc != 0) {
    report(wave, "signal-without-wait", state.signal_pc, pc, "signals a barrier, and ends without a wait for it");
  } else if (is_split && !has_ended && state.signal_pc == 0) {
    report(wave, "wait-without-signal", pc, 0, "waits at a barrier that it has not signalled: others go on without it");
  }
  state = {pc, has_ended, true};
}

void BarrierChecker::report(const Wave& wave, const char* kind, u64 pc, u64 earlier_pc, const char* message) {
  const Sighting sighting{.tool = kBarriersTool,
                          .kind = kind,
                          .pc = pc,
                          .earlier_pc = earlier_pc,
                          .earlier = {wave.group->id(), wave.index}};
  findings_.add(wave, sighting, [&] { return text("wave ", wave.index, " ", message); });
}

/// All waves have come by now: each is compared with those before it. Of a split barrier some may not wait yet.
void BarrierChecker::pass_barrier(const Wave& wave) {
  const State& state = states_[wave.index];
  for (u32 other = 0; other < states_.size() && state.is_stopped; ++other) {
    const State& its = states_[other];
    if (state.has_ended || !its.is_stopped || (its.pc == state.pc && !its.has_ended)) continue;
    if (its.has_ended || other < wave.index) {
      compare(wave, state, other);
      break;
    }
  }
  if (wave.index + 1 != states_.size()) return;
  for (State& one : states_) one.is_stopped = one.has_ended;
}

void BarrierChecker::compare(const Wave& wave, const State& state, u32 other) {
  const State& its = states_[other];
  const Sighting sighting{.tool = kBarriersTool,
                          .kind = its.has_ended ? "ended-wave" : "different-barriers",
                          .pc = state.pc,
                          .earlier_pc = its.pc,
                          .earlier = {wave.group->id(), other}};
  findings_.add(wave, sighting, [&] {
    return its.has_ended ? text("wave ", wave.index, " waits at a barrier to which wave ", other,
                                " does not come, since it has ended")
                         : text("wave ", wave.index, " waits at a barrier, and wave ", other, " at another one");
  });
}

}  // namespace wave::emulator
