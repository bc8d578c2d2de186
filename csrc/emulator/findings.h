// What checks have found in a launch.
#pragma once

#include <map>
#include <mutex>
#include <optional>
#include <tuple>
#include <vector>

#include "base/error.h"
#include "base/finding.h"
#include "base/tools.h"
#include "emulator/module.h"
#include "emulator/wave.h"

namespace wave::emulator {

class LaunchState;

/// The kind of races in the launch's memory.
inline constexpr const char* kGlobalRace = "global-race";

/// A wave, as far as findings name it.
struct WaveName {
  std::array<u32, 3> workgroup{};
  u32 wave = 0;
  int lane = -1;
};

/// That an instruction is not as it should be: by itself or, where there is one, beside an earlier one.
struct Sighting {
  Tool tool;
  const char* kind;
  u64 pc;
  int lane = -1;
  std::optional<u64> address{};
  u64 earlier_pc = 0;  ///< 0: there is none
  WaveName earlier{};
};

/// Where a kernel's instruction is, and who carried it out.
FindingSite site_at(const Module& module, const KernelInfo& kernel, u32 lanes, u64 pc, const WaveName& name);
/// Who has carried out an instruction.
struct Witness {
  const LaunchState& launch;
  u64 workgroup;  ///< its number
  WaveName name;
};

/// Any thread may add. Equal ones, of a kind and of the same instructions, are one, which is told of the first
/// workgroup that has it, so that they are the same whichever thread was first.
class Findings {
 public:
  /// What addresses are named by. Must outlive this.
  explicit Findings(std::span<const TensorLayout> tensors) : tensors_(tensors) {}

  static Witness witness(const Wave& wave);

  /// `message` makes the sentence, where it is needed.
  template <class Message>
  void add(const Wave& wave, const Sighting& sighting, const Message& message) {
    add(witness(wave), sighting, message);
  }
  template <class Message>
  void add(const Witness& witness, const Sighting& sighting, const Message& message) {
    const std::lock_guard lock(mutex_);
    if (Finding* finding = note(witness, sighting)) finding->message = message();
  }

  /// By workgroup, and in the order in which they were found in it.
  std::vector<Finding> all() const;

  /// The first of these tools', with a list of all as its message; empty where there is none.
  std::optional<KernelFault> fault(Tools tools) const;

 private:
  using Key = std::tuple<Tools, const char*, u64, u64>;
  struct Entry {
    Finding finding;
    u64 workgroup = 0;  ///< by number
    u64 order = 0;
  };

  Finding* note(const Witness& witness, const Sighting& sighting);

  const std::span<const TensorLayout> tensors_;
  mutable std::mutex mutex_;  ///< guards what follows
  std::map<Key, Entry> found_;
  u64 next_ = 0;
};

}  // namespace wave::emulator
