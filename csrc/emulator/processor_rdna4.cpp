// RDNA4: gfx1201, of the AMD Radeon RX 9070 XT, and gfx1200 (RX 9060 XT).
#include "emulator/processor.h"

namespace wave::emulator {

// Compute units and clock: AMD's product page.
// Scratch is what COMPUTE_TMPRING_SIZE.WAVESIZE can say for a wave (LLVM's GCNSubtarget, getMaxWaveScratchSize).
ProcessorTraits rdna4() {
  return {
      .name = "gfx1201",
      .code = "gfx1201",
      .instructions = "gfx1201",
      .settings = "",
      .limits = *find_processor("gfx1201")->limits,
      .lanes = find_processor("gfx1201")->lanes(),
      .compute_units = 64,
      .units_per_multiprocessor = 2,
      .dies = 1,
      .engines = 4,
      .units_per_engine = 16,
      .clock = 2'970'000,
      .lds_banks = 32,
      .lds_store_banks = 32,
      .max_scratch = 256 * ((1 << 18) - 1) / 32,
      .flat_scratch_in_sgprs = false,
      .kernels_set_up_scratch = false,
      .ids_in_ttmp = true,
      .packs_work_items = true,
      .has_ieee_mode = false,
      .scales_always = true,
      .keeps_other_half = true,
      .wait_rules = wait_rule::kMatrixToFactor | wait_rule::kExecToPermlanes,
      .has_scalar_hazards = true,
  };
}

namespace {
const ProcessorRegistration gfx1200(of_family(rdna4(), "gfx1200", 32, 2, 3'130'000));
const ProcessorRegistration gfx1201(rdna4());
}  // namespace

}  // namespace wave::emulator
