// A kernel on the emulator.
#pragma once

#include "driver/driver.h"
#include "emulator/module.h"

namespace wave::emulator {

class EmulatorFunction : public LoadedFunction {
 public:
  EmulatorFunction(const Module& module, const KernelInfo& kernel) : module_(module), kernel_(kernel) {}
  /// Attributes but the cluster, which none of the processors has, change nothing: each grid that fits is wholly
  /// resident.
  void launch(const Launch& launch) override;
  FunctionInfo info() const override;
  uint32_t occupancy(uint32_t block_size, uint32_t shared_memory) const override;
  /// Of the processor that the code is for, which need not be the one that the device is called.
  uint64_t resident_workgroups(const DeviceInfo& device, uint32_t block_size, uint32_t shared_memory) const override;

 private:
  const Module& module_;
  const KernelInfo& kernel_;
};

}  // namespace wave::emulator
