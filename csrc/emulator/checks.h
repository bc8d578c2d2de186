// What a launch is looked at for: its checks, on all of its threads, and what they have found; and its profile.
#pragma once

#include <memory>

#include "base/emulator_options.h"
#include "emulator/dispatch.h"
#include "emulator/findings.h"
#include "emulator/global_shadow.h"
#include "emulator/launch_accesses.h"
#include "emulator/observer.h"
#include "emulator/profile.h"
#include "emulator/spinning.h"
#include "emulator/undefined_pages.h"

namespace wave::emulator {

/// Of one launch.
class Checks {
 public:
  /// nullptr where nothing is asked for. `tensors` are what findings name addresses by, and must outlive this.
  static std::unique_ptr<Checks> make(const EmulatorOptions& options, std::span<const TensorLayout> tensors);

  Tools tools() const { return tools_; }
  /// Whether reads a little past an end are faults.
  bool over_reads() const { return sanitizer_ != nullptr && sanitizer_->options.over_reads; }
  /// Whether an access that is a fault is a finding, and the wave goes on.
  bool skips_faults() const { return sanitizer_ != nullptr && (sanitizer_->options.tools & kMemoryTool) != 0; }
  /// Of which accesses of memory they want to be told.
  WatchedAccesses watched_accesses() const;
  Findings& findings() { return findings_; }
  /// Who finds out whether the launch is stuck, or nullptr.
  SpinWatch* spins() { return (tools_ & kBarriersTool) != 0 ? &spins_ : nullptr; }

  /// What was counted, once the launch has ended; nullptr where nobody asked.
  std::shared_ptr<const LaunchProfile> profile() const;

  /// Who looks at the workgroups that one Workgroup runs; nullptr where no check needs it.
  std::unique_ptr<Observer> observe();

  /// What it did to memory, once the launch has ended; nullptr where nobody looks for races in it.
  std::unique_ptr<LaunchAccesses> accesses(const Dispatch& dispatch);

  /// Behind a launch that has ended well: tells the session of the profiler what it took.
  void tell_profile(const Dispatch& dispatch, const Statistics& statistics, double seconds) const;

  /// Behind the launch: tells the sanitizer what was found. Throws KernelFault where the launch is to fail for it.
  void finish() const;
  /// ... where the launch has failed: the fault, with what was found besides.
  KernelFault finish(const KernelFault& fault) const;

 private:
  Checks(const EmulatorOptions& options, std::span<const TensorLayout> tensors)
      : fatal_(options.checks), sanitizer_(options.sanitizer), findings_(tensors), session_(options.profile) {
    tools_ = fatal_ | (sanitizer_ == nullptr ? 0 : sanitizer_->options.tools);
    if (tools_ & kUninitializedTool) undefined_ = std::make_unique<UndefinedPages>();
    if (options.statistics || options.profile != nullptr) profile_ = std::make_unique<ProfileSum>();
  }
  bool finds_global_races() const { return sanitizer_ != nullptr && (sanitizer_->options.tools & kRacesTool) != 0; }
  void tell() const;

  Tools tools_;
  const Tools fatal_;  ///< for whose findings the launch is to fail
  const std::shared_ptr<Sanitizer> sanitizer_;
  Findings findings_;
  GlobalShadow shadow_;
  std::unique_ptr<UndefinedPages> undefined_;  ///< nullptr where nobody asks what is undefined
  SpinWatch spins_;
  const std::shared_ptr<ProfileSession> session_;
  std::unique_ptr<ProfileSum> profile_;
};

/// The launch with these checks, or with none where `checks` is nullptr: finish() is still to be called where it ends
/// well. Throws what finish() makes of its fault.
Statistics run(Dispatch& dispatch, Checks* checks);

}  // namespace wave::emulator
