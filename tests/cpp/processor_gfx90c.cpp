// gfx90c, which the product does not emulate, in one file as its own processors are: the graphics of the Ryzen 7 5700G,
// whose instructions are those of gfx9-generic (AMD's product page).
#include "emulator/processor.h"

namespace {

wave::emulator::ProcessorTraits graphics_of_ryzen_5000() {
  using namespace wave::emulator;
  ProcessorTraits traits = of_family(cdna2(), "gfx90c", 8, 1, 2'000'000, kIntegrated);
  traits.instructions = "gfx9-generic";
  traits.settings = ":xnack-";
  traits.wait_rules = wait_rule::kGfx9 | wait_rule::kStoreToVector1;
  traits.packs_work_items = false;
  return traits;
}

const wave::emulator::ProcessorRegistration registration(graphics_of_ryzen_5000());

}  // namespace
