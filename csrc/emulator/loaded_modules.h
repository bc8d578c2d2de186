// The modules whose code other modules may call: on a GPU a pointer to a function leads there from any code object, as
// to rocFFT's callbacks, which are the program's.
#pragma once

#include <memory>

#include "emulator/module.h"

namespace wave::emulator {

/// Loads a code object so that other modules' code finds it, for as long as somebody has it. Throws as Module does.
std::shared_ptr<const Module> load_module(std::shared_ptr<const CodeObject> code);

/// The memory of a variable of a module. Throws ValueError where its symbol says that of others.
AddressSpan variable_bytes(const Module& module, const Symbol& variable);

/// The module, of those, whose code an address is in; or nullptr.
std::shared_ptr<const Module> loaded_module_at(u64 pc);

}  // namespace wave::emulator
