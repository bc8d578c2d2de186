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
  const Module module_;
};

}  // namespace wave::emulator
