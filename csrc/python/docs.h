// What help() says of the types in this folder: the docstrings of wave_runtime/_C.pyi.
#pragma once

#include <string_view>

namespace wave {

/// The docstring of "Kernel" or "Kernel.bind". Throws std::out_of_range where the stub has none.
const char* doc_of(std::string_view name);

}  // namespace wave
