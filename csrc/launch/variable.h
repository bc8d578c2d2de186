// Variables of a module, which has a code object for each translation unit and target.
#pragma once

#include <memory>
#include <string>

#include "launch/kernel.h"

namespace wave {

struct FoundVariable {
  std::shared_ptr<const CodeObject> code;
  std::shared_ptr<const void> held;  ///< keeps the code loaded
  GlobalView view;
};

/// Looks through the code objects that run at a place, the best one first, and loads them there. Throws ValueError
/// where none has the variable, and where another translation unit, built for the same target, has one of this name,
/// too: each has its own then. May wait for launches on other threads.
FoundVariable find_variable(CodeObjects codes, const std::string& name, const Place& place);

}  // namespace wave
