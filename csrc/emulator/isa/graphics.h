// Instructions of graphics, which have no rows: images, ray tracing, exports and interpolation.
#pragma once

#include <cstdint>

#include "emulator/isa/isa.h"

namespace wave::isa {

/// What is known of one: how it is called, and its length. `name` is nullptr where the word begins none.
struct Graphics {
  const char* name = nullptr;
  uint8_t dwords = 1;
};

/// That of which `word` is the first dword.
Graphics find_graphics(Generation generation, uint32_t word);

}  // namespace wave::isa
