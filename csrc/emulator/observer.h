// What looks at instructions as they are carried out: statistics, traces, checks.
#pragma once

#include <algorithm>
#include <utility>
#include <vector>

#include "base/address_span.h"
#include "emulator/op.h"

namespace wave::emulator {

/// Sees the instructions of a launch, which runs on one thread then, or of one workgroup after the other (Checks).
class Observer {
 public:
  virtual ~Observer() = default;
  /// A wave begins.
  virtual void start(const Wave&) {}
  /// Before an instruction is carried out; also one that VSKIP skips, or that then throws.
  virtual void before(const Wave& wave, const Op* op) = 0;
  /// Behind it, when the wave may be in another function, which the Op is not of. Not called where it threw.
  virtual void after(const Wave&, const Op*) {}
  /// Of which instructions it is told so: those with one of these flags of theirs (OpFlags).
  virtual u8 watched_ops() const { return kEveryOp; }
  /// The instruction has thrown, and the launch ends for it: instead of after().
  virtual void give_up(const Wave&) {}
  /// A wave waits at a barrier, or has ended. Its last instruction is the dword before Wave::op.
  virtual void stop(const Wave&) {}

  /// Whether it wants to see accesses of LDS, of the bytes that it has: by the instruction that before() has announced.
  virtual bool watches_lds() const { return false; }
  virtual void load_lds(AddressSpan, int /*lane*/) {}
  /// Before it is done. `data` is nullptr for atomics.
  virtual void store_lds(AddressSpan, const void* /*data*/, int /*lane*/) {}
  /// Whether it wants to see accesses of the launch's memory and of scratch, likewise. lane -1: of the wave as a whole.
  virtual bool watches_memory() const { return false; }
  /// When it is done, of the bytes that were asked for.
  virtual void load_memory(AddressSpan, int /*lane*/) {}
  /// Before it is done, and will not fail. `data` is nullptr for atomics.
  virtual void store_memory(AddressSpan, const void* /*data*/, int /*lane*/) {}
  /// Of a lane's own bytes, which count from 0.
  virtual void load_scratch(AddressSpan, int /*lane*/) {}
  virtual void store_scratch(AddressSpan, int /*lane*/, bool /*is_atomic*/) {}
  /// All waves of the workgroup are at a barrier, or have ended: for each of them, before it goes on.
  virtual void pass_barrier(const Wave&) {}
};

/// Whether who watches such instructions is told of one.
inline bool is_watched(const Op* op, u8 watched_ops) { return watched_ops == kEveryOp || (op->flags & watched_ops); }

/// Several at once, in their order.
class Observers : public Observer {
 public:
  /// `observer` is borrowed.
  void add(Observer& observer) {
    all_.push_back(&observer);
    if (observer.watched_ops() != 0) by_ops_.emplace_back(&observer, observer.watched_ops());
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
    for (const auto& [observer, ops] : by_ops_) {
      if (is_watched(op, ops)) observer->after(wave, op);
    }
  }
  u8 watched_ops() const override {
    u8 ops = 0;
    for (const Observer* observer : all_) ops |= observer->watched_ops();
    return ops;
  }
  void give_up(const Wave& wave) override {
    for (Observer* observer : all_) observer->give_up(wave);
  }
  void stop(const Wave& wave) override {
    for (Observer* observer : all_) observer->stop(wave);
  }
  bool watches_lds() const override {
    return std::any_of(all_.begin(), all_.end(), [](const Observer* observer) { return observer->watches_lds(); });
  }
  void load_lds(AddressSpan span, int lane) override {
    for (Observer* observer : all_) observer->load_lds(span, lane);
  }
  void store_lds(AddressSpan span, const void* data, int lane) override {
    for (Observer* observer : all_) observer->store_lds(span, data, lane);
  }
  bool watches_memory() const override {
    return std::any_of(all_.begin(), all_.end(), [](const Observer* observer) { return observer->watches_memory(); });
  }
  void load_memory(AddressSpan span, int lane) override {
    for (Observer* observer : all_) observer->load_memory(span, lane);
  }
  void store_memory(AddressSpan span, const void* data, int lane) override {
    for (Observer* observer : all_) observer->store_memory(span, data, lane);
  }
  void load_scratch(AddressSpan span, int lane) override {
    for (Observer* observer : all_) observer->load_scratch(span, lane);
  }
  void store_scratch(AddressSpan span, int lane, bool is_atomic) override {
    for (Observer* observer : all_) observer->store_scratch(span, lane, is_atomic);
  }
  void pass_barrier(const Wave& wave) override {
    for (Observer* observer : all_) observer->pass_barrier(wave);
  }

 private:
  std::vector<Observer*> all_;
  std::vector<std::pair<Observer*, u8>> by_ops_;  ///< those that are told of instructions
};

}  // namespace wave::emulator
