// How a race in the memory of a launch is told.
#include <algorithm>
#include <memory>

#include "emulator/global_races.h"
#include "emulator/workgroup.h"

namespace wave::emulator {

namespace {

constexpr size_t kMostRaceSuspicions = 16;

std::string group_text(const Wave& wave, u64 number) {
  const auto& grid = wave.group->launch().dispatch.grid;
  return text("(", number % grid[0], ", ", number / grid[0] % grid[1], ", ", number / grid[0] / grid[1], ")");
}

/// malloc() of ROCm's device libraries (ockl/src/dm.cl) writes a block's record by plain stores, and reads that others
/// have published by relaxed atomics, without an acquire: the addresses come from one another. No program can mend it.
bool is_of_malloc(const Module& module, u64 pc) {
  const std::string symbol = module.symbol(pc);
  return symbol.starts_with("__ockl_dm_alloc+") || symbol.starts_with("__ockl_dm_dealloc+");
}

/// The same of a wave's function, which is one symbol's: each race asks, and a file may have thousands of symbols.
bool is_in_malloc(const Wave& wave) {
  struct Answer : FunctionNotes {
    bool is_of_malloc = false;
  };
  static constexpr char kKey = 0;
  const FunctionNotes& notes = wave.function->notes(&kKey, [&] {
    auto answer = std::make_unique<Answer>();
    answer->is_of_malloc = is_of_malloc(wave.group->launch().module, wave.function->begin());
    return answer;
  });
  return static_cast<const Answer&>(notes).is_of_malloc;
}

}  // namespace

/// nullptr where no message is needed: it is known, or the wave has ended, and has thrown away what it loaded.
GlobalRaceChecker::UnusedLoad* GlobalRaceChecker::note_load(State& reader, const Sighting& sighting) {
  if (reader.has_ended) return nullptr;
  const auto is_same = [&](const UnusedLoad& one) {
    return one.sighting.pc == sighting.pc && one.sighting.earlier_pc == sighting.earlier_pc;
  };
  const auto known = std::ranges::find_if(reader.unused_loads, is_same);
  if (known != reader.unused_loads.end()) {
    ++known->count;
    return nullptr;
  }
  reader.unused_loads.push_back({Findings::witness(*wave_), sighting, "", 1});
  return &reader.unused_loads.back();
}

void GlobalRaceChecker::report(u64 address, const PastAccess& now, const PastAccess& past) {
  const LaunchState& launch = wave_->group->launch();
  const bool is_by_modifier = past.is_store && past.is_atomic && !now.is_store;
  // A plain load before another wave's atomic may be that of a loop of compare-and-swap.
  if (instruction_.modifies && !past.is_store && !past.is_atomic) return;
  const u64 pc = wave_->address(wave_->op), earlier_pc = launch.module.load_address(0) + past.pc;
  if (is_in_malloc(*wave_) && is_of_malloc(launch.module, earlier_pc)) return;
  const u64 group = (past.wave - 1) / launch.waves;
  const bool is_mate = group == wave_->group->number();
  const auto& grid = launch.dispatch.grid;
  const WaveName earlier{{static_cast<u32>(group % grid[0]), static_cast<u32>(group / grid[0] % grid[1]),
                          static_cast<u32>(group / grid[0] / grid[1])},
                         (past.wave - 1) % launch.waves,
                         past.lane};
  const Sighting sighting{.tool = kRacesTool,
                          .kind = kGlobalRace,
                          .pc = pc,
                          .lane = now.lane,
                          .address = address,
                          .earlier_pc = earlier_pc,
                          .earlier = earlier};
  const auto message = [&] {
    const bool is_stale = is_mate && past.number <= state().mates[earlier.wave].stores && past.is_store;
    const Reach* const behind = state().behind_own_cache.find(past.wave);
    const bool is_behind_own_cache = behind != nullptr && past.is_store && past.number <= behind->stores;
    // Atomics of both, behind a fence, are most often what was meant.
    const bool is_half_atomic = now.is_store && past.is_store && now.is_atomic != past.is_atomic;
    const std::string missing =
        is_half_atomic ? "one of the two is no atomic, as atomicExch would be"
        : is_stale ? text(isa::own_invalidation_text(*instruction_.row), " is missing behind the barrier between them")
        : is_behind_own_cache
            ? text("the atomics are there, but ", isa::own_invalidation_text(*instruction_.row),
                   " is missing behind the invalidation of outer caches, or the barrier, that comes after them")
        : is_mate ? "a barrier, with waits before it, is missing between them"
                  : "an atomic with release and one with acquire, of agent scope, are missing between them";
    return text("memory is ", now.is_store ? "written" : "read", " by wave ", wave_->index, " of workgroup ",
                group_text(*wave_, wave_->group->number()), " after wave ", earlier.wave, " of workgroup ",
                group_text(*wave_, group), past.is_store ? " wrote" : " read", " it: ", missing);
  };
  if (is_mate && !is_by_modifier && now.is_store != past.is_store && !(now.is_store ? past : now).is_atomic) {
    State& reader = now.is_store ? states_[earlier.wave] : state();
    if (!now.is_store || past.number > reader.used_loads) {
      if (UnusedLoad* const load = note_load(reader, sighting)) load->message = message();
      return;
    }
  }
  if (!is_by_modifier) return findings_.add(*wave_, sighting, message);
  std::vector<Suspicion>& suspicions = state().suspicions;
  const bool is_known = std::ranges::any_of(suspicions, [&](const Suspicion& one) { return one.address == address; });
  if (is_known || suspicions.size() >= kMostRaceSuspicions) return;
  suspicions.push_back({address, sighting, message(), is_mate && !now.is_atomic ? state().issued.loads : 0});
}

}  // namespace wave::emulator
