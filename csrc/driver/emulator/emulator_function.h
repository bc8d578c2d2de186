// A kernel on the emulator.
#pragma once

#include "driver/driver.h"
#include "emulator/module.h"

namespace wave::emulator {

class EmulatorFunction : public LoadedFunction {
 public:
  EmulatorFunction(const Module& module, const KernelInfo& kernel) : module_(module), kernel_(kernel) {}
  /// Attributes but the cluster, which gfx942 has none of, change nothing: each grid that fits is wholly resident.
  void launch(const Launch& launch) override;
  FunctionInfo info() const override;
  uint32_t occupancy(uint32_t block_size, uint32_t shared_memory) const override;

 private:
  const Module& module_;
  const KernelInfo& kernel_;
};

}  // namespace wave::emulator
