// What a check has found in a launch: pairs of instructions.
#pragma once

#include <optional>
#include <set>
#include <utility>
#include <vector>

#include "base/error.h"
#include "emulator/wave.h"

namespace wave::emulator {

class Findings {
 public:
  /// What they are, in messages: "hazard", "that hardware does not wait for".
  Findings(const char* noun, const char* clause) : noun_(noun), clause_(clause) {}

  /// That the wave's instruction at `pc` and an earlier one do not fit: once for each pair, up to a limit.
  void add(const Wave& wave, u64 pc, u64 earlier_pc, const std::string& reason);

  /// The first, with a list of all as its message; empty where there is none.
  std::optional<KernelFault> fault() const;

 private:
  const char* noun_;
  const char* clause_;
  std::set<std::pair<u64, u64>> reported_;  ///< both pcs
  std::vector<KernelFault> found_;
};

}  // namespace wave::emulator
