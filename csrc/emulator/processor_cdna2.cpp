// CDNA2: gfx90a, of the AMD Instinct MI210, MI250 and MI250X.
#include "emulator/processor.h"

namespace wave::emulator {

// One die of an MI250, which is a device of its own (AMD CDNA 2 architecture white paper): of the 112 compute units 104
// are enabled, at 1.7 GHz at the most. All else is as in CDNA3, but that kernels set up their scratch themselves.
ProcessorTraits cdna2() {
  ProcessorTraits traits = cdna3();
  traits.name = traits.code = traits.instructions = "gfx90a";
  traits.wait_rules = wait_rule::kCdna | wait_rule::kStoreToVector1;
  traits.has_fnuz = false;
  traits.limits = *find_processor("gfx90a")->limits;
  traits.compute_units = 104;
  traits.dies = 1;
  traits.engines = 8;
  traits.units_per_engine = 14;
  traits.clock = 1'700'000;
  traits.flat_scratch_in_sgprs = false;
  traits.kernels_set_up_scratch = true;
  return traits;
}

namespace {
const ProcessorRegistration gfx90a(cdna2());
}

}  // namespace wave::emulator
