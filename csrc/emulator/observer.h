// What looks at instructions as they are carried out: statistics, traces, checks.
#pragma once

#include <algorithm>
#include <array>
#include <bit>
#include <utility>
#include <vector>

#include "base/address_span.h"
#include "emulator/op.h"

namespace wave::emulator {

/// What an instruction's lanes access: each as many bytes, from an address of its own on.
struct LaneAccesses {
  std::array<u64, kLanes> begins;  ///< of the lanes that access something
  u64 lanes;                       ///< a bit for each of these
  u32 size;
  const u8* data = nullptr;  ///< of stores: what each lane stores, one lane's bytes behind the other's

  AddressSpan span(int lane) const { return {begins[static_cast<size_t>(lane)], size}; }
  const u8* data_of(int lane) const { return data + static_cast<size_t>(lane) * size; }
  /// Whether each lane accesses what is behind the lane before it, so that they overlap nowhere.
  bool are_apart() const {
    if (side_by_side(lanes) == static_cast<u32>(std::popcount(lanes))) return true;
    u64 end = 0;
    bool are_behind = true;
    each([&](int lane) {
      are_behind &= span(lane).begin() >= end;
      end = span(lane).end();
    });
    return are_behind;
  }
  /// That all lanes access. Stores, which overlap nowhere, lie side by side where hull() has as many.
  u64 bytes() const { return u64{size} * static_cast<u32>(std::popcount(lanes)); }
  /// The first of some lanes, with those that access the same: next to it, or as far in the next sixteen lanes. So
  /// work-items of a tile share its rows and columns.
  u64 same_as_first(u64 some) const {
    constexpr u32 kRow = 16;
    const u64 begin = begins[static_cast<size_t>(std::countr_zero(some))];
    u64 same = 0;
    for (u32 lane = static_cast<u32>(std::countr_zero(some)); lane < kLanes && begins[lane] == begin; ++lane)
      same |= u64{1} << lane;
    for (u32 lane = static_cast<u32>(std::countr_zero(some)) + kRow; lane < kLanes; lane += kRow)
      same |= u64{begins[lane] == begin} << lane;
    return same & some;
  }
  /// How many lanes access what lies side by side: the first of some, and those of them that follow it.
  u32 side_by_side(u64 some) const {
    const u32 first = static_cast<u32>(std::countr_zero(some)), most = static_cast<u32>(std::countr_one(some >> first));
    const u64* const from = &begins[first];
    if (most == 1 || from[1] != from[0] + size) return 1;
    u64 differences = 0;
    for (u32 i = 0; i < most; ++i) differences |= from[i] ^ (from[0] + u64{i} * size);
    if (differences == 0) return most;
    u32 count = 2;
    while (from[count] == from[0] + u64{count} * size) ++count;
    return count;
  }
  /// All bytes from the first to the last one that some lane accesses.
  AddressSpan hull() const {
    u64 low = ~u64{0}, high = 0;
    if (lanes == ~u64{0}) {
      for (const u64 begin : begins) low = std::min(low, begin), high = std::max(high, begin);
      return AddressSpan::over(low, high, size);
    }
    each([&](int lane) {
      low = std::min(low, span(lane).begin());
      high = std::max(high, span(lane).begin());
    });
    return AddressSpan::over(low, high, size);
  }
  template <class Look>
  void each(const Look& look) const {
    for (u64 left = lanes; left != 0; left &= left - 1) look(std::countr_zero(left));
  }
};

/// Sees the instructions of a launch, which runs on one thread then, or of one workgroup after the other (Checks).
class Observer {
 public:
  virtual ~Observer() = default;
  /// A wave begins.
  virtual void start(const Wave&) {}
  /// Before an instruction is carried out; also one that VSKIP skips, or that then throws.
  virtual void before(const Wave& wave, const Op* op) = 0;
  /// Behind it, when the wave may be in another function, which the Op is not of. Not called where it threw, unless the
  /// wave goes on behind it.
  virtual void after(const Wave&, const Op*) {}
  /// Whether it wants to be told that.
  virtual bool wants_after() const { return true; }
  /// Of which instructions it is told so: those with one of these flags of theirs (OpFlags).
  virtual u8 watched_ops() const { return kEveryOp; }
  /// The instruction has thrown, and is carried out once more for the lanes that are enabled now.
  virtual void repeat(const Wave&) {}
  /// The instruction has thrown, and the launch ends for it: instead of after().
  virtual void give_up(const Wave&) {}
  /// A wave waits at a barrier, or has ended. Its last instruction is the dword before Wave::op.
  virtual void stop(const Wave&) {}

