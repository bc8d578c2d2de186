// RDNA2: gfx1030, of the AMD Radeon RX 6900 XT.
#include "emulator/processor.h"

namespace wave::emulator {

// Compute units and clock: AMD's product page. Shader engines: "RDNA 2" white paper.
// Scratch is what COMPUTE_TMPRING_SIZE.WAVESIZE can say for a wave (LLVM's GCNSubtarget, getMaxWaveScratchSize).
ProcessorTraits rdna2() {
  return {
      .name = "gfx1030",
      .code = "gfx1030",
      .instructions = "gfx1030",
      .settings = "",
      .limits = *find_processor("gfx1030")->limits,
      .lanes = find_processor("gfx1030")->lanes(),
      .compute_units = 80,
      .units_per_multiprocessor = 2,
      .dies = 1,
      .engines = 4,
      .units_per_engine = 20,
      .clock = 2'250'000,
      .lds_banks = 32,
      .lds_store_banks = 32,
      .max_scratch = 1024 * ((1 << 13) - 1) / 32,
      .flat_scratch_in_sgprs = false,
      .kernels_set_up_scratch = true,
      .ids_in_ttmp = false,
      .packs_work_items = false,
      .has_ieee_mode = true,
      .keeps_other_half = true,
      .wait_rules = 0,
  };
}

namespace {
const ProcessorRegistration gfx1030(rdna2());
}

}  // namespace wave::emulator
