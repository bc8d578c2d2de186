// The format strings of kernels that print through a buffer (-mprintf-kind=buffered).
#pragma once

#include <cstdint>
#include <map>
#include <string>

#include "code_object/code_object.h"

namespace wave {

/// Those of `amdhsa.printf` in the metadata, by the number that a kernel writes in place of a string: what clang makes
/// of HIP ("0:0:<number in hex>,<format>"). Others, as of OpenCL, are left out. Throws FormatError.
std::map<uint64_t, std::string> read_printf_formats(const CodeObject& code);

}  // namespace wave
