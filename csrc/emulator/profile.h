// Counts the instructions of a launch, the bytes that they move and the cycles that LDS takes.
#pragma once

#include <array>
#include <mutex>
#include <unordered_map>
#include <utility>
#include <vector>

#include "base/launch_profile.h"
#include "emulator/isa/isa.h"
#include "emulator/observer.h"

namespace wave::emulator {

/// What the profilers of a launch's workgroups have counted, all together. Thread-safe.
class ProfileSum {
 public:
  /// `lines` are the numbers of cache lines, by groups of 64: a bit for each that was touched.
  void add(const LaunchProfile& profile, const std::unordered_map<u64, u64>& lines,
           const std::unordered_map<u64, u64>& waves);
  /// Once all have added theirs.
  LaunchProfile result() const;

 private:
  std::mutex mutex_;  ///< guards what follows
  LaunchProfile sum_;
  std::unordered_map<u64, u64> lines_;
};

/// Of the workgroups that one Workgroup runs. What it has counted it adds to the sum at its end.
class Profiler : public Observer {
 public:
  explicit Profiler(ProfileSum& sum) : sum_(sum) {}
  ~Profiler() override;

  void before(const Wave& wave, const Op* op) override;
  bool wants_after() const override { return false; }
  bool watches_memory() const override { return true; }
  void load_memory(AddressSpan span, int) override { touch(span); }
  void store_memory(AddressSpan span, const void*, int) override { touch(span); }
  void load_memory_lanes(const LaneAccesses& all) override { touch_lanes(all); }
  void store_memory_lanes(const LaneAccesses& all) override { touch_lanes(all); }
  void modify_memory_lanes(const LaneAccesses& all) override { touch_lanes(all); }

 private:
  struct Tally {
    const isa::Row* row = nullptr;  ///< none: a fault follows
    u64 address = 0;                ///< in the file
    InstructionProfile counted{};
  };

  Tally& look_up(const Wave& wave, const Op* op);
  void touch(AddressSpan span);
  void touch_lanes(const LaneAccesses& all);
  void end_access();
  void count_lds_cycles(const Wave& wave, const Op* op, const isa::MemoryAccess& access, InstructionProfile& counted);
  LaunchProfile result() const;

  ProfileSum& sum_;
  static constexpr size_t kKnown = 256;

  std::unordered_map<const Op*, Tally> instructions_;
  std::array<std::pair<const Op*, Tally*>, kKnown> known_{};  ///< some of them, by where they lie
  std::unordered_map<u64, u64> lines_;                        ///< those that were touched, by groups of 64
  std::pair<u64, u64*> last_lines_{~u64{0}, nullptr};         ///< of them the last group
  std::unordered_map<u64, u64> waves_;                        ///< instructions, by the number of the wave
  std::pair<u64, u64*> last_wave_{~u64{0}, nullptr};          ///< of them the last one
  Tally* current_ = nullptr;
  std::vector<u64> access_;  ///< the lines that the current instruction has touched
  u32 wave_lanes_ = 0;
};

}  // namespace wave::emulator
