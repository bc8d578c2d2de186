// CDNA4: gfx950, of the AMD Instinct MI355X.
#include "emulator/processor.h"

namespace wave::emulator {

// AMD CDNA 4 architecture white paper: of the 36 compute units of a die 32 are enabled, on eight dies, at 2.4 GHz at
// the most. LDS: the ISA document, "LDS". All else is as in CDNA3.
ProcessorTraits cdna4() {
  ProcessorTraits traits = cdna3();
  traits.name = traits.code = traits.instructions = "gfx950";
  traits.wait_rules |= wait_rule::kVectorToPermlane | wait_rule::kExecToPermlane;
  traits.has_fnuz = false;
  traits.limits = *find_processor("gfx950")->limits;
  traits.compute_units = 256;
  traits.units_per_engine = 9;
  traits.clock = 2'400'000;
  traits.lds_banks = 64;  // and of stores 32, as HipKittens measured on an MI355X
  return traits;
}

namespace {
const ProcessorRegistration gfx950(cdna4());
}

}  // namespace wave::emulator
