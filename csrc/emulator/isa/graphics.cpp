#include "emulator/isa/graphics.h"

#include <algorithm>
#include <iterator>

namespace wave::isa {
namespace {

#define WAVE_ISA_GRAPHICS(generation, ...) {Generation::generation, __VA_ARGS__},
constexpr Graphics kGraphics[] = {
#include "emulator/isa/graphics.inc"
};
#undef WAVE_ISA_GRAPHICS

}  // namespace

const Graphics* find_graphics(Generation generation, uint32_t word) {
  const auto* found = std::ranges::find_if(kGraphics, [&](const Graphics& each) {
    return each.generation == generation && (word & each.mask) == each.match;
  });
  return found == std::end(kGraphics) ? nullptr : found;
}

}  // namespace wave::isa
