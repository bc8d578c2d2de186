// gfx90c, which the product does not emulate, in one file as its own processors are: the graphics of the Ryzen 7 5700G,
// whose instructions are those of gfx9-generic (AMD's product page).
#include "emulator/processor.h"

namespace {

wave::emulator::ProcessorTraits graphics_of_ryzen_5000() {
  wave::emulator::ProcessorTraits traits = wave::emulator::cdna2();
  traits.name = traits.code = "gfx90c";
  traits.instructions = "gfx9-generic";
  traits.settings = ":xnack-";
  traits.wait_rules = wave::emulator::wait_rule::kGfx9 | wave::emulator::wait_rule::kStoreToVector1;
  traits.limits = *wave::find_processor("gfx90c")->limits;
  traits.compute_units = traits.units_per_engine = 8;
  traits.engines = 1;
  traits.clock = 2'000'000;
  traits.packs_work_items = false;
  traits.is_integrated = true;
  return traits;
}

const wave::emulator::ProcessorRegistration registration(graphics_of_ryzen_5000());

}  // namespace
