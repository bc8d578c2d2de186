// What help() says of the types and functions in this folder: the docstrings of wave_runtime/_C.pyi.
#pragma once

#include <string_view>

namespace wave {

/// The docstring of "code_objects", "Kernel" or "Kernel.bind"; nullptr where the stub has none.
const char* doc_of(std::string_view name);

}  // namespace wave
