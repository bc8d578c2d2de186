// Writes down the instructions of a launch, a line each.
#pragma once

#include <cstdio>
#include <optional>

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
  /// `file` is borrowed.
  Tracer(std::FILE* file, TraceFilter filter) : file_(file), filter_(filter) {}
  ~Tracer() override;

  void before(const Wave& wave, const Op* op) override;
  void after(const Wave& wave, const Op* op) override;

 private:
  bool wants(const Wave& wave) const;

  std::FILE* file_;
  TraceFilter filter_;
  isa::Instruction instruction_;  ///< of the line
  bool line_is_open_ = false;
  bool scc_ = false;
};

}  // namespace wave::emulator
