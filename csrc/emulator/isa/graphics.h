// Instructions of graphics, which have no rows: images, ray tracing, exports and interpolation.
#pragma once

#include <cstdint>

#include "emulator/isa/isa.h"

namespace wave::isa {

/// What is known of one: how it is called, and its length. Its first dword is (word & mask) == match; so many further
/// ones as the bits say have registers of addresses (NSA).
struct Graphics {
  Generation generation;
  uint32_t mask, match;
  uint8_t first_dwords;
  uint8_t further_low, further_width;
  bool is_image;  ///< of textures and surfaces, ray tracing included; others are of shaders
  const char* name;

  uint8_t dwords(uint32_t word) const {
    return static_cast<uint8_t>(first_dwords + (word >> further_low & ((1u << further_width) - 1)));
  }
};

/// That of which `word` is the first dword; nullptr where it begins none.
const Graphics* find_graphics(Generation generation, uint32_t word);

}  // namespace wave::isa
