// Writes down the instructions of a launch, a line each.
#pragma once

#include <functional>
#include <optional>
#include <string>
#include <string_view>

#include "emulator/isa/isa.h"
#include "emulator/observer.h"

namespace wave::emulator {

/// Which waves to trace: all, or those of one workgroup, or one of them.
struct TraceFilter {
  std::optional<u64> workgroup;
  std::optional<u32> wave;
};

/// Lines are "(0, 0, 0) wave 0  kernel+0x30  v_add_u32_e32 v1, s2, v0  # v1 = 0x00000007 in lane 0": what an
/// instruction wrote stands behind it, of vector registers the first enabled lane.
class Tracer : public Observer {
 public:
  /// `write` is given whole lines. What it throws ends the launch.
  Tracer(std::function<void(std::string_view)> write, TraceFilter filter) : write_(std::move(write)), filter_(filter) {}

  void before(const Wave& wave, const Op* op) override;
  void after(const Wave& wave, const Op* op) override;
  /// Behind a launch: writes the line of an instruction that has thrown, if there is one.
  void end_line();

 private:
  bool wants(const Wave& wave) const;

  std::function<void(std::string_view)> write_;
  TraceFilter filter_;
  isa::Instruction instruction_;  ///< of the line
  std::string line_;              ///< without what was written, until that is known
};

}  // namespace wave::emulator
