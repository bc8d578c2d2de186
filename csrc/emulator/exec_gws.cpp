// Global wave sync: barriers of a whole grid (ISA document, "DS_GWS_INIT", "DS_GWS_BARRIER").
#include <bit>

#include "emulator/bodies.h"
#include "emulator/launch_hints.h"
#include "emulator/observer.h"
#include "emulator/workgroup.h"

namespace wave::emulator {

namespace {

/// The counters, which a driver reserves for cooperative launches.
GridSync& grid_sync_of(const Wave& wave) {
  GridSync* const sync = wave.group->launch().grid_sync();
  if (sync == nullptr) fault(kNotCooperative);
  return *sync;
}

/// M0 has the first one that the driver has reserved, 0.
u32 resource_of(const Wave& wave, const Op* op) {
  return ((wave.s[sreg::kM0] >> 16) + op->lds.offset[0]) % GridSync::kResources;
}

/// Of the first lane that is enabled.
u32 value_of(const Wave& wave, const Op* op) {
  const u64 exec = wave.exec();
  return wave.v[op->lds.address].lane[exec == 0 ? 0 : std::countr_zero(exec)];
}

const Op* ds_gws_init(Wave& wave, const Op* op) {
  grid_sync_of(wave).set(resource_of(wave, op), value_of(wave, op));
  return go_on(wave, op);
}

/// A wave that waits comes here again in its next turn.
const Op* ds_gws_barrier(Wave& wave, const Op* op) {
  GridSync& sync = grid_sync_of(wave);
  const u32 resource = resource_of(wave, op);
  Observer* const observer = wave.group->observer();
  if (wave.grid_barrier == 0) {
    if (observer != nullptr) observer->reach_grid_barrier(wave, sync.address(resource));
    wave.grid_barrier = sync.arrive(resource, value_of(wave, op));
  }
  if (wave.grid_barrier != 0 && !sync.is_over(resource, wave.grid_barrier)) {
    wave.status = Status::Yielded;
    wave.op = op;
    --wave.end;  // it counts as an instruction
    return nullptr;
  }
  wave.grid_barrier = 0;
  if (observer != nullptr) observer->pass_grid_barrier(wave, sync.address(resource));
  return go_on(wave, op);
}

constexpr Body kBodies[] = {
    {"ds_gws_init", ds_gws_init},
    {"ds_gws_barrier", ds_gws_barrier},
};

}  // namespace

std::span<const Body> gws_bodies() { return kBodies; }

}  // namespace wave::emulator
