#include "emulator/checks.h"

#include <chrono>
#include <utility>
#include <vector>

#include "emulator/barriers.h"
#include "emulator/global_races.h"
#include "emulator/hazards.h"
#include "emulator/lanes.h"
#include "emulator/numbers.h"
#include "emulator/races.h"
#include "emulator/uninitialized.h"

namespace wave::emulator {

namespace {

/// Several observers that are its own.
class OwnObservers : public Observers {
 public:
  template <class One>
  void make(auto&&... results) {
    own_.push_back(std::make_unique<One>(results...));
    add(*own_.back());
  }
  /// nullptr where there are none, and the only one without a list around it.
  static std::unique_ptr<Observer> simplest(std::unique_ptr<OwnObservers> observers) {
    if (observers->own_.empty()) return nullptr;
    if (observers->own_.size() == 1) return std::move(observers->own_[0]);
    return observers;
  }

 private:
  std::vector<std::unique_ptr<Observer>> own_;
};

}  // namespace

std::unique_ptr<Checks> Checks::make(const EmulatorOptions& options, std::span<const TensorLayout> tensors) {
  const bool counts = options.statistics || options.profile != nullptr;
  if (options.checks == 0 && options.sanitizer == nullptr && !counts) return nullptr;
  return std::unique_ptr<Checks>(new Checks(options, tensors));
}

std::unique_ptr<Observer> Checks::observe() {
  auto observers = std::make_unique<OwnObservers>();
  if (tools_ & kWaitsTool)
    observers->make<HazardChecker>(findings_, sanitizer_ != nullptr && sanitizer_->options.dead_registers);
  if (tools_ & kRacesTool) observers->make<RaceChecker>(findings_, finds_global_races());
  if (finds_global_races()) observers->make<GlobalRaceChecker>(findings_, shadow_);
  if (tools_ & kBarriersTool) observers->make<BarrierChecker>(findings_);
  if (tools_ & kNumbersTool) {
    observers->make<NumberChecker>(findings_, sanitizer_ != nullptr && sanitizer_->options.denormals);
  }
  if (tools_ & kUninitializedTool) observers->make<UninitializedChecker>(findings_, *undefined_);
  if (tools_ & kLanesTool) observers->make<LaneChecker>(findings_);
  if (profile_ != nullptr) observers->make<Profiler>(*profile_);
  return OwnObservers::simplest(std::move(observers));
}

std::shared_ptr<const LaunchProfile> Checks::profile() const {
  return profile_ == nullptr ? nullptr : std::make_shared<const LaunchProfile>(profile_->result());
}

std::unique_ptr<LaunchAccesses> Checks::accesses(const Dispatch& dispatch) {
  return finds_global_races() ? std::make_unique<LaunchAccesses>(shadow_, dispatch) : nullptr;
}

void Checks::tell_profile(const Dispatch& dispatch, const Statistics& statistics, double seconds) const {
  if (session_ == nullptr) return;
  const Module& module = *dispatch.module;
  const KernelMetadata& metadata = dispatch.kernel->metadata;
  session_->add({metadata.name, module.code().target().id(), module.code().bytes().span(), module.shared_code()},
                {dispatch.grid, dispatch.block, u64{metadata.group_segment_fixed_size} + dispatch.dynamic_lds,
                 statistics.instructions, statistics.waves, statistics.workgroups, seconds},
                *profile());
}

WatchedAccesses Checks::watched_accesses() const {
  if (profile_ != nullptr || (tools_ & kUninitializedTool) != 0) return WatchedAccesses::All;
  return finds_global_races() ? WatchedAccesses::OfWhatMayChange : WatchedAccesses::None;
}

void Checks::tell() const {
  if (undefined_ != nullptr) undefined_->finish();
  if (sanitizer_ == nullptr) return;
  std::vector<Finding> found = findings_.all();
  const auto asked_for = [&](const Finding& finding) {
    return (parse_tools(finding.tool) & sanitizer_->options.tools) != 0;
  };
  std::erase_if(found, [&](const Finding& finding) { return !asked_for(finding); });
  sanitizer_->add(found);
}

void Checks::finish() const {
  tell();
  if (const auto fault = findings_.fault(fatal_)) throw KernelFault(*fault);
}

KernelFault Checks::finish(const KernelFault& fault) const {
  tell();
  const auto found = findings_.fault(fatal_);
  return found ? fault.followed_by(found->what()) : fault;
}

Statistics run(Dispatch& dispatch, Checks* checks) {
  if (checks == nullptr) return run(dispatch);
  dispatch.checks = checks;
  dispatch.strict |= checks->over_reads();
  try {
    const auto begin = std::chrono::steady_clock::now();
    const Statistics statistics = run(dispatch);
    const std::chrono::duration<double> taken = std::chrono::steady_clock::now() - begin;
    checks->tell_profile(dispatch, statistics, taken.count());
    return statistics;
  } catch (const KernelFault& fault) {
    throw checks->finish(fault);
  }
}

}  // namespace wave::emulator
