#include "emulator/loaded_modules.h"

#include <map>
#include <mutex>

#include "base/error.h"
#include "base/fork_safe.h"
#include "code_object/loadable.h"

namespace wave::emulator {

namespace {

/// By where they begin. Never destroyed: modules may be unloaded by whatever ends last.
struct LoadedModules {
  Mutex mutex;
  std::map<u64, std::weak_ptr<const Module>> by_begin;
};
LoadedModules& loaded = *new LoadedModules();

void unload(const Module* module) {
  {
    const std::lock_guard lock(loaded.mutex);
    loaded.by_begin.erase(module->bytes().begin());  // before another one may begin there
  }
  delete module;
}

}  // namespace

std::shared_ptr<const Module> load_module(std::shared_ptr<const CodeObject> code) {
  const std::shared_ptr<const Module> module(new Module(std::move(code)), unload);
  const std::lock_guard lock(loaded.mutex);
  loaded.by_begin[module->bytes().begin()] = module;
  return module;
}

AddressSpan variable_bytes(const Module& module, const Symbol& variable) {
  if (find_segment(module.code().segments(), variable.address, variable.size) == nullptr) {
    throw ValueError(text("the variable '", variable.name, "' of ", variable.size, " bytes at ", hex(variable.address),
                          " does not lie in a segment of the code object: the file is damaged"));
  }
  return {module.load_address(variable.address), variable.size};
}

std::shared_ptr<const Module> loaded_module_at(u64 pc) {
  std::shared_ptr<const Module> module;  // let go of behind the lock, which unload() takes
  const std::lock_guard lock(loaded.mutex);
  const auto after = loaded.by_begin.upper_bound(pc);
  if (after != loaded.by_begin.begin()) module = std::prev(after)->second.lock();
  return module != nullptr && module->has_code(pc) ? module : nullptr;
}

}  // namespace wave::emulator
