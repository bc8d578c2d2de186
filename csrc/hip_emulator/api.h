// Declarations of the exported functions. Each file api_*.cpp defines those of one topic.
#pragma once

#include "hip_emulator/hip_handles.h"
#include "hip_emulator/runtime.h"

namespace wave::hip {

#pragma GCC visibility push(default)
extern "C" {
#define REQUIRED(name, parameters) Error name parameters;
#define OPTIONAL(name, parameters) Error name parameters;
#define FUNCTION(name, parameters) Error name parameters;
#define TEXT(name) const char* name(Error error);
#include "driver/hip/hip_symbols.inc"
#include "hip_emulator/functions.inc"
#undef REQUIRED
#undef OPTIONAL
#undef FUNCTION
#undef TEXT
}
#pragma GCC visibility pop

using namespace hip_emulator;

}  // namespace wave::hip
