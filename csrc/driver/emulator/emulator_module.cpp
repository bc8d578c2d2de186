#include "driver/emulator/emulator_module.h"

#include <algorithm>

#include "base/error.h"
#include "driver/emulator/emulator_function.h"

namespace wave::emulator {

std::unique_ptr<LoadedFunction> EmulatorModule::function(const KernelInfo& kernel) {
  return std::make_unique<EmulatorFunction>(module_, kernel);
}

Global EmulatorModule::global(const std::string& name) {
  const std::vector<Symbol>& symbols = module_.code().symbols();
  const auto found = std::ranges::find_if(
      symbols, [&](const Symbol& symbol) { return symbol.name == name && !symbol.is_function && symbol.size != 0; });
  if (found == symbols.end()) throw ValueError(text("no variable '", name, "' in the module"));
  return {reinterpret_cast<void*>(module_.load_address(found->address)), found->size};
}

}  // namespace wave::emulator
