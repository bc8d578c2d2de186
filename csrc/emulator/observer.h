// What looks at instructions as they are carried out: statistics, traces, checks.
#pragma once

#include <algorithm>
#include <vector>

#include "base/address_span.h"
#include "emulator/op.h"

namespace wave::emulator {

/// Sees the instructions of a launch, which runs on one thread then.
class Observer {
 public:
  virtual ~Observer() = default;
  /// A wave begins.
  virtual void start(const Wave&) {}
  /// Before an instruction is carried out; also one that VSKIP skips, or that then throws.
  virtual void before(const Wave& wave, const Op* op) = 0;
  /// Behind it, when the wave may be in another function, which the Op is not of. Not called where it threw.
  virtual void after(const Wave&, const Op*) {}

  /// Whether it wants to see accesses of LDS, of the bytes that it has: by the instruction that before() has announced.
  virtual bool watches_lds() const { return false; }
  virtual void load_lds(AddressSpan) {}
  /// Before it is done. `data` is nullptr for atomics.
  virtual void store_lds(AddressSpan, const void* /*data*/) {}
  /// All waves of the workgroup are at a barrier, or have ended: for each of them, before it goes on.
  virtual void pass_barrier(const Wave&) {}
};

/// Several at once, in their order.
class Observers : public Observer {
 public:
  /// `observer` is borrowed.
  void add(Observer& observer) { all_.push_back(&observer); }

  void start(const Wave& wave) override {
    for (Observer* observer : all_) observer->start(wave);
  }
  void before(const Wave& wave, const Op* op) override {
    for (Observer* observer : all_) observer->before(wave, op);
  }
  void after(const Wave& wave, const Op* op) override {
    for (Observer* observer : all_) observer->after(wave, op);
  }
  bool watches_lds() const override {
    return std::any_of(all_.begin(), all_.end(), [](const Observer* observer) { return observer->watches_lds(); });
  }
  void load_lds(AddressSpan span) override {
    for (Observer* observer : all_) observer->load_lds(span);
  }
  void store_lds(AddressSpan span, const void* data) override {
    for (Observer* observer : all_) observer->store_lds(span, data);
  }
  void pass_barrier(const Wave& wave) override {
    for (Observer* observer : all_) observer->pass_barrier(wave);
  }

 private:
  std::vector<Observer*> all_;
};

}  // namespace wave::emulator
