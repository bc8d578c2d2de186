// Variables of __managed__: each is a pointer to memory that whoever loads the code provides. What that memory holds at
// first is a symbol with this behind the variable's name.
#pragma once

#include <string_view>

namespace wave {

inline constexpr std::string_view kManagedValue = ".managed";

}  // namespace wave