  /// Whether it wants to see accesses of LDS, of the bytes that it has: by the instruction that before() has announced.
  virtual bool watches_lds() const { return false; }
  virtual void load_lds(AddressSpan, int /*lane*/) {}
  /// Before it is done. `data` is nullptr for atomics.
  virtual void store_lds(AddressSpan, const void* /*data*/, int /*lane*/) {}
  /// A compare-and-swap, likewise, which stores where LDS holds the expected bytes, and else loads.
  virtual void compare_lds(AddressSpan span, const void* /*expected*/, int lane) { store_lds(span, nullptr, lane); }
  /// Those of an instruction's lanes at once, in their order: when all loads are done and before any store is, of
  /// stores that overlap nowhere.
  virtual void load_lds_lanes(const LaneAccesses& all) {
    all.each([&](int lane) { load_lds(all.span(lane), lane); });
  }
  virtual void store_lds_lanes(const LaneAccesses& all) {
    all.each([&](int lane) { store_lds(all.span(lane), all.data_of(lane), lane); });
  }
  /// Whether it wants to see accesses of the launch's memory and of scratch, likewise. lane -1: of the wave as a whole.
  virtual bool watches_memory() const { return false; }
  /// When it is done, of the bytes that were asked for.
  virtual void load_memory(AddressSpan, int /*lane*/) {}
  /// Before it is done, and will not fail. `data` is nullptr for atomics.
  virtual void store_memory(AddressSpan, const void* /*data*/, int /*lane*/) {}
  /// A compare-and-swap, likewise, which stores where memory holds the expected bytes, and else loads.
  virtual void compare_memory(AddressSpan span, const void* /*expected*/, int lane) {
    store_memory(span, nullptr, lane);
  }
  /// Those of an instruction's lanes at once, as of LDS.
  virtual void load_memory_lanes(const LaneAccesses& all) {
    all.each([&](int lane) { load_memory(all.span(lane), lane); });
  }
  virtual void store_memory_lanes(const LaneAccesses& all) {
    all.each([&](int lane) { store_memory(all.span(lane), all.data_of(lane), lane); });
  }
  /// Those of an atomic whose old values nobody wants, before any of them is made.
  virtual void modify_memory_lanes(const LaneAccesses& all) {
    all.each([&](int lane) { store_memory(all.span(lane), nullptr, lane); });
  }
  /// Of a lane's own bytes, which count from 0.
  virtual void load_scratch(AddressSpan, int /*lane*/) {}
  virtual void store_scratch(AddressSpan, int /*lane*/, bool /*is_atomic*/) {}
  /// A wave has come to a split barrier, and works on until it waits there.
  virtual void signal_barrier(const Wave&) {}
  /// All waves of the workgroup have come to a barrier, or have ended: for each of them, before those that wait go on.
  virtual void pass_barrier(const Wave&) {}
  /// A wave comes to a barrier of the grid, and goes on behind it. The counter's address stands for the barrier.
  virtual void reach_grid_barrier(const Wave&, u64 /*counter*/) {}
  virtual void pass_grid_barrier(const Wave&, u64 /*counter*/) {}
};

/// Whether who watches such instructions is told of one. What stands behind a function's last is none: its address is
/// that of the next function's first, of which the watcher is told when the wave is there.
inline bool is_watched(const Op* op, u8 watched_ops) {
  return (op->flags & watched_ops) != 0 && op->behind != kNothingBehind;
}

/// Several at once, in their order.
class Observers : public Observer {
 public:
  /// `observer` is borrowed.
  void add(Observer& observer) {
    all_.push_back(&observer);
    if (observer.watched_ops() != 0) by_ops_.emplace_back(&observer, observer.watched_ops());
    if (observer.watched_ops() != 0 && observer.wants_after())
      behind_ops_.emplace_back(&observer, observer.watched_ops());
    if (observer.watches_lds()) of_lds_.push_back(&observer);
    if (observer.watches_memory()) of_memory_.push_back(&observer);
  }

