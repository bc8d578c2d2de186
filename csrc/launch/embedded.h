// A kernel's code as bytes that travel inside of an exported program, beside its handle: from them, another process
// makes the kernel that the program launches.
#pragma once

#include <cstdint>
#include <functional>
#include <span>
#include <string_view>
#include <vector>

#include "launch/kernel.h"

namespace wave {

/// The code of all builds of the kernel: the image as it is, or an offload bundle of several.
std::vector<uint8_t> embedded_code(const Kernel& kernel);

/// The kernel with this handle. Where the process does not know it yet, it is made of what `code` returns, and
/// registered. Throws ValueError where that is malformed or is not what the handle was made for. Thread-safe.
const Kernel& find_embedded(std::string_view handle, const std::function<std::vector<uint8_t>()>& code);

}  // namespace wave
