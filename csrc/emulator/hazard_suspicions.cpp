// Registers that are read before they are loaded, and what becomes of what was made of them.
#include <algorithm>
#include <utility>

#include "emulator/hazards.h"
#include "emulator/workgroup.h"

namespace wave::emulator {

namespace {

/// More of them are reported at once.
constexpr size_t kMostHazardSuspicions = 16;

}  // namespace

std::vector<HazardChecker::Suspicion>::iterator HazardChecker::find_suspicion(const Use& use, u64 earlier_pc) {
  return std::ranges::find_if(use.state.suspicions, [&](const Suspicion& one) {
    return one.sighting.pc == use.pc && one.sighting.earlier_pc == earlier_pc;
  });
}

/// Where an instruction reads the register that it overwrites, the reading is what its author has to know of.
bool HazardChecker::report_reading(const Use& use, u64 load) {
  const auto known = find_suspicion(use, load);
  if (known == use.state.suspicions.end()) return false;
  report(use.wave, *known, false);
  use.state.suspicions.erase(known);
  return true;
}

void HazardChecker::suspect(const Use& use, const Sighting& sighting, std::string message) {
  std::vector<Suspicion>& all = use.state.suspicions;
  if (const auto known = find_suspicion(use, sighting.earlier_pc); known != all.end()) all.erase(known);
  if (all.size() == kMostHazardSuspicions) {
    report(use.wave, all.front(), false);
    all.erase(all.begin());
  }
  all.push_back({use.instruction.touched.writes, lanes_of(use.wave, use.instruction), sighting, std::move(message)});
}

/// The lanes that its results are in: matrix instructions ignore EXEC.
u64 HazardChecker::lanes_of(const Wave& wave, const Decoded& instruction) {
  return instruction.decoded.row->matrix.m != 0 ? wave.all_lanes() : wave.exec();
}

/// What was made of a register that was read too early is used, or is overwritten in all lanes that have it.
void HazardChecker::follow_suspicions(State& state, const Wave& wave, const Decoded& instruction) {
  std::erase_if(state.suspicions, [&](Suspicion& suspicion) {
    const bool is_used = suspicion.made.meets(instruction.touched.reads);
    if (!is_used && (suspicion.lanes & ~lanes_of(wave, instruction)) == 0)
      suspicion.made.remove(instruction.touched.writes);
    const bool is_dead = !is_used && suspicion.made.is_empty();
    if (is_used || is_dead) report(wave, suspicion, is_dead);
    return is_used || is_dead;
  });
}

void HazardChecker::stop(const Wave& wave) {
  if (wave.status == Status::Ended) report_all(wave, true);
}

/// What would have been used is not known.
void HazardChecker::give_up(const Wave& wave) { report_all(wave, false); }

void HazardChecker::report_all(const Wave& wave, bool are_dead) {
  for (Suspicion& suspicion : std::exchange(states_[wave.index].suspicions, {})) report(wave, suspicion, are_dead);
}

void HazardChecker::report(const Wave& wave, Suspicion& suspicion, bool is_dead) {
  if (is_dead && !dead_registers_) return;
  if (is_dead) suspicion.sighting.kind = "dead-register";
  findings_.add(wave, suspicion.sighting,
                [&] { return suspicion.message + (is_dead ? "; nobody uses what is made of it" : ""); });
}

}  // namespace wave::emulator
