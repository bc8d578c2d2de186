#include "emulator/spinning.h"

#include <algorithm>
#include <bit>
#include <cstring>
#include <iterator>

#include "emulator/isa/memory_order.h"
#include "emulator/lost_memory.h"
#include "emulator/workgroup.h"

namespace wave::emulator {

namespace {

using WaitsFor = Waiting::What;

/// With so many dwords more. That two which differ have equal hashes is as good as impossible.
u64 mixed(u64 hash, const void* dwords, size_t count) {
  constexpr u64 kFactor = 0x9e3779b97f4a7c15;
  for (size_t i = 0; i < count; ++i) {
    u32 dword;
    std::memcpy(&dword, static_cast<const u8*>(dwords) + sizeof(u32) * i, sizeof(dword));
    hash = (hash ^ dword) * kFactor;
    hash ^= hash >> 29;
  }
  return hash;
}

/// Of what a wave has for itself: with memory it decides what the wave does next. Scalar registers have most counters
/// of loops, and are a small part of it.
u64 scalar_hash(const Wave& wave) {
  constexpr size_t kScalars = 128;
  const u32 rest[] = {wave.scc, wave.mode.bits, static_cast<u32>(wave.grid_barrier)};
  return mixed(mixed(0, wave.s, kScalars), rest, std::size(rest));
}
u64 vector_hash(const Wave& wave) {
  u64 hash = mixed(0, wave.v, size_t{kLanes} * (wave.vgpr_count + wave.agpr_count));
  for (u64 lane = 0; lane < wave.lanes; ++lane)
    hash = mixed(hash, wave.scratch + lane * wave.scratch_size, wave.scratch_poisoned / sizeof(u32));
  return hash;
}

std::string message_of(const Waiting& wait) {
  const u32 wave = wait.wave;
  switch (wait.what) {
    case WaitsFor::Memory:
      return text("wave ", wave, " waits for ever for ", wait.bytes.size(),
                  " bytes of memory, which no wave changes any more");
    case WaitsFor::Lds:
      return text("wave ", wave, " waits for ever for ", wait.bytes.size(), " bytes of LDS at ", wait.bytes.begin(),
                  ", which no wave changes any more");
    case WaitsFor::Grid:
      return text("wave ", wave, " waits for ever at a barrier of the grid, to which others do not come");
    case WaitsFor::Nothing:
      break;
  }
  return text("wave ", wave, " goes round for ever in a loop that nothing ends");
}

}  // namespace

void SpinWatch::note(const Workgroup& group, const SpinProbe& probe) {
  const std::lock_guard lock(mutex_);
  groups_[group.number()] = {probe.changes(), group.id(), probe.waits()};
}

void SpinWatch::forget(const Workgroup& group) {
  const std::lock_guard lock(mutex_);
  groups_.erase(group.number());
}

bool SpinWatch::is_due(const Workgroup& group) const {
  if (group.turns() > 1 && std::has_single_bit(group.turns())) return true;
  const std::lock_guard lock(mutex_);
  return groups_.contains(group.number());
}

u64 SpinWatch::stuck() const {
  const std::lock_guard lock(mutex_);
  const u64 now = changes();
  return static_cast<u64>(std::ranges::count_if(groups_, [&](const auto& one) { return one.second.changes == now; }));
}

KernelFault SpinWatch::report(const LaunchState& launch, Findings& findings, u64 waiting) const {
  const std::lock_guard lock(mutex_);
  for (const auto& [number, group] : groups_) {
    for (const Waiting& wait : group.waits) {
      Sighting sighting{.tool = kBarriersTool,
                        .kind = wait.what == WaitsFor::Nothing ? "endless-loop" : "deadlock",
                        .pc = wait.pc,
                        .lane = wait.lane};
      if (wait.what == WaitsFor::Memory) sighting.address = wait.bytes.begin();
      findings.add(Witness{launch, number, {group.id, wait.wave}}, sighting, [&] { return message_of(wait); });
    }
  }
  const auto& [number, first] = *groups_.begin();
  const Waiting& wait = first.waits.front();
  const std::string& name = launch.kernel.metadata.name;
  const std::string rest = waiting == 0 ? "" : text("; ", waiting, " have not begun, for which there is no room");
  KernelFault fault(text(kernel_text(name), " on the ", launch.module.code().target().processor,
                         " emulator: a deadlock: ", message_of(wait), "\n  at ", launch.module.describe(wait.pc), ": ",
                         launch.module.disassemble(wait.pc, launch.lanes), "\n  workgroup (", first.id[0], ", ",
                         first.id[1], ", ", first.id[2], "), wave ", wait.wave, "\n  none of the ", groups_.size(),
                         " workgroups that have not ended can go on", rest));
  fault.kernel = name;
  fault.workgroup = first.id;
  fault.wave = wait.wave;
  fault.lane = wait.lane;
  fault.pc = launch.module.offset_in(launch.kernel, wait.pc);
  fault.instruction = launch.module.disassemble(wait.pc, launch.lanes);
  if (wait.what == WaitsFor::Memory) fault.address = wait.bytes.begin();
  fault.is_access = false;
  return fault;
}

SpinProbe::SpinProbe(SpinWatch& watch, std::span<const Wave> waves)
    : watch_(watch), waves_(waves), states_(waves.size()) {
  begin();
}

void SpinProbe::before(const Wave& wave, const Op* op) {
  wave_ = &wave;
  op_ = op;
  grid_barrier_ = wave.grid_barrier;
  State& state = states_[wave.index];
  state.has_moved = true;
  ++state.count;
  const u64 pc = wave.address(op);
  if (pc == state.pc && !state.is_periodic)
    state.is_periodic = scalar_hash(wave) == state.scalars && vector_hash(wave) == state.vectors;
  // Of a loop that accesses nothing its last instruction is named, wherever the look at it begins.
  if (state.wait.what == WaitsFor::Nothing) state.wait.pc = std::max(state.wait.pc, pc);
  if (state.count < state.next || state.is_periodic) return;
  state.pc = pc;
  state.scalars = scalar_hash(wave);
  state.vectors = vector_hash(wave);
  state.next = 2 * state.count;
  state.rank = -1;
  state.wait = {WaitsFor::Nothing, pc, wave.index};
}

/// Only now others can see what has changed.
void SpinProbe::after(const Wave& wave, const Op*) {
  for (const Change& change : modified_) {
    u64 now = 0;
    copy_guarded(&now, change.bytes, change.size);
    has_changed_ |= now != change.before;
  }
  modified_.clear();
  has_changed_ |= wave.grid_barrier != grid_barrier_;
  if (wave.grid_barrier != 0) states_[wave.index].wait.what = WaitsFor::Grid;
  if (!has_changed_) return;
  has_changed_ = false;
  watch_.change();
  begin();
}

void SpinProbe::begin() {
  changes_ = watch_.changes();
  std::ranges::fill(states_, State{});
}

int SpinProbe::rank_of(const Wave& wave) {
  return ranks_.get(wave, op_, [&](int& rank) {
    const isa::Instruction decoded = decoded_instruction(wave, op_);
    if (decoded.row == nullptr) return;
    const bool is_atomic = isa::atomic_scope(decoded) != isa::Scope::None;
    rank = decoded.row->kind == isa::Kind::ScalarMemory ? 0 : is_atomic ? 2 : 1;
  });
}

/// Of an instruction the first lane counts, and of several instructions the last, unless one of the others is likelier.
void SpinProbe::poll(WaitsFor what, AddressSpan span, int lane) {
  State& state = states_[wave_->index];
  const u64 pc = wave_->address(op_);
  const int rank = rank_of(*wave_);
  if (rank < state.rank || (state.wait.pc == pc && state.rank >= 0)) return;
  state.rank = rank;
  state.wait = {what, pc, wave_->index, lane, span};
}

void SpinProbe::modify(const u8* bytes, const void* data, u64 size) {
  if (data != nullptr) {
    has_changed_ |= !is_equal_guarded(bytes, data, size);
    return;
  }
  Change change{bytes, std::min<u64>(size, sizeof(u64)), 0};
  copy_guarded(&change.before, bytes, change.size);
  modified_.push_back(change);
}

void SpinProbe::store_lds(AddressSpan span, const void* data, int lane) {
  if (data == nullptr) poll(WaitsFor::Lds, span, lane);
  modify(wave_->group->lds() + span.begin(), data, span.size());
}

/// Of an atomic only a part may be in the launch's memory (AtomicTarget): nobody asks what the rest holds.
void SpinProbe::store_memory(AddressSpan span, const void* data, int lane) {
  const u8* const bytes = reinterpret_cast<const u8*>(span.begin());
  if (data != nullptr) return modify(bytes, data, span.size());
  poll(WaitsFor::Memory, span, lane);
  const Memory& memory = wave_->group->launch().memory();
  for (u64 i = 0; i < span.size(); ++i) {
    if (memory.has(span.begin() + i)) modify(bytes + i, nullptr, 1);
  }
}

bool SpinProbe::is_stuck() {
  if (watch_.changes() != changes_) begin();
  const auto is_so = [&](const Wave& wave) {
    const State& state = states_[wave.index];
    return wave.status == Status::Ended || state.is_periodic || (wave.status == Status::Barrier && !state.has_moved);
  };
  return std::ranges::all_of(waves_, is_so) && !waits().empty();
}

std::vector<Waiting> SpinProbe::waits() const {
  std::vector<Waiting> waits;
  for (const Wave& wave : waves_) {
    if (states_[wave.index].is_periodic) waits.push_back(states_[wave.index].wait);
  }
  return waits;
}

}  // namespace wave::emulator
