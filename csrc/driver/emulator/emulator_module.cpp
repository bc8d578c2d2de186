#include "driver/emulator/emulator_module.h"

#include <cstring>

#include "code_object/managed.h"
#include "driver/emulator/emulator_function.h"
#include "emulator/loaded_modules.h"

namespace wave::emulator {

/// What a managed variable holds at first lies in memory that the host reaches as well as kernels do: here it is the
/// variable.
EmulatorModule::EmulatorModule(std::shared_ptr<const CodeObject> code) : shared_(load_module(std::move(code))) {
  for (const Symbol& symbol : module_.code().symbols()) {
    const std::string_view name = symbol.name;
    if (!name.ends_with(kManagedValue)) continue;
    const Symbol* const pointer = module_.code().variable(name.substr(0, name.size() - kManagedValue.size()));
    const uint64_t memory = variable_bytes(module_, symbol).begin();
    if (pointer == nullptr || pointer->size != sizeof(memory)) continue;
    std::memcpy(reinterpret_cast<void*>(variable_bytes(module_, *pointer).begin()), &memory, sizeof(memory));
  }
}

std::unique_ptr<LoadedFunction> EmulatorModule::function(const KernelInfo& kernel) {
  return std::make_unique<EmulatorFunction>(module_, kernel);
}

std::optional<Global> EmulatorModule::global(const std::string& name) {
  const Symbol* variable = module_.code().variable(name + std::string(kManagedValue));
  if (variable == nullptr) variable = module_.code().variable(name);
  if (variable == nullptr) return std::nullopt;
  return Global{reinterpret_cast<void*>(variable_bytes(module_, *variable).begin()), variable->size};
}

}  // namespace wave::emulator
