// gfx1103, which the product does not emulate, in one file as its own processors are: the Radeon 780M, whose
// instructions are gfx1100's (AMD's product page of the Ryzen 7 7840U).
#include "emulator/processor.h"

namespace {

wave::emulator::ProcessorTraits radeon_780m() {
  wave::emulator::ProcessorTraits traits = wave::emulator::rdna3();
  traits.name = traits.code = "gfx1103";
  traits.limits = *wave::find_processor("gfx1103")->limits;
  traits.compute_units = traits.units_per_engine = 12;
  traits.engines = 1;
  traits.clock = 2'700'000;
  traits.is_integrated = true;
  return traits;
}

const wave::emulator::ProcessorRegistration registration(radeon_780m());

}  // namespace
