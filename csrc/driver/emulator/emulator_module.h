// Code loaded for the emulator.
#pragma once

#include "driver/driver.h"
#include "emulator/module.h"

namespace wave::emulator {

class EmulatorModule : public LoadedModule {
 public:
  explicit EmulatorModule(std::shared_ptr<const CodeObject> code);
  std::unique_ptr<LoadedFunction> function(const KernelInfo& kernel) override;
  std::optional<Global> global(const std::string& name) override;

 private:
  const std::shared_ptr<const Module> shared_;
  const Module& module_ = *shared_;
};

}  // namespace wave::emulator
