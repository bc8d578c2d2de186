#include "emulator/isa/graphics.h"

namespace wave::isa {
namespace {

/// The first dword is (word & mask) == match; so many further ones as the bits say have registers of addresses (NSA).
struct GraphicsRow {
  Generation generation;
  uint32_t mask, match;
  uint8_t dwords;
  uint8_t further_low, further_width;
  const char* name;
};

#define WAVE_ISA_GRAPHICS(generation, ...) {Generation::generation, __VA_ARGS__},
constexpr GraphicsRow kRows[] = {
#include "emulator/isa/graphics.inc"
};
#undef WAVE_ISA_GRAPHICS

}  // namespace

Graphics find_graphics(Generation generation, uint32_t word) {
  for (const GraphicsRow& row : kRows) {
    if (row.generation != generation || (word & row.mask) != row.match) continue;
    const uint32_t further = word >> row.further_low & ((1u << row.further_width) - 1);
    return {row.name, static_cast<uint8_t>(row.dwords + further)};
  }
  return {};
}

}  // namespace wave::isa
