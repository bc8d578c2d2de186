// RDNA3: gfx1100, of the AMD Radeon RX 7900 XTX.
#include "emulator/processor.h"

namespace wave::emulator {

// Compute units and clock: AMD's product page.
// Scratch is what COMPUTE_TMPRING_SIZE.WAVESIZE can say for a wave (LLVM's GCNSubtarget, getMaxWaveScratchSize).
ProcessorTraits rdna3() {
  return {
      .name = "gfx1100",
      .code = "gfx1100",
      .settings = "",
      .limits = *find_processor_limits("gfx1100"),
      .lanes = 32,
      .compute_units = 96,
      .units_per_multiprocessor = 2,
      .dies = 1,
      .engines = 6,
      .units_per_engine = 16,
      .clock = 2'500'000,
      .lds_banks = 32,
      .max_scratch = 256 * ((1 << 15) - 1) / 32,
      .flat_scratch_in_sgprs = false,
      .kernels_set_up_scratch = false,
      .ids_in_ttmp = false,
      .packs_work_items = true,
      .has_ieee_mode = true,
      .keeps_other_half = true,
  };
}

namespace {
const ProcessorRegistration gfx1100(rdna3());
}

}  // namespace wave::emulator