  void start(const Wave& wave) override {
    for (Observer* observer : all_) observer->start(wave);
  }
  void before(const Wave& wave, const Op* op) override {
    for (const auto& [observer, ops] : by_ops_) {
      if (is_watched(op, ops)) observer->before(wave, op);
    }
  }
  void after(const Wave& wave, const Op* op) override {
    for (const auto& [observer, ops] : behind_ops_) {
      if (is_watched(op, ops)) observer->after(wave, op);
    }
  }
  bool wants_after() const override { return !behind_ops_.empty(); }
  u8 watched_ops() const override {
    u8 ops = 0;
    for (const Observer* observer : all_) ops |= observer->watched_ops();
    return ops;
  }
  void repeat(const Wave& wave) override {
    for (Observer* observer : all_) observer->repeat(wave);
  }
  void give_up(const Wave& wave) override {
    for (Observer* observer : all_) observer->give_up(wave);
  }
  void stop(const Wave& wave) override {
    for (Observer* observer : all_) observer->stop(wave);
  }
  bool watches_lds() const override { return !of_lds_.empty(); }
  void load_lds(AddressSpan span, int lane) override {
    for (Observer* observer : of_lds_) observer->load_lds(span, lane);
  }
  void store_lds(AddressSpan span, const void* data, int lane) override {
    for (Observer* observer : of_lds_) observer->store_lds(span, data, lane);
  }
  void compare_lds(AddressSpan span, const void* expected, int lane) override {
    for (Observer* observer : of_lds_) observer->compare_lds(span, expected, lane);
  }
  void load_lds_lanes(const LaneAccesses& all) override {
    for (Observer* observer : of_lds_) observer->load_lds_lanes(all);
  }
  void store_lds_lanes(const LaneAccesses& all) override {
    for (Observer* observer : of_lds_) observer->store_lds_lanes(all);
  }
  bool watches_memory() const override { return !of_memory_.empty(); }
  void load_memory(AddressSpan span, int lane) override {
    for (Observer* observer : of_memory_) observer->load_memory(span, lane);
  }
  void store_memory(AddressSpan span, const void* data, int lane) override {
    for (Observer* observer : of_memory_) observer->store_memory(span, data, lane);
  }
  void compare_memory(AddressSpan span, const void* expected, int lane) override {
    for (Observer* observer : of_memory_) observer->compare_memory(span, expected, lane);
  }
  void load_memory_lanes(const LaneAccesses& all) override {
    for (Observer* observer : of_memory_) observer->load_memory_lanes(all);
  }
  void store_memory_lanes(const LaneAccesses& all) override {
    for (Observer* observer : of_memory_) observer->store_memory_lanes(all);
  }
  void modify_memory_lanes(const LaneAccesses& all) override {
    for (Observer* observer : of_memory_) observer->modify_memory_lanes(all);
  }
  void load_scratch(AddressSpan span, int lane) override {
    for (Observer* observer : all_) observer->load_scratch(span, lane);
  }
  void store_scratch(AddressSpan span, int lane, bool is_atomic) override {
    for (Observer* observer : all_) observer->store_scratch(span, lane, is_atomic);
  }
  void signal_barrier(const Wave& wave) override {
    for (Observer* observer : all_) observer->signal_barrier(wave);
  }
  void pass_barrier(const Wave& wave) override {
    for (Observer* observer : all_) observer->pass_barrier(wave);
  }
  void reach_grid_barrier(const Wave& wave, u64 counter) override {
    for (Observer* observer : all_) observer->reach_grid_barrier(wave, counter);
  }
  void pass_grid_barrier(const Wave& wave, u64 counter) override {
    for (Observer* observer : all_) observer->pass_grid_barrier(wave, counter);
  }

 private:
  std::vector<Observer*> all_;
  std::vector<Observer*> of_lds_, of_memory_;                  ///< those that watch it
  std::vector<std::pair<Observer*, u8>> by_ops_, behind_ops_;  ///< those that are told of instructions, and when
};

}  // namespace wave::emulator
