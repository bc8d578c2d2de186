#include "driver/emulator/emulator_module.h"

#include "driver/emulator/emulator_function.h"

namespace wave::emulator {

std::unique_ptr<LoadedFunction> EmulatorModule::function(const KernelInfo& kernel) {
  return std::make_unique<EmulatorFunction>(module_, kernel);
}

std::optional<Global> EmulatorModule::global(const std::string& name) {
  const Symbol* const variable = module_.code().variable(name);
  if (variable == nullptr) return std::nullopt;
  return Global{reinterpret_cast<void*>(module_.load_address(variable->address)), variable->size};
}

}  // namespace wave::emulator
