#include "emulator/barriers.h"

#include "emulator/workgroup.h"

namespace wave::emulator {

void BarrierChecker::start(const Wave& wave) {
  if (wave.index == 0) states_.clear();
  states_.emplace_back();
}

void BarrierChecker::after(const Wave& wave, const Op* op) {
  if (wave.status != Status::Barrier && wave.status != Status::Ended) return;
  states_[wave.index] = {wave.address(op), wave.status == Status::Ended};
}

/// All waves have come by now: each is compared with those before it.
void BarrierChecker::pass_barrier(const Wave& wave) {
  const State& state = states_[wave.index];
  for (u32 other = 0; other < states_.size(); ++other) {
    const State& its = states_[other];
    if (state.has_ended || (its.pc == state.pc && !its.has_ended)) continue;
    if (its.has_ended || other < wave.index) return compare(wave, state, other);
  }
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
